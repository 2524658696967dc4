//! The answers to four-letter words, in a real server's format.

mod connections;
mod environment;
mod figures;
mod keeper;
mod watches;

use std::fmt;

use super::config::Behaviour;
use super::machine::Machine;
use super::wire::Word;

/// The version that the server reports. It names the ZooKeeper release that the sandbox behaves
/// like, the sandbox's own version in place of a commit, and that release's date. Clients parse it.
const VERSION: &str = concat!("3.8.0-lockscope-", env!("CARGO_PKG_VERSION"), ", built on 2022-02-25 08:49 UTC");

/// The version in the format of 3.5.
const VERSION_3_5: &str =
    concat!("3.5.4-beta-lockscope-", env!("CARGO_PKG_VERSION"), ", built on 05/11/2018 16:27 GMT");

impl Machine {
    /// Returns the whole answer to a word, or `None` when it exceeds `longest` bytes. The costly
    /// words visit every connection, session or watch.
    pub(super) fn answer_to(&self, word: Word, now: i64, longest: usize) -> Option<String> {
        let mut text = BoundedText { written: String::new(), longest, is_whole: true };
        match word {
            _ if self.options.behaviour == Behaviour::Keeper => keeper::answer(&mut text, self, word),
            Word::Ruok => text.push_str("imok"),
            Word::Isro => text.push_str("rw"),
            Word::Srvr => figures::srvr(&mut text, self),
            Word::Stat => figures::stat(&mut text, self),
            Word::Envi => environment::envi(&mut text, self),
            Word::Mntr if self.is_3_5() => figures::mntr_of_3_5(&mut text, self),
            Word::Mntr => figures::mntr(&mut text, self, now),
            Word::Conf => figures::conf(&mut text, self),
            Word::Cons => connections::cons(&mut text, self),
            Word::Dump => connections::dump(&mut text, self, now),
            Word::Wchs => watches::wchs(&mut text, self),
            Word::Wchp => watches::wchp(&mut text, self),
            Word::Wchc => watches::wchc(&mut text, self),
        }
        text.is_whole.then_some(text.written)
    }

    fn is_3_5(&self) -> bool {
        self.options.behaviour == Behaviour::ZooKeeper35
    }

    /// Returns the version that a server of `ZooKeeper` reports.
    fn version(&self) -> &'static str {
        if self.is_3_5() { VERSION_3_5 } else { VERSION }
    }
}

/// A text that stops growing at `longest` bytes.
struct BoundedText {
    written: String,
    longest: usize,
    is_whole: bool,
}

impl BoundedText {
    fn push_str(&mut self, more: &str) {
        self.is_whole &= self.written.len() + more.len() <= self.longest;
        if self.is_whole {
            self.written.push_str(more);
        }
    }
}

impl fmt::Write for BoundedText {
    /// Appends text; drops what exceeds the bound. Never fails.
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push_str(more);
        Ok(())
    }
}
