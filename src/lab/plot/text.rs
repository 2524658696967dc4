//! Text that a file may contain, whatever it says.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use lockscope_base::znode::must_be_escaped;

/// A text without the characters that cannot be seen, that reorder others, or that XML does not have. Those are shown as `\u{202e}`. A
/// text that was escaped before stays as it is: backslashes are kept.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let is_no_xml = matches!(character, '\u{fffe}' | '\u{ffff}');
        if character != '\\' && (must_be_escaped(character) || is_no_xml) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The same in lines of so many columns, broken at spaces where that is possible.
pub(super) fn lines(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(&harmless(text), options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_or_is_no_xml_is_written_out_once() {
        let shown = harmless("a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\n\\");
        assert_eq!(shown, r"a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\u{a}\");
        assert_eq!(harmless(&shown), shown);
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
    }
}
