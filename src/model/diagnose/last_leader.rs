//! The last leader of an election, and the end of its tenure, as a sentence.

use super::TableAt;
use crate::queue::{Departure, ElectionRecord, LedBefore, LockQueue};
use crate::text::human;
use lockscope_base::znode::Timestamp;

const UNKNOWN: &str =
    "the last leader went before this was watched, and an import of the transaction logs tells who it was";

impl TableAt<'_> {
    /// Returns a part of a sentence that names the last leader and says how its tenure ended, and
    /// that tenure where it is known.
    pub(super) fn last_leader(&self, election: &LockQueue) -> (String, Option<&Departure>) {
        let now = self.now();
        if let Some(seen) = self.table().election_record(election).and_then(ElectionRecord::last_tenure) {
            return (format!("{}, then {}", led_last(seen, now), seen.end.in_sentence()), Some(seen));
        }
        match self.table().led_before(election) {
            Some(before) => (as_recorded(before, now), Some(&before.tenure)),
            None => (UNKNOWN.to_owned(), None),
        }
    }
}

fn led_last(tenure: &Departure, now: Timestamp) -> String {
    let led = tenure.led_for().map(|led| format!(" for {}", human::duration(led))).unwrap_or_default();
    format!("{} led last{led}", tenure.client.in_sentence(now))
}

fn as_recorded(before: &LedBefore, now: Timestamp) -> String {
    let LedBefore { tenure, is_end_seen, has_gap, .. } = before;
    let end = if *is_end_seen {
        format!(", then {}", tenure.end.in_sentence())
    } else {
        ", and its end was not recorded".to_owned()
    };
    let gap = if *has_gap { ", and another may have led while nothing was recorded" } else { "" };
    let ago = human::duration(now.since(tenure.at));
    format!("as recorded, {} until {ago} ago{end}{gap}", led_last(tenure, now))
}
