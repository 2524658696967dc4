//! Reads a contender's name: each family of recipes is tried in turn.
//!
//! In the order in which they are tried:
//!
//! - Curator: mutex, read/write lock, latch, lease. Curator protects every create with
//!   `_c_<UUID>-`, which finds the node again when the reply to the create is lost.
//! - kazoo, the Python client: lock, read/write lock. Its names begin with a UUID of 32 hex digits.
//! - The recipes that come with ZooKeeper itself: `WriteLock`, `zoo_lock`, leader election.
//! - Clients and servers with one recipe each: go-zookeeper, Hive, Solr; and protected names that
//!   tell no recipe.
//! - Elections and service locks of Java services, Mesos, Vitess, aiozk, zk-ruby and the Rust crate
//!   zookeeper.
//! - Locks that applications implement after ZooKeeper's page of recipes and the textbooks.
//! - Locks that are one node: the session that creates it holds the lock.

use super::own::OwnRecipe;
use super::{Recipe, RequestMode, terms};
use crate::znode::{Sequence, ZnodePath};

/// Reads the name of a child. Returns `None` if no contender has such a name.
///
/// The name may have any characters and any length. The cost is linear in its length.
///
/// The families try the part before the number in this order, the narrower before the wider:
/// Curator, kazoo, ZooKeeper's own recipes, the other clients and servers, elections, the textbooks.
///
/// A name that none of them knows is an unknown queue, with these exceptions: an item of a work
/// queue (`qn-S`), ClickHouse's `leader_election-S` with its several leaders, and a bare id or
/// number that happens to end in ten digits. A name without a number can be a single node's.
///
/// In an [unknown queue](Recipe::UnknownQueue) and among [single nodes](Recipe::needs_ephemeral)
/// only ephemeral nodes are contenders, which the name does not show.
/// [`Classifier`](super::Classifier) also uses the neighbours and the path.
pub fn read(name: &str) -> Option<ChildName<'_>> {
    let Some((head, sequence)) = Sequence::split(name) else { return read_single(name) };
    let child = read_curator(head)
        .or_else(|| read_kazoo(head))
        .or_else(|| read_zookeeper(head))
        .or_else(|| read_other(head))
        .or_else(|| read_election(head))
        .or_else(|| read_textbook(head))
        .or_else(|| unknown(name, head))?;
    Some(ChildName { sequence: Some(sequence), ..child })
}

fn unknown<'a>(name: &str, head: &str) -> Option<ChildName<'a>> {
    // One random UUID in five hundred ends in ten digits that could be a sequence, and so do many
    // long numbers. Both are common names of registrations.
    let bare = terms::is_guid(name) || (!head.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()));
    let counted = matches!(head, "qn-" | "leader_election-");
    (!bare && !counted).then_some(ChildName::of(Recipe::UnknownQueue, RequestMode::Exclusive))
}

/// The facts in a contender's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName<'a> {
    /// The recipe that creates such names.
    pub recipe: Recipe,
    /// The mode of the request.
    pub mode: RequestMode,
    /// The node's number in the queue; `None` for nodes that the server did not number.
    pub sequence: Option<Sequence>,
    /// The part that names the lock, if one parent can hold several locks.
    pub lock_name: Option<&'a str>,
    /// The id of the attempt, if the name has one: a UUID, 32 hex digits or a session. Two nodes
    /// with one id are one attempt whose reply was lost.
    pub attempt: Option<&'a str>,
}

impl ChildName<'_> {
    /// Creates a name without further facts. The families read the part before the number;
    /// [`read`] adds the number.
    fn of(recipe: Recipe, mode: RequestMode) -> Self {
        Self { recipe, mode, sequence: None, lock_name: None, attempt: None }
    }
}

impl OwnRecipe {
    /// Reads a child's name. Returns `None` if the name does not fit this recipe.
    pub fn read(self, name: &str) -> Option<ChildName<'_>> {
        let (mode, matched) = self.parts(name)?;
        Some(ChildName {
            recipe: Recipe::Own(self),
            mode,
            sequence: matched.sequence,
            lock_name: matched.lock,
            attempt: matched.attempt,
        })
    }
}

