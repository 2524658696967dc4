//! Locks that applications implement after ZooKeeper's page of recipes and the textbooks.

use super::{ChildName, Recipe, RequestMode, ids};

/// Reads `lock-S`, `<GUID>-lock-S`, `lock-<session>-S` and `<name>_lock_S`. For reading and
/// writing: `read-S`, `write-S` (after a GUID or alone), `<host>-R-S`, `<host>-W-S`, also in lower
/// case.
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    queue(head).or_else(|| session_queue(head)).or_else(|| named_queue(head)).or_else(|| shared(head))
}

fn queue(head: &str) -> Option<ChildName<'_>> {
    after_guid(head, "lock-", ChildName::of(Recipe::TextbookQueue, RequestMode::Exclusive))
}

fn session_queue(head: &str) -> Option<ChildName<'_>> {
    let session = head.strip_prefix("lock-")?.strip_suffix('-')?;
    (ids::is_decimal_session(session) || ids::is_hex_session(session)).then_some(ChildName {
        attempt: Some(session),
        ..ChildName::of(Recipe::TextbookSessionQueue, RequestMode::Exclusive)
    })
}

fn named_queue(head: &str) -> Option<ChildName<'_>> {
    let name = head.strip_suffix("_lock_").filter(|name| !name.is_empty())?;
    Some(ChildName { lock_name: Some(name), ..ChildName::of(Recipe::TextbookNamedQueue, RequestMode::Exclusive) })
}

fn shared(head: &str) -> Option<ChildName<'_>> {
    for (word, letters, mode) in
        [("read-", ["-R-", "-r-"], RequestMode::Read), ("write-", ["-W-", "-w-"], RequestMode::Write)]
    {
        if let Some(name) = after_guid(head, word, ChildName::of(Recipe::TextbookShared, mode)) {
            return Some(name);
        }
        // A host makes many requests, so its name is not an attempt's id, whatever its format.
        let host = letters.iter().find_map(|letter| head.strip_suffix(letter));
        if host.is_some_and(|host| !host.is_empty()) {
            return Some(ChildName::of(Recipe::TextbookShared, mode));
        }
    }
    None
}

/// Returns `meaning` if `head` is `word` alone or `<GUID>-` and `word`.
fn after_guid<'a>(head: &'a str, word: &str, meaning: ChildName<'a>) -> Option<ChildName<'a>> {
    match head.strip_suffix(word)?.strip_suffix('-') {
        None => (head.len() == word.len()).then_some(meaning),
        Some(guid) => ids::is_guid(guid).then_some(ChildName { attempt: Some(guid), ..meaning }),
    }
}
