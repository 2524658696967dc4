//! The table of recipes, one row each, and the built-in recipes in the notation of the user's own.

use serde::{Deserialize, Serialize};

use super::own::{BadRecipe, Definition, OwnRecipe};
use super::terms::RecipeTraits;
use super::{LockKind, NameRole};

macro_rules! recipes {
    (
        $($(#[$doc:meta])* $recipe:ident { $($traits:tt)* })*
        => $($(#[$later_doc:meta])* $later:ident { $($later_traits:tt)* })*
    ) => {
        /// A lock recipe: which library makes it, and what its names mean.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Recipe {
            $($(#[$doc])* $recipe,)*
            /// One of the user's own recipes.
            // Variants that were added later follow, so that recordings of earlier versions keep
            // their meaning.
            Own(OwnRecipe),
            $($(#[$later_doc])* $later,)*
        }

        impl Recipe {
            /// Every recipe except the user's own.
            pub const ALL: [Self; [$(Self::$recipe,)* $(Self::$later),*].len()] =
                [$(Self::$recipe,)* $(Self::$later),*];

            const fn traits(self) -> RecipeTraits {
                match self {
                    $(Self::$recipe => RecipeTraits { $($traits)* },)*
                    $(Self::$later => RecipeTraits { $($later_traits)* },)*
                    Self::Own(own) => own.traits(),
                }
            }
        }
    };
}

recipes! {
    /// Curator's `InterProcessMutex` and the recipes built on it: `LeaderSelector`,
    /// `InterProcessMultiLock`.
    CuratorMutex { id: "curator-mutex", title: "Curator mutex", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// Curator's `InterProcessReadWriteLock`.
    CuratorReadWrite { id: "curator-read-write", title: "Curator r/w", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`.
    CuratorSemaphore { id: "curator-semaphore", title: "Curator semaph.", kind: LockKind::Semaphore, needs_ephemeral: false }
    /// Curator's `LeaderLatch`.
    CuratorLatch { id: "curator-latch", title: "Curator latch", kind: LockKind::Election, needs_ephemeral: false }
    /// kazoo's `Lock` and `Election`.
    KazooLock { id: "kazoo-lock", title: "kazoo lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// kazoo's `ReadLock` and `WriteLock`.
    KazooReadWrite { id: "kazoo-read-write", title: "kazoo r/w", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// kazoo's `Semaphore`.
    KazooSemaphore { id: "kazoo-semaphore", title: "kazoo semaphore", kind: LockKind::Semaphore, needs_ephemeral: false }
    /// ZooKeeper's own `WriteLock` (Java) and `zoo_lock` (C).
    ZookeeperWriteLock { id: "zookeeper-write-lock", title: "WriteLock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// ZooKeeper's own leader election.
    ZookeeperElection { id: "zookeeper-election", title: "ZK election", kind: LockKind::Election, needs_ephemeral: false }
    /// go-zookeeper's `Lock`.
    GoLock { id: "go-lock", title: "go lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// What earlier versions called a queue of Curator's protected names with another word than
    /// Curator's. It stays for their recordings; no name is read so today.
    RustLock { id: "rust-lock", title: "rust lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// Hive's lock manager.
    Hive { id: "hive", title: "Hive", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// Solr's leader election.
    SolrElection { id: "solr-election", title: "Solr election", kind: LockKind::Election, needs_ephemeral: false }
    /// Hadoop's `ActiveStandbyElector`.
    HadoopElector { id: "hadoop-elector", title: "Hadoop elector", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// Kafka's controller.
    KafkaController { id: "kafka-controller", title: "Kafka controller", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// The queue of ZooKeeper's recipes page.
    TextbookQueue { id: "textbook-queue", title: "queue", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// The textbook queue with the owner's session in the name.
    TextbookSessionQueue { id: "textbook-session-queue", title: "session queue", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// The textbook queue with a name for each of several queues in one parent.
    TextbookNamedQueue { id: "textbook-named-queue", title: "named queue", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// The textbooks' shared lock: read and write requests in one queue.
    TextbookShared { id: "textbook-shared", title: "shared lock", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// A lock that is one ephemeral node.
    SingleNode { id: "single-node", title: "single node", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// Numbered ephemeral nodes that fit no known recipe.
    UnknownQueue { id: "unknown-queue", title: "unknown queue", kind: LockKind::Exclusive, needs_ephemeral: true }
    =>
    /// Accumulo's service locks, by which its servers of one kind elect the active one.
    AccumuloLock { id: "accumulo-lock", title: "Accumulo lock", kind: LockKind::Election, needs_ephemeral: false }
    /// aiozk's and zoonado's `Lock`.
    AiozkLock { id: "aiozk-lock", title: "aiozk lock", kind: LockKind::Exclusive, needs_ephemeral: false }
    /// aiozk's and zoonado's `SharedLock`.
    AiozkReadWrite { id: "aiozk-read-write", title: "aiozk r/w", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// aiozk's and zoonado's `LeaderElection`.
    AiozkElection { id: "aiozk-election", title: "aiozk election", kind: LockKind::Election, needs_ephemeral: false }
    /// Aurora's scheduler.
    AuroraElection { id: "aurora-election", title: "Aurora election", kind: LockKind::Election, needs_ephemeral: true }
    /// `BookKeeper`'s auditor.
    BookkeeperAuditor { id: "bookkeeper-auditor", title: "BK auditor", kind: LockKind::Election, needs_ephemeral: true }
    /// The leader of an `ElasticJob`. Its candidates queue in the latch beside it.
    ElasticJob { id: "elastic-job", title: "ElasticJob", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// The controller of a Helix cluster.
    HelixController { id: "helix-controller", title: "Helix controller", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// Marathon.
    MarathonElection { id: "marathon-election", title: "Marathon", kind: LockKind::Election, needs_ephemeral: true }
    /// The masters of Mesos.
    MesosElection { id: "mesos-election", title: "Mesos election", kind: LockKind::Election, needs_ephemeral: true }
    /// zk-ruby's lockers.
    ZkRubyLock { id: "zk-ruby-lock", title: "zk-ruby lock", kind: LockKind::ReadWrite, needs_ephemeral: false }
    /// zk-ruby's election.
    ZkRubyElection { id: "zk-ruby-election", title: "zk-ruby election", kind: LockKind::Election, needs_ephemeral: false }
    /// Pulsar's leader among its brokers.
    PulsarLeader { id: "pulsar-leader", title: "Pulsar leader", kind: LockKind::SingleNode, needs_ephemeral: true }
    /// The leader latch of the Rust crates zookeeper and zookeeper-async.
    RustLatch { id: "rust-latch", title: "rust latch", kind: LockKind::Election, needs_ephemeral: true }
    /// Vitess' locks of keyspaces and shards.
    VitessLock { id: "vitess-lock", title: "Vitess lock", kind: LockKind::Exclusive, needs_ephemeral: true }
    /// A node whose data is the time until which it is locked: `ShedLock`'s, in a node `shedlock`.
    TimedLock { id: "timed-lock", title: "timed lock", kind: LockKind::SingleNode, needs_ephemeral: false }
}

impl Recipe {
    /// Validates one of the user's own recipes. Equal definitions give one recipe. The names of the
    /// built-in recipes are reserved.
    pub fn define(definition: Definition) -> Result<OwnRecipe, BadRecipe> {
        if Self::ALL.iter().any(|known| known.id() == definition.name) {
            return Err(BadRecipe::Taken(definition.name));
        }
        OwnRecipe::define(definition)
    }

    /// Returns the recipe with that name: a built-in one, or one of the user's own that this
    /// program has read.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().find(|known| known.id() == id).copied().or_else(|| OwnRecipe::named(id).map(Self::Own))
    }

    /// Returns the recipe's position in sorted lists: the built-in families in order, then the
    /// user's own by the first eight bytes of their names.
    pub fn rank(self) -> i64 {
        match self {
            Self::Own(own) => {
                let mut first = [0; 8];
                first.iter_mut().zip(own.traits().id.bytes()).for_each(|(place, byte)| *place = byte);
                // Small letters, digits and dashes only: the number is positive and above every
                // built-in position.
                i64::from_be_bytes(first)
            }
            known => Self::ALL.iter().position(|other| *other == known).map_or(0, |at| i64::try_from(at).unwrap_or(0)),
        }
    }

    /// Returns the name in JSON and on the command line.
    pub fn id(self) -> &'static str {
        self.traits().id
    }

    /// Returns the name for people, at most 16 columns.
    pub fn title(self) -> &'static str {
        self.traits().title
    }

    /// Returns the kind of lock that the recipe makes.
    pub fn kind(self) -> LockKind {
        self.traits().kind
    }

    /// Returns the number of leases of a semaphore whose nodes stand in one queue: the first that
    /// many hold.
    pub fn leases_in_queue(self) -> Option<u32> {
        match self {
            Self::Own(own) => own.definition().leases,
            _ => None,
        }
    }

    /// Returns the key of the owner's name in the JSON of a node, where the recipe writes JSON. Dots
    /// lead into inner objects.
    pub fn name_from(self) -> Option<&'static str> {
        match self {
            Self::Own(own) => own.definition().name_from.as_deref(),
            // `topo.Lock`.
            Self::VitessLock => Some("HostName"),
            // `org.apache.pulsar.broker.loadbalance.LeaderBroker`; older versions wrote only the URL.
            Self::PulsarLeader => Some("brokerId"),
            _ => None,
        }
    }

    /// Returns whether a lease is a node of its own, beside the queue for it.
    pub fn has_lease_nodes(self) -> bool {
        self.kind() == LockKind::Semaphore && self.leases_in_queue().is_none()
    }

    /// Returns whether the recipe is an election: its holder leads for long, and others stand by.
    pub fn is_election(self) -> bool {
        let is_single = matches!(
            self,
            Self::HadoopElector | Self::KafkaController | Self::ElasticJob | Self::HelixController | Self::PulsarLeader
        );
        self.kind() == LockKind::Election || is_single
    }

    /// Returns the recipe that represents all recipes in the same queue. kazoo's `Lock` and
    /// `WriteLock` have the same names, so its read/write lock and its lock are one family. Every
    /// other recipe is its own family.
    #[must_use]
    pub fn family(self) -> Self {
        if self == Self::KazooReadWrite { Self::KazooLock } else { self }
    }

    /// Returns whether only ephemeral nodes are contenders, because the names alone do not tell a
    /// lock from a folder or another numbered node. In the other recipes a persistent node is a
    /// contender too: an orphan, or (Hive) persistent by design.
    pub fn needs_ephemeral(self) -> bool {
        self.traits().needs_ephemeral
    }

    /// Returns whether the library goes on with the first of two nodes of one attempt, and with the
    /// last otherwise.
    ///
    /// A library creates again where it has not found the node of the first create, so it does not
    /// know of that node. Accumulo looks for its nodes after the create instead. It keeps the lowest,
    /// deletes the others, and halts its process when the lowest goes
    /// (`org.apache.accumulo.core.lock.ServiceLock`).
    pub fn keeps_first_of_attempt(self) -> bool {
        self == Self::AccumuloLock
    }

    /// Returns the request that a read request with this node waits for. Every other request waits
    /// for its predecessor.
    pub fn reader_waits_for(self, node: &str) -> WaitRule {
        if self == Self::CuratorReadWrite && !super::terms::is_of_own_lock(node) {
            WaitRule::LowestWriter
        } else {
            WaitRule::NearestWriter
        }
    }
}

/// The request that a reader waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitRule {
    /// The last write request before the reader.
    NearestWriter,
    /// The first write request of the queue, if it is before the reader.
    LowestWriter,
}

/// A recipe as it would be in a config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRecipe {
    /// The name of the recipe.
    pub name: &'static str,
    /// The patterns of the nodes' names. Names of different patterns share one queue. Empty for a
    /// recipe that only recordings of earlier versions have.
    pub patterns: Vec<&'static str>,
    /// The kind of the locks.
    pub kind: LockKind,
    /// The words that `{role}` matches, with their roles.
    pub roles: Vec<(&'static str, NameRole)>,
    /// The number of leases of a semaphore whose nodes stand in one queue.
    pub leases: Option<u32>,
    /// The key of the owner's name in the JSON of a node.
    pub name_from: Option<&'static str>,
    /// Whether the nodes queue for a lock.
    pub lock: bool,
    /// Whether the recipe is one of the user's own.
    pub own: bool,
    /// A fact that the patterns do not show, as part of a sentence.
    pub note: Option<&'static str>,
}

/// Returns a recipe in the notation of the user's own.
pub fn written(recipe: Recipe) -> WrittenRecipe {
    let (patterns, roles): (&'static [&'static str], &'static [(&'static str, NameRole)]) = match recipe {
        Recipe::Own(own) => return written_own(own),
        Recipe::CuratorMutex => (&["_c_{uuid}-lock-{sequence}"], &[]),
        Recipe::CuratorReadWrite => {
            (&["_c_{uuid}-{role}{sequence}"], &[("__READ__", NameRole::Reader), ("__WRIT__", NameRole::Writer)])
        }
        Recipe::CuratorSemaphore => {
            (&["_c_{uuid}-{role}-{sequence}"], &[("lease", NameRole::Lease), ("lock", NameRole::Waiter)])
        }
        Recipe::CuratorLatch => (&["_c_{uuid}-latch-{sequence}"], &[]),
        Recipe::KazooLock => (&["{hex32}__lock__{sequence}"], &[]),
        Recipe::KazooReadWrite => {
            (&["{hex32}{role}{sequence}"], &[("__rlock__", NameRole::Reader), ("__lock__", NameRole::Writer)])
        }
        Recipe::KazooSemaphore => (&["{hex32}", "{hex32}__lock__{sequence}"], &[]),
        Recipe::ZookeeperWriteLock => (&["x-{session}-{sequence}"], &[]),
        Recipe::ZookeeperElection => (&["n_{sequence}", "{uuid}-n_{sequence}", "{hex32}-n_{sequence}"], &[]),
        Recipe::GoLock => (&["_c_{hex32}-lock-{sequence}"], &[]),
        Recipe::RustLock => (&[], &[]),
        Recipe::Hive => (
            &["LOCK-{role}-{sequence}"],
            &[("SHARED", NameRole::Reader), ("SEMI_SHARED", NameRole::Reader), ("EXCLUSIVE", NameRole::Writer)],
        ),
        Recipe::SolrElection => (&["{session}-{text}-n_{sequence}"], &[]),
        Recipe::HadoopElector => (&["ActiveStandbyElectorLock"], &[]),
        Recipe::KafkaController => (&["controller"], &[]),
        Recipe::TextbookQueue => (&["lock-{sequence}", "{uuid}-lock-{sequence}", "{hex32}-lock-{sequence}"], &[]),
        Recipe::TextbookSessionQueue => (&["lock-{session}-{sequence}"], &[]),
        Recipe::TextbookNamedQueue => (&["{lock}_lock_{sequence}"], &[]),
        Recipe::TextbookShared => (
            &["{role}-{sequence}", "{uuid}-{role}-{sequence}", "{hex32}-{role}-{sequence}", "{text}-{role}-{sequence}"],
            &[
                ("read", NameRole::Reader),
                ("R", NameRole::Reader),
                ("r", NameRole::Reader),
                ("write", NameRole::Writer),
                ("W", NameRole::Writer),
                ("w", NameRole::Writer),
            ],
        ),
        Recipe::SingleNode => (&["lock", "mutex", "leader", "master", "active", "controller"], &[]),
        Recipe::AccumuloLock => (&["zlock#{uuid}#{sequence}", "zlock-{sequence}"], &[]),
        Recipe::AiozkLock => (&["lock-{hex32}-{sequence}"], &[]),
        Recipe::AiozkReadWrite => {
            (&["{role}-{hex32}-{sequence}"], &[("read", NameRole::Reader), ("write", NameRole::Writer)])
        }
        Recipe::AiozkElection => (&["candidate-{hex32}-{sequence}"], &[]),
        Recipe::AuroraElection => (&["singleton_candidate_{sequence}"], &[]),
        Recipe::BookkeeperAuditor => (&["V_{sequence}"], &[]),
        Recipe::ElasticJob => (&["instance"], &[]),
        Recipe::HelixController => (&["LEADER"], &[]),
        Recipe::MarathonElection => (&["member_{sequence}"], &[]),
        Recipe::MesosElection => (&["json.info_{sequence}", "info_{sequence}"], &[]),
        Recipe::ZkRubyLock => (&["{role}{sequence}"], &[("sh", NameRole::Reader), ("ex", NameRole::Writer)]),
        Recipe::ZkRubyElection => (&["ballot{sequence}"], &[]),
        Recipe::TimedLock => (&["{text}"], &[]),
        Recipe::PulsarLeader => (&["leader"], &[]),
        Recipe::RustLatch => (&["latch-{text}-{sequence}"], &[]),
        Recipe::VitessLock => (&["{sequence}"], &[]),
        Recipe::UnknownQueue => (&["_c_{uuid}-{lock}{sequence}", "{text}{sequence}", "{sequence}"], &[]),
    };
    WrittenRecipe {
        name: recipe.id(),
        patterns: patterns.to_vec(),
        kind: recipe.kind(),
        roles: roles.to_vec(),
        leases: None,
        name_from: recipe.name_from(),
        lock: true,
        own: false,
        note: note(recipe),
    }
}

fn written_own(own: super::OwnRecipe) -> WrittenRecipe {
    let definition = own.definition();
    WrittenRecipe {
        name: &definition.name,
        patterns: vec![&definition.pattern],
        kind: definition.kind,
        roles: definition.roles.iter().map(|(word, role)| (&**word, *role)).collect(),
        leases: definition.leases,
        name_from: definition.name_from.as_deref(),
        lock: definition.lock,
        own: true,
        note: None,
    }
}

/// Returns the fact that a recipe's patterns do not show.
fn note(recipe: Recipe) -> Option<&'static str> {
    Some(match recipe {
        Recipe::CuratorSemaphore => "leases stand in leases, waiters in locks beside it",
        Recipe::KazooSemaphore => "waiters stand beside the semaphore, in a node whose name ends in -__lock__",
        Recipe::KazooReadWrite => "where no __rlock__ stands beside it, a __lock__ is that of kazoo-lock",
        Recipe::KafkaController => "only as /controller",
        Recipe::BookkeeperAuditor => "only in a node auditorelection",
        Recipe::ElasticJob => "only as leader/election/instance; the candidates queue in leader/election/latch",
        Recipe::HelixController => "only in a node CONTROLLER",
        Recipe::TimedLock => "only in a node shedlock; the data is the time until which it is locked",
        Recipe::MarathonElection => "only in a node leader",
        Recipe::AccumuloLock => "only in a node lock below managers, masters, master, gc, monitor or coordinators",
        Recipe::PulsarLeader => "only in a node loadbalance",
        Recipe::VitessLock => "only in a node locks of a keyspace or a shard",
        Recipe::ZkRubyLock => "only below _zklocking",
        Recipe::ZkRubyElection => "only below _zkelection",
        Recipe::TextbookShared => "a UUID leads only read and write, another text only the single letters",
        Recipe::SingleNode => {
            "in any case, and after -, _ or . at the end of any name; only ephemeral nodes count, and no names that begin with is"
        }
        Recipe::UnknownQueue => "nodes that no other recipe reads; only ephemeral nodes count; the holder is assumed",
        _ => return None,
    })
}
