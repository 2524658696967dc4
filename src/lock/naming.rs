//! The names of the nodes of a queue, made and read.

use uuid::Uuid;

use super::{Access, Algorithm, LockError};
use lockscope_base::znode::{Sequence, SessionId};

/// The names of a queue's nodes. Locks with the same naming and path share one queue, even if
/// different libraries made them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Naming {
    /// `_c_<UUID>-lock-S`: in one queue with Curator's `InterProcessMutex`, go-zookeeper's and
    /// zookeeper-client's locks and the textbook's `lock-S`. Shared locks as Curator's
    /// `InterProcessReadWriteLock`: `…-__READ__S`, `…-__WRIT__S`. The UUIDs are of version 8, where
    /// Curator's are of version 4.
    #[default]
    Curator,
    /// `<32 hex digits>__lock__S`: in one queue with kazoo's `Lock`, and as shared locks, with
    /// `__rlock__`, with its `ReadLock` and `WriteLock`.
    Kazoo,
    /// `x-<session, signed decimal>-S`: in one queue with the `WriteLock` of ZooKeeper's own
    /// recipes.
    WriteLock,
    /// `lock-<session, hex>-S`; shared locks `<session>-R-S` and `<session>-W-S`.
    Session,
    /// `<name>_lock_S`: one parent holds several locks, each with its own name and queue. The only
    /// names in which nothing but the number differs: where several wait for one of them, a chain
    /// [acquires with one request less](super#costs).
    Named(String),
}

impl Naming {
    /// The namings as [`named`](Self::named) reads them.
    pub const NAMES: [&str; 5] = ["curator", "kazoo", "write-lock", "session", "named:NAME"];

    /// Parses a naming; `None` for any other text.
    ///
    /// ```
    /// # use lockscope_lock::Naming;
    /// assert_eq!(Naming::named("named:db"), Some(Naming::Named("db".to_owned())));
    /// assert_eq!(Naming::named("go"), None);
    /// ```
    pub fn named(text: &str) -> Option<Self> {
        Some(match text {
            "curator" => Self::Curator,
            "kazoo" => Self::Kazoo,
            "write-lock" => Self::WriteLock,
            "session" => Self::Session,
            _ => Self::Named(text.strip_prefix("named:").filter(|name| !name.is_empty())?.to_owned()),
        })
    }

    /// Checks that nodes of a lock with this algorithm can be named so. Sends no request.
    ///
    /// # Errors
    ///
    /// [`LockError::BadOptions`], with the reason, when they cannot: shared locks have the namings
    /// of Curator, kazoo and the session only, semaphores that of Curator only, and a
    /// [`Named`](Self::Named) queue needs a name without slashes.
    pub fn check(&self, algorithm: Algorithm) -> Result<(), LockError> {
        QueueNames::of(self, algorithm).map(drop)
    }
}

/// The request of a node in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NodeMode {
    /// An exclusive lock, or writing in a shared lock.
    Exclusive,
    /// Reading, together with other readers.
    Read,
    /// One of several leases.
    Lease,
}

/// The names of one queue's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueueNames {
    naming: Naming,
    queue: QueueKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueKind {
    Exclusive,
    Shared,
    Leases,
}

impl QueueNames {
    /// Returns the names in an algorithm's queue. For a semaphore that is the queue of its lock,
    /// not its leases.
    pub(super) fn of(naming: &Naming, algorithm: Algorithm) -> Result<Self, LockError> {
        let queue = if algorithm.access().is_some() { QueueKind::Shared } else { QueueKind::Exclusive };
        match (naming, algorithm) {
            (Naming::Named(name), _) if name.is_empty() || name.contains(['/', '\0']) => {
                return Err(LockError::BadOptions("the name of the queue is empty or contains a slash"));
            }
            (Naming::WriteLock | Naming::Named(_), Algorithm::SharedHerd(_) | Algorithm::SharedChain(_)) => {
                return Err(LockError::BadOptions(
                    "shared locks have the names of Curator, of kazoo or of the session",
                ));
            }
            (other, Algorithm::Semaphore(_)) if *other != Naming::Curator => {
                return Err(LockError::BadOptions("semaphores have the names of Curator"));
            }
            _ => {}
        }
        Ok(Self { naming: naming.clone(), queue })
    }

    /// Returns the names of a semaphore's leases.
    pub(super) fn leases() -> Self {
        Self { naming: Naming::Curator, queue: QueueKind::Leases }
    }

