//! The built-in recipes in the notation of the user's own.

use super::{LockKind, NameRole, Recipe};

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
