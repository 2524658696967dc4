//! The program is killed at any point of a deletion. The log is true, and an intent precedes every
//! request that changes something.

use lockscope_live::admin::audit::{AuditHistory, HistoryLimits, read};
use zookeeper_client::{Client, CreateMode};

use super::plans::place;
use crate::harness::relay::{Fault, Passed, Place, Relay, Then, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope};

/// How many of a command's last requests are tried: those of the deletion and some before.
const LAST: usize = 10;

/// How often the last requests are tried, until enough commands were killed at work.
const ROUNDS: usize = 5;

struct Kill {
    relay: Relay,
    folder: tempfile::TempDir,
    node: String,
}

impl Kill {
    /// Uses a lock of its own: other contenders in a queue would be read too, and shift the
    /// requests.
    async fn new(other: &Client, root: &str, number: usize) -> Self {
        let (lock, name) = (format!("{root}/{number}"), "lock-0000000000");
        zk::make(other, [lock.clone()]).await;
        let node = format!("{lock}/{name}");
        other.create(&node, b"data", &zk::open(CreateMode::Persistent)).await.expect("made");
        let relay = Relay::start(&Server::shared().connect_string()).await;
        Self { relay, folder: tempfile::tempdir().expect("a folder"), node }
    }

    /// Starts the command. The servers are not asked about themselves, since their four-letter
    /// words would be mixed with the requests.
    fn start(&self) -> Running {
        let (connect, log) = (self.relay.connect_string(), self.folder.path().join("log"));
        let log = log.to_str().expect("text");
        let common = ["delete", &self.node, "--connect", &connect, "--audit-log", log, "--server-view", "off"];
        Running::start(lockscope(&[&common[..], &["--yes", "--session", "none"]].concat()))
    }

    fn history(&self) -> AuditHistory {
        read(&self.folder.path().join("log"), HistoryLimits::default()).expect("it can be read")
    }

    /// Kills the command when it stalls at this place, if it gets there: the observer beside the
    /// deletion sends a varying number of requests. Returns the log, whether the node exists, and
    /// whether it was written to.
    async fn at(self, other: &Client, at: Place) -> (AuditHistory, bool, bool) {
        self.relay.arm(&[Fault { place: at, then: Then::Stall }]);
        let mut running = self.start();
        let mut comes_there_or_ends =
            async || if self.relay.stalled() || running.has_ended() { Ok(()) } else { Err(at) };
        eventually("the request", &mut comes_there_or_ends).await;
        if !running.has_ended() {
            running.signal("KILL");
        }
        drop(running);
        let stat = other.check_stat(&self.node).await.expect("an answer");
        (self.history(), stat.is_some(), stat.is_none_or(|stat| stat.version > 0))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_command_has_changed_nothing_without_an_intent_on_the_disk() {
    let (other, root) = place("killed").await;
    // The last requests of one run may come before the work of another, which sends a few more.
    let mut without_outcome = 0;
    for round in 0..ROUNDS {
        without_outcome += killed_at_the_last_requests(&other, &format!("{root}/{round}")).await;
        if without_outcome >= 4 {
            return;
        }
    }
    panic!("{without_outcome} were killed at work");
}

/// Kills a command at each of the last requests that another one sent. Returns how many were killed
/// at work.
async fn killed_at_the_last_requests(other: &Client, root: &str) -> usize {
    let first = Kill::new(other, root, 0).await;
    first.relay.record();
    let ended = first.start().ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let sent = first.relay.recorded().into_iter().filter_map(Passed::request).count();
    // The update of the parent's version, and the transaction that deletes.
    assert_eq!(first.relay.requests().get(&op::MULTI), Some(&2));
    let places = (sent.saturating_sub(LAST) + 1..=sent).flat_map(|n| [Place::BeforeRequest(n), Place::AfterRequest(n)]);
    let killed = places.enumerate().map(|(number, at)| async move {
        let kill = Kill::new(other, root, number + 1).await;
        kill.at(other, at).await
    });
    let mut without_outcome = 0;
    for (history, there, written) in futures::future::join_all(killed).await {
        assert_eq!(history.damaged, 0);
        let entry = history.entries.first();
        assert!(entry.is_some() || (there && !written), "changed without an intent");
        let Some(entry) = entry else { continue };
        assert!(entry.intended && entry.subject.owner.is_none());
        // The stall may have hit the observer beside the deletion; then the deletion was done.
        let was_done = entry.outcome.as_ref().is_some_and(|reported| reported.result == "deleted" && !there);
        assert!(entry.outcome.is_none() || was_done, "nobody could have known: {entry:?}");
        without_outcome += usize::from(!was_done);
    }
    without_outcome
}
