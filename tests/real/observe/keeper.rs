//! `ClickHouse` Keeper: its recursive watches and its stats mislead, and the observer does not rely
//! on them. Keeper is played by the sandbox.

use std::collections::BTreeSet;
use std::time::Duration;

use lockscope_model::queue::{ConnectionState, LockTable};
use lockscope_sandbox::{Sandbox, ServerBehaviour};
use zookeeper_client::{Client, CreateMode};

use super::fixture::{ObserverFixture, connection, curator, path};
use crate::harness::relay::Relay;
use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::{words, zk};
use crate::headless::program::{lockscope, run};
use crate::played::{played, port_of};

async fn keeper() -> Sandbox {
    played(ServerBehaviour::Keeper).await
}

/// Returns the contenders' paths as the table has them.
fn contenders(table: &LockTable) -> BTreeSet<String> {
    let rows = table.locks().flat_map(|lock| lock.rows(0..lock.len()).map(|row| lock.path_of(row.contender)));
    rows.map(|path| path.to_string()).collect()
}

async fn exist(client: &Client, parents: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for parent in parents {
        let names = client.list_children(parent).await.expect("it is there");
        found.extend(names.into_iter().map(|name| format!("{parent}/{name}")));
    }
    found
}

/// Creates and deletes contenders in turn, by a fixed sequence of numbers.
async fn churn(client: &Client, parents: &[&str], rounds: u64) {
    let (mut nodes, mut number) = (Vec::new(), 7_u64);
    for _ in 0..rounds {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chosen = usize::try_from(number >> 40).expect("it fits");
        if nodes.len() > 6 || chosen % 5 == 0 && !nodes.is_empty() {
            let node: String = nodes.swap_remove(chosen % nodes.len());
            client.delete(&node, None).await.expect("it is there");
        } else {
            let prefix = format!("{}/{}", parents[chosen % parents.len()], curator());
            let made =
                client.create(&prefix, b"", &zk::open(CreateMode::EphemeralSequential)).await.expect("it is new");
            nodes.push(format!("{prefix}{}", made.1));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_locks_of_keeper_are_followed_although_its_recursive_watches_name_the_wrong_node() {
    for roots in [&[][..], &["/locks"]] {
        let keeper = keeper().await;
        let client = zk::connect(&keeper.connect_string()).await;
        let parents = ["/locks/a", "/locks/b"];
        zk::make(&client, parents.map(str::to_owned)).await;
        let mut fixture = ObserverFixture::with(connection(&keeper.connect_string()), roots);
        fixture.until_live().await;
        for _ in 0..5 {
            churn(&client, &parents, 20).await;
            let there = exist(&client, &parents).await;
            fixture.until("the same contenders", |fixture| contenders(&fixture.table) == there).await;
        }
        let last = fixture.links.last().cloned();
        assert!(matches!(last, Some(ConnectionState::Connected { recursive: false, .. })), "{:?}", fixture.links);
        // `cversion` counts writes, too, and `pzxid` misses deletions: nothing is proven by them.
        let late = ObserverFixture::with(connection(&keeper.connect_string()), roots);
        let mut late = late;
        late.until_live().await;
        let now = lockscope_base::time::now();
        for lock in late.table.locks().filter(|lock| lock.holding() > 0 && roots.is_empty()) {
            let holder = lock.first_holder().expect("it has one");
            let bounds = late.table.clock().hold_bounds(holder, now).expect("it holds");
            assert!(bounds.at_least < Duration::from_secs(5) && lock.path() != &path("/"), "{bounds:?}");
        }
        keeper.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeper_is_named_with_its_clients() {
    let keeper = keeper().await;
    let at = keeper.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let prefix = format!("/locks/a/{}", curator());
    client.create(&prefix, b"", &zk::open(CreateMode::EphemeralSequential)).await.expect("it is new");
    let told = run(lockscope(&["snapshot", "--connect", &at, "--format", "json"])).await.json();
    let server = &told["ensemble"]["servers"][0];
    assert_eq!(server["software"], "clickhouse-keeper", "{told}");
    let error = server["error"].as_str().expect("what Keeper does not tell");
    assert!(error.contains("dump into four_letter_word_white_list") && !error.contains("AdminServer"), "{error}");
    assert!(
        server["version"].as_str().is_some_and(|version| version.starts_with("ClickHouse Keeper v25.12")),
        "{told}"
    );
    let contender = &told["locks"][0]["contenders"][0];
    assert!(contender["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")), "{told}");

    let mut fixture = ObserverFixture::start(&at);
    fixture.until_contenders(1).await;
    keeper.stop().await;
}

/// Keeper gives a client whose session has ended a new session without notice. An observer that
/// takes it for the old one shows a session that nobody has, and takes its own for a stranger's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_observers_session_is_noticed_although_keeper_does_not_tell() {
    let keeper = keeper().await;
    let relay = Relay::start(&keeper.connect_string()).await;
    let client = zk::connect(&keeper.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    churn(&client, &["/locks/a"], 10).await;
    let mut fixture = ObserverFixture::start(&relay.connect_string());
    fixture.until_live().await;
    for _ in 0..3 {
        let before = fixture.session();
        let accepted = relay.accepted();
        relay.expire().await;
        churn(&client, &["/locks/a"], 10).await;
        let there = exist(&client, &["/locks/a"]).await;
        let is_new = |fixture: &ObserverFixture| {
            let last = fixture.links.last();
            fixture.table.is_live()
                && matches!(last, Some(ConnectionState::Connected { session, .. }) if *session != before)
        };
        fixture.until("a new session", is_new).await;
        fixture.until("the same contenders", |fixture| contenders(&fixture.table) == there).await;
        assert!(relay.accepted() > accepted);
        // No session stays behind, and the observer knows which one is its own.
        let own = fixture.session();
        eventually("two sessions, one of them the observer's", async || {
            let cons = words::ask(port_of(&keeper), "cons", PATIENCE).expect("an answer");
            let mut sessions: Vec<_> = words::connections(&cons).into_iter().map(|found| found.session).collect();
            sessions.retain(|session| session.0 != -1 && *session != zk::session_of(&client));
            if sessions == [own] { Ok(()) } else { Err(sessions) }
        })
        .await;
    }
    keeper.stop().await;
}
