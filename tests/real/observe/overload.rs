//! More events than the observer can take in: what it reports meanwhile, and how it recovers.

use std::time::Duration;

use lockscope_live::observe::ObserveOptions;
use lockscope_model::queue::{ConnectionState, SampledCounts};
use tokio::time::sleep;
use zookeeper_client::{Client, CreateMode};

use super::fixture::{ObserverFixture, connection, curator, observing, path};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::zk;

/// The maximum number of waiting changes in these tests.
const MAX_BACKLOG: usize = 200;

/// Contenders that come and go while no change is taken: more changes than the channel and the
/// backlog hold.
const STORM: usize = 6_000;

fn overloads(fixture: &ObserverFixture) -> usize {
    fixture.links.iter().filter(|link| matches!(link, ConnectionState::Overloaded { .. })).count()
}

fn sampled(fixture: &ObserverFixture) -> Option<SampledCounts> {
    let lock = fixture.table.find(&path("/locks/a"), None).and_then(|id| fixture.table.lock(id))?;
    fixture.table.sampled(lock)
}

async fn create(client: &Client, count: usize) -> Vec<String> {
    let wishes = (0..count).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    zk::create_all(client, CreateMode::EphemeralSequential, wishes).await
}

/// Causes far more changes than may wait, and waits for the report.
async fn flood(client: &Client, fixture: &mut ObserverFixture) {
    let before = overloads(fixture);
    let nodes = create(client, STORM).await;
    zk::delete_all(client, nodes).await;
    fixture.until("that there are too many events", |fixture| overloads(fixture) > before).await;
}

/// Creates and deletes five contenders, again and again.
async fn churn(client: Client) {
    loop {
        let nodes = create(&client, 5).await;
        zk::delete_all(&client, nodes).await;
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn during_a_flood_counts_are_sampled_nothing_is_live_and_the_observer_recovers() {
    let server: Server = Settings::default().heap_mib(1024).start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    create(&client, 3).await;
    let few = observing(connection(&server.connect_string()));
    let options = ObserveOptions { max_backlog: MAX_BACKLOG, ..few };
    let mut fixture = ObserverFixture::of(options);
    fixture.until_contenders(3).await;
    flood(&client, &mut fixture).await;
    fixture.until_contenders(3).await;
    // The first reading after an overload starts at once; the next one after a pause, in which
    // contenders come and go.
    let churn = tokio::spawn(churn(client.clone()));
    flood(&client, &mut fixture).await;
    let goes_on = |fixture: &ObserverFixture| sampled(fixture).is_some_and(|counts| counts.per_second.is_some());
    fixture.until("samples that make a rate", goes_on).await;
    let counts = sampled(&fixture).expect("samples");
    println!("{counts:?}");
    assert!(!fixture.table.is_live(), "samples say nothing of who holds");
    assert!((3..=8).contains(&counts.children) && counts.created > 0 && counts.deleted > 0, "{counts:?}");
    assert!(counts.created.abs_diff(counts.deleted) <= 5, "{counts:?}");
    churn.abort();
    let _ = churn.await;

    fixture.until("the end of it", |fixture| fixture.table.is_live()).await;
    assert_eq!(sampled(&fixture), None, "the queue itself is known again");
    create(&client, 1).await;
    let newest = |fixture: &ObserverFixture| fixture.contenders().len() >= 4;
    fixture.until("who comes afterwards", newest).await;
    fixture.observer.stop().await;
}
