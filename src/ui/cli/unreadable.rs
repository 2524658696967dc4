//! Unreadable nodes, as the headless commands report them.

use std::collections::BTreeSet;

use anyhow::ensure;

use super::output::line;
use lockscope_base::znode::ZnodePath;
use lockscope_model::queue::LockTable;

/// The most nodes named one by one; of more, only their number is given.
const MAX_NAMED: usize = 20;

/// Fails when there are no locks and no root can be read.
pub(super) fn some_root_is_readable(locks: &LockTable, roots: &[ZnodePath]) -> anyhow::Result<()> {
    let unreadable = unreadable_roots(locks, roots);
    ensure!(
        locks.lock_count() > 0 || unreadable.len() < roots.len(),
        "none of the roots can be read: {}: name others with --root, or give an identity with --auth-file",
        unreadable.join(", ")
    );
    Ok(())
}

/// Fails when a whole root cannot be read.
pub(super) fn every_root_is_readable(locks: &LockTable, roots: &[ZnodePath]) -> anyhow::Result<()> {
    let unreadable = unreadable_roots(locks, roots);
    ensure!(
        unreadable.is_empty(),
        "not every root can be read: {}: leave it out of --root, or give an identity with --auth-file",
        unreadable.join(", ")
    );
    Ok(())
}

/// Returns the roots of which nothing can be read, each with the reason.
fn unreadable_roots(locks: &LockTable, roots: &[ZnodePath]) -> Vec<String> {
    // A root within an unreadable node is not read by itself.
    let reason = |root: &ZnodePath| locks.unreadable().iter().find(|(place, _)| root.is_within(place));
    roots.iter().filter_map(|root| reason(root).map(|(_, why)| format!("{root} ({why})"))).collect()
}

/// Reports each unreadable node once.
#[derive(Debug, Default)]
pub(super) struct UnreadableNotices {
    reported: BTreeSet<ZnodePath>,
}

impl UnreadableNotices {
    /// Returns a line for each node that has become unreadable, as long as there are few. A node
    /// that was readable in between is reported again.
    pub(super) fn next(&mut self, locks: &LockTable) -> String {
        let places = locks.unreadable();
        if places.is_empty() && self.reported.is_empty() {
            return String::new();
        }
        self.reported.retain(|place| places.contains_key(place));
        let unreported: Vec<(&ZnodePath, &String)> =
            places.iter().filter(|(place, _)| !self.reported.contains(*place)).collect();
        let mut text = String::new();
        for (place, why) in unreported.iter().take(MAX_NAMED) {
            text += &line(&format!("{place} cannot be read: {why}"));
        }
        if unreported.len() > MAX_NAMED {
            text += &line(&format!("{} places more cannot be read", unreported.len() - MAX_NAMED));
        }
        self.reported.extend(unreported.into_iter().map(|(place, _)| place.clone()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, table};
    use lockscope_base::znode::Timestamp;
    use lockscope_model::queue::Change;

    fn closed<'a>(places: impl IntoIterator<Item = &'a str>) -> LockTable {
        let unreadable = |place| Change::Unreadable { path: path(place), why: "no READ".into() };
        table(places.into_iter().map(unreadable), Timestamp(0))
    }

    #[test]
    fn only_a_completely_unreadable_root_is_an_error() {
        let table = closed(["/a", "/b/c"]);
        let refusal = |roots: &[&str]| {
            let roots: Vec<ZnodePath> = roots.iter().copied().map(path).collect();
            every_root_is_readable(&table, &roots).err().map(|error| error.to_string())
        };
        assert_eq!((refusal(&["/"]), refusal(&["/b", "/aa"])), (None, None));
        let sentence = refusal(&["/b", "/a/x", "/b/c"]).unwrap();
        assert!(sentence.contains("/a/x (no READ), /b/c (no READ)"), "{sentence}");
    }

    #[test]
    fn a_node_is_reported_once_and_again_after_it_was_readable() {
        let mut notices = UnreadableNotices::default();
        assert_eq!(notices.next(&closed(["/a"])), "lockscope: /a cannot be read: no READ\n");
        assert_eq!(notices.next(&closed(["/a"])), "");
        assert_eq!(notices.next(&closed([])), "");
        assert_eq!(notices.next(&closed(["/a"])).lines().count(), 1);
    }

    #[test]
    fn of_very_many_nodes_the_number_is_reported() {
        let places: Vec<String> = (0..1000).map(|n| format!("/closed{n}")).collect();
        let text = UnreadableNotices::default().next(&closed(places.iter().map(String::as_str)));
        assert_eq!(text.lines().count(), MAX_NAMED + 1);
        assert!(text.ends_with("980 places more cannot be read\n"), "{text}");
    }
}
