//! Which locks stood because of one cause, for how long, and who waited.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::causes::{Cause, MIN_TOLD};
use super::lock_rows::Incident;
use super::sentences::Times;
use super::words;
use lockscope_base::znode::TimeRange;
use lockscope_model::text::human::{count, duration, plural};

/// The locks that stood because of one cause.
#[derive(Debug)]
pub(super) struct Stood {
    /// The locks, as indexes into those of the incident, those with the most waiting first.
    pub locks: Vec<usize>,
    /// From the first to the last moment.
    pub time: TimeRange,
    /// The names of the locks.
    names: String,
    /// How long the lock stood that stood longest.
    longest: Duration,
    parts: usize,
    waiters: usize,
    tries: u64,
    cost: Duration,
    most_cost: Duration,
}

/// What is known of one lock.
#[derive(Clone, Copy, Debug, Default)]
struct OfLock {
    stood: Duration,
    /// The most that waited within one piece: the same ones may wait within another.
    waiters: usize,
    tries: u64,
    cost_ms: u64,
}

impl Stood {
    pub fn of(incident: &Incident<'_>, cause: &Cause<'_>) -> Self {
        let mut of_locks: BTreeMap<usize, OfLock> = BTreeMap::new();
        for piece in &cause.pieces {
            let (lock, of_lock) = (&incident.locks[piece.lock], of_locks.entry(piece.lock).or_default());
            of_lock.stood += piece.time.length();
            of_lock.waiters = of_lock.waiters.max(lock.waits.count(piece.time));
            of_lock.tries = of_lock.tries.saturating_add(lock.tried(piece.time));
            of_lock.cost_ms = of_lock.cost_ms.saturating_add(piece.cost_ms);
        }
        let mut locks: Vec<usize> = of_locks.keys().copied().collect();
        locks.sort_by_key(|lock| Reverse(of_locks[lock].cost_ms));
        let from = cause.pieces.iter().map(|piece| piece.time.from).min().unwrap_or_default();
        let to = cause.pieces.iter().map(|piece| piece.time.to).max().unwrap_or_default();
        Self {
            names: names(incident, &locks),
            locks,
            time: TimeRange { from, to },
            longest: of_locks.values().map(|lock| lock.stood).max().unwrap_or_default(),
            parts: cause.pieces.len(),
            waiters: of_locks.values().map(|lock| lock.waiters).sum(),
            tries: of_locks.values().map(|lock| lock.tries).fold(0, u64::saturating_add),
            cost: Duration::from_millis(cause.cost_ms),
            most_cost: Duration::from_millis(cause.most_cost_ms),
        }
    }

    /// Returns a clause such as `/a stood for 27s from 14:41:12.000 on, 2 waited 49s in all`.
    pub fn with_times(&self, times: Times) -> String {
        let up_to = if self.locks.len() > 1 { "up to " } else { "" };
        let parts = match self.parts {
            parts if parts > 1 && self.locks.len() == 1 => format!(" in {parts} parts"),
            _ => String::new(),
        };
        let (longest, from) = (duration(self.longest), times.at(self.time.from));
        format!("{} stood for {up_to}{longest}{parts} from {from} on, {}", self.names, self.waited())
    }

    /// Returns a clause such as `/a and /b stood, 4 waited 49s in all`.
    pub fn without_times(&self) -> String {
        format!("{} stood, {}", self.names, self.waited())
    }

    fn waited(&self) -> String {
        let (waiters, mut cost) = (count(self.waiters), duration(self.cost));
        if self.most_cost >= self.cost + MIN_TOLD {
            cost = format!("{cost} to {}", duration(self.most_cost));
        }
        match (self.tries, self.waiters) {
            (0, 1) => format!("1 waited {cost}"),
            (0, _) => format!("{waiters} waited {cost} in all"),
            (tries, _) => {
                format!("{waiters} waited or tried {} in vain, {cost} in all", plural(tries, "time", "times"))
            }
        }
    }
}

/// Names two locks, and counts the others.
fn names(incident: &Incident<'_>, locks: &[usize]) -> String {
    let name = |at: &usize| incident.locks.get(*at).map(|lock| words::lock(lock.path, lock.name)).unwrap_or_default();
    match locks {
        [] => String::new(),
        [one] => name(one),
        [one, other] => format!("{} and {}", name(one), name(other)),
        [one, other, rest @ ..] => {
            format!(
                "{} locks ({}, {} and {})",
                count(locks.len()),
                name(one),
                name(other),
                plural(rest.len(), "other", "others")
            )
        }
    }
}
