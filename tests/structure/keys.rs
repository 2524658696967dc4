//! Finds names of keys in the literal text of a sentence: they would be wrong once the user binds
//! other keys.

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, LitStr, Macro};

use crate::source::{attributes, is_for_tests};

/// The names of keys that are no letters.
const NAMES: &[&str] =
    &["Esc", "Escape", "Enter", "Tab", "Shift-Tab", "Space", "PgUp", "PgDn", "PageUp", "PageDown", "Backspace", "Del"];
/// Words that name a key only before a verb: `Home goes`, `? lists`.
const WORDS: &[&str] = &["a", "A", "Up", "Down", "Left", "Right", "Home", "?", "/", "[", "]", "@", "&"];

/// The signs of readers and writers.
const MODES: &[&str] = &["(R)", "(W)"];

/// Returns the sentences in a file that name a key, without those of tests and comments.
pub fn sentences_with_keys(parsed: &syn::File) -> Vec<String> {
    let mut reader = Reader::default();
    reader.visit_file(parsed);
    reader.found
}

/// Returns whether a text of more than one word names a key.
pub fn names_a_key(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let before = [""].into_iter().chain(words.iter().copied());
    let behind = words.iter().skip(1).copied().chain([""]);
    words.len() > 1 && words.iter().zip(before.zip(behind)).any(|(word, (before, behind))| is_key(word, before, behind))
}

/// Returns whether a word between two others is a key.
fn is_key(word: &str, before: &str, behind: &str) -> bool {
    let bare = word.trim_matches(|letter: char| "(),.:;!`\"'".contains(letter));
    let does =
        behind.ends_with('s') && !behind.ends_with("ss") && behind.chars().all(|letter| letter.is_ascii_lowercase());
    if WORDS.contains(&bare) {
        return does;
    }
    // `5 s` and `{} B` are units.
    let is_unit = before.ends_with(|letter: char| letter == '}' || letter.is_ascii_digit());
    let is_letter = |text: &str| text.len() == 1 && text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_pair = bare.split_once('/').is_some_and(|(left, right)| is_letter(left) && is_letter(right));
    NAMES.contains(&bare)
        || bare.starts_with("Ctrl-")
        || is_pair
        || (is_letter(bare) && bare != "I" && !is_unit && !MODES.contains(&word))
}

#[derive(Default)]
struct Reader {
    found: Vec<String>,
}

impl Reader {
    fn read(&mut self, text: String) {
        if names_a_key(&text) {
            self.found.push(text);
        }
    }

    fn read_tokens(&mut self, mut at: Cursor<'_>) {
        while !at.eof() {
            if let Some((inner, _, _, after)) = at.any_group() {
                self.read_tokens(inner);
                at = after;
            } else if let Some((literal, after)) = at.literal() {
                if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                    self.read(text.value());
                }
                at = after;
            } else if let Some((_, after)) = at.token_tree() {
                at = after;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if is_for_tests(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.read(text.value());
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.read_tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_sentences_and_in_the_arguments_of_macros() {
        let file = r#"
            /// q ends it.
            const PLAIN: &str = "Press x on it";
            fn f() { format!("{} ({})", g("None: a adds one"), "in 5 s a train passes") }
            #[cfg(test)]
            mod tests { const KEYS: &str = "Esc leaves"; }
        "#;
        let found = sentences_with_keys(&syn::parse_file(file).unwrap());
        assert_eq!(found, ["Press x on it", "None: a adds one"]);
    }

    #[test]
    fn words_units_and_names_in_braces_are_no_keys() {
        for text in [
            "{start} starts one",
            "A lock: a holder waits",
            "{} s",
            "End the program",
            "Delete it?",
            "a reader (R)",
            "B",
        ] {
            assert!(!names_a_key(text), "{text}");
        }
        for text in ["? lists them", "then Enter", "Ctrl-L draws", "(v: why)", "sure? y/n", "it is old (v)"] {
            assert!(names_a_key(text), "{text}");
        }
    }
}
