//! Locks that are one node: whoever creates it holds the lock.

use super::{ChildName, Recipe, RequestMode};

/// What Hadoop's `ActiveStandbyElector` calls its node (HDFS name nodes, YARN resource managers).
const HADOOP: &str = "ActiveStandbyElectorLock";

/// The names, or ends of names, of single-node locks. No service registration is called so.
const WORDS: [&str; 6] = ["lock", "mutex", "leader", "master", "active", "controller"];

/// `lock`, `mutex`, `leader`, `master`, `active`, `controller` in any case, alone or after `-`, `_` or `.`; Hadoop's
/// name.
///
/// Only an ephemeral node of such a name is a lock: a persistent `leader` is as often a folder. Kafka's controller is
/// known by its path, not by its name: [`Classifier::classify`](super::Classifier::classify) sees that.
pub(super) fn read(name: &str) -> Option<ChildName<'_>> {
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
    end.eq_ignore_ascii_case(word) && (before.is_empty() || before.ends_with(['-', '_', '.']))
}
