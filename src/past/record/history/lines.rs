//! A history for people, of one recording, or of several ensembles on one time line.
//!
//! Each recording has the times of its own recorder. They are put side by side as they are; how far
//! the clock of each ensemble differs is said beside it. The histories of several ensembles are
//! written as JSON here, too.

use std::cmp::Reverse;
use std::io;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use super::facts::{
    AttemptFacts, CoverageFacts, GapFacts, PastContenderFacts, PercentileFacts, RankingFacts, StormFacts,
};
use super::{
    CoveredTime, History, HistoryOrder, HolderCost, PastAttempts, PastContender, PastEnsembleEvent, Percentiles,
    RankedClient, RankedLock, Ranking, Storm, Sums, host,
};
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::ensemble::EnsembleEventKind;
use lockscope_model::report::{EnsembleEventFacts, SCHEMA, rfc3339};
use lockscope_model::text::human::{bounded, count, date_and_time, duration, latency, plural};
use lockscope_model::text::{Align, Charset, Keep, columns, fit};

/// The most columns of a path or a name.
const NAME_COLUMNS: usize = 48;

/// The most events of the ensemble.
const MAX_EVENTS: usize = 20;

/// The most rows of attempts in vain, and the most storms.
const MAX_IN_VAIN: usize = 10;

/// Writes the history as a table, with the totals before and after it. Times are local unless `utc`
/// is set.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn lines(out: &mut impl Write, history: &History, utc: bool) -> io::Result<()> {
    let History { from, to, order, holds, waits, hold_count, wait_count, hold_ms, wait_ms, gaps, ranking, .. } =
        history;
    let (Some(from), Some(to)) = (from, to) else {
        return writeln!(out, "Nothing was recorded yet.");
    };
    let (from, to) = (date_and_time(*from, utc), date_and_time(*to, utc));
    let (held, waited) = (plural(*hold_count, "hold", "holds"), plural(*wait_count, "wait", "waits"));
    writeln!(out, "From {from} to {to}: {held}, {waited} without a hold.")?;
    percentiles(out, "Held", hold_ms)?;
    percentiles(out, "Waited before a hold", wait_ms)?;
    logs(out, history, "", utc)?;
    for gap in gaps {
        let until = gap.to.map_or_else(|| "now".to_owned(), |to| date_and_time(to, utc));
        let reason = fit(&gap.reason, 4 * NAME_COLUMNS, Keep::Start, Charset::Unicode);
        writeln!(out, "Nothing was seen from {} to {until}: {reason}", date_and_time(gap.from, utc))?;
    }
    let of_ensemble = history.ensemble.iter().filter(|event| event.what != EnsembleEventKind::NotSeen);
    of_ensemble.take(MAX_EVENTS).try_for_each(|event| writeln!(out, "{}", event_text(event, utc)))?;
    history.storms.iter().take(MAX_IN_VAIN).try_for_each(|storm| writeln!(out, "{}", storm_text(storm, utc)))?;
    attempts(out, &history.attempts, utc)?;
    if let Some(ranking) = ranking {
        ranks(out, ranking, utc)?;
        return Ok(());
    }
    let mut listed: Vec<&PastContender> = holds.iter().chain(waits).collect();
    match order {
        HistoryOrder::Time => listed.sort_unstable_by_key(|past| (past.began_at(), past.id)),
        HistoryOrder::Worst => listed.sort_unstable_by_key(|past| (Reverse(past.weight_ms()), past.id)),
    }
    if !listed.is_empty() {
        let mut rows = vec![["CAME", "LOCK", "CLIENT", "MODE", "WAITED", "HELD", "END"].map(str::to_owned)];
        rows.extend(listed.iter().map(|past| row(past, utc)));
        let left = Align::Left;
        write!(out, "\n{}", columns(&rows, [left, left, left, left, Align::Right, Align::Right, left]))?;
    }
    let left_out = (hold_count + wait_count).saturating_sub(listed.len());
    if left_out > 0 {
        let which = match order {
            HistoryOrder::Time => "before these",
            HistoryOrder::Worst => "that held or waited for less time",
        };
        writeln!(out, "{} {which} are not listed: see --from, --to and --limit.", count(left_out))?;
    }
    Ok(())
}

/// The most times whose source is told.
const MAX_COVERED: usize = 20;

/// Tells which times are from transaction logs, and what proves these.
fn logs(out: &mut impl Write, history: &History, indent: &str, utc: bool) -> io::Result<()> {
    let covered = history.coverage.iter().flatten();
    let of_logs: Vec<(&CoveredTime, String)> =
        covered.filter_map(|covered| Some((covered, covered.of_logs()?))).collect();
    for (CoveredTime { time, .. }, what) in of_logs.iter().take(MAX_COVERED) {
        let (from, to) = (date_and_time(time.from, utc), date_and_time(time.to, utc));
        writeln!(out, "{indent}From {from} to {to} it is from {what}.")?;
    }
    let others = of_logs.len().saturating_sub(MAX_COVERED);
    if others > 0 {
        writeln!(out, "{indent}{} are from transaction logs.", plural(others, "other part", "other parts"))
    } else {
        Ok(())
    }
}

