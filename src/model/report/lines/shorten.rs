//! Names and sentences of the tree, short enough for a line of a table.

use crate::text::{Charset, Keep, cut, fit};
use lockscope_base::znode::ZnodePath;

/// Columns of a path or a name at most: one that is longer must not make every line as long.
const NAME_COLUMNS: usize = 64;

/// A path or a name from the tree as a terminal may be given it, in at most 64 columns: both its ends stay.
pub(in crate::report) fn short_name(text: &str) -> String {
    fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

/// A lock: its parent, and which of the parent's queues it is, where it has several.
pub(in crate::report) fn short_lock(path: &ZnodePath, name_in_parent: Option<&str>) -> String {
    let path = short_name(path.as_str());
    name_in_parent.map_or_else(|| path.clone(), |name| format!("{path} {}", short_name(name)))
}

/// A sentence about the tree, in which names are escaped already: each that is too long loses its middle.
pub(in crate::report) fn short_sentence(text: &str) -> String {
    let words = text.split(' ').map(|word| cut(word, 2 * NAME_COLUMNS, Keep::Ends, Charset::Unicode));
    cut(&words.collect::<Vec<_>>().join(" "), 16 * NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_loses_its_middle_and_nothing_else_of_its_sentence() {
        let long = format!("{}0000000042", "x".repeat(5_000));
        let shown = short_name(&long);
        assert_eq!(shown.chars().count(), 64);
        assert!(shown.starts_with("xxx") && shown.contains('…') && shown.ends_with("0000000042"));
        assert_eq!(short_name("/locks/bill\u{1b}ing"), r"/locks/bill\u{1b}ing");
        let shown = short_sentence(&format!(r"it is the turn of {long}, but \u{{1b}} its session watched nothing"));
        assert!(shown.starts_with("it is the turn of xxx") && shown.chars().count() < 200, "{shown}");
        assert!(shown.ends_with(r"0000000042, but \u{1b} its session watched nothing"), "{shown}");
        assert!(short_sentence(&"a b ".repeat(5_000)).chars().count() <= 1_024);
    }
}