    /// Returns the name before the number that the server appends.
    pub(super) fn prefix(&self, mode: NodeMode, id: Uuid, session: SessionId) -> String {
        match (&self.naming, self.queue) {
            (Naming::Curator, QueueKind::Exclusive) => format!("_c_{id}-lock-"),
            (Naming::Curator, QueueKind::Leases) => format!("_c_{id}-lease-"),
            (Naming::Curator, QueueKind::Shared) if mode == NodeMode::Read => format!("_c_{id}-__READ__"),
            (Naming::Curator, QueueKind::Shared) => format!("_c_{id}-__WRIT__"),
            (Naming::Kazoo, _) if mode == NodeMode::Read => format!("{}__rlock__", id.simple()),
            (Naming::Kazoo, _) => format!("{}__lock__", id.simple()),
            (Naming::Session, QueueKind::Shared) if mode == NodeMode::Read => format!("{session}-R-"),
            (Naming::Session, QueueKind::Shared) => format!("{session}-W-"),
            (Naming::Session, _) => format!("lock-{session}-"),
            (Naming::WriteLock, _) => format!("x-{}-", session.0),
            (Naming::Named(name), _) => format!("{name}_lock_"),
        }
    }

    /// Returns whether the names contain the id of the attempt. Otherwise the node's data does.
    pub(super) fn carry_id(&self) -> bool {
        matches!(self.naming, Naming::Curator | Naming::Kazoo)
    }

    /// Returns whether a holder can downgrade from writing to reading, which creates a second node
    /// with the same number.
    pub(super) fn allow_downgrade(&self) -> bool {
        self.queue == QueueKind::Shared
    }

    /// Returns whether the names contain nothing but their number, so that each name follows from
    /// the next.
    pub(super) fn carry_only_numbers(&self) -> bool {
        matches!(self.naming, Naming::Named(_))
    }

    /// Returns the name and the number of the node with the number before this one, in a queue
    /// whose names contain nothing but their number. If that node exists, it is the nearest one in
    /// the queue: no other has a number in between.
    ///
    /// Returns `None` if the names contain more, for the lowest number, and for a name that
    /// [`read`](Self::read) would not accept.
    pub(super) fn name_before(&self, sequence: Sequence) -> Option<(String, Sequence)> {
        let Naming::Named(name) = &self.naming else { return None };
        let before = Sequence(sequence.0.checked_sub(1)?);
        let name = format!("{name}_lock_{before}");
        (self.read(&name) == Some((before, NodeMode::Exclusive))).then_some((name, before))
    }

    /// Reads a child's name; `None` when the child is not in this queue.
    pub(super) fn read(&self, name: &str) -> Option<(Sequence, NodeMode)> {
        let (head, sequence) = Sequence::split(name)?;
        let one_of = |read: &[&str], write: &[&str]| {
            let ends = |marks: &[&str]| marks.iter().any(|mark| head.ends_with(mark));
            if ends(read) { Some(NodeMode::Read) } else { ends(write).then_some(NodeMode::Exclusive) }
        };
        let mode = match (&self.naming, self.queue) {
            (Naming::Curator, QueueKind::Exclusive) => one_of(&[], &["lock-"]),
            (Naming::Curator, QueueKind::Leases) => head.ends_with("lease-").then_some(NodeMode::Lease),
            (Naming::Curator, QueueKind::Shared) => one_of(&["__READ__"], &["__WRIT__"]),
            (Naming::Kazoo, QueueKind::Shared) => one_of(&["__rlock__"], &["__lock__"]),
            (Naming::Kazoo, _) => one_of(&[], &["__lock__"]),
            (Naming::Session, QueueKind::Shared) => one_of(&["-R-", "-r-"], &["-W-", "-w-"]),
            (Naming::Session, _) => head.starts_with("lock-").then_some(NodeMode::Exclusive),
            (Naming::WriteLock, _) => head.starts_with("x-").then_some(NodeMode::Exclusive),
            (Naming::Named(own), _) => (head.strip_suffix("_lock_") == Some(own)).then_some(NodeMode::Exclusive),
        }?;
        Some((sequence, mode))
    }
}

