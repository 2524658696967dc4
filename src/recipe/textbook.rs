//! What applications write themselves after ZooKeeper's page of recipes and the textbooks.

use super::{ChildName, Mode, Recipe, ids};
use crate::znode::Sequence;

/// `lock-S`, `<GUID>-lock-S`, `lock-<session>-S`, `<name>_lock_S`; for reading and writing `read-S`, `write-S` (a
/// GUID may lead), `<host>-R-S`, `<host>-W-S`, also in lower case.
pub(super) fn read(head: &str, sequence: Sequence) -> Option<ChildName<'_>> {
    let name = queue(head).or_else(|| session_queue(head)).or_else(|| named_queue(head)).or_else(|| shared(head))?;
    Some(ChildName { sequence: Some(sequence), ..name })
}

fn queue(head: &str) -> Option<ChildName<'_>> {
    let attempt = guid_before(head, "lock-")?;
    Some(ChildName { attempt, ..unnumbered(Recipe::TextbookQueue, Mode::Exclusive) })
}

fn session_queue(head: &str) -> Option<ChildName<'_>> {
    let session = head.strip_prefix("lock-")?.strip_suffix('-')?;
    (ids::is_decimal_session(session) || ids::is_hex_session(session))
        .then_some(ChildName { attempt: Some(session), ..unnumbered(Recipe::TextbookSessionQueue, Mode::Exclusive) })
}

fn named_queue(head: &str) -> Option<ChildName<'_>> {
    let name = head.strip_suffix("_lock_").filter(|name| !name.is_empty())?;
    Some(ChildName { lock_name: Some(name), ..unnumbered(Recipe::TextbookNamedQueue, Mode::Exclusive) })
}

fn shared(head: &str) -> Option<ChildName<'_>> {
    for (word, letters, mode) in [("read-", ["-R-", "-r-"], Mode::Read), ("write-", ["-W-", "-w-"], Mode::Write)] {
        if let Some(attempt) = guid_before(head, word) {
            return Some(ChildName { attempt, ..unnumbered(Recipe::TextbookShared, mode) });
        }
        // A host makes many requests, so its name is no attempt's id, whatever it looks like.
        let host = letters.iter().find_map(|letter| head.strip_suffix(letter));
        if host.is_some_and(|host| !host.is_empty()) {
            return Some(unnumbered(Recipe::TextbookShared, mode));
        }
    }
    None
}

/// The GUID before `word` at the end of `head`: `Some(None)` when `head` is the word alone, `None` when it is neither.
#[expect(clippy::option_option, reason = "a word without a GUID is a match, and the two must not be confused")]
fn guid_before<'a>(head: &'a str, word: &str) -> Option<Option<&'a str>> {
    match head.strip_suffix(word)? {
        "" => Some(None),
        before => before.strip_suffix('-').filter(|guid| ids::is_guid(guid)).map(Some),
    }
}

fn unnumbered<'a>(recipe: Recipe, mode: Mode) -> ChildName<'a> {
    ChildName { recipe, mode, sequence: None, lock_name: None, attempt: None }
}
