//! What the transactions tell of the ensemble: when another leader began, and when nothing was
//! written.

use std::collections::VecDeque;
use std::time::Duration;

use lockscope_base::znode::{TimeBounds, Timestamp, Zxid};
use lockscope_model::ensemble::{EnsembleEvent, EnsembleEventKind};

/// A zxid has its leader's epoch above this many bits.
const COUNTER_BITS: u32 = 32;

/// The number of pauses between transactions that tell what is usual.
const MAX_PAUSES: usize = 1_000;

/// With fewer pauses, nothing is called unusual.
const MIN_PAUSES: usize = 20;

/// A silence is unusual from this length on, and from this multiple of the 99th percentile of the
/// pauses.
const MIN_SILENCE: Duration = Duration::from_secs(2);
const SILENCE_FACTOR: u32 = 10;

/// How long a leader may write transactions that no majority gets: it notices the loss after
/// `syncLimit` × `tickTime`. This is that of the sample config, with a margin.
const MAX_UNCOMMITTED: Duration = Duration::from_millis(13_750);

/// How long after a silence sessions expire because of it: the longest usual session timeout.
const MAX_AFTERMATH: Duration = Duration::from_secs(60);

/// So many expiries within [`BURST_TIME`] are a burst: their clients did not all fail at once.
const MIN_BURST: usize = 3;
const BURST_TIME: Duration = Duration::from_secs(1);

/// A silence before a new epoch, and the expiries after it.
#[derive(Debug)]
struct Outage {
    event: EnsembleEvent,
    over: Timestamp,
    expiries: VecDeque<Timestamp>,
    burst: usize,
}

/// Follows the epochs of the transactions.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    last: Option<(Zxid, Timestamp)>,
    pauses: VecDeque<Duration>,
    outage: Option<Outage>,
}

impl Epochs {
    /// Takes in the next transaction. `is_next` tells whether none is missing before it. Returns
    /// what happened to the ensemble.
    pub fn transaction(&mut self, zxid: Zxid, time: Timestamp, is_next: bool) -> Vec<EnsembleEvent> {
        let Some((last, at)) = self.last.replace((zxid, time)) else { return Vec::new() };
        let mut events = Vec::new();
        if self.outage.as_ref().is_some_and(|outage| time.since(outage.over) > MAX_AFTERMATH) {
            events.extend(self.finish());
        }
        let epoch = zxid.0 >> COUNTER_BITS;
        if epoch > last.0 >> COUNTER_BITS {
            events.extend(self.finish());
            let bounds = TimeBounds::between(at, time);
            let changed = EnsembleEvent::moment(EnsembleEventKind::LeaderChanged, None, bounds);
            events.push(changed.with_epoch(u32::try_from(epoch).ok()));
            let unusual = self.unusual_silence().filter(|silence| is_next && time.since(at) > *silence);
            self.outage = unusual.map(|silence| Outage::between(at, time, silence));
        } else if is_next {
            if self.pauses.len() == MAX_PAUSES {
                self.pauses.pop_front();
            }
            self.pauses.push_back(time.since(at));
        }
        events
    }

    /// Takes in that a session expired.
    pub fn expired(&mut self, time: Timestamp) {
        let Some(outage) = &mut self.outage else { return };
        outage.expiries.push_back(time);
        while outage.expiries.front().is_some_and(|first| time.since(*first) > BURST_TIME) {
            outage.expiries.pop_front();
        }
        outage.burst = outage.burst.max(outage.expiries.len());
    }

    /// Returns the silence whose aftermath was still awaited.
    pub fn finish(&mut self) -> Option<EnsembleEvent> {
        let Outage { event, burst, .. } = self.outage.take()?;
        if burst < MIN_BURST {
            return Some(event);
        }
        let detail = event.detail.as_deref().unwrap_or_default();
        let more = format!("{detail}; then {burst} sessions expired within a second, whose clients may have lived");
        Some(event.with_detail(more))
    }

    /// Returns the length from which on a silence is unusual. Sorts, since epochs are rare.
    fn unusual_silence(&self) -> Option<Duration> {
        let mut pauses: Vec<Duration> = self.pauses.iter().copied().collect();
        pauses.sort_unstable();
        let p99 = pauses.get(pauses.len().checked_sub(1)? * 99 / 100).filter(|_| pauses.len() >= MIN_PAUSES)?;
        Some(p99.saturating_mul(SILENCE_FACTOR).max(MIN_SILENCE))
    }
}

