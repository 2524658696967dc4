//! The node is replaced between the confirmation and each request of the execution: the new one always lives.

use lockscope::admin::Ending;
use zookeeper_client::{Client, CreateMode, Stat};

use super::scene::{carry_out, end_of, log, place, plan};
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// How often at each place.
const ROUNDS: usize = 150;

/// Requests of a deletion whose name may be given again: read, read and write, delete.
const REQUESTS: usize = 4;

/// The write that makes sure of the node: what takes its name just before it may get its data.
const PIN: usize = 3;

struct Track {
    relay: Relay,
    client: Client,
    other: Client,
    audit: lockscope::admin::Audit,
    _folder: tempfile::TempDir,
}

impl Track {
    async fn start() -> Self {
        let server = Server::shared().connect_string();
        let relay = Relay::start(&server).await;
        let client = zk::connect(&relay.connect_string()).await;
        let (folder, audit) = log();
        Self { relay, client, other: zk::connect(&server).await, audit, _folder: folder }
    }

    async fn create(&self, node: &str, data: &[u8]) -> Stat {
        let created = self.other.create(node, data, &zk::open(CreateMode::Ephemeral)).await;
        created.unwrap_or_else(|error| panic!("{node}: {error}")).0
    }

    /// Replaces the node when the execution is at that place; how that ended, and the new node.
    async fn replaced_at(&self, node: &str, at: Place, before: &[u8], after: &[&[u8]]) -> (Ending, Stat) {
        self.create(node, before).await;
        let plan = plan(&self.other, &[node]).await;
        self.relay.arm(&[Fault { place: at, then: Then::Stall }]);
        let executed = end_of(&self.client, plan, &self.audit);
        let replaced = async {
            eventually("the request", async || if self.relay.stalled() { Ok(()) } else { Err(at) }).await;
            match self.other.delete(node, None).await {
                // After the last request it is gone.
                Ok(()) | Err(zookeeper_client::Error::NoNode) => {}
                Err(error) => panic!("{error}"),
            }
            let mut new = self.create(node, after[0]).await;
            for data in &after[1..] {
                new = self.other.set_data(node, data, None).await.expect("its owner writes");
            }
            self.relay.disarm();
            self.relay.resume();
            new
        };
        tokio::join!(executed, replaced)
    }

    async fn check(&self, node: &str, at: Place, after: &[u8], ending: &Ending, new: &Stat) {
        let (data, stat) =
            self.other.get_data(node).await.unwrap_or_else(|error| panic!("{at:?}: the new one: {error}"));
        assert_eq!(stat.czxid, new.czxid, "{at:?}");
        let deleted = Ending::Deleted { window: false };
        match at {
            Place::AfterRequest(REQUESTS) => assert_eq!(*ending, deleted),
            Place::BeforeRequest(PIN) => {
                let overwritten = data != after;
                assert_eq!(*ending, changed(new, overwritten), "{at:?}");
            }
            // The old one is gone, and was deleted by somebody else.
            Place::BeforeRequest(REQUESTS) => assert!(matches!(ending, Ending::Gone | Ending::ChangedHands { .. })),
            _ => assert_eq!(*ending, changed(new, false), "{at:?}"),
        }
        if at != Place::BeforeRequest(PIN) {
            assert_eq!(data, after, "{at:?}: its data are its own");
        }
        self.other.delete(node, None).await.expect("it lives");
    }
}

fn changed(new: &Stat, overwritten: bool) -> Ending {
    Ending::ChangedHands { czxid: lockscope::znode::Zxid(new.czxid), overwritten }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_the_name_meanwhile_lives_whenever_that_is() {
    let (_client, root) = place("race").await;
    let places = (1..=REQUESTS).flat_map(|n| [Place::BeforeRequest(n), Place::AfterRequest(n)]);
    // Between two requests on their way at once there is no reply to wait for.
    let places: Vec<Place> = places.filter(|place| *place != Place::AfterRequest(PIN - 1)).collect();
    let tracks = places.iter().enumerate().map(|(number, at)| {
        let root = &root;
        async move {
            let track = Track::start().await;
            for round in 0..ROUNDS {
                let node = format!("{root}/{number}-{round}.lock");
                // Whoever has the name now may write into its node at once, and so raise the version too.
                let after = [&b"new"[..], b"newer", b"newest"];
                let after = &after[..=round % 3];
                let (ending, new) = track.replaced_at(&node, *at, b"old", after).await;
                track.check(&node, *at, after[round % 3], &ending, &new).await;
            }
        }
    });
    futures::future::join_all(tracks).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_queues_up_anew_is_not_hit_by_the_deletion_of_who_left() {
    let (_client, root) = place("race-queue").await;
    let track = Track::start().await;
    for at in [Place::BeforeRequest(1), Place::AfterRequest(1), Place::BeforeRequest(2)] {
        let queue = |data: &[u8]| {
            let wish = (format!("{root}/lock-"), data.to_vec());
            let other = track.other.clone();
            async move { zk::create_all(&other, CreateMode::EphemeralSequential, [wish]).await.remove(0) }
        };
        let old = queue(b"old").await;
        let plan = plan(&track.other, &[&old]).await;
        track.relay.arm(&[Fault { place: at, then: Then::Stall }]);
        let executed = carry_out(&track.client, plan, &track.audit);
        let replaced = async {
            eventually("the request", async || if track.relay.stalled() { Ok(()) } else { Err(at) }).await;
            track.other.delete(&old, None).await.expect("it was there");
            let new = queue(b"new").await;
            track.relay.disarm();
            track.relay.resume();
            new
        };
        let (outcomes, new) = tokio::join!(executed, replaced);
        assert_eq!(outcomes[0].ending, Ending::Gone, "{at:?}");
        track.other.delete(&new, None).await.expect("the new one lives");
    }
}
