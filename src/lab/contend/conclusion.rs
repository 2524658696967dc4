//! The conclusion of a comparison, as a sentence. Pure.

use super::{ComparedFleets, Comparison};
use lockscope_model::text::human::{plural, ratio};

/// The smallest ratio that is not shown as 1.
const MIN_RATIO: f64 = 1.05;

impl Comparison {
    /// Returns a sentence that names the number of clients from which a herd costs more than it is
    /// worth.
    pub fn conclusion(&self) -> String {
        let Some(largest) = self.runs.iter().max_by_key(|run| run.clients) else {
            return "The run ended before a herd and a chain of the same size had run: there is nothing to compare."
                .to_owned();
        };
        let from = self.herd_costs_more_from;
        let Some(run) = self.runs.iter().find(|run| Some(run.clients) == from) else {
            let events = events(largest).map_or_else(String::new, |events| format!(", but {events}"));
            return format!("Up to {} a herd is not slower than a chain here{events}.", clients(largest));
        };
        // A ratio that rounds to 1 is not a reason.
        let faster = run.throughput_ratio.filter(|times| *times >= MIN_RATIO).map(ratio);
        let faster = faster.map(|times| format!("the chain acquires {times} times as often"));
        let reasons: Vec<String> = events(run).into_iter().chain(faster).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", and ")) };
        format!("From {} on, a herd costs more than it is worth here{reasons}.", clients(run))
    }
}

fn events(run: &ComparedFleets) -> Option<String> {
    let times = ratio(run.watch_event_ratio?);
    Some(format!("each acquisition causes {times} times as many watch events as in a chain"))
}

fn clients(run: &ComparedFleets) -> String {
    plural(run.clients, "client", "clients")
}
