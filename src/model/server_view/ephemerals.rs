//! The ephemeral nodes of each session, as a server lists them.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockscope_base::znode::{SessionId, ZnodePath};

/// Maximum number of paths that are kept for a session. The count includes the others.
const MAX_PATHS_OF_SESSION: usize = 100;

/// Maximum size of all kept paths, in bytes. Beyond it, nodes are only counted.
const MAX_PATH_BYTES: usize = 4 << 20;

/// The ephemeral nodes of one session. They go when the session ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionEphemerals {
    /// The number of nodes.
    pub count: usize,
    /// Their paths, at most 100, within our chroot.
    pub paths: Vec<ZnodePath>,
}

/// The ephemeral nodes of all sessions, from one answer. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ephemerals {
    by_session: Arc<BTreeMap<SessionId, SessionEphemerals>>,
    /// Whether the answer was complete. A count is a lower bound otherwise.
    pub whole: bool,
}

impl Ephemerals {
    /// Collects the nodes of an answer, which names a session with each path. A path is absolute;
    /// nodes outside of the chroot are only counted.
    pub fn collect<'a>(
        nodes: impl IntoIterator<Item = (SessionId, &'a str)>,
        chroot: Option<&ZnodePath>,
        whole: bool,
    ) -> Self {
        let mut by_session: BTreeMap<SessionId, SessionEphemerals> = BTreeMap::new();
        let mut bytes = 0;
        for (session, path) in nodes {
            let owned = by_session.entry(session).or_default();
            owned.count += 1;
            if owned.paths.len() < MAX_PATHS_OF_SESSION
                && bytes + path.len() <= MAX_PATH_BYTES
                && let Some(path) = below(chroot, path)
            {
                bytes += path.as_str().len();
                owned.paths.push(path);
            }
        }
        Self { by_session: Arc::new(by_session), whole }
    }

    /// Returns the nodes of a session; no nodes for a session that the answer does not name.
    pub fn of(&self, session: SessionId) -> Option<&SessionEphemerals> {
        self.by_session.get(&session)
    }
}

/// Returns the path relative to the chroot; `None` when it lies outside or is no path.
fn below(chroot: Option<&ZnodePath>, path: &str) -> Option<ZnodePath> {
    let Some(chroot) = chroot else { return ZnodePath::new(path).ok() };
    let rest = path.strip_prefix(chroot.as_str())?;
    if rest.starts_with('/') { ZnodePath::new(rest).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;

    #[test]
    fn the_count_includes_the_nodes_whose_paths_are_not_kept() {
        let paths: Vec<String> = (0..250).map(|number| format!("/prod/a/{number}")).collect();
        let nodes = paths.iter().map(|path| (SessionId(1), path.as_str()));
        let nodes = nodes.chain([(SessionId(2), "/test/b"), (SessionId(2), "/prod"), (SessionId(2), "/production/c")]);
        let found = Ephemerals::collect(nodes, Some(&path("/prod")), true);
        let first = found.of(SessionId(1)).expect("it owns nodes");
        assert_eq!((first.count, first.paths.len(), first.paths[0].as_str()), (250, MAX_PATHS_OF_SESSION, "/a/0"));
        let second = found.of(SessionId(2)).expect("it owns nodes");
        assert_eq!((second.count, second.paths.len()), (3, 0), "they are outside of the chroot");
        assert_eq!(found.of(SessionId(3)), None);
    }

    #[test]
    fn the_paths_of_an_answer_have_a_bound() {
        let long = format!("/{}", "x".repeat(1 << 20));
        let nodes = (0..9).map(|session| (SessionId(session), long.as_str()));
        let found = Ephemerals::collect(nodes, None, true);
        let kept = (0..9).filter_map(|session| found.of(SessionId(session))).filter(|owned| !owned.paths.is_empty());
        assert_eq!(kept.count(), 3);
    }
}