/// Reads `_c_<UUID>-lock-S`, `…-__READ__S`, `…-__WRIT__S`, `…-latch-S`, `…-lease-S`.
fn read_curator(head: &str) -> Option<ChildName<'_>> {
    let (attempt, name) = protected(head)?;
    let (recipe, mode) = match name {
        "lock-" => (Recipe::CuratorMutex, RequestMode::Exclusive),
        "__READ__" => (Recipe::CuratorReadWrite, RequestMode::Read),
        "__WRIT__" => (Recipe::CuratorReadWrite, RequestMode::Write),
        "latch-" => (Recipe::CuratorLatch, RequestMode::Exclusive),
        "lease-" => (Recipe::CuratorSemaphore, RequestMode::Lease),
        _ => return None,
    };
    Some(ChildName { attempt: Some(attempt), ..ChildName::of(recipe, mode) })
}

/// Splits a protected name into its UUID and the requested name.
fn protected(head: &str) -> Option<(&str, &str)> {
    let (uuid, rest) = head.strip_prefix("_c_")?.split_at_checked(36)?;
    let name = rest.strip_prefix('-')?;
    terms::is_uuid(uuid).then_some((uuid, name))
}

/// Reads `H__lock__S` (`Lock`, `WriteLock`, `Election`, and the queue of a `Semaphore`) and
/// `H__rlock__S` (`ReadLock`).
///
/// A `Lock` and a `WriteLock` have the same names. A `__lock__` is a write request only if the
/// queue also has an `__rlock__`. The caller that knows the queue decides; this function returns
/// [`RequestMode::Exclusive`].
fn read_kazoo(head: &str) -> Option<ChildName<'_>> {
    let (id, kind) = head.split_at_checked(32)?;
    let (recipe, mode) = match kind {
        "__lock__" => (Recipe::KazooLock, RequestMode::Exclusive),
        "__rlock__" => (Recipe::KazooReadWrite, RequestMode::Read),
        _ => return None,
    };
    terms::is_hex32(id).then_some(ChildName { attempt: Some(id), ..ChildName::of(recipe, mode) })
}

/// Reads `x-<session>-S` (Java's `WriteLock`: signed decimal; C's `zoo_lock`: 16 hex digits), and
/// `n_S` and `<GUID>-n_S` (leader election, as named in its code and on the page of recipes).
fn read_zookeeper(head: &str) -> Option<ChildName<'_>> {
    let (recipe, attempt) = write_lock(head).or_else(|| zookeeper_election(head))?;
    Some(ChildName { attempt, ..ChildName::of(recipe, RequestMode::Exclusive) })
}

fn write_lock(head: &str) -> Option<(Recipe, Option<&str>)> {
    let session = head.strip_prefix("x-")?.strip_suffix('-')?;
    let of_c = session.len() == 16 && session.bytes().all(|byte| byte.is_ascii_hexdigit());
    (of_c || terms::is_decimal_session(session)).then_some((Recipe::ZookeeperWriteLock, Some(session)))
}

fn zookeeper_election(head: &str) -> Option<(Recipe, Option<&str>)> {
    let before = head.strip_suffix("n_")?;
    if before.is_empty() {
        return Some((Recipe::ZookeeperElection, None));
    }
    let guid = before.strip_suffix('-')?;
    terms::is_guid(guid).then_some((Recipe::ZookeeperElection, Some(guid)))
}

/// Reads Go's locks, other protected names, Hive's locks and Solr's election. The caller has tried
/// Curator's own names before.
fn read_other(head: &str) -> Option<ChildName<'_>> {
    go(head).or_else(|| unknown_protected(head)).or_else(|| hive(head)).or_else(|| solr(head))
}

/// Reads `_c_H-lock-S`: protected like Curator's names, but with a UUID without dashes.
fn go(head: &str) -> Option<ChildName<'_>> {
    let id = head.strip_prefix("_c_")?.strip_suffix("-lock-")?;
    terms::is_hex32(id)
        .then_some(ChildName { attempt: Some(id), ..ChildName::of(Recipe::GoLock, RequestMode::Exclusive) })
}

