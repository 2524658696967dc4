//! The table of recipes: one row a recipe.

use serde::{Deserialize, Serialize};

use super::own::{BadRecipe, Definition, OwnRecipe};
use super::request::{LockKind, Traits};

macro_rules! recipes {
    ($($(#[$doc:meta])* $recipe:ident { $($traits:tt)* })*) => {
        /// A lock recipe: who made the names, and what they mean.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Recipe {
            $($(#[$doc])* $recipe,)*
            /// One of the user's own.
            // The last, so that recordings of earlier versions mean the same.
            Own(OwnRecipe),
        }

        impl Recipe {
            /// Every recipe but those of the user's own.
            pub const ALL: [Self; [$(Self::$recipe),*].len()] = [$(Self::$recipe),*];

            const fn traits(self) -> Traits {
                match self {
                    $(Self::$recipe => Traits { $($traits)* },)*
                    Self::Own(own) => own.traits(),
                }
            }
        }
    };
}

recipes! {
    /// Curator's `InterProcessMutex`, and what is built on it: `LeaderSelector`, `InterProcessMultiLock`.
    CuratorMutex { id: "curator-mutex", title: "Curator mutex", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// Curator's `InterProcessReadWriteLock`.
    CuratorReadWrite { id: "curator-read-write", title: "Curator r/w", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`.
    CuratorSemaphore { id: "curator-semaphore", title: "Curator semaph.", kind: LockKind::Semaphore, needs_ephemeral: false }
    /// Curator's `LeaderLatch`.
    CuratorLatch { id: "curator-latch", title: "Curator latch", kind: LockKind::Latch, needs_ephemeral: false }
    /// kazoo's `Lock` and `Election`.
    KazooLock { id: "kazoo-lock", title: "kazoo lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// kazoo's `ReadLock` and `WriteLock`.
    KazooReadWrite { id: "kazoo-read-write", title: "kazoo r/w", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// kazoo's `Semaphore`.
    KazooSemaphore { id: "kazoo-semaphore", title: "kazoo semaphore", kind: LockKind::Semaphore, needs_ephemeral: false }
    /// ZooKeeper's own `WriteLock` (Java) and `zoo_lock` (C).
    ZookeeperWriteLock { id: "zookeeper-write-lock", title: "WriteLock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// ZooKeeper's own leader election.
    ZookeeperElection { id: "zookeeper-election", title: "ZK election", kind: LockKind::Latch, needs_ephemeral: false }
    /// go-zookeeper's `Lock`.
    GoLock { id: "go-lock", title: "go lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// The Rust crate zookeeper-client's lock.
    RustLock { id: "rust-lock", title: "rust lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// Hive's lock manager.
    Hive { id: "hive", title: "Hive", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// Solr's leader election.
    SolrElection { id: "solr-election", title: "Solr election", kind: LockKind::Latch, needs_ephemeral: false }
    /// Hadoop's `ActiveStandbyElector`.
    HadoopElector { id: "hadoop-elector", title: "Hadoop elector", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// Kafka's controller.
    KafkaController { id: "kafka-controller", title: "Kafka controller", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// The queue of ZooKeeper's recipes page.
    TextbookQueue { id: "textbook-queue", title: "queue", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// The same with the owner's session in the name.
    TextbookSessionQueue { id: "textbook-session-queue", title: "session queue", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// Several queues in one parent, each with a name.
    TextbookNamedQueue { id: "textbook-named-queue", title: "named queue", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// The shared lock of the textbooks: requests for reading and for writing in one queue.
    TextbookShared { id: "textbook-shared", title: "shared lock", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// One ephemeral node that is the lock.
    SingleNode { id: "single-node", title: "single node", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// Numbered ephemeral nodes that fit no recipe known here.
    UnknownQueue { id: "unknown-queue", title: "unknown queue", kind: LockKind::Exclusive, needs_ephemeral: true }
}

impl Recipe {
    /// Understands a recipe of the user's own. Equal definitions are one recipe; none has the name of one that is known here.
    pub fn define(definition: Definition) -> Result<OwnRecipe, BadRecipe> {
        if Self::ALL.iter().any(|known| known.id() == definition.name) {
            return Err(BadRecipe::Taken(definition.name));
        }
        OwnRecipe::define(definition)
    }

    /// The recipe of that name, also one of the user's own that this program has read; `None` when there is none.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().find(|known| known.id() == id).copied().or_else(|| OwnRecipe::named(id).map(Self::Own))
    }

    /// Its place among all recipes: the families one after the other, then those of the user's own by the beginnings of their names.
    pub fn rank(self) -> i64 {
        match self {
            Self::Own(own) => {
                let mut first = [0; 8];
                first.iter_mut().zip(own.traits().id.bytes()).for_each(|(place, byte)| *place = byte);
                // Small letters, digits and dashes: never negative, and above every position.
                i64::from_be_bytes(first)
            }
            known => Self::ALL.iter().position(|other| *other == known).map_or(0, |at| i64::try_from(at).unwrap_or(0)),
        }
    }

    /// The name in JSON and on the command line.
    pub fn id(self) -> &'static str {
        self.traits().id
    }

    /// The name for people, at most 16 columns.
    pub fn title(self) -> &'static str {
        self.traits().title
    }

    /// Which kind of lock the recipe makes.
    pub fn kind(self) -> LockKind {
        self.traits().kind
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
        self.traits().needs_ephemeral
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
