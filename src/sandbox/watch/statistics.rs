//! Count, sum, minimum and maximum of a figure.

use lockscope_base::wire::EventKind;

/// The count, sum, minimum and maximum of some values, such as the watchers of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistic {
    pub count: u64,
    pub sum: u64,
    pub least: u64,
    pub most: u64,
}

impl Statistic {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.sum += value;
    }

    /// Returns the average, or zero without values.
    #[expect(clippy::cast_precision_loss, reason = "the figure is shown with four decimals")]
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

/// The watchers of each event, by kind of event.
#[derive(Clone, Debug, Default)]
pub struct EventStatistics([Statistic; 4]);

impl EventStatistics {
    /// Counts an event with its number of watchers. Events without watchers do not count.
    pub(super) fn add(&mut self, kind: EventKind, watchers: usize) {
        if watchers > 0 {
            self.0[kind as usize - 1].add(watchers as u64);
        }
    }

    pub fn of(&self, kind: EventKind) -> Statistic {
        self.0[kind as usize - 1]
    }
}
