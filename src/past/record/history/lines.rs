//! A history for people.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::time::Duration;

use super::ranking::host;
use super::{
    History, ListOrder, PastAttempts, PastContender, PastEnsembleEvent, Percentiles, RankedClient, RankedLock, Ranking,
    Storm,
};
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::ensemble::EnsembleEventKind;
use lockscope_model::text::human::{bounded, count, date_and_time, latency, plural};
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
        ranks(out, ranking)?;
        return Ok(());
    }
    let mut listed: Vec<&PastContender> = holds.iter().chain(waits).collect();
    match order {
        ListOrder::Time => listed.sort_unstable_by_key(|past| (past.began_at(), past.id)),
        ListOrder::Worst => listed.sort_unstable_by_key(|past| (Reverse(past.weight_ms()), past.id)),
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
            ListOrder::Time => "before these",
            ListOrder::Worst => "that held or waited for less time",
        };
        writeln!(out, "{} {which} are not listed: see --from, --to and --limit.", count(left_out))?;
    }
    Ok(())
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

pub(super) fn row(past: &PastContender, utc: bool) -> [String; 7] {
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

pub(super) fn ranks(out: &mut impl Write, ranking: &Ranking) -> io::Result<()> {
    let right = Align::Right;
    let align = [Align::Left, right, right, right, right, right, right];
    let titles =
        |what: &str| [what, "HAND-OVERS", "WAITED", "LONGEST", "HELD", "LONGEST", "IN VAIN"].map(str::to_owned);
    let times = |handovers: u64, sums: [u64; 4], in_vain: u64| {
        let [waited, longest_wait, held, longest_hold] = sums.map(|ms| latency(Duration::from_millis(ms)));
        [count(handovers), waited, longest_wait, held, longest_hold, count(in_vain)]
    };
    let row = |name: String, [a, b, c, d, e, f]: [String; 6]| [name, a, b, c, d, e, f];
    let lock = |ranked: &RankedLock| {
        let sums = [ranked.waited_ms, ranked.longest_wait_ms, ranked.held_ms, ranked.longest_hold_ms];
        row(lock_name(&ranked.lock, ranked.name.as_deref()), times(ranked.handovers, sums, ranked.in_vain))
    };
    let client = |ranked: &RankedClient| {
        let sums = [ranked.waited_ms, ranked.longest_wait_ms, ranked.held_ms, ranked.longest_hold_ms];
        row(ranked_client(ranked), times(ranked.handovers, sums, ranked.in_vain))
    };
    let locks: Vec<_> = [titles("LOCK")].into_iter().chain(ranking.locks.iter().map(lock)).collect();
    let clients: Vec<_> = [titles("CLIENT")].into_iter().chain(ranking.clients.iter().map(client)).collect();
    for (rows, of, what) in [(locks, ranking.lock_count, "locks"), (clients, ranking.client_count, "clients")] {
        write!(out, "\n{}", columns(&rows, align))?;
        let others = of.saturating_sub(rows.len() - 1);
        if others > 0 {
            writeln!(out, "and {} other {what}", count(others))?;
        }
    }
    Ok(())
}
