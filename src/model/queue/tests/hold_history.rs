//! A tree with its history: the stats that a server keeps, and the true holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::queue::{Change, ContenderState, LockQueue, LockTable};
use crate::server_view::{Listing, MemberView, ServerView, four_letter};
use crate::testing::{deleted, path, table, uuid};
use lockscope_base::recipe::{Classifier, LockKind};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The time from the start of connecting to the connection, and from the connection to the answer
/// about it.
const ANSWER_MS: i64 = 150;

/// Parents that are deleted when they are empty, and recreated.
const CONTAINERS: [&str; 6] = ["/c", "/rw", "/k", "/n", "/s/locks", "/w"];

/// How late a time by the server's clock may be when the clocks differ.
const LATE_MS: i64 = 1_000;

/// A lock, and one of its nodes.
type Hold = (ZnodePath, Option<String>, Zxid);

/// A tree with its history: the stats that a server keeps, and the true holds.
#[derive(Clone, Debug)]
pub struct History {
    pub nodes: BTreeMap<ZnodePath, ZnodeStat>,
    /// The number of children that each parent ever had.
    made: BTreeMap<ZnodePath, i32>,
    zxid: i64,
    /// The current time by the server's clock.
    pub now: Timestamp,
    /// How far the console's clock is ahead, in milliseconds.
    pub ahead: i64,
    held_since: BTreeMap<Hold, Timestamp>,
    /// When each lock was last acquired or released.
    handed_on: BTreeMap<(ZnodePath, Option<String>), Timestamp>,
    /// When a child of each parent was last deleted.
    deleted: BTreeMap<ZnodePath, Timestamp>,
}

impl History {
    pub fn new() -> Self {
        let now = Timestamp(1_000_000);
        Self {
            nodes: BTreeMap::new(),
            made: BTreeMap::new(),
            zxid: 100,
            now,
            ahead: 0,
            held_since: BTreeMap::new(),
            handed_on: BTreeMap::new(),
            deleted: BTreeMap::new(),
        }
    }

    pub fn create(&mut self, at: &ZnodePath, owner: Option<i64>) {
        if self.nodes.contains_key(at) {
            return;
        }
        if let Some(parent) = at.parent().filter(|parent| !parent.is_root()) {
            self.create(&parent, None);
        }
        self.zxid += 1;
        let stat = ZnodeStat::of_new(Zxid(self.zxid), self.now, owner.map(SessionId));
        self.nodes.insert(at.clone(), stat);
        let Some(parent) = at.parent() else { return };
        *self.made.entry(parent.clone()).or_default() += 1;
        self.child_changed(&parent, 1);
    }

    pub fn create_numbered(&mut self, prefix: &str, owner: i64) -> ZnodePath {
        let parent = path(prefix).parent().expect("below the root");
        self.create(&parent, None);
        let number = self.made.get(&parent).copied().unwrap_or_default();
        let at = path(&format!("{prefix}{number:010}"));
        self.create(&at, Some(owner));
        at
    }

    pub fn delete(&mut self, at: &ZnodePath) {
        self.zxid += 1;
        self.nodes.remove(at);
        self.made.remove(at);
        let parent = at.parent().expect("below the root");
        self.child_changed(&parent, -1);
        self.deleted.insert(parent, self.now);
    }

    fn child_changed(&mut self, parent: &ZnodePath, by: i32) {
        let made = self.made.get(parent).copied().unwrap_or_default();
        if let Some(stat) = self.nodes.get_mut(parent) {
            stat.pzxid = Zxid(self.zxid);
            stat.num_children += by;
            stat.cversion = made * 2 - stat.num_children;
        }
    }

    /// Returns the session at the head of a semaphore's queue, unless it has a lease.
    fn without_lease(&self, queue: &str, leases: &str) -> Option<i64> {
        let below = |parent: &str| {
            let parent = path(parent);
            self.nodes.iter().filter(move |(at, _)| at.parent().is_some_and(|above| above == parent))
        };
        let (_, head) = below(queue).min_by_key(|(_, stat)| stat.czxid)?;
        let owner = head.ephemeral_owner?;
        let has_one = below(leases).any(|(_, lease)| lease.ephemeral_owner == Some(owner));
        (!has_one).then_some(owner.0)
    }

    pub fn observed(&self, at: &ZnodePath) -> Change {
        match self.nodes[at] {
            stat if Classifier::is_hint(at) && stat.ephemeral_owner.is_none() => Change::Appeared { path: at.clone() },
            stat => Change::Seen { path: at.clone(), node: Node { stat, data: NodeData::keep(b"") } },
        }
    }

    /// Returns the current time by the console's clock.
    pub fn ours(&self) -> Timestamp {
        Timestamp(self.now.0 + self.ahead)
    }

