//! What the server does not let us read, as the headless commands say it.

use std::collections::BTreeSet;

use super::CliError;
use crate::queue::LockTable;
use crate::znode::ZnodePath;

/// Places named one by one; of more, their number is said.
const MAX_NAMED: usize = 20;

/// Fails when a root, as a whole, cannot be read.
pub(super) fn unreadable_roots(locks: &LockTable, roots: &[ZnodePath]) -> Result<(), CliError> {
    // A root within a place that cannot be read is not looked at by itself.
    let hidden = |root: &ZnodePath| {
        let place = locks.unreadable().iter().find(|(place, _)| root.is_within(place));
        place.map(|(_, why)| format!("{root} ({why})"))
    };
    let hidden: Vec<String> = roots.iter().filter_map(hidden).collect();
    if hidden.is_empty() { Ok(()) } else { Err(CliError::UnreadableRoots(hidden.join(", "))) }
}

/// Says once of each place that it cannot be read.
#[derive(Debug, Default)]
pub(super) struct UnreadableNotices {
    said: BTreeSet<ZnodePath>,
}

impl UnreadableNotices {
    /// A line for each place that cannot be read now and could before, as long as there are few. A place that could be read
    /// in between is said again.
    pub(super) fn next(&mut self, locks: &LockTable) -> String {
        let places = locks.unreadable();
        if places.is_empty() && self.said.is_empty() {
            return String::new();
        }
        self.said.retain(|place| places.contains_key(place));
        let fresh: Vec<(&ZnodePath, &String)> =
            places.iter().filter(|(place, _)| !self.said.contains(*place)).collect();
        let mut text = String::new();
        for (place, why) in fresh.iter().take(MAX_NAMED) {
            text += &line(&format!("{place} cannot be read: {why}"));
        }
        if fresh.len() > MAX_NAMED {
            text += &line(&format!("{} places more cannot be read", fresh.len() - MAX_NAMED));
        }
        self.said.extend(fresh.into_iter().map(|(place, _)| place.clone()));
        text
    }
}

fn line(sentence: &str) -> String {
    format!("lockscope: {}\n", crate::znode::escaped(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Change, ConnectionState};
    use crate::znode::{SessionId, Timestamp};

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text).unwrap()
    }

    fn closed<'a>(places: impl IntoIterator<Item = &'a str>) -> LockTable {
        let mut table = LockTable::new([]);
        let connected = Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true });
        let unreadable =
            places.into_iter().map(|place| Change::Unreadable { path: path(place), why: "no READ".into() });
        for change in [connected, Change::Syncing].into_iter().chain(unreadable).chain([Change::Synced]) {
            table.apply(change, Timestamp(0));
        }
        table
    }

    #[test]
    fn only_a_root_that_is_hidden_as_a_whole_is_an_error() {
        let table = closed(["/a", "/b/c"]);
        let said = |roots: &[&str]| {
            let roots: Vec<ZnodePath> = roots.iter().copied().map(path).collect();
            unreadable_roots(&table, &roots).err().map(|error| error.to_string())
        };
        assert_eq!((said(&["/"]), said(&["/b", "/aa"])), (None, None));
        let sentence = said(&["/b", "/a/x", "/b/c"]).unwrap();
        assert!(sentence.contains("/a/x (no READ), /b/c (no READ)"), "{sentence}");
    }

    #[test]
    fn a_place_is_said_once_and_again_when_it_was_readable_in_between() {
        let mut notices = UnreadableNotices::default();
        assert_eq!(notices.next(&closed(["/a"])), "lockscope: /a cannot be read: no READ\n");
        assert_eq!(notices.next(&closed(["/a"])), "");
        assert_eq!(notices.next(&closed([])), "");
        assert_eq!(notices.next(&closed(["/a"])).lines().count(), 1);
    }

    #[test]
    fn of_very_many_places_the_number_is_said() {
        let places: Vec<String> = (0..1000).map(|n| format!("/closed{n}")).collect();
        let text = UnreadableNotices::default().next(&closed(places.iter().map(String::as_str)));
        assert_eq!(text.lines().count(), MAX_NAMED + 1);
        assert!(text.ends_with("980 places more cannot be read\n"), "{text}");
    }
}
