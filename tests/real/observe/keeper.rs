//! `ClickHouse` Keeper: its recursive watches and its stats mislead, and the observer does not rely
//! on them. Keeper is played by the sandbox.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use lockscope_model::queue::{ConnectionState, LockTable};
use lockscope_sandbox::{Behaviour, Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use zookeeper_client::{Client, CreateMode};

use super::fixture::{ObserverFixture, connection, curator, path};
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};

async fn keeper() -> Sandbox {
    let config = SandboxConfig { behaviour: Behaviour::Keeper, ..SandboxConfig::default() };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    Sandbox::start(listener, config).expect("the sandbox starts")
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
            let bounds = late.table.hold_bounds(holder, now).expect("it holds");
            assert!(bounds.at_least < Duration::from_secs(5) && lock.path() != &path("/"), "{bounds:?}");
        }
        keeper.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeper_is_named_with_its_clients_and_its_sessions_that_ended_are_noticed() {
    let keeper = keeper().await;
    let at = keeper.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let prefix = format!("/locks/a/{}", curator());
    client.create(&prefix, b"", &zk::open(CreateMode::EphemeralSequential)).await.expect("it is new");
    let told = run(lockscope(&["snapshot", "--connect", &at, "--format", "json"])).await.json();
    let server = &told["ensemble"]["servers"][0];
    assert_eq!(server["software"], "clickhouse-keeper", "{told}");
    assert!(
        server["version"].as_str().is_some_and(|version| version.starts_with("ClickHouse Keeper v25.12")),
        "{told}"
    );
    let contender = &told["locks"][0]["contenders"][0];
    assert!(contender["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")), "{told}");

    let mut fixture = ObserverFixture::start(&at);
    fixture.until_live().await;
    eventually("a contender", async || if fixture.table.contender_count() == 1 { Ok(()) } else { Err("none") }).await;
    keeper.stop().await;
}
