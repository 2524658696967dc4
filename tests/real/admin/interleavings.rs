//! A relay stalls, cuts or delays a deletion at each of its requests and replies in turn. At each
//! of these moments the node, or the parent with the node, is recreated by another owner. In every
//! case the new owner's node lives with its data, and the reported outcome claims no less than the
//! truth.
//!
//! `LOCKSCOPE_INTERLEAVINGS=N` plays the whole matrix N times.

use std::time::Duration;

use futures::{StreamExt, stream};
use lockscope_live::admin::{Audit, DeletePlan, Ending, NodeOutcome};
use tokio::sync::Mutex;
use tokio::time::sleep;
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Error, Permission, Stat};

use super::cases::{Case, Meanwhile, Subject, Trouble, cases};
use super::plans::{NODE_TIMEOUT, carry_out_within, guarded, guarded_parent, log, place};
use crate::harness::relay::{Fault, Passed, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The number of cases that run at once.
const TRACKS: usize = 10;

/// How long a node may take when no answer comes.
const HELD: Duration = Duration::from_millis(200);

/// The data of a holder that was asked to release.
const REVOKE: &[u8] = b"__REVOKE__";

/// The data of the confirmed node and of its parent.
const OLD: &[u8] = b"old";
const PARENT: &[u8] = b"10";

/// What another owner has created, and what must exist at the end.
#[derive(Debug, Default)]
struct Others {
    nodes: Vec<(String, i64, Vec<u8>)>,
    /// Whether another client deleted the confirmed node.
    deleted: bool,
    /// Whether the node was marked when another client deleted it.
    marked: bool,
}

struct Interleaving<'a> {
    case: Case,
    other: &'a Client,
    lock: String,
    node: String,
    /// The sequence number of the node.
    number: i64,
}

impl<'a> Interleaving<'a> {
    async fn prepare(case: Case, other: &'a Client, root: &str, index: usize) -> (Self, Stat) {
        let lock = format!("{root}/{index}");
        let mut interleaving =
            Self { case, other, lock, node: String::new(), number: i64::try_from(index % 3).unwrap() };
        interleaving.make_parent(PARENT).await;
        let (node, stat) = interleaving.make_node(OLD).await;
        interleaving.node = node;
        (interleaving, stat)
    }

    /// Creates the parent. In one case it must not be writable.
    async fn make_parent(&self, data: &[u8]) {
        let closed = Permission::READ | Permission::CREATE | Permission::DELETE | Permission::ADMIN;
        let acl = [Acl::new(closed, AuthId::new("world", "anyone"))];
        let acls = if self.case.subject == Subject::ByNode { Acls::new(&acl) } else { Acls::anyone_all() };
        let made = self.other.create(&self.lock, data, &CreateMode::Persistent.with_acls(acls)).await;
        made.unwrap_or_else(|error| panic!("{}: {error}", self.lock));
    }

    /// Creates a node of this kind below a new parent, with the same name each time where names
    /// repeat.
    async fn make_node(&self, data: &[u8]) -> (String, Stat) {
        let create = async |path: String, mode| {
            let created = self.other.create(&path, data, &zk::open(mode)).await;
            let (stat, number) = created.unwrap_or_else(|error| panic!("{path}: {error}"));
            (if mode == CreateMode::EphemeralSequential { format!("{path}{number}") } else { path }, stat)
        };
        match self.case.subject {
            Subject::UniqueName | Subject::Revocation => {
                let id = uuid::Uuid::new_v4();
                create(format!("{}/_c_{id}-lock-", self.lock), CreateMode::EphemeralSequential).await
            }
            Subject::ByParent | Subject::ByNode => {
                let queue = format!("{}/lock-", self.lock);
                for _ in 0..self.number {
                    let (before, _) = create(queue.clone(), CreateMode::EphemeralSequential).await;
                    self.other.delete(&before, None).await.expect("it was made");
                }
                create(queue, CreateMode::EphemeralSequential).await
            }
            Subject::SingleNode => create(format!("{}/lock", self.lock), CreateMode::Ephemeral).await,
            Subject::EmptyParent => {
                let parent = create(format!("{}/empty", self.lock), CreateMode::Persistent).await;
                let child = format!("{}/child", parent.0);
                self.other.create(&child, &[], &zk::open(CreateMode::Persistent)).await.expect("a contender");
                self.other.delete(&child, None).await.expect("it goes");
                parent
            }
        }
    }

