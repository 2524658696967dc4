//! Elections and service locks of Java services, Mesos, Vitess, aiozk, zk-ruby and the Rust crate
//! zookeeper.

use super::{ChildName, Recipe, RequestMode, ids};
use crate::znode::{Sequence, ZnodePath};

/// Reads the names that tell enough by themselves: Aurora's `singleton_candidate_S`, Mesos'
/// `info_S` and `json.info_S`, the Rust crates' `latch-<id>-S`, and aiozk's `<label>-<GUID>-S`.
/// Accumulo's `zlock#<UUID>#S` tells only its library: see [`is_registration`].
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
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
    ids::is_uuid(uuid).then_some(ChildName { attempt: Some(uuid), ..candidate(Recipe::AccumuloLock) })
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
    ids::is_hex32(id).then_some(ChildName { attempt: Some(id), ..ChildName::of(recipe, mode) })
}

/// The services of Accumulo of which one process is active. The others register with the same names
/// of nodes, one parent for each process.
const ACCUMULO_SERVICES: [&str; 6] = ["managers", "masters", "gc", "monitor", "coordinators", "master"];

/// Returns whether a node only registers a server, so that nobody waits for it:
///
/// - Accumulo's tablet servers have a parent each, with the names of its locks.
/// - `member_S` is the default of `Group` in Twitter's commons, by which server sets (Finagle, Aurora)
///   announce themselves. Marathon elects its leader by such a group, which [`read_at`] knows.
pub(super) fn is_registration(path: &ZnodePath, child: &ChildName<'_>) -> bool {
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
pub(super) fn read_at(path: &ZnodePath) -> Option<ChildName<'_>> {
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
