use serde::{Deserialize, Serialize};

/// A lock recipe: who made the names, and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Curator's `InterProcessMutex`, and what is built on it: `LeaderSelector`, `InterProcessMultiLock`.
    CuratorMutex,
    /// Curator's `InterProcessReadWriteLock`.
    CuratorReadWrite,
    /// Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`.
    CuratorSemaphore,
    /// Curator's `LeaderLatch`.
    CuratorLatch,
    /// kazoo's `Lock` and `Election`.
    KazooLock,
    /// kazoo's `ReadLock` and `WriteLock`.
    KazooReadWrite,
    /// kazoo's `Semaphore`.
    KazooSemaphore,
    /// ZooKeeper's own `WriteLock` (Java) and `zoo_lock` (C).
    ZookeeperWriteLock,
    /// ZooKeeper's own leader election.
    ZookeeperElection,
    /// go-zookeeper's `Lock`.
    GoLock,
    /// The Rust crate zookeeper-client's lock.
    RustLock,
    /// Hive's lock manager.
    Hive,
    /// Solr's leader election.
    SolrElection,
    /// Hadoop's `ActiveStandbyElector`.
    HadoopElector,
    /// Kafka's controller.
    KafkaController,
    /// The queue of ZooKeeper's recipes page.
    TextbookQueue,
    /// The same with the owner's session in the name.
    TextbookSessionQueue,
    /// Several queues in one parent, told apart by a name.
    TextbookNamedQueue,
    /// The shared lock of the textbooks: requests for reading and for writing in one queue.
    TextbookShared,
    /// One ephemeral node that is the lock.
    SingleNode,
    /// Numbered ephemeral nodes that fit no recipe known here.
    UnknownQueue,
}

impl Recipe {
    /// Every recipe.
    pub const ALL: [Self; 21] = [
        Self::CuratorMutex,
        Self::CuratorReadWrite,
        Self::CuratorSemaphore,
        Self::CuratorLatch,
        Self::KazooLock,
        Self::KazooReadWrite,
        Self::KazooSemaphore,
        Self::ZookeeperWriteLock,
        Self::ZookeeperElection,
        Self::GoLock,
        Self::RustLock,
        Self::Hive,
        Self::SolrElection,
        Self::HadoopElector,
        Self::KafkaController,
        Self::TextbookQueue,
        Self::TextbookSessionQueue,
        Self::TextbookNamedQueue,
        Self::TextbookShared,
        Self::SingleNode,
        Self::UnknownQueue,
    ];

    /// The name in JSON and on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::CuratorMutex => "curator-mutex",
            Self::CuratorReadWrite => "curator-read-write",
            Self::CuratorSemaphore => "curator-semaphore",
            Self::CuratorLatch => "curator-latch",
            Self::KazooLock => "kazoo-lock",
            Self::KazooReadWrite => "kazoo-read-write",
            Self::KazooSemaphore => "kazoo-semaphore",
            Self::ZookeeperWriteLock => "zookeeper-write-lock",
            Self::ZookeeperElection => "zookeeper-election",
            Self::GoLock => "go-lock",
            Self::RustLock => "rust-lock",
            Self::Hive => "hive",
            Self::SolrElection => "solr-election",
            Self::HadoopElector => "hadoop-elector",
            Self::KafkaController => "kafka-controller",
            Self::TextbookQueue => "textbook-queue",
            Self::TextbookSessionQueue => "textbook-session-queue",
            Self::TextbookNamedQueue => "textbook-named-queue",
            Self::TextbookShared => "textbook-shared",
            Self::SingleNode => "single-node",
            Self::UnknownQueue => "unknown-queue",
        }
    }

    /// The name for people, at most 16 columns.
    pub fn title(self) -> &'static str {
        match self {
            Self::CuratorMutex => "Curator mutex",
            Self::CuratorReadWrite => "Curator r/w",
            Self::CuratorSemaphore => "Curator semaph.",
            Self::CuratorLatch => "Curator latch",
            Self::KazooLock => "kazoo lock",
            Self::KazooReadWrite => "kazoo r/w",
            Self::KazooSemaphore => "kazoo semaphore",
            Self::ZookeeperWriteLock => "WriteLock",
            Self::ZookeeperElection => "ZK election",
            Self::GoLock => "go lock",
            Self::RustLock => "rust lock",
            Self::Hive => "Hive",
            Self::SolrElection => "Solr election",
            Self::HadoopElector => "Hadoop elector",
            Self::KafkaController => "Kafka controller",
            Self::TextbookQueue => "queue",
            Self::TextbookSessionQueue => "session queue",
            Self::TextbookNamedQueue => "named queue",
            Self::TextbookShared => "shared lock",
            Self::SingleNode => "single node",
            Self::UnknownQueue => "unknown queue",
        }
    }

    /// Which kind of lock the recipe makes.
    pub fn kind(self) -> LockKind {
        match self {
            Self::CuratorReadWrite | Self::KazooReadWrite | Self::Hive | Self::TextbookShared => LockKind::ReadWrite,
            Self::CuratorSemaphore | Self::KazooSemaphore => LockKind::Semaphore,
            Self::CuratorLatch | Self::ZookeeperElection | Self::SolrElection => LockKind::Latch,
            Self::HadoopElector | Self::KafkaController | Self::SingleNode => LockKind::SingleNode,
            Self::CuratorMutex
            | Self::KazooLock
            | Self::ZookeeperWriteLock
            | Self::GoLock
            | Self::RustLock
            | Self::TextbookQueue
            | Self::TextbookSessionQueue
            | Self::TextbookNamedQueue
            | Self::UnknownQueue => LockKind::Exclusive,
        }
    }

    /// The recipe that stands for all whose nodes stand in one queue with this one's. kazoo's `Lock` and `WriteLock`
    /// bear the same names, so its read/write lock and its lock are one family; every other recipe is its own.
    #[must_use]
    pub fn family(self) -> Self {
        if self == Self::KazooReadWrite { Self::KazooLock } else { self }
    }

    /// Whether only ephemeral nodes are contenders of this recipe: its names alone do not tell a lock from a folder or
    /// from anything else that is numbered. In the other recipes a node that no session owns is a contender too,
    /// an orphan or (Hive) meant so.
    pub fn needs_ephemeral(self) -> bool {
        matches!(self, Self::SingleNode | Self::HadoopElector | Self::KafkaController | Self::UnknownQueue)
    }

    /// For whom a request for reading waits in this recipe. Every other request waits for its predecessor.
    pub fn reader_waits_for(self) -> WaitRule {
        if self == Self::CuratorReadWrite { WaitRule::LowestWriter } else { WaitRule::NearestWriter }
    }
}

/// Whom a contender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitRule {
    /// The last request for writing before it.
    NearestWriter,
    /// The first request for writing of the queue, when that is before it.
    LowestWriter,
}

/// What a lock grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// One holder.
    Exclusive,
    /// Readers together, or one writer.
    ReadWrite,
    /// Up to a number of leases.
    Semaphore,
    /// One leader; the others stand by.
    Latch,
    /// One node; its waiters are not in the tree.
    SingleNode,
}

/// What a contender asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestMode {
    /// To be alone.
    Exclusive,
    /// To share with other readers.
    Read,
    /// To be alone, in a queue that has readers.
    Write,
    /// One of a semaphore's leases.
    Lease,
}
