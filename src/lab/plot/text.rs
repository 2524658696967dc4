//! Makes any text safe for a file.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use lockscope_base::znode::must_be_escaped;

/// Replaces the characters that are invisible, reorder others, or are not allowed in XML by escapes
/// such as `\u{202e}`. Text that was escaped before stays as it is: backslashes are kept.
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

/// Wraps the harmless text to `columns`, at spaces if possible.
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
    fn invisible_and_invalid_characters_are_escaped_once() {
        let shown = harmless("a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\n\\");
        assert_eq!(shown, r"a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\u{a}\");
        assert_eq!(harmless(&shown), shown);
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
    }
}
