//! Where test clients contend: in a place of their own, or in the queue of an application, by its own rules.

use std::num::NonZeroU32;

use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_lock::{Access, Algorithm, Naming};
use lockscope_model::queue::LockQueue;

/// Percent of requests for reading that test clients send into a lock with readers.
const READ_PERCENT: u8 = 50;

/// How test clients stand in a queue that is there: in its own place, naming and algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub algorithm: Algorithm,
    pub path: ZnodePath,
    pub naming: Naming,
    /// Percent of the requests that are for reading.
    pub reads: u8,
    /// Whether their names are another library's than the queue's: then the console lists them in a queue of their own.
    pub in_own_queue: bool,
}

/// Why test clients cannot stand in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotJoin {
    /// Leading is not a lock that is passed on.
    #[error(
        "Test clients cannot stand here: whoever is first leads an application, and a test client cannot do its work."
    )]
    Election,
    /// The built-in semaphore has Curator's names.
    #[error("Test clients cannot stand here: they know Curator's semaphore, and this one is kazoo's.")]
    KazooSemaphore,
    /// Hive polls and knows nothing of fairness.
    #[error("Test clients cannot stand here: Hive's locks depend on what is locked above and below them.")]
    Hive,
    /// Names that the built-in locks do not make.
    #[error("Test clients cannot stand here: they cannot make nodes with the names of this queue.")]
    Names,
    /// Nobody knows its rules.
    #[error("Test clients cannot stand here: this queue is of no recipe that is known, so nobody knows its rules.")]
    Unknown,
}

impl Destination {
    /// The place of test clients in this lock's queue.
    pub fn of(lock: &LockQueue) -> Result<Self, CannotJoin> {
        let (algorithm, naming) = match lock.recipe() {
            Recipe::CuratorMutex | Recipe::GoLock | Recipe::TextbookQueue => (Algorithm::Chain, Naming::Curator),
            Recipe::RustLock if every_name(lock, &["lock-"]) => (Algorithm::Chain, Naming::Curator),
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
            Recipe::RustLock | Recipe::TextbookShared => return Err(CannotJoin::Names),
            Recipe::KazooSemaphore => return Err(CannotJoin::KazooSemaphore),
            Recipe::Hive => return Err(CannotJoin::Hive),
            Recipe::UnknownQueue | Recipe::Own(_) => return Err(CannotJoin::Unknown),
            Recipe::CuratorLatch
            | Recipe::ZookeeperElection
            | Recipe::SolrElection
            | Recipe::HadoopElector
            | Recipe::KafkaController => return Err(CannotJoin::Election),
        };
        let reads = if algorithm.access().is_some() { READ_PERCENT } else { 0 };
        let apart = matches!(lock.recipe(), Recipe::GoLock | Recipe::TextbookQueue | Recipe::RustLock);
        Ok(Self { algorithm, path: lock.path().clone(), naming, reads, in_own_queue: apart })
    }

    /// A single node is competed for as it is: at its own path, or as the child `lock` of its parent.
    fn single(node: &ZnodePath) -> Self {
        let (algorithm, path) = match node.parent() {
            Some(parent) if node.name() == "lock" && !parent.is_root() => (Algorithm::MutexParent, parent),
            _ => (Algorithm::Mutex, node.clone()),
        };
        Self { algorithm, path, naming: Naming::default(), reads: 0, in_own_queue: false }
    }
}

/// How many hold a semaphore now: the most that test clients may take for granted.
fn leases(lock: &LockQueue) -> NonZeroU32 {
    u32::try_from(lock.holding()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// Whether there are contenders and each one's name ends so before its number. Work follows the queue.
fn every_name(lock: &LockQueue, ends: &[&str]) -> bool {
    let fits = |node: &str| Sequence::split(node).is_some_and(|(head, _)| ends.iter().any(|end| head.ends_with(end)));
    !lock.is_empty() && lock.rows(0..lock.len()).all(|row| fits(&row.contender.node))
}

/// The name of a queue that may share its parent with others.
fn own_name(lock: &LockQueue) -> Option<String> {
    if let Some(name) = lock.name() {
        return Some(name.to_owned());
    }
    let row = lock.row(0)?;
    let (head, _) = Sequence::split(&row.contender.node)?;
    head.strip_suffix("_lock_").filter(|name| !name.is_empty()).map(str::to_owned)
}
