//! The answers to `wchp` and `wchs`.

use super::{Read, session, whole_lines};
use crate::server_view::watches::WatchingSessions;
use crate::server_view::{WatchTotals, WatchedPath};
use lockscope_base::znode::ZnodePath;

/// Reads the answer to `wchp` in pieces as they arrive.
///
/// The answer contains each path, followed by a line with a tab for each session that watches it,
/// and ends with an empty line. It may have tens of megabytes, so the reader never keeps the text.
#[derive(Debug, Default)]
pub struct WatchedPathsReader {
    found: Vec<WatchedPath>,
    open: Option<(ZnodePath, WatchingSessions)>,
    /// The last line, which is not complete yet.
    line: Vec<u8>,
    misunderstood: bool,
    /// Whether the last line was empty.
    ended: bool,
}

impl WatchedPathsReader {
    /// Takes the next piece of the answer, of any length.
    pub fn push(&mut self, part: &[u8]) {
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            let Some(end) = piece.strip_suffix(b"\n") else {
                self.line.extend_from_slice(piece);
                continue;
            };
            if self.line.is_empty() {
                self.push_line(&String::from_utf8_lossy(end));
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(end);
                self.push_line(&String::from_utf8_lossy(&line));
                line.clear();
                self.line = line;
            }
        }
    }

    fn push_line(&mut self, line: &str) {
        self.ended = line.is_empty();
        if self.ended {
            return;
        }
        match (line.strip_prefix('\t').map(session), &mut self.open) {
            (Some(Some(session)), Some((_, sessions))) => sessions.push(session),
            (Some(_), _) => self.misunderstood = true,
            (None, _) => {
                self.close();
                self.open = ZnodePath::new(line).ok().map(|path| (path, WatchingSessions::new()));
                self.misunderstood |= self.open.is_none();
            }
        }
    }

    fn close(&mut self) {
        self.found.extend(self.open.take().map(|(path, sessions)| WatchedPath::new(path, sessions)));
    }

    /// Returns the listing. It is whole if the answer is complete and each line was understood.
    pub fn end(mut self) -> Read<WatchedPath> {
        self.close();
        (self.found, self.ended && !self.misunderstood && self.line.is_empty())
    }
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

    fn wchp(text: &str) -> Read<WatchedPath> {
        let mut reader = WatchedPathsReader::default();
        reader.push(text.as_bytes());
        reader.end()
    }

    #[test]
    fn the_answer_may_be_split_anywhere() {
        for length in 1..REAL.len() {
            let mut reader = WatchedPathsReader::default();
            for part in REAL.as_bytes().chunks(length) {
                reader.push(part);
            }
            assert_eq!(reader.end(), wchp(REAL), "pieces of {length} bytes");
        }
    }

    #[test]
    fn a_real_answer_lists_the_watches() {
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
    fn a_truncated_answer_is_not_whole() {
        for (cut, _) in REAL.char_indices().skip(1) {
            assert!(!wchp(&REAL[..cut]).1, "{cut}");
        }
    }

    #[test]
    fn other_text_is_not_a_whole_list() {
        for text in ["", "\t0x1\n\n", "rubbish\n\n", "/a\n\trubbish\n\n"] {
            assert!(!wchp(text).1, "{text:?}");
        }
        assert_eq!(wchp("\n"), (Vec::new(), true));
        assert_eq!(wchs("3 connections"), None);
    }
}
