//! A queue is emptied, and its parent removed and created anew, so that the numbers restart. The
//! command never deletes the node of another owner that has the confirmed node's name, whenever
//! that node is created.

use futures::{StreamExt, stream};
use zookeeper_client::{Client, CreateMode};

use super::plans::place;
use crate::harness::relay::{Fault, Passed, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, Running, lockscope};

/// The number of concurrent commands.
const AT_ONCE: usize = 4;

struct Remade {
    relay: Relay,
    folder: tempfile::TempDir,
    lock: String,
    node: String,
    czxid: i64,
    owner: Client,
}

impl Remade {
    async fn new(root: &str, number: usize) -> Self {
        let server = Server::shared().connect_string();
        let lock = format!("{root}/{number}");
        let owner = zk::connect(&server).await;
        zk::make(&owner, [lock.clone()]).await;
        let (stat, _) = queue(&owner, &lock).await;
        let folder = tempfile::tempdir().expect("a folder");
        let node = format!("{lock}/lock-0000000000");
        Self { relay: Relay::start(&server).await, folder, lock, node, czxid: stat.czxid, owner }
    }

    /// Starts the command for exactly this node. The servers are not asked about themselves, since
    /// their four-letter words would be mixed with the requests.
    fn start(&self) -> Running {
        let (connect, log) = (self.relay.connect_string(), self.folder.path().join("log"));
        let (czxid, session) = (self.czxid.to_string(), zk::session_of(&self.owner).to_string());
        let log = log.to_str().expect("text");
        let common = ["delete", &self.node, "--connect", &connect, "--audit-log", log, "--server-view", "off"];
        let exact = ["--yes", "--even-if-live", "--czxid", &czxid, "--session", &session];
        Running::start(lockscope(&[&common[..], &exact].concat()))
    }

    /// Lets another owner take the node's name when the command is at this place. Returns what is
    /// wrong then; `None` also if the command ended before.
    async fn at(&self, other: &Client, at: Place) -> Option<String> {
        self.relay.arm(&[Fault { place: at, then: Then::Stall }]);
        let mut running = self.start();
        eventually("the request", async || if self.relay.stalled() || running.has_ended() { Ok(()) } else { Err(at) })
            .await;
        // Only the command could have deleted the node otherwise.
        let was_there = other.delete(&self.node, None).await.is_ok();
        other.delete(&self.lock, None).await.expect("its parent is empty");
        zk::make(other, [self.lock.clone()]).await;
        let (new, number) = queue(other, &self.lock).await;
        assert_eq!(number, 0, "numbers start anew");
        self.relay.disarm();
        self.relay.resume();
        let Ended { code, out, stderr: reported } = running.ended().await;
        let there = other.check_stat(&self.node).await.expect("an answer").map(|stat| stat.czxid);
        let is_right = there == Some(new.czxid) && (code == Some(0)) != was_there;
        (!is_right).then(|| format!("{at:?}: {there:?}, was there: {was_there}, exit {code:?}, {out} {reported}"))
    }
}

async fn queue(client: &Client, lock: &str) -> (zookeeper_client::Stat, i64) {
    let options = zk::open(CreateMode::EphemeralSequential);
    let created = client.create(&format!("{lock}/lock-"), b"data", &options).await;
    let (stat, number) = created.unwrap_or_else(|error| panic!("{lock}: {error}"));
    (stat, number.into_i64())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_the_same_number_below_a_recreated_parent_lives() {
    let (other, root) = place("remade").await;
    let first = Remade::new(&root, 0).await;
    first.relay.record();
    let ended = first.start().ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sent = first.relay.recorded().into_iter().filter_map(Passed::request).count();
    let moments = (1..=sent).flat_map(|n| [Place::BeforeRequest(n), Place::AfterRequest(n)]);
    let played = stream::iter(moments.enumerate()).map(|(number, at)| {
        let (root, other) = (&root, &other);
        async move { Remade::new(root, number + 1).await.at(other, at).await }
    });
    let wrong: Vec<String> = played.buffered(AT_ONCE).filter_map(async |wrong| wrong).collect().await;
    assert!(
        wrong.is_empty(),
        "another owner's node was deleted, or less was said than the truth:\n{}",
        wrong.join("\n")
    );
}
