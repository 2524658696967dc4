//! Which parents are those of an election, as far as a path shows.

use crate::znode::ZnodePath;

/// The beginnings of words that name an election.
const BEGINNINGS: [&str; 2] = ["elect", "leader"];

/// The ends of words that name an election.
const ENDINGS: [&str; 3] = ["election", "elector", "leader"];

/// Names of nodes that only elections have.
const NAMES: [&str; 4] = ["latch", "master", "active", "controller"];

/// Names that say nothing by themselves; the name before them counts.
const GENERAL: [&str; 5] = ["lock", "locks", "candidates", "nodes", "queue"];

/// Returns whether the last name of a path suggests an election, such as `/app/leader-election`,
/// `/app/leaderLatch`, `/jobs/master` and `/app/leader/locks`.
///
/// The name is a hint, no proof: an application may keep a mutex below such a name.
pub fn is_named_election(path: &ZnodePath) -> bool {
    let mut names = path.as_str().rsplit('/').filter(|name| !name.is_empty());
    let Some(last) = names.next() else { return false };
    let is_general = GENERAL.iter().any(|general| last.eq_ignore_ascii_case(general));
    names_election(if is_general { names.next().unwrap_or(last) } else { last })
}

fn names_election(name: &str) -> bool {
    let is_name = NAMES.iter().any(|word| name.eq_ignore_ascii_case(word));
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    is_name
        || words
            .any(|word| BEGINNINGS.iter().any(|part| begins(word, part)) || ENDINGS.iter().any(|part| ends(word, part)))
}

fn begins(word: &str, part: &str) -> bool {
    word.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part))
}

fn ends(word: &str, part: &str) -> bool {
    let at = word.len().checked_sub(part.len());
    at.and_then(|at| word.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_an_election_says_so() {
        let is_named = |path: &&&str| is_named_election(&ZnodePath::new(path).unwrap());
        let elections = [
            "/app/leader-election",
            "/app/leaderLatch",
            "/druid/coordinator/_COORDINATOR_LEADER",
            "/e/election",
            "/jobs/master",
            "/a/leader/locks",
            "/x/latch",
            "/overseer_elect",
            "/LEADER",
        ];
        assert_eq!(elections.iter().filter(|path| !is_named(path)).count(), 0);
        let others =
            ["/", "/app/orders", "/jobs/master-data", "/selected", "/locks/proactive", "/election/orders", "/platch"];
        assert_eq!(others.iter().filter(is_named).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