/// Reads `_c_<UUID>-<name>S`: Curator's protection with a name that the application chooses. The
/// Rust crate zookeeper-client makes locks of such names, and applications make registrations of
/// them: nothing tells the two apart. One parent may hold several names, which do not contend.
fn unknown_protected(head: &str) -> Option<ChildName<'_>> {
    let (attempt, name) = protected(head)?;
    Some(ChildName {
        lock_name: Some(name).filter(|name| !name.is_empty()),
        attempt: Some(attempt),
        ..ChildName::of(Recipe::UnknownQueue, RequestMode::Exclusive)
    })
}

/// Reads `LOCK-SHARED-S`, `LOCK-SEMI_SHARED-S` and `LOCK-EXCLUSIVE-S`. A semi-shared lock lets
/// readers in beside it.
fn hive(head: &str) -> Option<ChildName<'_>> {
    let mode = match head {
        "LOCK-SHARED-" | "LOCK-SEMI_SHARED-" => RequestMode::Read,
        "LOCK-EXCLUSIVE-" => RequestMode::Write,
        _ => return None,
    };
    Some(ChildName::of(Recipe::Hive, mode))
}

/// Reads `<session>-<name>-n_S`, the session as a signed decimal. After a lost reply Solr finds its
/// node again by the part before `-n_`.
fn solr(head: &str) -> Option<ChildName<'_>> {
    let id = head.strip_suffix("-n_")?;
    // The first dash may be the session's sign.
    let dash = id.match_indices('-').map(|(at, _)| at).find(|&at| at > 0)?;
    let (session, name) = (id.get(..dash)?, id.get(dash + 1..)?);
    (terms::is_decimal_session(session) && !name.is_empty())
        .then_some(ChildName { attempt: Some(id), ..ChildName::of(Recipe::SolrElection, RequestMode::Exclusive) })
}

/// Reads the names that tell enough by themselves: Aurora's `singleton_candidate_S`, Mesos'
/// `info_S` and `json.info_S`, the Rust crates' `latch-<id>-S`, and aiozk's `<label>-<GUID>-S`.
/// Accumulo's `zlock#<UUID>#S` tells only its library: see [`is_registration`].
fn read_election(head: &str) -> Option<ChildName<'_>> {
    match head {
        "singleton_candidate_" => Some(candidate(Recipe::AuroraElection)),
        "info_" | "json.info_" => Some(candidate(Recipe::MesosElection)),
        _ => accumulo(head).or_else(|| aiozk(head)).or_else(|| rust_latch(head)),
    }
}

fn candidate<'a>(recipe: Recipe) -> ChildName<'a> {
    ChildName::of(recipe, RequestMode::Exclusive)
}

fn accumulo(head: &str) -> Option<ChildName<'_>> {
    let uuid = head.strip_prefix("zlock#")?.strip_suffix('#')?;
    terms::is_uuid(uuid).then_some(ChildName { attempt: Some(uuid), ..candidate(Recipe::AccumuloLock) })
}

/// Reads `latch-<id>-S` of the crates zookeeper and zookeeper-async. The application chooses the id.
fn rust_latch(head: &str) -> Option<ChildName<'_>> {
    let id = head.strip_prefix("latch-")?.strip_suffix('-')?;
    (!id.is_empty()).then_some(candidate(Recipe::RustLatch))
}

fn aiozk(head: &str) -> Option<ChildName<'_>> {
    let (label, id) = head.strip_suffix('-')?.split_once('-')?;
    let (recipe, mode) = match label {
        "lock" => (Recipe::AiozkLock, RequestMode::Exclusive),
        "read" => (Recipe::AiozkReadWrite, RequestMode::Read),
        "write" => (Recipe::AiozkReadWrite, RequestMode::Write),
        "candidate" => (Recipe::AiozkElection, RequestMode::Exclusive),
        _ => return None,
    };
    terms::is_hex32(id).then_some(ChildName { attempt: Some(id), ..ChildName::of(recipe, mode) })
}