fn event_text(event: &PastEnsembleEvent, utc: bool) -> String {
    let time = |at| date_and_time(at, utc);
    let when = match event.ended {
        Some(ended) if ended == event.began => format!("by {}", time(ended.before)),
        Some(ended) => format!("from {} to {}", time(event.began.before), time(ended.before)),
        None => format!("from {} on", time(event.began.before)),
    };
    let member = event.member.as_deref().map(|member| format!(" {}", name(member))).unwrap_or_default();
    let epoch = event.epoch.map(|epoch| format!(", epoch {epoch}")).unwrap_or_default();
    let detail = event.detail.as_deref().map(|text| fit(text, 4 * NAME_COLUMNS, Keep::Start, Charset::Unicode));
    let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("The ensemble: {}{member}{epoch} {when}{detail}", event.what.title())
}

fn storm_text(storm: &Storm, utc: bool) -> String {
    let (lock, from) = (lock_name(&storm.lock, storm.name.as_deref()), date_and_time(storm.from, utc));
    let (all, left, refused) = (count(storm.requests()), count(storm.left), count(storm.refused));
    format!(
        "A storm at {lock}: {all} requests in vain within 10 s from {from} on ({left} left, {refused} were refused)."
    )
}

fn attempts(out: &mut impl Write, attempts: &[PastAttempts], utc: bool) -> io::Result<()> {
    if attempts.is_empty() {
        return Ok(());
    }
    let session = |attempts: &PastAttempts| attempts.session.map_or("several sessions".to_owned(), |id| id.to_string());
    let row = |attempts: &PastAttempts| {
        [
            attempts.lock.as_deref().map_or_else(|| "?".to_owned(), name),
            attempts.client_name.as_deref().map_or_else(|| session(attempts), name),
            count(attempts.count),
            came(attempts.from, utc),
            latency(attempts.to.since(attempts.from)),
        ]
    };
    let titles = ["TRIED IN VAIN", "CLIENT", "TIMES", "FROM", "FOR"].map(str::to_owned);
    let rows: Vec<_> = [titles].into_iter().chain(attempts.iter().take(MAX_IN_VAIN).map(row)).collect();
    write!(out, "\n{}", columns(&rows, [Align::Left, Align::Left, Align::Right, Align::Left, Align::Right]))?;
    let others = attempts.len().saturating_sub(MAX_IN_VAIN);
    if others > 0 { writeln!(out, "and {}", plural(others, "other", "others")) } else { Ok(()) }
}

fn percentiles(out: &mut impl Write, what: &str, percentiles: &Percentiles) -> io::Result<()> {
    let Percentiles { count: of, p50, p90, p99, max } = *percentiles;
    if of == 0 {
        return Ok(());
    }
    let [p50, p90, p99, max] = [p50, p90, p99, max].map(|ms| latency(Duration::from_millis(ms)));
    writeln!(out, "{what}: p50 {p50}, p90 {p90}, p99 {p99}, longest {max} (of {} with exact times)", count(of))
}

fn name(text: &str) -> String {
    fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode)
}

fn lock_name(lock: &str, name_in_parent: Option<&str>) -> String {
    name_in_parent.map_or_else(|| name(lock), |own| format!("{} {}", name(lock), name(own)))
}

fn client_name(address: Option<&str>, own_name: Option<&str>) -> Option<String> {
    match (own_name, address) {
        (Some(own), Some(address)) if !address.starts_with(own) => Some(format!("{} ({})", name(own), name(address))),
        (_, Some(address)) => Some(name(address)),
        (Some(own), None) => Some(name(own)),
        (None, None) => None,
    }
}

fn row(past: &PastContender, utc: bool) -> [String; 7] {
    let ms = Duration::from_millis;
    let held = match (past.held_at_least_ms(), past.held_at_most_ms()) {
        (Some(least), Some(most)) if least == most => latency(ms(least)),
        (Some(least), Some(most)) => bounded(ms(least), ms(most), Charset::Unicode),
        _ => "-".to_owned(),
    };
    let client = client_name(past.client.as_deref(), past.client_name.as_deref());
    let session = || past.session.map_or_else(|| "no session".to_owned(), |session| session.to_string());
    [
        came(past.began_at(), utc),
        lock_name(&past.lock, past.name.as_deref()),
        client.unwrap_or_else(session),
        escaped(&past.mode).into_owned(),
        past.waited_ms().map_or_else(|| "?".to_owned(), |waited| latency(ms(waited))),
        held,
        past.end.id().to_owned(),
    ]
}

/// Returns the day and time without the zone, which the header has.
fn came(at: Timestamp, utc: bool) -> String {
    date_and_time(at, utc).chars().take("2024-05-01 14:41:07".len()).collect()
}

/// Returns a client; for several addresses its host, and their number.
fn ranked_client(ranked: &RankedClient) -> String {
    let address = ranked.client.as_deref();
    let name = match address.map(host).filter(|_| ranked.addresses > 1) {
        Some(host) => {
            let addresses = plural(ranked.addresses, "address", "addresses");
            ranked.client_name.as_deref().map(|own| format!("{} ({}, {addresses})", name(own), name(host)))
        }
        None => client_name(address, ranked.client_name.as_deref()),
    };
    name.unwrap_or_else(|| "not known".to_owned())
}

