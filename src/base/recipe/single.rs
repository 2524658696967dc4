//! Locks that are one node: the session that creates it holds the lock.

use super::{ChildName, Recipe, RequestMode};

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
    let is_state = before.split(['-', '_', '.']).next().is_some_and(|first| first.eq_ignore_ascii_case("is"));
    end.eq_ignore_ascii_case(word) && (before.is_empty() || before.ends_with(['-', '_', '.']) && !is_state)
}