    /// Returns what the server reports about the console's new connection.
    fn surveyed(&self) -> Change {
        let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid=0x9,est={},to=4000,lresp=9)\n\n", self.now.0);
        let answered = Timestamp(self.ours().0 + ANSWER_MS);
        let member = MemberView {
            connections: Some(Listing::new(four_letter::cons(&line).with_session, true, answered)),
            answered_at: Some(answered),
            ..MemberView::unasked("zk1:2181".to_owned())
        };
        let (own_session, own_session_since) = (Some(SessionId(9)), Some(Timestamp(self.ours().0 - ANSWER_MS)));
        let view = ServerView { members: vec![member], own_session, own_session_since, ..ServerView::default() };
        Change::Surveyed { view: Arc::new(view) }
    }

    /// Returns the table of a console that starts now.
    pub fn first_look(&self) -> LockTable {
        let parents = self.nodes.iter().filter(|(_, stat)| stat.num_children > 0);
        let listed = parents.map(|(at, stat)| Change::Listed { path: at.clone(), stat: *stat });
        let (hints, others): (Vec<_>, Vec<_>) = self.nodes.keys().partition(|at| Classifier::is_hint(at));
        let owned = others.into_iter().filter(|at| self.nodes[*at].ephemeral_owner.is_some());
        let read = hints.into_iter().chain(owned).map(|at| self.observed(at));
        let mut table = table(listed.chain(read), self.ours());
        if self.ahead != 0 {
            table.apply(self.surveyed(), self.ours());
        }
        table
    }

    /// Updates the true holds.
    fn settle(&mut self) {
        let table = self.first_look();
        let holds: Vec<Hold> = table.locks().flat_map(|lock| holders(lock).collect::<Vec<_>>()).collect();
        let (now, before) = (self.now, std::mem::take(&mut self.held_since));
        let gone = before.keys().filter(|hold| !holds.contains(hold));
        let came = holds.iter().filter(|hold| !before.contains_key(hold));
        for (lock, name, _) in gone.chain(came) {
            self.handed_on.insert((lock.clone(), name.clone()), now);
        }
        self.held_since =
            holds.into_iter().map(|hold| (hold.clone(), before.get(&hold).copied().unwrap_or(now))).collect();
    }

    fn check(&self, table: &LockTable, first: bool) -> Result<(), TestCaseError> {
        // Only history tells which of two threads of one session owns a lease. A later observer
        // cannot.
        for lock in table.locks().filter(|lock| first || lock.kind() != LockKind::Semaphore) {
            for hold in holders(lock) {
                let row = lock.rows(0..lock.len()).find(|row| row.contender.czxid == hold.2).expect("it holds");
                let truth = self.now.since(self.held_since[&hold]);
                let bounds = table.clock().hold_bounds(row.contender, self.ours()).expect("it holds");
                // Even an exact bound may be off by a clock difference that was taken for a
                // message's travel time.
                let slack = Duration::from_secs(u64::from(self.ahead != 0 && bounds.is_exact()));
                let (at_least, at_most) = (bounds.at_least.saturating_sub(slack), bounds.at_most + slack);
                prop_assert!(at_least <= truth && truth <= at_most, "{:?} {:?}, in truth {:?}", hold, bounds, truth);
            }
            let since = table.clock().no_handover_since(lock);
            prop_assert_eq!(since.is_some(), lock.holding() > 0);
            if let Some(since) = since {
                let truth = self.handed_on[&(lock.path().clone(), label(lock))];
                let latest = Timestamp(self.now.0 + if self.ahead == 0 { 0 } else { LATE_MS });
                prop_assert!(truth <= since && since <= latest, "{} {:?} {:?}", lock.path(), since, truth);
            }
        }
        Ok(())
    }

    /// Checks that the bound reaches back to the newest contender if no child was deleted since.
    fn check_tight(&self, table: &LockTable) -> Result<(), TestCaseError> {
        for lock in table.locks().filter(|lock| !matches!(lock.kind(), LockKind::Semaphore | LockKind::SingleNode)) {
            let all = table.locks().filter(|other| other.path() == lock.path());
            let newest = all.flat_map(|lock| lock.rows(0..lock.len())).map(|row| row.contender.created_at).max();
            let (Some(newest), Some(holder)) = (newest, lock.first_holder()) else { continue };
            // Children that are no contenders are not read, so the time of the last change is
            // unknown then.
            let strangers = self.nodes.iter().filter(|(at, _)| at.name() == "notes" && at.is_within(lock.path()));
            let stranger = strangers.map(|(_, stat)| stat.ctime).max();
            if self.deleted.get(lock.path()).copied().max(stranger).is_some_and(|changed| changed >= newest) {
                continue;
            }
            let bounds = table.clock().hold_bounds(holder, self.now).expect("it holds");
            prop_assert!(bounds.at_least >= self.now.since(newest), "{} {:?}", lock.path(), bounds);
        }
        Ok(())
    }
}

fn label(lock: &LockQueue) -> Option<String> {
    (lock.kind() != LockKind::SingleNode).then(|| lock.label().to_owned())
}

