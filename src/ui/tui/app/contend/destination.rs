//! Which algorithm and node names test clients use to join the queue of an application.

use std::num::NonZeroU32;

use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_lock::{Access, Algorithm, Naming};
use lockscope_model::queue::LockQueue;

/// The percentage of read requests that test clients make in a read-write lock.
const READ_PERCENT: u8 = 50;

/// The path, node names and algorithm that test clients use to join an existing queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub algorithm: Algorithm,
    pub path: ZnodePath,
    pub naming: Naming,
    /// The percentage of requests that are for reading.
    pub reads: u8,
    /// Whether the clients' node names belong to another library than the queue's. The console then
    /// lists the clients in a separate queue.
    pub in_own_queue: bool,
}

/// The reason why test clients cannot join a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotJoin {
    /// The queue is an election: a test client cannot do the work of a leader.
    #[error("Test clients cannot join here: the holder leads an application, and a test client cannot do its work.")]
    Election,
    /// The queue is kazoo's semaphore; the built-in semaphore uses Curator's node names.
    #[error("Test clients cannot join here: they know Curator's semaphore, and this one is kazoo's.")]
    KazooSemaphore,
    /// The lock is Hive's: its clients poll and do not queue in a fair order.
    #[error("Test clients cannot join here: Hive's locks depend on the locks above and below them.")]
    Hive,
    /// The built-in locks cannot create nodes with the names of this queue.
    #[error("Test clients cannot join here: they cannot create nodes with the names of this queue.")]
    Names,
    /// The queue has no known recipe.
    #[error("Test clients cannot join here: the recipe and the rules of this queue are not known.")]
    Unknown,
}

impl Destination {
    /// Returns how test clients join the queue of this lock.
    pub fn of(lock: &LockQueue) -> Result<Self, CannotJoin> {
        let (algorithm, naming) = match lock.recipe() {
            Recipe::CuratorMutex | Recipe::GoLock | Recipe::TextbookQueue => (Algorithm::Chain, Naming::Curator),
            Recipe::CuratorReadWrite => (Algorithm::SharedChain(Access::Write), Naming::Curator),
            Recipe::CuratorSemaphore => (Algorithm::Semaphore(leases(lock)), Naming::Curator),
            Recipe::KazooLock => (Algorithm::Chain, Naming::Kazoo),
            Recipe::KazooReadWrite => (Algorithm::SharedChain(Access::Write), Naming::Kazoo),
            Recipe::ZookeeperWriteLock => (Algorithm::Chain, Naming::WriteLock),
            Recipe::TextbookSessionQueue => (Algorithm::Chain, Naming::Session),
            Recipe::TextbookNamedQueue => (Algorithm::Chain, Naming::Named(own_name(lock).ok_or(CannotJoin::Names)?)),
            Recipe::TextbookShared if every_name(lock, &["-R-", "-r-", "-W-", "-w-"]) => {
                (Algorithm::SharedChain(Access::Write), Naming::Session)
            }
            Recipe::SingleNode => return Ok(Self::single(lock.path())),
            Recipe::TextbookShared
            | Recipe::AiozkLock
            | Recipe::AiozkReadWrite
            | Recipe::VitessLock
            | Recipe::TimedLock
            | Recipe::ZkRubyLock => return Err(CannotJoin::Names),
            Recipe::KazooSemaphore => return Err(CannotJoin::KazooSemaphore),
            Recipe::Hive => return Err(CannotJoin::Hive),
            Recipe::UnknownQueue | Recipe::RustLock | Recipe::Own(_) => return Err(CannotJoin::Unknown),
            Recipe::CuratorLatch
            | Recipe::ZookeeperElection
            | Recipe::SolrElection
            | Recipe::HadoopElector
            | Recipe::KafkaController
            | Recipe::AccumuloLock
            | Recipe::AiozkElection
            | Recipe::AuroraElection
            | Recipe::BookkeeperAuditor
            | Recipe::ElasticJob
            | Recipe::HelixController
            | Recipe::MarathonElection
            | Recipe::MesosElection
            | Recipe::PulsarLeader
            | Recipe::RustLatch
            | Recipe::ZkRubyElection => return Err(CannotJoin::Election),
        };
        let reads = if algorithm.access().is_some() { READ_PERCENT } else { 0 };
        let apart = matches!(lock.recipe(), Recipe::GoLock | Recipe::TextbookQueue);
        Ok(Self { algorithm, path: lock.path().clone(), naming, reads, in_own_queue: apart })
    }

    /// Returns the destination for a lock that is a single node: the node itself, or the parent of
    /// a node named `lock` below a parent other than the root.
    fn single(node: &ZnodePath) -> Self {
        let (algorithm, path) = match node.parent() {
            Some(parent) if node.name() == "lock" && !parent.is_root() => (Algorithm::MutexParent, parent),
            _ => (Algorithm::Mutex, node.clone()),
        };
        Self { algorithm, path, naming: Naming::default(), reads: 0, in_own_queue: false }
    }
}

/// Returns the number of current holders, at least 1. The semaphore's real limit is unknown, and
/// test clients must not exceed it.
fn leases(lock: &LockQueue) -> NonZeroU32 {
    u32::try_from(lock.holding()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// Returns whether the queue has contenders and each name, without its sequence number, ends with
/// one of `ends`. Linear in the length of the queue.
fn every_name(lock: &LockQueue, ends: &[&str]) -> bool {
    let fits = |node: &str| Sequence::split(node).is_some_and(|(head, _)| ends.iter().any(|end| head.ends_with(end)));
    !lock.is_empty() && lock.rows(0..lock.len()).all(|row| fits(&row.contender.node))
}

/// Returns the name of a queue that may share its parent with other queues. Without a known name,
/// takes it from the first contender's node, `NAME_lock_` and a sequence number.
fn own_name(lock: &LockQueue) -> Option<String> {
    if let Some(name) = lock.name() {
        return Some(name.to_owned());
    }
    let row = lock.row(0)?;
    let (head, _) = Sequence::split(&row.contender.node)?;
    head.strip_suffix("_lock_").filter(|name| !name.is_empty()).map(str::to_owned)
}
