//! Looking for the words of a filter among the texts of one row.

use super::word::{Pattern, Word};
use lockscope_base::znode::SessionId;
use lockscope_model::queue::ClientIdentity;

/// What has been found so far of the words of a filter, among the texts of one row.
pub struct Matching<'f> {
    words: &'f [Word],
    /// A bit for each word.
    found: u32,
}

impl<'f> Matching<'f> {
    /// Before any text was looked into.
    pub(super) fn new(words: &'f [Word]) -> Self {
        Self { words, found: 0 }
    }
    /// Looks into a text.
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

    /// Looks into a text that is made only when it matters.
    pub fn made(&mut self, text: impl FnOnce() -> String) -> &mut Self {
        if !self.is_decided() {
            self.text(&text());
        }
        self
    }

    /// Looks into figures and times, which most words cannot be part of.
    pub fn figure(&mut self, text: impl FnOnce() -> String) -> &mut Self {
        if self.missing().any(Word::may_be_of_figures) {
            self.made(text);
        }
        self
    }

    /// Looks into a session's id.
    pub fn session(&mut self, session: Option<SessionId>) -> &mut Self {
        // Most words are no part of any session's id, and need not be compared with each.
        let may_be = |word: &Word| match &word.pattern {
            Pattern::Text(text) => text.bytes().all(|byte| byte == b'x' || byte.is_ascii_hexdigit()),
            Pattern::Regex(_) => true,
        };
        match session.filter(|_| self.missing().any(may_be)) {
            Some(session) => self.made(|| session.to_string()),
            None => self,
        }
    }

    /// Looks into what a client is called, and into its address.
    pub fn client(&mut self, client: &ClientIdentity) -> &mut Self {
        self.texts(client.name.iter().chain(&client.address).map(|text| &**text))
    }

    /// Looks into bytes that may be text.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(text),
            Err(_) => self.text(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Whether no further text can change anything.
    pub fn is_decided(&self) -> bool {
        let is_found = |at: usize| self.found & (1 << at) != 0;
        let mut words = self.words.iter().enumerate();
        words.clone().any(|(at, word)| word.inverse && is_found(at))
            || words.all(|(at, word)| !word.inverse && is_found(at))
    }

    /// Whether the row passes, by the texts that were looked into.
    pub fn passes(&self) -> bool {
        self.words.iter().enumerate().all(|(at, word)| (self.found & (1 << at) != 0) != word.inverse)
    }

    fn missing(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().enumerate().filter(|(at, _)| self.found & (1 << at) == 0).map(|(_, word)| word)
    }
}