    /// Carries out the other owner's actions.
    async fn act(&self) -> Others {
        let mut others = Others::default();
        let (writes, equal) = match self.case.meanwhile {
            Meanwhile::Nothing => return others,
            Meanwhile::Leaves => {
                self.delete(&mut others).await;
                return others;
            }
            Meanwhile::Node { writes, equal } | Meanwhile::Parent { writes, equal } => (writes, equal),
        };
        self.delete(&mut others).await;
        let remade = matches!(self.case.meanwhile, Meanwhile::Parent { .. });
        let own = |old: &[u8], write| if equal { old.to_vec() } else { format!("new-{write}").into_bytes() };
        if remade {
            self.other.delete(&self.lock, None).await.expect("an empty parent");
            self.make_parent(&own(PARENT, 0)).await;
        }
        let (node, mut stat) = self.make_node(&own(OLD, 0)).await;
        if remade && matches!(self.case.subject, Subject::ByParent | Subject::ByNode) {
            assert_eq!(node, self.node, "the same number");
        }
        let writes_parent = remade && self.case.subject != Subject::ByNode;
        let mut parent = self.other.check_stat(&self.lock).await.expect("an answer").expect("a parent");
        for write in 1..=writes {
            stat = self.other.set_data(&node, &own(OLD, write), None).await.expect("its owner writes");
            if writes_parent {
                parent = self.other.set_data(&self.lock, &own(PARENT, write), None).await.expect("a write");
            }
        }
        others.nodes.push((node, stat.czxid, own(OLD, writes)));
        if writes_parent {
            others.nodes.push((self.lock.clone(), parent.czxid, own(PARENT, writes)));
        }
        others
    }

    async fn delete(&self, others: &mut Others) {
        loop {
            // The delete depends on the version that was read, so nobody can mark the node in
            // between.
            let (data, version) = match self.other.get_data(&self.node).await {
                Ok((data, stat)) => (data, stat.version),
                Err(Error::NoNode) => return,
                Err(error) => panic!("{}: {error}", self.node),
            };
            match self.other.delete(&self.node, Some(version)).await {
                Ok(()) => return (others.deleted, others.marked) = (true, data == REVOKE),
                Err(Error::NoNode) => return,
                Err(Error::BadVersion) => {}
                Err(error) => panic!("{}: {error}", self.node),
            }
        }
    }

    /// Runs a deletion with its trouble. Returns the outcome and the actions of others.
    async fn run(&self, plan: DeletePlan, audit: &Audit) -> (NodeOutcome, Others) {
        let relay = Relay::start(&Server::shared().connect_string()).await;
        let session = zk::connect(&relay.connect_string()).await;
        match self.case.trouble {
            Trouble::Stop(place) | Trouble::Hold(place) => relay.arm(&[Fault { place, then: Then::Stall }]),
            Trouble::Drop(place) => relay.arm(&[Fault { place, then: Then::Bar }]),
            Trouble::StopAndDrop(n) => {
                relay.arm(&[Fault { place: Place::BeforeRequest(n), then: Then::StallAndLose }]);
            }
            Trouble::StopAndDropNext(n) => relay.arm(&[
                Fault { place: Place::BeforeRequest(n), then: Then::Stall },
                Fault { place: Place::AfterRequest(n + 1), then: Then::Cut },
            ]),
            Trouble::Delay(_) => {
                relay.record();
                relay.delay(Duration::from_millis(4));
            }
        }
        let log = audit.clone();
        let patience = if matches!(self.case.trouble, Trouble::Hold(_)) { HELD } else { NODE_TIMEOUT };
        let executed = tokio::spawn(async move { carry_out_within(patience, session, plan, &log).await.remove(0) });
        let struck = || match self.case.trouble {
            Trouble::Stop(_) | Trouble::Hold(_) | Trouble::StopAndDrop(_) | Trouble::StopAndDropNext(_) => {
                relay.stalled()
            }
            Trouble::Drop(_) => relay.refuses() && relay.live() == 0,
            Trouble::Delay(n) => relay.recorded().into_iter().filter_map(Passed::request).count() >= n,
        };
        while !struck() && !executed.is_finished() {
            sleep(Duration::from_millis(1)).await;
        }
        let is_timed = matches!(self.case.trouble, Trouble::Delay(_) | Trouble::Hold(_));
        assert!(!executed.is_finished() || is_timed, "{:?} struck", self.case);
        if matches!(self.case.trouble, Trouble::Hold(_)) {
            // Requests that are let through after the outcome must not make it untrue.
            let outcome = executed.await.expect("it ends");
            let others = self.act().await;
            relay.resume();
            eventually("the end of what was held", async || if relay.live() == 0 { Ok(()) } else { Err(self.case) })
                .await;
            return (outcome, others);
        }
        let others = self.act().await;
        if matches!(self.case.trouble, Trouble::Stop(_)) {
            relay.disarm();
        }
        relay.resume();
        relay.heal();
        (executed.await.expect("it ends"), others)
    }