impl From<Access> for NodeMode {
    fn from(access: Access) -> Self {
        match access {
            Access::Read => Self::Read,
            Access::Write => Self::Exclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_base::recipe::{self, Recipe};

    const SESSION: SessionId = SessionId(-0x7eff_fff5_d4c3_bfff);

    fn made(naming: &Naming, algorithm: Algorithm, mode: NodeMode) -> String {
        let names = QueueNames::of(naming, algorithm).expect("the naming fits the algorithm");
        let name = names.prefix(mode, Uuid::from_u128(7), SESSION) + "0000000042";
        assert_eq!(names.read(&name), Some((Sequence(42), mode)), "{name}");
        assert_eq!(
            names.carry_id(),
            recipe::read(&name).expect("a lock's name").attempt.is_some_and(|id| id.len() >= 32)
        );
        name
    }

    #[test]
    fn each_naming_is_read_as_the_recipe_that_it_imitates() {
        let read_write = Algorithm::SharedChain(Access::Write);
        for (naming, algorithm, mode, recipe) in [
            (Naming::Curator, Algorithm::Chain, NodeMode::Exclusive, Recipe::CuratorMutex),
            (Naming::Kazoo, Algorithm::Chain, NodeMode::Exclusive, Recipe::KazooLock),
            (Naming::WriteLock, Algorithm::Chain, NodeMode::Exclusive, Recipe::ZookeeperWriteLock),
            (Naming::Session, Algorithm::Herd, NodeMode::Exclusive, Recipe::TextbookSessionQueue),
            (Naming::Named("red".to_owned()), Algorithm::Chain, NodeMode::Exclusive, Recipe::TextbookNamedQueue),
            (Naming::Curator, read_write, NodeMode::Read, Recipe::CuratorReadWrite),
            (Naming::Curator, read_write, NodeMode::Exclusive, Recipe::CuratorReadWrite),
            (Naming::Kazoo, read_write, NodeMode::Read, Recipe::KazooReadWrite),
            (Naming::Session, read_write, NodeMode::Read, Recipe::TextbookShared),
            (Naming::Session, read_write, NodeMode::Exclusive, Recipe::TextbookShared),
        ] {
            let name = made(&naming, algorithm, mode);
            assert_eq!(recipe::read(&name).map(|child| child.recipe), Some(recipe), "{name}");
        }
        let lease = QueueNames::leases().prefix(NodeMode::Lease, Uuid::from_u128(7), SESSION) + "0000000001";
        assert_eq!(recipe::read(&lease).map(|child| child.recipe), Some(Recipe::CuratorSemaphore));
    }

    #[test]
    fn children_of_other_queues_and_of_no_queue_do_not_count() {
        let queue = |naming: Naming| QueueNames::of(&naming, Algorithm::Chain).expect("the naming fits the algorithm");
        for (naming, other) in [
            (Naming::Curator, "_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566-latch-0000000001"),
            (Naming::Curator, "lock-1"),
            (Naming::Curator, "config"),
            (Naming::Kazoo, "b3a1c2d40f1e4a2b8c3d112233445566__rlock__0000000001"),
            (Naming::Named("red".to_owned()), "blue_lock_0000000001"),
            (Naming::Named("red".to_owned()), "infrared_lock_0000000001"),
            (Naming::WriteLock, "lock-0000000001"),
        ] {
            assert_eq!(queue(naming.clone()).read(other), None, "{naming:?} {other}");
        }
        assert!(queue(Naming::Curator).read("b3a1c2d40f1e4a2b8c3d112233445566-lock-0000000001").is_some());
        assert!(queue(Naming::Curator).read("lock-0000000001").is_some());
    }

    #[test]
    fn the_previous_name_is_known_if_names_contain_only_a_number() {
        let queue = |naming: Naming| QueueNames::of(&naming, Algorithm::Chain).expect("the naming fits the algorithm");
        let red = queue(Naming::Named("red".to_owned()));
        for (number, before) in [
            (1, Some("red_lock_0000000000")),
            (42, Some("red_lock_0000000041")),
            (i32::MAX, Some("red_lock_2147483646")),
            // The number before is the highest one, which comes after all others.
            (i32::MIN, None),
            (i32::MIN + 1, Some("red_lock_-2147483648")),
            (-1_000_000_000, Some("red_lock_-1000000001")),
            // A listing does not accept a negative counter with fewer than ten digits as a number.
            (0, None),
            (-999_999_999, Some("red_lock_-1000000000")),
            (-999_999_998, None),
        ] {
            let known = red.name_before(Sequence(number));
            assert_eq!(known.as_ref().map(|(name, _)| name.as_str()), before, "{number}");
            assert!(known.is_none_or(|(_, before)| before.0 == number - 1 && before.0 < number), "{number}");
        }
        for naming in [Naming::Curator, Naming::Kazoo, Naming::WriteLock, Naming::Session] {
            assert_eq!(queue(naming.clone()).name_before(Sequence(42)), None, "{naming:?}");
        }
    }

    #[test]
    fn names_that_an_algorithm_does_not_have_are_refused() {
        for (naming, algorithm) in [
            (Naming::Named(String::new()), Algorithm::Chain),
            (Naming::Named("a/b".to_owned()), Algorithm::Chain),
            (Naming::WriteLock, Algorithm::SharedChain(Access::Read)),
            (Naming::Kazoo, Algorithm::Semaphore(std::num::NonZeroU32::MIN)),
        ] {
            assert!(matches!(QueueNames::of(&naming, algorithm), Err(LockError::BadOptions(_))), "{naming:?}");
        }
    }
}