fn holders(lock: &LockQueue) -> impl Iterator<Item = Hold> + '_ {
    let holds = lock.rows(0..lock.len()).filter(|row| row.state == ContenderState::Holds);
    holds.map(|row| (lock.path().clone(), label(lock), row.contender.czxid))
}

#[derive(Clone, Debug)]
pub enum Step {
    Create {
        place: usize,
        session: i64,
    },
    Delete(prop::sample::Index),
    Pass(u16),
    /// The server deletes the empty containers.
    Reap,
}

pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..13_usize, 1..5_i64).prop_map(|(place, session)| Step::Create { place, session }),
        4 => any::<prop::sample::Index>().prop_map(Step::Delete),
        2 => (0..30_000_u16).prop_map(Step::Pass),
        1 => Just(Step::Reap),
    ];
    prop::collection::vec(step, 1..most)
}

/// Takes a step. Returns the changes that an observer would send.
fn apply_step(history: &mut History, step: &Step, serial: u32) -> Vec<Change> {
    history.now = history.now.plus(Duration::from_millis(7));
    let changes = match step {
        Step::Create { place, session } => create(history, *place, *session, serial),
        Step::Delete(which) => {
            let owned = history.nodes.iter().filter(|(_, stat)| stat.ephemeral_owner.is_some());
            let owned: Vec<ZnodePath> = owned.map(|(at, _)| at.clone()).collect();
            if owned.is_empty() {
                return Vec::new();
            }
            let at = which.get(&owned).clone();
            history.delete(&at);
            vec![deleted(&at)]
        }
        Step::Reap => {
            let empty =
                history.nodes.iter().filter(|(at, stat)| CONTAINERS.contains(&at.as_str()) && stat.num_children == 0);
            let empty: Vec<ZnodePath> = empty.map(|(at, _)| at.clone()).collect();
            for at in &empty {
                history.delete(at);
            }
            empty.iter().map(deleted).collect()
        }
        Step::Pass(millis) => {
            history.now = history.now.plus(Duration::from_millis((*millis).into()));
            Vec::new()
        }
    };
    history.settle();
    changes
}

fn create(history: &mut History, place: usize, session: i64, serial: u32) -> Vec<Change> {
    let (hex, uuid) = (format!("{serial:032x}"), uuid(serial));
    // Only history tells which of two threads of one session owns a lease, so each has its own
    // session here. Only the head of the queue creates a lease.
    let session = match place {
        6 | 8 => Some(1_000 + i64::from(serial)),
        7 => history.without_lease("/s/locks", "/s/leases"),
        12 => history.without_lease("/p-__lock__", "/p"),
        _ => Some(session),
    };
    let Some(session) = session else { return Vec::new() };
    let prefix = match place {
        0 => format!("/c/_c_{uuid}-lock-"),
        1 => format!("/rw/_c_{uuid}-__READ__"),
        2 => format!("/rw/_c_{uuid}-__WRIT__"),
        3 => format!("/k/{hex}__lock__"),
        4 => format!("/k/{hex}__rlock__"),
        5 => format!("/n/{}_lock_", ["red", "blue"][serial as usize % 2]),
        6 => format!("/s/locks/_c_{uuid}-lock-"),
        7 => format!("/s/leases/_c_{uuid}-lease-"),
        8 => format!("/p-__lock__/{hex}__lock__"),
        9 => "/w/x-17-".to_owned(),
        // A node that is no contender.
        10 => "/c/notes".to_owned(),
        11 => "/x/lock".to_owned(),
        _ => format!("/p/{hex}"),
    };
    let before: Vec<ZnodePath> = history.nodes.keys().cloned().collect();
    match place {
        // The semaphores' parents exist before their first contender.
        10..=12 => history.create(&path(&prefix), Some(session)),
        _ => {
            history.create_numbered(&prefix, session);
        }
    }
    let made = history.nodes.keys().filter(|at| !before.contains(at));
    let reported = made.filter(|at| Classifier::is_hint(at) || history.nodes[*at].ephemeral_owner.is_some());
    reported.filter(|at| at.name() != "notes").map(|at| history.observed(at)).collect()
}

pub fn begin() -> History {
    let mut history = History::new();
    for parent in ["/s/leases", "/s/locks", "/p-__lock__", "/p"] {
        history.create(&path(parent), None);
    }
    history
}

impl History {
    pub fn take_all(&mut self, steps: &[Step]) {
        for (serial, step) in (0_u32..).zip(steps) {
            apply_step(self, step, serial);
        }
    }

    /// Starts a console now that watches these steps.
    pub fn watch(&mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        let mut table = self.first_look();
        self.check(&table, true)?;
        if self.ahead == 0 {
            self.check_tight(&table)?;
        }
        for (serial, step) in (1_000_u32..).zip(steps) {
            for change in apply_step(self, step, serial) {
                table.apply(change, self.ours());
            }
            self.check(&table, false)?;
        }
        Ok(())
    }
}
