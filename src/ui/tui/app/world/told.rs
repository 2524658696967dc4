//! Adds entries to the timeline, and findings and deletions to the history of their lock.

use super::{TimelineEntry, World};
use lockscope_live::admin::Ending;

impl World {
    pub fn push(&mut self, entry: TimelineEntry) {
        match &entry {
            TimelineEntry::Finding { at, finding, raised } => self.histories.take_finding(finding, *raised, *at),
            TimelineEntry::Deletion { at, lock: Some(lock), node, client, ending }
                if matches!(**ending, Ending::Deleted { .. }) =>
            {
                self.histories.take_deletion(lock.id, node, client.session, *at);
            }
            _ => {}
        }
        self.timeline.push(entry);
        self.timeline_matches.pushed(&self.timeline, self.live.table());
    }
}
