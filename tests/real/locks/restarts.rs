//! The server is killed and restarted while clients acquire, wait for, hold and release locks.

use std::time::Duration;

use futures::future::join_all;
use lockscope_lock::{Access, LockError, Loss};
use tokio::task::{JoinHandle, spawn_blocking};
use zookeeper_client::Client;

use super::fault_fixture::{is_expired, within};
use super::ours::{Held, Recipe};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;

const RECIPES: [Recipe; 8] = [
    Recipe::MUTEX,
    Recipe::MUTEX_PARENT,
    Recipe::HERD,
    Recipe::CHAIN,
    Recipe::CHAIN_AHEAD,
    Recipe::shared_herd(Access::Write),
    Recipe::shared_chain(Access::Write),
    Recipe::SEMAPHORE,
];

fn path(recipe: Recipe) -> String {
    format!("/{}", recipe.algorithm.name())
}

fn contend(recipe: Recipe, client: &Client) -> JoinHandle<Result<Held, LockError>> {
    let client = client.clone();
    tokio::spawn(async move { within("a lock", recipe.acquire(&client, &path(recipe))).await })
}

async fn all(tasks: Vec<JoinHandle<Result<Held, LockError>>>) -> Vec<Held> {
    let held = join_all(tasks).await;
    held.into_iter().map(|held| held.expect("no panic").expect("it comes in the end")).collect()
}

/// Waits until each lock has one node for each contender, and single-node locks have one node.
async fn queued(client: &Client, contenders: usize) {
    eventually("the queues", async || {
        let nodes = zk::tree(client, "/").await;
        for recipe in RECIPES {
            let path = path(recipe);
            let below = nodes.iter().filter(|node| node.path.starts_with(&path) && node.stat.ephemeral_owner != 0);
            let single = [Recipe::MUTEX, Recipe::MUTEX_PARENT].contains(&recipe);
            // The path `/mutex-parent` begins with `/mutex` too; both have at most one node.
            let seen = below.filter(|node| node.path == path || node.path[path.len()..].starts_with('/')).count();
            let expected = match recipe {
                _ if single => contenders.min(1),
                // A waiter for a lease has a node in the queue, too.
                Recipe::SEMAPHORE if contenders == 2 => 3,
                _ => contenders,
            };
            if seen != expected {
                return Err((recipe, seen));
            }
        }
        Ok(())
    })
    .await;
}

async fn restart(mut server: Server) -> Server {
    spawn_blocking(move || {
        server.restart();
        server
    })
    .await
    .expect("it starts again")
}

async fn stop(mut server: Server) -> Server {
    spawn_blocking(move || {
        server.stop();
        server
    })
    .await
    .expect("it ends")
}

async fn started() -> (Server, String) {
    let server = spawn_blocking(Server::start).await.expect("it starts");
    let connect = server.connect_string();
    (server, connect)
}

/// Opens a session whose locks outlast any restart: without a connection, they are lost after 180 s.
///
/// The client library waits twice as long before each attempt to connect: after a restart that takes
/// 13 s, it connects after 26 s. A server that starts may leave a connection without an answer.
async fn patient(at: &str) -> Client {
    let connector = Client::connector()
        .with_session_timeout(Duration::from_secs(600))
        .with_connection_timeout(Duration::from_secs(5));
    connector.connect(at).await.expect("a session")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_keep_holding_and_waiters_waiting_when_the_server_is_killed() {
    let server = spawn_blocking(|| Settings::default().line("maxSessionTimeout=600000").start());
    let server = server.await.expect("it starts");
    let at = server.connect_string();
    let (first, second) = (patient(&at).await, patient(&at).await);
    let witness = zk::connect(&at).await;
    let holders = all(RECIPES.map(|recipe| contend(recipe, &first)).into()).await;
    let waiters: Vec<_> = RECIPES.map(|recipe| contend(recipe, &second)).into();
    queued(&witness, 2).await;

    let _server = restart(server).await;
    for client in [&first, &second, &witness] {
        eventually("the server", async || client.get_data("/").await).await;
    }
    queued(&witness, 2).await;
    for (holder, recipe) in holders.iter().zip(RECIPES) {
        let lost = tokio::time::timeout(Duration::from_millis(1), holder.lost()).await;
        assert!(lost.is_err(), "{recipe:?}: {lost:?}");
        let stat = witness.check_stat(&holder.path()).await.expect("it answers").expect("it stands");
        assert_eq!(stat.czxid, holder.token(), "{recipe:?}");
    }
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    let tokens: Vec<i64> = holders.iter().map(Held::token).collect();
    for holder in holders {
        holder.release().await.expect("the server is back");
    }
    let waiters = all(waiters).await;
    for (waiter, token) in waiters.into_iter().zip(tokens) {
        assert!(waiter.token() > token);
        waiter.release().await.expect("the server is back");
    }
    queued(&witness, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_made_while_the_server_is_down_succeed_when_it_is_back() {
    let (server, at) = started().await;
    let (first, second, witness) = (zk::connect(&at).await, zk::connect(&at).await, zk::connect(&at).await);
    let holders = all(RECIPES.map(|recipe| contend(recipe, &first)).into()).await;
    let server = stop(server).await;
    let releases: Vec<_> = holders
        .into_iter()
        .map(|held| tokio::spawn(async move { within("a release", held.release()).await }))
        .collect();
    let acquires: Vec<_> = RECIPES.map(|recipe| contend(recipe, &second)).into();

    let _server = restart(server).await;
    for release in releases {
        release.await.expect("no panic").expect("the server is back");
    }
    for held in all(acquires).await {
        held.release().await.expect("the server is back");
    }
    queued(&witness, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_end_with_the_server_down_are_reported_to_holders_and_waiters() {
    let (server, at) = started().await;
    let short = Duration::from_secs(4);
    let (first, second) = (zk::connect_within(&at, short).await, zk::connect_within(&at, short).await);
    let witness = zk::connect(&at).await;
    let holders = all(RECIPES.map(|recipe| contend(recipe, &first)).into()).await;
    let waiters: Vec<_> = RECIPES.map(|recipe| contend(recipe, &second)).into();
    queued(&witness, 2).await;
    let server = stop(server).await;
    for (holder, recipe) in holders.iter().zip(RECIPES) {
        assert_eq!(within("the loss", holder.lost()).await, Loss::Expired, "{recipe:?}");
    }
    for waiter in waiters {
        let error = waiter.await.expect("no panic").err().expect("nobody answered");
        assert!(is_expired(&error), "{error:?}");
    }
    let _server = restart(server).await;
    queued(&witness, 0).await;
    let fresh = zk::connect(&at).await;
    for recipe in RECIPES {
        let held = within("a free lock", recipe.acquire(&fresh, &path(recipe))).await.expect("nobody holds");
        held.release().await.expect("the server is back");
    }
}
