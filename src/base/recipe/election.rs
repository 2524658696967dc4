//! Elections and service locks of Java services, Mesos, aiozk and zk-ruby.

use super::{ChildName, Recipe, RequestMode, ids};
use crate::znode::{Sequence, ZnodePath};

/// Reads the names that tell enough by themselves: Aurora's `singleton_candidate_S`, Mesos'
/// `info_S` and `json.info_S`, Accumulo's `zlock#<UUID>#S`, and aiozk's `<label>-<GUID>-S`.
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    match head {
        "singleton_candidate_" => Some(candidate(Recipe::AuroraElection)),
        "info_" | "json.info_" => Some(candidate(Recipe::MesosElection)),
        _ => accumulo(head).or_else(|| aiozk(head)),
    }
}

fn candidate<'a>(recipe: Recipe) -> ChildName<'a> {
    ChildName::of(recipe, RequestMode::Exclusive)
}

fn accumulo(head: &str) -> Option<ChildName<'_>> {
    let uuid = head.strip_prefix("zlock#")?.strip_suffix('#')?;
    ids::is_uuid(uuid).then_some(ChildName { attempt: Some(uuid), ..candidate(Recipe::AccumuloLock) })
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
/// | ShedLock | `shedlock/<job>` |
pub(super) fn read_at(path: &ZnodePath) -> Option<ChildName<'_>> {
    let mut names = path.as_str().rsplit('/');
    let (name, parent, above) = (names.next()?, names.next()?, names.next());
    let Some((head, sequence)) = Sequence::split(name) else {
        return match (above, parent, name) {
            (Some("leader"), "election", "instance") => Some(candidate(Recipe::ElasticJob)),
            (_, "CONTROLLER", "LEADER") => Some(candidate(Recipe::HelixController)),
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
        _ => return None,
    };
    Some(ChildName { sequence: Some(sequence), ..child })
}
