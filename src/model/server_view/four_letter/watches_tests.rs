//! Tests of `watches`.

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