/// The services of Accumulo of which one process is active. The others register with the same names
/// of nodes, one parent for each process.
const ACCUMULO_SERVICES: [&str; 6] = ["managers", "masters", "gc", "monitor", "coordinators", "master"];

/// Returns whether a node only registers a server, so that nobody waits for it:
///
/// - Accumulo's tablet servers have a parent each, with the names of its locks.
/// - `member_S` is the default of `Group` in Twitter's commons, by which server sets (Finagle, Aurora)
///   announce themselves. Marathon elects its leader by such a group, which [`read_at`] knows.
pub fn is_registration(path: &ZnodePath, child: &ChildName<'_>) -> bool {
    match child.recipe {
        Recipe::AccumuloLock => path.parent_str().is_none_or(|parent| !is_accumulo_service(parent)),
        Recipe::UnknownQueue => Sequence::split(path.name()).is_some_and(|(head, _)| head == "member_"),
        _ => false,
    }
}

fn is_accumulo_service(parent: &str) -> bool {
    let service = parent.strip_suffix("/lock").and_then(|above| above.rsplit('/').next());
    service.is_some_and(|service| ACCUMULO_SERVICES.contains(&service))
}

/// Reads the names that tell only together with their parent:
///
/// | recipe | node |
/// | --- | --- |
/// | Marathon | `leader/member_S` |
/// | BookKeeper's auditor | `auditorelection/V_S` |
/// | zk-ruby's locks | `_zklocking/<name>/exS`, `shS` |
/// | zk-ruby's election | `_zkelection/<name>/ballotS` |
/// | ElasticJob | `leader/election/instance` |
/// | Helix | `CONTROLLER/LEADER` |
/// | Pulsar | `loadbalance/leader` |
/// | Accumulo before 2.1 | `masters/lock/zlock-S` |
/// | Vitess | `keyspaces/<name>/locks/S`, `keyspaces/<name>/shards/<name>/locks/S` |
/// | ShedLock | `shedlock/<job>` |
pub fn read_at(path: &ZnodePath) -> Option<ChildName<'_>> {
    let mut names = path.as_str().rsplit('/');
    let (name, parent, above) = (names.next()?, names.next()?, names.next());
    let Some((head, sequence)) = Sequence::split(name) else {
        return match (above, parent, name) {
            (Some("leader"), "election", "instance") => Some(candidate(Recipe::ElasticJob)),
            (_, "CONTROLLER", "LEADER") => Some(candidate(Recipe::HelixController)),
            (_, "loadbalance", "leader") => Some(candidate(Recipe::PulsarLeader)),
            (_, "shedlock", _) => Some(candidate(Recipe::TimedLock)),
            _ => None,
        };
    };
    let child = match (above, parent, head) {
        (_, "leader", "member_") => candidate(Recipe::MarathonElection),
        (_, "auditorelection", "V_") => candidate(Recipe::BookkeeperAuditor),
        (Some("_zklocking"), _, "ex") => ChildName::of(Recipe::ZkRubyLock, RequestMode::Write),
        (Some("_zklocking"), _, "sh") => ChildName::of(Recipe::ZkRubyLock, RequestMode::Read),
        (Some("_zkelection"), _, "ballot") => candidate(Recipe::ZkRubyElection),
        (_, "lock", "zlock-") if is_accumulo_service(path.parent_str()?) => candidate(Recipe::AccumuloLock),
        (_, "locks", "") if is_vitess(path.parent_str()?) => candidate(Recipe::VitessLock),
        _ => return None,
    };
    Some(ChildName { sequence: Some(sequence), ..child })
}

/// Returns whether a parent is that of the locks of a keyspace or of a shard. Its nodes have numbers
/// for names.
fn is_vitess(parent: &str) -> bool {
    let mut names = parent.rsplit('/').skip(2);
    let above = (names.next(), names.next(), names.next());
    matches!(above, (Some("keyspaces"), ..) | (Some("shards"), Some(_), Some("keyspaces")))
}

