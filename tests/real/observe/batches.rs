//! Many reads in one request: servers without multi-read, lost replies, and large nodes.

use zookeeper_client::CreateMode;

use super::fixture::{ObserverFixture, curator, fill, path};
use crate::harness::relay::{Fault, Place, Relay, Then, op};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::zk;

/// Returns the table of an observer without a relay.
async fn truth(server: &Server) -> Vec<(String, i64, String)> {
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    let contenders = fixture.contenders();
    fixture.observer.stop().await;
    contenders
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_recursive_watches_but_without_multi_read_is_read_node_by_node() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    relay.rewrite_op(op::MULTI_READ, op::UNKNOWN);
    let client = zk::connect(&server.connect_string()).await;
    fill(&client, 50, 6).await;
    let mut fixture = ObserverFixture::start(&relay.connect_string());
    fixture.until_contenders(300).await;
    let tried = relay.requests().get(&op::MULTI_READ).copied().unwrap_or_default();
    assert!(tried > 0, "{:?}", relay.requests());

    let wishes = (0..300).map(|_| (format!("/locks/l1/{}", curator()), Vec::new()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let all_read = |fixture: &ObserverFixture| {
        fixture.contenders().len() == 600 && fixture.contenders().iter().all(|(_, czxid, _)| *czxid > 0)
    };
    fixture.until("the new contenders", all_read).await;
    assert_eq!(fixture.contenders(), truth(&server).await);
    assert_eq!(relay.requests()[&op::MULTI_READ], tried, "it is not tried for ever");
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_replies_to_multi_reads_lose_no_node() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect(&server.connect_string()).await;
    fill(&client, 200, 10).await;
    let lost = [2, 5, 9, 14, 20].map(|request| Fault { place: Place::AfterRequest(request), then: Then::Cut });
    relay.arm(&lost);
    let mut fixture = ObserverFixture::start(&relay.connect_string());
    fixture.until("every fault", |_| relay.accepted() > lost.len() as u64).await;
    assert!(relay.disarm(), "each reply was lost");
    fixture.until_contenders(2000).await;
    assert_eq!(fixture.contenders(), truth(&server).await);
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_of_nearly_a_megabyte_are_read_beside_thousands_of_small_ones() {
    let server = Settings::default().heap_mib(1024).start();
    let client = zk::connect(&server.connect_string()).await;
    fill(&client, 200, 10).await;
    zk::make(&client, ["/heavy".to_owned()]).await;
    let wishes = (0..60).map(|_| (format!("/heavy/{}", curator()), vec![b'x'; 900_000]));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(2060).await;
    assert_eq!(fixture.how_many("syncing"), 1, "{:?}", fixture.links);
    let heavy = fixture.table.find(&path("/heavy"), None).and_then(|id| fixture.table.lock(id)).expect("the lock");
    assert!(heavy.rows(0..60).all(|row| row.contender.data_length == 900_000));
    fixture.observer.stop().await;
}
