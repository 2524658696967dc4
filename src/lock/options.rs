//! How a lock creates and names its nodes.
//!
//! [`LockOptions`] are the choices of an application; [`Naming`] decides with which libraries a
//! lock shares its queue. `QueueNames` makes the names of one queue's nodes and reads those of
//! others.

use uuid::Uuid;
use zookeeper_client::{Acl, Acls};

use super::{Access, Algorithm, CostCounter, LockError};
use lockscope_terms::trace_context::TraceContext;
use lockscope_terms::znode::{BadPath, Sequence, SessionId, ZnodePath};

/// The handling of parents that do not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parents {
    /// Creates them as container nodes, which the server deletes some time after their last child
    /// is gone. On servers that have no containers the parents are persistent.
    #[default]
    Container,
    /// Creates them as persistent nodes.
    Persistent,
    /// Does not create them: the attempt fails with [`NoParent`](super::LockError::NoParent).
    Required,
}

/// The way in which a lock creates its nodes. By default: Curator's names, no data, all permissions
/// for anyone, parents as containers.
#[derive(Clone, Debug)]
pub struct LockOptions {
    pub(super) naming: Naming,
    data: Vec<u8>,
    trace_context: Option<TraceContext>,
    pub(super) acls: Vec<Acl>,
    pub(super) parents: Parents,
    pub(super) counter: CostCounter,
    pub(super) fence: Result<Option<ZnodePath>, BadPath>,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            naming: Naming::Curator,
            data: Vec::new(),
            trace_context: None,
            acls: Acls::anyone_all().to_vec(),
            parents: Parents::default(),
            counter: CostCounter::default(),
            fence: Ok(None),
        }
    }
}

impl LockOptions {
    /// Sets the names of the nodes in the queue, and so the libraries with which the lock shares
    /// its queue.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// Sets the data of the node, for people to read, such as a host name. With the path and the
    /// ACLs it has at most 1 MiB: [`Lock::with`](super::Lock::with) refuses more, since servers do
    /// by default (`jute.maxbuffer`).
    ///
    /// If the node's name does not contain the id of the attempt (single nodes, and all namings but
    /// Curator's and kazoo's), the id and a space are put in front of the data.
    #[must_use]
    pub fn data(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.data = data.into();
        self
    }

    /// Adds a trace context to the data of the node: by default there is none. `lockscope record
    /// --otlp` then puts the wait and the hold into that trace, below that span, next to the hold
    /// that was waited for.
    ///
    /// The context follows the data as a last word, such as
    /// `traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`: 67 bytes more, a
    /// blank before it, and no further request. A recorder keeps 1,024 bytes of a node's data, so
    /// longer data hide the context from it.
    ///
    /// [`Lock::traced`](super::Lock::traced) sets it for one acquisition.
    #[must_use]
    pub fn trace_context(mut self, context: TraceContext) -> Self {
        self.trace_context = Some(context);
        self
    }

    /// Returns the data and the trace context, as a node has them.
    pub(super) fn node_data(&self) -> Vec<u8> {
        match self.trace_context {
            Some(context) => context.added_to(self.data.clone()),
            None => self.data.clone(),
        }
    }

    /// Sets the ACLs of the nodes that the lock creates, including its parents.
    /// [`Lock::with`](super::Lock::with) refuses an empty list.
    #[must_use]
    pub fn acls(mut self, acls: impl Into<Vec<Acl>>) -> Self {
        self.acls = acls.into();
        self
    }

    /// Returns the maximum size of the request that creates a node, in bytes.
    pub(super) fn create_size(&self, lock: &ZnodePath) -> usize {
        // The bytes of every request and of every ACL, and the bytes that an attempt adds to the
        // path and the data.
        const REQUEST: usize = 256;
        const ACL: usize = 12;
        let name = if let Naming::Named(name) = &self.naming { name.len() } else { 0 };
        let acls: usize = self.acls.iter().map(|acl| ACL + acl.scheme().len() + acl.id().len()).sum();
        REQUEST + lock.as_str().len() + name + self.node_data().len() + acls
    }

    /// Sets the handling of parents that do not exist.
    #[must_use]
    pub fn parents(mut self, parents: Parents) -> Self {
        self.parents = parents;
        self
    }

    /// Sets the fence of [guarded writes](crate#guarded-writes): a node whose data are the highest
    /// token that has written, as a decimal number. All clients of the lock have the same one.
    ///
    /// The first guarded write of a hold raises it, in the same transaction, and creates it as a
    /// persistent node if it is missing. Nobody may delete or lower it: then an earlier holder can
    /// write again. [`Lock::with`](super::Lock::with) refuses it for a lock that is not exclusive.
    #[must_use]
    pub fn fence(mut self, path: &str) -> Self {
        self.fence = ZnodePath::new(path).map(Some);
        self
    }

    /// Counts the cost of the lock with this counter, which other locks may share.
    #[must_use]
    pub fn counter(mut self, counter: CostCounter) -> Self {
        self.counter = counter;
        self
    }
}