/// Reads `lock-S`, `<GUID>-lock-S`, `lock-<session>-S` and `<name>_lock_S`. For reading and
/// writing: `read-S`, `write-S` (after a GUID or alone), `<host>-R-S`, `<host>-W-S`, also in lower
/// case.
fn read_textbook(head: &str) -> Option<ChildName<'_>> {
    textbook_queue(head).or_else(|| session_queue(head)).or_else(|| named_queue(head)).or_else(|| textbook_shared(head))
}

fn textbook_queue(head: &str) -> Option<ChildName<'_>> {
    after_guid(head, "lock-", ChildName::of(Recipe::TextbookQueue, RequestMode::Exclusive))
}

fn session_queue(head: &str) -> Option<ChildName<'_>> {
    let session = head.strip_prefix("lock-")?.strip_suffix('-')?;
    (terms::is_decimal_session(session) || terms::is_hex_session(session)).then_some(ChildName {
        attempt: Some(session),
        ..ChildName::of(Recipe::TextbookSessionQueue, RequestMode::Exclusive)
    })
}

fn named_queue(head: &str) -> Option<ChildName<'_>> {
    let name = head.strip_suffix("_lock_").filter(|name| !name.is_empty())?;
    Some(ChildName { lock_name: Some(name), ..ChildName::of(Recipe::TextbookNamedQueue, RequestMode::Exclusive) })
}

fn textbook_shared(head: &str) -> Option<ChildName<'_>> {
    for (word, letters, mode) in
        [("read-", ["-R-", "-r-"], RequestMode::Read), ("write-", ["-W-", "-w-"], RequestMode::Write)]
    {
        if let Some(name) = after_guid(head, word, ChildName::of(Recipe::TextbookShared, mode)) {
            return Some(name);
        }
        // A host makes many requests, so its name is not an attempt's id, whatever its format.
        let host = letters.iter().find_map(|letter| head.strip_suffix(letter));
        if host.is_some_and(|host| !host.is_empty()) {
            return Some(ChildName::of(Recipe::TextbookShared, mode));
        }
    }
    None
}

/// Returns `meaning` if `head` is `word` alone or `<GUID>-` and `word`.
fn after_guid<'a>(head: &'a str, word: &str, meaning: ChildName<'a>) -> Option<ChildName<'a>> {
    match head.strip_suffix(word)?.strip_suffix('-') {
        None => (head.len() == word.len()).then_some(meaning),
        Some(guid) => terms::is_guid(guid).then_some(ChildName { attempt: Some(guid), ..meaning }),
    }
}

/// The node of Hadoop's `ActiveStandbyElector` (HDFS name nodes, YARN resource managers).
const HADOOP: &str = "ActiveStandbyElectorLock";

/// The names of single-node locks, or the ends of their names. Service registrations do not use
/// them.
const WORDS: [&str; 6] = ["lock", "mutex", "leader", "master", "active", "controller"];

/// Reads `lock`, `mutex`, `leader`, `master`, `active` and `controller` in any case, alone or after
/// `-`, `_` or `.`, and Hadoop's name.
///
/// A name that begins with `is`, such as ClickHouse's `is_active`, tells the state of its process: each
/// replica has one, and nobody waits for it.
///
/// Only an ephemeral node of such a name is a lock: a persistent `leader` is often a folder.
/// Kafka's controller has a known path rather than a known name, which
/// [`Classifier::classify`](super::Classifier::classify) checks.
fn read_single(name: &str) -> Option<ChildName<'_>> {
    let recipe = if name == HADOOP {
        Recipe::HadoopElector
    } else if WORDS.iter().any(|word| ends_in_word(name, word)) {
        Recipe::SingleNode
    } else {
        return None;
    };
    Some(ChildName::of(recipe, RequestMode::Exclusive))
}

fn ends_in_word(name: &str, word: &str) -> bool {
    let Some(at) = name.len().checked_sub(word.len()) else { return false };
    let Some((before, end)) = name.split_at_checked(at) else { return false };
    let is_state = before.split(['-', '_', '.']).next().is_some_and(|first| first.eq_ignore_ascii_case("is"));
    end.eq_ignore_ascii_case(word) && (before.is_empty() || before.ends_with(['-', '_', '.']) && !is_state)
}
