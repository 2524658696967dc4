//! The histories of several ensembles on one time line.
//!
//! Each recording has the times of its own recorder. They are put side by side as they are; how far
//! the clock of each ensemble differs is said beside it.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::facts::{AttemptFacts, GapFacts, PastContenderFacts, PercentileFacts, RankingFacts, StormFacts};
use super::lines::{ranks, row};
use super::{History, ListOrder, PastContender};
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::report::{EnsembleEventFacts, SCHEMA, rfc3339};
use lockscope_model::text::human::{count, date_and_time, latency, plural};
use lockscope_model::text::{Align, columns};

/// A difference of clocks below this is not told: hand-overs are known to the second at best.
const MIN_DIFFERENCE_MS: u64 = 1_000;

/// The recording of one of several ensembles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEnsemble {
    /// Its name: that of the file, without the extension.
    pub context: String,
    /// The servers and the chroot.
    pub connect: String,
    /// How far the recorder's clock is ahead of the servers' clock, in milliseconds.
    pub clock_ahead_ms: i64,
}

/// The histories of several ensembles. Holds and waits of all of them share the limit of a query.
#[derive(Debug, Default)]
pub struct Histories {
    ensembles: Vec<(RecordedEnsemble, History)>,
    /// The listed holds and waits, each with the position of its ensemble and whether it held.
    listed: Vec<(usize, bool, PastContender)>,
    limit: usize,
    order: ListOrder,
}

impl Histories {
    /// Starts without any ensemble.
    pub fn new(order: ListOrder, limit: usize) -> Self {
        Self { ensembles: Vec::new(), listed: Vec::new(), limit, order }
    }

    /// Adds the history of an ensemble. Memory holds at most twice the limit of holds and waits.
    pub fn add(&mut self, ensemble: RecordedEnsemble, mut history: History) {
        let place = self.ensembles.len();
        let holds = history.holds.drain(..).map(|hold| (place, true, hold));
        self.listed.extend(holds);
        self.listed.extend(history.waits.drain(..).map(|wait| (place, false, wait)));
        self.ensembles.push((ensemble, history));
        match self.order {
            ListOrder::Time => {
                self.listed.sort_unstable_by_key(|(place, _, past)| (past.began_at(), *place, past.id));
                // The last ones of a time line are listed.
                let excess = self.listed.len().saturating_sub(self.limit);
                self.listed.drain(..excess);
            }
            ListOrder::Worst => {
                self.listed.sort_unstable_by_key(|(place, _, past)| (Reverse(past.weight_ms()), *place, past.id));
                self.listed.truncate(self.limit);
            }
        }
    }

    fn count(&self, of: impl Fn(&History) -> usize) -> usize {
        self.ensembles.iter().map(|(_, history)| of(history)).sum()
    }

    fn left_out(&self) -> usize {
        self.count(|history| history.hold_count + history.wait_count).saturating_sub(self.listed.len())
    }
}

/// The output of `lockscope history` of several recordings.
#[derive(Debug, Serialize)]
pub struct HistoriesFacts<'a> {
    schema: u32,
    from: Option<String>,
    to: Option<String>,
    order: &'static str,
    hold_count: usize,
    wait_count: usize,
    left_out: usize,
    ensembles: Vec<EnsembleFacts<'a>>,
    holds: Vec<Of<'a, PastContenderFacts<'a>>>,
    waits: Vec<Of<'a, PastContenderFacts<'a>>>,
    attempts: Vec<Of<'a, AttemptFacts<'a>>>,
    storms: Vec<Of<'a, StormFacts<'a>>>,
    gaps: Vec<Of<'a, GapFacts<'a>>>,
    ensemble_events: Vec<Of<'a, EnsembleEventFacts<'a>>>,
    top: Option<Vec<Of<'a, RankingFacts<'a>>>>,
}

/// One of the ensembles.
#[derive(Debug, Serialize)]
struct EnsembleFacts<'a> {
    context: &'a str,
    ensemble: &'a str,
    from: Option<String>,
    to: Option<String>,
    recorded_until: Option<String>,
    clock_ahead_ms: i64,
    hold_count: usize,
    wait_count: usize,
    hold_ms: PercentileFacts,
    wait_ms: PercentileFacts,
}

/// Facts with their ensemble.
#[derive(Debug, Serialize)]
struct Of<'a, T> {
    context: &'a str,
    ensemble: &'a str,
    #[serde(flatten)]
    facts: T,
}