    /// Returns the faults: one about other owners' nodes, and one about the reported outcome.
    async fn faults(&self, before: &Stat, outcome: &NodeOutcome, others: &Others) -> (Option<String>, Option<String>) {
        let ended = &outcome.ending;
        let found = |wrong: String| Some(format!("{:?}: {wrong}, but {outcome:?}, {others:?}", self.case));
        let mut wrong = None;
        for (path, czxid, data) in &others.nodes {
            match self.other.get_data(path).await {
                Ok((found, stat)) if stat.czxid == *czxid && (found == *data || outcome.overwritten) => {}
                seen => wrong = found(format!("{path} is another owner's, and there is {seen:?}")),
            }
        }
        let there = self.other.get_data(&self.node).await.ok().filter(|(_, stat)| stat.czxid == before.czxid);
        let is_asked = self.case.subject == Subject::Revocation;
        let ours = match &there {
            _ if is_asked => others.marked || there.as_ref().is_some_and(|(data, _)| data == REVOKE),
            there => there.is_none() && !others.deleted,
        };
        let in_doubt = matches!(ended, Ending::NotKnown { .. });
        let answered = matches!(self.case.trouble, Trouble::Stop(_) | Trouble::Delay(_));
        let less = if ours && !ended.is_done() && !in_doubt {
            found("it was done".to_owned())
        } else if !ours && ended.is_done() {
            found("it was not done".to_owned())
        } else if in_doubt && answered {
            found("every reply came".to_owned())
        } else if self.lost_trace(before, outcome).await {
            found("a version was raised".to_owned())
        } else {
            None
        };
        (wrong, less)
    }

    /// Returns whether the outcome fails to mention that it raised the version of the node or its
    /// parent without a deletion.
    async fn lost_trace(&self, before: &Stat, outcome: &NodeOutcome) -> bool {
        if outcome.ending.is_done() || outcome.raised.is_some() || self.case.subject == Subject::Revocation {
            return false;
        }
        let stat = async |path: &str| self.other.check_stat(path).await.expect("an answer");
        let node = stat(&self.node).await.is_some_and(|now| now.czxid == before.czxid && now.version > 0);
        let parent = stat(&self.lock).await.is_some_and(|now| now.czxid < before.czxid && now.version > 0);
        node || parent
    }
}

/// The faults found in all interleavings.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    less: Vec<String>,
    not_known: usize,
    overwritten: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recreated_node_always_lives_and_no_outcome_claims_less_than_the_truth() {
    let times = std::env::var("LOCKSCOPE_INTERLEAVINGS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let (_client, root) = place("interleavings").await;
    let (_folder, audit) = log();
    let clients = stream::iter(0..TRACKS)
        .then(|_| async { zk::connect(&Server::shared().connect_string()).await })
        .collect::<Vec<_>>()
        .await;
    let free = Mutex::new(clients);
    let found: Mutex<Found> = Mutex::default();
    let all = (0..times).flat_map(|_: usize| cases()).enumerate().collect::<Vec<_>>();
    let count = all.len();
    stream::iter(all)
        .for_each_concurrent(TRACKS, |(index, case)| {
            let (free, found, root, audit) = (&free, &found, &root, &audit);
            async move {
                let other = free.lock().await.pop().expect("one for each track");
                let (turn, before) = Interleaving::prepare(case, &other, root, index).await;
                let plan = match case.subject {
                    Subject::EmptyParent => guarded_parent(&other, &turn.node).await,
                    _ => guarded(&other, &[&turn.node]).await,
                };
                let guard = plan.nodes()[0].guard;
                assert!(guard.is_some_and(|guard| case.subject.is_guarded_by(guard)), "{case:?} {guard:?}");
                let revocation = (case.subject == Subject::Revocation).then(|| plan.revocation().expect("revocable"));
                let (outcome, others) = turn.run(revocation.unwrap_or(plan), audit).await;
                let (deleted, less) = turn.faults(&before, &outcome, &others).await;
                let mut found = found.lock().await;
                found.wrong.extend(deleted);
                found.less.extend(less);
                found.not_known += usize::from(matches!(outcome.ending, Ending::NotKnown { .. }));
                found.overwritten += usize::from(outcome.overwritten);
                drop(found);
                free.lock().await.push(other);
            }
        })
        .await;
    let Found { wrong, less, not_known, overwritten } = found.into_inner();
    println!(
        "{count} interleavings, {} wrong nodes deleted, {} outcomes that say less than the truth ({not_known} not known, \
         {overwritten} said to be overwritten)",
        wrong.len(),
        less.len()
    );
    assert!(count >= 2_000, "{count}");
    assert!(wrong.is_empty() && less.is_empty(), "{wrong:#?}\n{less:#?}");
}
