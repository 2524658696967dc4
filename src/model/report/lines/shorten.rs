//! Shortens names and sentences from the tree for a line.

use crate::text::{Charset, Keep, cut, fit};
use lockscope_base::znode::ZnodePath;

/// Maximum width of a path or a name, in columns. One long name must not widen every line.
const NAME_COLUMNS: usize = 64;

/// Escapes a path or a name from the tree, and shortens it to 64 columns. Both its ends stay.
pub(in crate::report) fn short_name(text: &str) -> String {
    fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

/// Names a lock by its parent, and by its queue where the parent has several.
pub(in crate::report) fn short_lock(path: &ZnodePath, name_in_parent: Option<&str>) -> String {
    let path = short_name(path.as_str());
    name_in_parent.map_or_else(|| path.clone(), |name| format!("{path} {}", short_name(name)))
}

/// Shortens an escaped sentence about the tree. Words and sentences that are too long lose their
/// middle.
pub(in crate::report) fn short_sentence(text: &str) -> String {
    let words = text.split(' ').map(|word| cut(word, 2 * NAME_COLUMNS, Keep::Ends, Charset::Unicode));
    cut(&words.collect::<Vec<_>>().join(" "), 16 * NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_loses_its_middle_and_the_rest_of_its_sentence_stays() {
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
