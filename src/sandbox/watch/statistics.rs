//! Count, average, least and most of a figure.

use crate::wire::EventKind;

/// How many watchers an event had, over all events that had any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistic {
    pub count: u64,
    pub sum: u64,
    pub least: u64,
    pub most: u64,
}

impl Statistic {
    /// Counts one more.
    pub fn add(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.sum += value;
    }

    /// Zero when there was none.
    #[expect(clippy::cast_precision_loss, reason = "a figure that is shown with four decimals")]
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

/// A figure for each kind of event.
#[derive(Clone, Debug, Default)]
pub struct EventStatistics([Statistic; 4]);

impl EventStatistics {
    /// Counts an event with so many watchers; one without any counts nowhere.
    pub(super) fn add(&mut self, kind: EventKind, watchers: usize) {
        if watchers > 0 {
            self.0[kind as usize - 1].add(watchers as u64);
        }
    }

    pub fn of(&self, kind: EventKind) -> Statistic {
        self.0[kind as usize - 1]
    }
}
