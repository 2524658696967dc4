//! The answer to `wchp` and to `wchs`.

use super::{Read, session, whole_lines};
use crate::server_view::{WatchTotals, WatchedPath};
use crate::znode::{SessionId, ZnodePath};

/// Reads the answer to `wchp`: a path, then a line with a tab for each session that watches it; an empty line at the end.
pub fn wchp(answer: &str) -> Read<WatchedPath> {
    let mut whole = answer == "\n" || answer.ends_with("\n\n");
    let mut found = Vec::new();
    let mut open: Option<(ZnodePath, Vec<SessionId>)> = None;
    for line in whole_lines(answer).filter(|line| !line.is_empty()) {
        let watcher = line.strip_prefix('\t').map(session);
        match (watcher, &mut open) {
            (Some(Some(session)), Some((_, sessions))) => sessions.push(session),
            (Some(_), _) => whole = false,
            (None, _) => {
                found.extend(open.take().map(|(path, sessions)| WatchedPath::new(path, sessions)));
                open = ZnodePath::new(line).ok().map(|path| (path, Vec::new()));
                whole &= open.is_some();
            }
        }
    }
    found.extend(open.map(|(path, sessions)| WatchedPath::new(path, sessions)));
    (found, whole)
}

/// Reads the answer to `wchs`: `3 connections watching 4 paths`, `Total watches:4`.
pub fn wchs(answer: &str) -> Option<WatchTotals> {
    let mut lines = whole_lines(answer);
    let (connections, paths) = lines.next()?.split_once(" connections watching ")?;
    let watches = lines.next()?.strip_prefix("Total watches:")?;
    Some(WatchTotals {
        connections: connections.trim().parse().ok()?,
        paths: paths.strip_suffix(" paths")?.parse().ok()?,
        watches: watches.trim().parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("../captures/standalone-wchp.txt");

    #[test]
    fn a_real_servers_answer_says_who_watches_what() {
        let (found, whole) = wchp(REAL);
        assert!(whole);
        let shown: Vec<String> = found.iter().map(|one| format!("{} {:?}", one.path, one.sessions)).collect();
        assert_eq!(
            shown,
            [
                "/held/x-0000000001 [0x10000b2e295000a]",
                "/held/x-0000000000 [0x10000b2e2950009]",
                "/held/none such [0x10000b2e295000a]",
                "/eph (odd), é name [0x10000b2e295000b]",
            ]
        );
        let totals = wchs(include_str!("../captures/standalone-wchs.txt"));
        assert_eq!(totals, Some(WatchTotals { connections: 3, paths: 4, watches: 4 }));
    }

    #[test]
    fn a_cut_answer_is_not_whole() {
        for (cut, _) in REAL.char_indices().skip(1) {
            assert!(!wchp(&REAL[..cut]).1, "{cut}");
        }
    }

    #[test]
    fn what_is_no_list_of_watches_is_not_whole() {
        for text in ["", "\t0x1\n\n", "rubbish\n\n", "/a\n\trubbish\n\n"] {
            assert!(!wchp(text).1, "{text:?}");
        }
        assert_eq!(wchp("\n"), (Vec::new(), true));
        assert_eq!(wchs("3 connections"), None);
    }
}
