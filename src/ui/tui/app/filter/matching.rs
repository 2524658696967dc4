//! Matches the texts of one row against the words of a filter.

use super::word::{Pattern, Word};
use lockscope_base::znode::SessionId;
use lockscope_model::queue::ClientIdentity;

/// The words of a filter, and which of them occur in the texts of one row that were searched so
/// far.
pub struct Matching<'f> {
    words: &'f [Word],
    /// One bit per word, set once the word was found.
    found: u32,
}

impl<'f> Matching<'f> {
    /// Creates the state before any text was searched.
    pub(super) fn new(words: &'f [Word]) -> Self {
        Self { words, found: 0 }
    }
    /// Searches a text for the words that were not found yet.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for (at, word) in self.words.iter().enumerate() {
            if self.found & (1 << at) == 0 && word.is_in(text) {
                self.found |= 1 << at;
            }
        }
        self
    }

    pub fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> &mut Self {
        texts.into_iter().for_each(|text| {
            self.text(text);
        });
        self
    }

    /// Searches a text, which is built only if the result is still open.
    pub fn made(&mut self, text: impl FnOnce() -> String) -> &mut Self {
        if !self.is_decided() {
            self.text(&text());
        }
        self
    }

    /// Searches a figure or a time, which is built only if a missing word can match one. Most words
    /// cannot.
    pub fn figure(&mut self, text: impl FnOnce() -> String) -> &mut Self {
        if self.missing().any(Word::may_be_of_figures) {
            self.made(text);
        }
        self
    }

    /// Searches a session's id.
    pub fn session(&mut self, session: Option<SessionId>) -> &mut Self {
        // Most words cannot occur in a session's id, which has only `x` and hex digits. The id is
        // not formatted for them.
        let may_be = |word: &Word| match &word.pattern {
            Pattern::Text(text) => text.bytes().all(|byte| byte == b'x' || byte.is_ascii_hexdigit()),
            Pattern::Regex(_) => true,
        };
        match session.filter(|_| self.missing().any(may_be)) {
            Some(session) => self.made(|| session.to_string()),
            None => self,
        }
    }

    /// Searches a client's name and address.
    pub fn client(&mut self, client: &ClientIdentity) -> &mut Self {
        self.texts(client.name.iter().chain(&client.address).map(|text| &**text))
    }

    /// Searches bytes that may be text. Replaces invalid UTF-8 before the search.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(text),
            Err(_) => self.text(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Returns whether no further text can change the result.
    pub fn is_decided(&self) -> bool {
        let is_found = |at: usize| self.found & (1 << at) != 0;
        let mut words = self.words.iter().enumerate();
        words.clone().any(|(at, word)| word.inverse && is_found(at))
            || words.all(|(at, word)| !word.inverse && is_found(at))
    }

    /// Returns whether the row passes, judged by the texts that were searched so far.
    pub fn passes(&self) -> bool {
        self.words.iter().enumerate().all(|(at, word)| (self.found & (1 << at) != 0) != word.inverse)
    }

    fn missing(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().enumerate().filter(|(at, _)| self.found & (1 << at) == 0).map(|(_, word)| word)
    }
}