impl<'a> From<&'a Histories> for HistoriesFacts<'a> {
    fn from(all: &'a Histories) -> Self {
        let ensembles = &all.ensembles;
        let listed = |is_hold: bool| {
            let of_kind = all.listed.iter().filter(move |(_, held, _)| *held == is_hold);
            of_kind.map(|(place, _, past)| of(&ensembles[*place].0, past.into())).collect()
        };
        Self {
            schema: SCHEMA,
            from: ensembles.iter().filter_map(|(_, history)| history.from).min().and_then(rfc3339),
            to: ensembles.iter().filter_map(|(_, history)| history.to).max().and_then(rfc3339),
            order: all.order.id(),
            hold_count: all.count(|history| history.hold_count),
            wait_count: all.count(|history| history.wait_count),
            left_out: all.left_out(),
            ensembles: ensembles.iter().map(|(ensemble, history)| EnsembleFacts::new(ensemble, history)).collect(),
            holds: listed(true),
            waits: listed(false),
            attempts: each(ensembles, |history| history.attempts.iter().map(Into::into).collect()),
            storms: each(ensembles, |history| history.storms.iter().map(Into::into).collect()),
            gaps: each(ensembles, |history| history.gaps.iter().map(Into::into).collect()),
            ensemble_events: each(ensembles, |history| history.ensemble.iter().map(Into::into).collect()),
            top: ensembles
                .iter()
                .any(|(_, history)| history.ranking.is_some())
                .then(|| each(ensembles, |history| history.ranking.iter().map(Into::into).collect())),
        }
    }
}

fn of<T>(ensemble: &RecordedEnsemble, facts: T) -> Of<'_, T> {
    Of { context: &ensemble.context, ensemble: &ensemble.connect, facts }
}

/// Returns facts of every ensemble, in the order of the ensembles.
fn each<'a, T>(ensembles: &'a [(RecordedEnsemble, History)], facts: impl Fn(&'a History) -> Vec<T>) -> Vec<Of<'a, T>> {
    let of_one = |(ensemble, history): &'a (RecordedEnsemble, History)| {
        facts(history).into_iter().map(|facts| of(ensemble, facts)).collect::<Vec<_>>()
    };
    ensembles.iter().flat_map(of_one).collect()
}

impl<'a> EnsembleFacts<'a> {
    fn new(ensemble: &'a RecordedEnsemble, history: &History) -> Self {
        Self {
            context: &ensemble.context,
            ensemble: &ensemble.connect,
            from: history.from.and_then(rfc3339),
            to: history.to.and_then(rfc3339),
            recorded_until: history.recorded_until.and_then(rfc3339),
            clock_ahead_ms: ensemble.clock_ahead_ms,
            hold_count: history.hold_count,
            wait_count: history.wait_count,
            hold_ms: history.hold_ms.into(),
            wait_ms: history.wait_ms.into(),
        }
    }
}

/// Returns a sentence about the servers' clock, if it differs from the recorder's by a second or
/// more.
pub fn clock_sentence(ahead_ms: i64) -> Option<String> {
    let difference = Duration::from_millis(ahead_ms.unsigned_abs());
    (ahead_ms.unsigned_abs() >= MIN_DIFFERENCE_MS).then(|| {
        let side = if ahead_ms > 0 { "behind" } else { "ahead of" };
        format!("its servers' clock is {} {side} the recorder's", latency(difference))
    })
}

/// Writes the histories as one table, after the totals of each ensemble. Times are local unless
/// `utc` is set.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn write_lines(out: &mut impl Write, all: &Histories, utc: bool) -> io::Result<()> {
    for (RecordedEnsemble { context, connect, clock_ahead_ms }, history) in &all.ensembles {
        let time = |at: Option<Timestamp>| at.map_or_else(|| "?".to_owned(), |at| date_and_time(at, utc));
        let (held, waited) = (plural(history.hold_count, "hold", "holds"), plural(history.wait_count, "wait", "waits"));
        let (from, to) = (time(history.from), time(history.to));
        let clock = clock_sentence(*clock_ahead_ms).map(|sentence| format!("; {sentence}")).unwrap_or_default();
        let connect = escaped(connect);
        writeln!(out, "{context} ({connect}), from {from} to {to}: {held}, {waited} without a hold{clock}.")?;
        for gap in &history.gaps {
            let until = gap.to.map_or_else(|| "now".to_owned(), |to| date_and_time(to, utc));
            let from = date_and_time(gap.from, utc);
            writeln!(out, "  Nothing was seen from {from} to {until}: {}", escaped(&gap.reason))?;
        }
        if let Some(ranking) = &history.ranking {
            ranks(out, ranking)?;
        }
    }
    if all.ensembles.iter().any(|(_, history)| history.ranking.is_some()) {
        return Ok(());
    }
    if !all.listed.is_empty() {
        let titles = ["ENSEMBLE", "CAME", "LOCK", "CLIENT", "MODE", "WAITED", "HELD", "END"].map(str::to_owned);
        let mut rows = vec![titles];
        rows.extend(all.listed.iter().map(|(place, _, past)| {
            let [came, lock, client, mode, waited, held, end] = row(past, utc);
            [all.ensembles[*place].0.context.clone(), came, lock, client, mode, waited, held, end]
        }));
        let left = Align::Left;
        let aligned = [left, left, left, left, left, Align::Right, Align::Right, left];
        write!(out, "\n{}", columns(&rows, aligned))?;
    }
    match all.left_out() {
        0 => Ok(()),
        left_out => writeln!(out, "{} more are not listed: see --from, --to and --limit.", count(left_out)),
    }
}