impl Outage {
    /// Creates a silence between two transactions. A working ensemble would have written one within
    /// `usual`. The new leader may have served for a while before anybody wrote.
    fn between(last: Timestamp, first: Timestamp, usual: Duration) -> Self {
        let began = TimeBounds::between(last.minus(MAX_UNCOMMITTED), last.plus(usual).min(first));
        let event = EnsembleEvent::lasting(EnsembleEventKind::NoMajority, None, began);
        let event = event.with_end(TimeBounds::between(began.before, first));
        let silence = humantime::format_duration(first.since(last));
        let event = event.with_detail(format!("no transaction was written for {silence}, then another epoch began"));
        Self { event, over: first, expiries: VecDeque::new(), burst: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EnsembleEventKind::{LeaderChanged, NoMajority};

    /// Plays an epoch of transactions, one every `each` milliseconds, and returns the events.
    fn plays(epochs: &mut Epochs, epoch: i64, from: i64, each: i64, count: i64) -> Vec<EnsembleEvent> {
        let one = |number: i64| (Zxid(epoch << 32 | (number + 1)), Timestamp(from + number * each));
        (0..count).map(one).flat_map(|(zxid, time)| epochs.transaction(zxid, time, true)).collect()
    }

    fn short(events: &[EnsembleEvent]) -> Vec<(EnsembleEventKind, i64, i64)> {
        let times = |event: &EnsembleEvent| (event.began.after.0, event.ended.map_or(0, |ended| ended.before.0));
        events.iter().map(|event| (event.what, times(event).0, times(event).1)).collect()
    }

    #[test]
    fn another_epoch_is_another_leader_and_an_unusual_silence_before_it_no_majority() {
        let mut epochs = Epochs::default();
        assert_eq!(plays(&mut epochs, 1, 0, 100, 50), []);
        let changed = plays(&mut epochs, 2, 5_400, 100, 50);
        assert_eq!(short(&changed), [(LeaderChanged, 4_900, 5_400)]);
        assert_eq!(changed[0].epoch, Some(2));
        let changed = plays(&mut epochs, 3, 20_000, 100, 700);
        assert_eq!(short(&changed), [(LeaderChanged, 10_300, 20_000), (NoMajority, -3_450, 20_000)]);
        let lost = &changed[1];
        assert_eq!((lost.began.before.0, lost.ended.map(|ended| ended.after.0)), (12_300, Some(12_300)));
        assert_eq!(lost.detail.as_deref(), Some("no transaction was written for 9s 700ms, then another epoch began"));
    }

    #[test]
    fn a_quiet_ensemble_is_silent_too_and_missing_transactions_tell_nothing() {
        let mut quiet = Epochs::default();
        plays(&mut quiet, 1, 0, 3_000, 50);
        assert_eq!(short(&plays(&mut quiet, 2, 160_000, 10, 1)), [(LeaderChanged, 147_000, 160_000)]);
        let mut few = Epochs::default();
        plays(&mut few, 1, 0, 100, 10);
        plays(&mut few, 2, 60_000, 10, 1);
        assert_eq!(few.finish(), None, "ten pauses are no rule");
        let mut missing = Epochs::default();
        plays(&mut missing, 1, 0, 100, 50);
        assert_eq!(missing.transaction(Zxid(2 << 32 | 9), Timestamp(60_000), false).len(), 1);
        assert_eq!(missing.finish(), None);
    }

    #[test]
    fn a_burst_of_expiries_after_an_outage_is_told_with_it() {
        for (each, is_told) in [(300, true), (900, false)] {
            let mut epochs = Epochs::default();
            plays(&mut epochs, 1, 0, 100, 50);
            plays(&mut epochs, 2, 60_000, 10, 1);
            (0..3).for_each(|number| epochs.expired(Timestamp(64_000 + number * each)));
            let detail = epochs.finish().and_then(|event| event.detail).unwrap_or_default();
            assert_eq!(detail.contains("3 sessions expired within a second"), is_told, "{detail}");
        }
    }

    #[test]
    fn the_clock_of_a_new_leader_may_be_behind() {
        let mut epochs = Epochs::default();
        plays(&mut epochs, 1, 1_000_000, 100, 50);
        assert_eq!(short(&plays(&mut epochs, 2, 0, 10, 1)), [(LeaderChanged, 0, 0)]);
    }
}