/// The names of a queue's nodes. Locks with the same naming and path share one queue, even if
/// different libraries made them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Naming {
    /// `_c_<UUID>-lock-S`: in one queue with Curator's `InterProcessMutex`, go-zookeeper's and
    /// zookeeper-client's locks and the textbook's `lock-S`. Shared locks as Curator's
    /// `InterProcessReadWriteLock`: `…-__READ__S`, `…-__WRIT__S`. The UUIDs are of version 8, where
    /// Curator's are of version 4.
    #[default]
    Curator,
    /// `_c_<UUID>-latch-S`: in one queue with Curator's `LeaderLatch`. For [elections](super::Election).
    Latch,
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
    pub const NAMES: &'static [&'static str] = &["curator", "latch", "kazoo", "write-lock", "session", "named:NAME"];

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
            "latch" => Self::Latch,
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
pub(crate) enum NodeMode {
    /// An exclusive lock, or writing in a shared lock.
    Exclusive,
    /// Reading, together with other readers.
    Read,
    /// One of several leases.
    Lease,
}

/// The names of one queue's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueNames {
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
    pub(crate) fn of(naming: &Naming, algorithm: Algorithm) -> Result<Self, LockError> {
        let queue = if algorithm.access().is_some() { QueueKind::Shared } else { QueueKind::Exclusive };
        match (naming, algorithm) {
            (Naming::Named(name), _) if name.is_empty() || name.contains(['/', '\0']) => {
                return Err(LockError::BadOptions("the name of the queue is empty or contains a slash"));
            }
            (
                Naming::Latch | Naming::WriteLock | Naming::Named(_),
                Algorithm::SharedHerd(_) | Algorithm::SharedChain(_),
            ) => {
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
    pub(crate) fn leases() -> Self {
        Self { naming: Naming::Curator, queue: QueueKind::Leases }
    }

    /// Returns the name before the number that the server appends.
    pub(crate) fn prefix(&self, mode: NodeMode, id: Uuid, session: SessionId) -> String {
        match (&self.naming, self.queue) {
            (Naming::Curator, QueueKind::Exclusive) => format!("_c_{id}-lock-"),
            (Naming::Curator, QueueKind::Leases) => format!("_c_{id}-lease-"),
            (Naming::Curator, QueueKind::Shared) if mode == NodeMode::Read => format!("_c_{id}-__READ__"),
            (Naming::Curator, QueueKind::Shared) => format!("_c_{id}-__WRIT__"),
            (Naming::Latch, _) => format!("_c_{id}-latch-"),
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
    pub(crate) fn carry_id(&self) -> bool {
        matches!(self.naming, Naming::Curator | Naming::Latch | Naming::Kazoo)
    }

    /// Returns whether a holder can downgrade from writing to reading, which creates a second node
    /// with the same number.
    pub(crate) fn allow_downgrade(&self) -> bool {
        self.queue == QueueKind::Shared
    }

    /// Returns whether the names contain nothing but their number, so that each name follows from
    /// the next.
    pub(crate) fn carry_only_numbers(&self) -> bool {
        matches!(self.naming, Naming::Named(_))
    }

    /// Returns the name and the number of the node with the number before this one, in a queue
    /// whose names contain nothing but their number. If that node exists, it is the nearest one in
    /// the queue: no other has a number in between.
    ///
    /// Returns `None` if the names contain more, for the lowest number, and for a name that
    /// [`read`](Self::read) would not accept.
    pub(crate) fn name_before(&self, sequence: Sequence) -> Option<(String, Sequence)> {
        let Naming::Named(name) = &self.naming else { return None };
        let before = Sequence(sequence.0.checked_sub(1)?);
        let name = format!("{name}_lock_{before}");
        (self.read(&name) == Some((before, NodeMode::Exclusive))).then_some((name, before))
    }

    /// Reads a child's name; `None` when the child is not in this queue.
    pub(crate) fn read(&self, name: &str) -> Option<(Sequence, NodeMode)> {
        let (head, sequence) = Sequence::split(name)?;
        let one_of = |read: &[&str], write: &[&str]| {
            let ends = |marks: &[&str]| marks.iter().any(|mark| head.ends_with(mark));
            if ends(read) { Some(NodeMode::Read) } else { ends(write).then_some(NodeMode::Exclusive) }
        };
        let mode = match (&self.naming, self.queue) {
            (Naming::Curator, QueueKind::Exclusive) => one_of(&[], &["lock-"]),
            (Naming::Curator, QueueKind::Leases) => head.ends_with("lease-").then_some(NodeMode::Lease),
            (Naming::Curator, QueueKind::Shared) => one_of(&["__READ__"], &["__WRIT__"]),
            (Naming::Latch, _) => one_of(&[], &["latch-"]),
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
    use lockscope_base::recipe;
    use lockscope_base::recipe::Recipe;

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
            (Naming::Latch, Algorithm::Chain, NodeMode::Exclusive, Recipe::CuratorLatch),
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