fn ranks(out: &mut impl Write, ranking: &Ranking, utc: bool) -> io::Result<()> {
    let right = Align::Right;
    let align = [Align::Left, right, right, right, right, right, right];
    let last = if ranking.counted.is_some() { "COST" } else { "IN VAIN" };
    let titles = |what: &str| [what, "HAND-OVERS", "WAITED", "LONGEST", "HELD", "LONGEST", last].map(str::to_owned);
    let row = |name: String, sums: &Sums| {
        let Sums { handovers, in_vain, held_ms, waited_ms, longest_hold_ms, longest_wait_ms, waiter_seconds, .. } =
            *sums;
        let [waited, longest_wait, held, longest_hold] =
            [waited_ms, longest_wait_ms, held_ms, longest_hold_ms].map(|ms| latency(Duration::from_millis(ms)));
        let last = ranking.counted.map_or_else(|| count(in_vain), |_| latency(waiter_seconds.unwrap_or_default().0));
        [name, count(handovers), waited, longest_wait, held, longest_hold, last]
    };
    let lock = |ranked: &RankedLock| row(lock_name(&ranked.lock, ranked.name.as_deref()), &ranked.sums);
    let client = |ranked: &RankedClient| row(ranked_client(ranked), &ranked.sums);
    let locks: Vec<_> = [titles("LOCK")].into_iter().chain(ranking.locks.iter().map(lock)).collect();
    let clients: Vec<_> = [titles("CLIENT")].into_iter().chain(ranking.clients.iter().map(client)).collect();
    if let Some(counted) = ranking.counted.map(duration) {
        let what = "how long all waiters waited, summed up; of a client or a hold, while it held";
        writeln!(out, "COST is {what}. Only the {counted} that are recorded count.")?;
    }
    for (rows, of, what) in [(locks, ranking.lock_count, "locks"), (clients, ranking.client_count, "clients")] {
        write!(out, "\n{}", columns(&rows, align))?;
        let others = of.saturating_sub(rows.len() - 1);
        if others > 0 {
            writeln!(out, "and {} other {what}", count(others))?;
        }
    }
    if ranking.holders.is_empty() { Ok(()) } else { write!(out, "\n{}", holders(ranking, utc)) }
}

/// Returns the table of the holds for which others waited longest.
fn holders(ranking: &Ranking, utc: bool) -> String {
    let holder = |(past, cost): &(PastContender, HolderCost)| {
        let [came, lock, client, _, _, held, end] = row(past, utc);
        [came, lock, client, latency(cost.waited.0), count(cost.waiters), held, end]
    };
    let titles = ["CAME", "LOCK", "HOLDER", "COST", "WAITERS", "HELD", "END"].map(str::to_owned);
    let rows: Vec<_> = [titles].into_iter().chain(ranking.holders.iter().map(holder)).collect();
    let (left, right) = (Align::Left, Align::Right);
    columns(&rows, [left, left, left, right, right, right, left])
}

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
    order: HistoryOrder,
}

impl Histories {
    /// Starts without any ensemble.
    pub fn new(order: HistoryOrder, limit: usize) -> Self {
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
            HistoryOrder::Time => {
                self.listed.sort_unstable_by_key(|(place, _, past)| (past.began_at(), *place, past.id));
                // The last ones of a time line are listed.
                let excess = self.listed.len().saturating_sub(self.limit);
                self.listed.drain(..excess);
            }
            HistoryOrder::Worst => {
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
    ensembles: Vec<NamedEnsembleFacts<'a>>,
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
struct NamedEnsembleFacts<'a> {
    context: &'a str,
    ensemble: &'a str,
    from: Option<String>,
    to: Option<String>,
    recorded_until: Option<String>,
    clock_ahead_ms: i64,
    coverage: Option<Vec<CoverageFacts<'a>>>,
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
            ensembles: ensembles.iter().map(|(ensemble, history)| NamedEnsembleFacts::new(ensemble, history)).collect(),
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

impl<'a> NamedEnsembleFacts<'a> {
    fn new(ensemble: &'a RecordedEnsemble, history: &'a History) -> Self {
        Self {
            context: &ensemble.context,
            ensemble: &ensemble.connect,
            from: history.from.and_then(rfc3339),
            to: history.to.and_then(rfc3339),
            recorded_until: history.recorded_until.and_then(rfc3339),
            clock_ahead_ms: ensemble.clock_ahead_ms,
            coverage: CoverageFacts::each(history.coverage.as_deref()),
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
        logs(out, history, "  ", utc)?;
        for gap in &history.gaps {
            let until = gap.to.map_or_else(|| "now".to_owned(), |to| date_and_time(to, utc));
            let from = date_and_time(gap.from, utc);
            writeln!(out, "  Nothing was seen from {from} to {until}: {}", escaped(&gap.reason))?;
        }
        if let Some(ranking) = &history.ranking {
            ranks(out, ranking, utc)?;
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
