//! Draws holds and waits as bars over time: one picture for each lock, with round times below it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use maud::{Markup, html};
use rustc_hash::FxHashMap;

use super::{Incident, LockBars, certain_hold, certain_wait, queue_lengths, words};
use crate::record::history::PastContender;
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::text::human::{count, date_and_time, exact_time, latency, plural, time_of_day};
use lockscope_model::text::{Charset, Keep, cut, tenth, whole};

/// The heights of a bar's row, of the queue length, and of the head, in pixels.
const ROW: f64 = 17.0;

const QUEUE: f64 = 44.0;

const HEAD: f64 = 22.0;

/// The most clients of a lock with a row of their own.
pub const MAX_ROWS: usize = 24;

/// The most requests of a client that are drawn one by one, each with its own words. A client with more
/// has all of them drawn together, and those that held or waited longest also by themselves.
const MAX_REQUESTS: usize = 40;

/// The number of parts of the time for which the queue length and merged holds are drawn.
const PARTS: usize = 400;

/// Returns the picture of one lock, and how many of its clients have no row.
pub fn picture(incident: &Incident<'_>, lock: &LockBars<'_>, utc: bool) -> (Markup, usize) {
    let scale = TimeScale { from: incident.window.from.0, to: incident.window.to.0 };
    let (shown, left_out) = chosen(incident, lock);
    let rows_top = HEAD + ROW + 4.0;
    let rows = whole(shown.len()) * ROW;
    let queue_top = rows_top + rows + 8.0;
    let height = queue_top + QUEUE + 26.0;
    let title = words::lock(lock.path, lock.name);
    let ticks = ticks(scale, utc);
    let markup = html! {
        svg class="bars" viewBox={ "0 0 " (WIDTH) " " (tenth(height)) } role="img" aria-label={ "Holders and waiters of " (title) }
            data-lock=(title) {
            @for (at, _) in &ticks {
                line class="grid" x1=(scale.x(*at)) x2=(scale.x(*at)) y1=(HEAD - 6.0) y2=(tenth(height - 18.0)) {}
            }
            @for gap in &incident.window.gaps {
                @let (x, width) = scale.span(TimeRange { from: gap.from, to: gap.to.unwrap_or(incident.window.to) });
                rect class="gap" x=(x) y=(HEAD) width=(width) height=(tenth(height - HEAD - 20.0)) {
                    title { "Nothing was seen: " (words::sentence(&gap.reason)) }
                }
            }
            (all_holds(incident, lock, scale))
            @for finding in &lock.findings {
                @let (x, width) = scale.span(TimeRange { from: finding.raised_at, to: finding.cleared_at.unwrap_or(incident.window.known_until) });
                rect class={ "finding " (severity(&finding.severity)) } x=(x) y="2" width=(width) height="6" {
                    title { (words::name(&finding.code)) ": " (words::sentence(&finding.summary)) }
                }
            }
            @for (row, requests) in shown.iter().enumerate() {
                (client(incident, lock, requests, scale, rows_top + whole(row) * ROW, utc))
            }
            @for deletion in incident.window.deletions.iter().filter(|deletion| deletion.lock == lock.path) {
                line class="deletion" x1=(scale.x(deletion.at.0)) x2=(scale.x(deletion.at.0)) y1=(HEAD) y2=(tenth(queue_top)) {
                    title { "Deletion of " (words::name(&deletion.path)) ": " (words::name(&deletion.result)) }
                }
            }
            (queue(incident, lock, queue_top))
            @for (at, time) in &ticks {
                text class="time" text-anchor=(scale.anchor(*at)) x=(scale.x(*at)) y=(tenth(height - 5.0)) { (time) }
            }
        }
    };
    (markup, left_out)
}

/// Chooses the clients with a row of their own: those that others waited for and those with the
/// longest hold or wait, in the order of arrival. Returns the requests of each, and how many clients
/// have no row.
fn chosen(incident: &Incident<'_>, lock: &LockBars<'_>) -> (Vec<Vec<usize>>, usize) {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for at in &lock.contenders {
        let Some(past) = incident.contender(*at) else { continue };
        let place = *places.entry(words::same_client(past)).or_insert(rows.len());
        if place == rows.len() {
            rows.push(Vec::new());
        }
        rows[place].push(*at);
    }
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        let standing = lock.standstills.iter().flat_map(|found| found.holders.iter().copied()).take(MAX_ROWS / 3);
        let standing: BTreeSet<usize> = standing.collect();
        let is_standing = |row: &Vec<usize>| row.iter().any(|at| standing.contains(at));
        let weight = |row: &Vec<usize>| row.iter().map(|at| weight(incident, *at)).max();
        rows.sort_by_cached_key(|row| (Reverse(is_standing(row)), Reverse(weight(row))));
        rows.truncate(MAX_ROWS);
        rows.sort_unstable();
    }
    (rows, left_out)
}

/// Returns how long a contender held or waited, whichever is longer.
fn weight(incident: &Incident<'_>, at: usize) -> Duration {
    let length = |time: Option<TimeRange>| time.map_or(Duration::ZERO, TimeRange::length);
    let window = incident.times();
    incident
        .contender(at)
        .map_or(Duration::ZERO, |past| length(certain_hold(past, window)).max(length(certain_wait(past, window))))
}

/// Draws all holds of the lock in one row. If there are many, draws how much of each part of the
/// time the lock was held.
fn all_holds(incident: &Incident<'_>, lock: &LockBars<'_>, scale: TimeScale) -> Markup {
    let window = incident.times();
    let holds: Vec<TimeRange> =
        lock.contenders.iter().filter_map(|at| certain_hold(incident.contender(*at)?, window)).collect();
    let is_dense = holds.len() > PARTS;
    let path = bars(&holds, scale, HEAD, ROW - 4.0);
    html! {
        text class="label" x="4" y=(tenth(HEAD + ROW - 4.0)) {
            (plural(holds.len(), "hold", "holds")) @if is_dense { ", drawn together" }
        }
        path class="hold all" d=(path) data-holds=(holds.len()) { title { "When anybody held it" } }
    }
}

/// Draws times as bars of a height: each by itself, or very many together.
fn bars(times: &[TimeRange], scale: TimeScale, top: f64, height: f64) -> String {
    let (top, height) = (tenth(top), tenth(height));
    let mut spans = times.to_vec();
    spans.sort_unstable();
    // Times closer than a quarter of a part are merged: the gap would be invisible.
    let closest = if times.len() > PARTS { (WIDTH - LEFT) / whole(PARTS) / 4.0 } else { f64::NEG_INFINITY };
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for span in spans {
        let (x, width) = scale.span(span);
        match merged.last_mut() {
            Some(last) if x <= last.1 + closest => last.1 = last.1.max(x + width),
            _ => merged.push((x, x + width)),
        }
    }
    let mut path = String::new();
    for (from, to) in merged {
        let width = tenth(to - from);
        // Writing to a String cannot fail.
        let _ = write!(path, "M{} {top}h{width}v{height}h-{width}z", tenth(from));
    }
    path
}

/// Draws the requests of a client in one row.
fn client(
    incident: &Incident<'_>,
    lock: &LockBars<'_>,
    requests: &[usize],
    scale: TimeScale,
    y: f64,
    utc: bool,
) -> Markup {
    let Some(last) = requests.last().and_then(|at| incident.contender(*at)) else { return html! {} };
    let who = words::client(last);
    let window = incident.times();
    let times = |time: fn(&PastContender, TimeRange) -> Option<TimeRange>| -> Vec<TimeRange> {
        requests.iter().filter_map(|at| time(incident.contender(*at)?, window)).collect()
    };
    let (waits, holds) = (times(certain_wait), times(certain_hold));
    let sum = |times: &[TimeRange]| latency(times.iter().map(|time| time.length()).sum());
    let all = format!(
        "{}: waited {} and held {} in all",
        plural(requests.len(), "request", "requests"),
        sum(&waits),
        sum(&holds)
    );
    let mut single = requests.to_vec();
    let is_many = single.len() > MAX_REQUESTS;
    if is_many {
        single.sort_by_cached_key(|at| Reverse(weight(incident, *at)));
        single.truncate(MAX_REQUESTS);
        single.sort_unstable();
    }
    html! {
        g class="client" data-requests=(requests.len()) {
            text class="label" x="4" y=(tenth(y + ROW / 2.0 + 4.0)) { (short(&who)) title { (who) ", " (all) } }
            @if is_many {
                path class="wait" d=(bars(&waits, scale, y + 5.0, 6.0)) { title { (who) ", " (all) } }
                path class="hold" d=(bars(&holds, scale, y + 2.0, 12.0)) { title { (who) ", " (all) } }
            }
            @for past in single.iter().filter_map(|at| incident.contender(*at)) {
                (contender(incident, lock, past, scale, y, utc))
            }
        }
    }
}

fn contender(
    incident: &Incident<'_>,
    lock: &LockBars<'_>,
    past: &PastContender,
    scale: TimeScale,
    y: f64,
    utc: bool,
) -> Markup {
    let window = incident.times();
    let (wait, hold) = (certain_wait(past, window), certain_hold(past, window));
    let middle = tenth(y + ROW / 2.0 + 4.0);
    let end = past.ended.filter(|ended| window.contains(ended.before));
    let who = words::client(past);
    let unsure = past.ended.filter(|ended| ended.exactly().is_none() && past.acquired.is_some());
    html! {
        g class="contender" data-node=(words::name(&past.node)) data-end=(past.end.id()) data-held-at-least-ms=[past.held_at_least_ms()]
            data-held-at-most-ms=[past.held_at_most_ms()] data-waited-ms=[past.waited_ms()] {
            @if let Some(wait) = wait {
                @let (x, width) = scale.span(wait);
                rect class="wait" x=(x) y=(tenth(y + 5.0)) width=(width) height="6" {
                    title { (who) ", " (words::name(&past.node)) ", waited " (latency(wait.length())) (behind(incident, lock, past)) }
                }
            }
            @if let Some(hold) = hold {
                @let (x, width) = scale.span(hold);
                rect class="hold" x=(x) y=(tenth(y + 2.0)) width=(width) height="12" {
                    title { (who) ", " (words::name(&past.node)) ", held it " (latency(hold.length())) ", from " (exact_time(hold.from, utc)) " to " (exact_time(hold.to, utc)) }
                }
            }
            @if let Some(unsure) = unsure {
                @let (x, width) = scale.span(TimeRange { from: unsure.after, to: unsure.before });
                rect class="unsure" x=(x) y=(tenth(y + 2.0)) width=(width) height="12" { title { "It ended within this time, unseen" } }
            }
            @if let (Some(ended), Some(sign)) = (end, sign(past.end, past.acquired.is_some())) {
                text class={ "end " (past.end.id()) } x=(scale.x(ended.before.0)) y=(middle) { (sign) title { (past.end.id()) } }
            }
        }
    }
}

/// Names the contender that held when `past` came.
fn behind(incident: &Incident<'_>, lock: &LockBars<'_>, past: &PastContender) -> String {
    let Some(came) = past.enqueued_at else { return String::new() };
    // In a very long list nobody reads each row, so only the first contenders are searched.
    let before = lock.contenders.iter().take(1_000).filter_map(|at| incident.contender(*at));
    let holder = before.filter(|other| other.id != past.id).find(|other| {
        let held = other.acquired.is_some_and(|acquired| acquired.before <= came);
        held && other.ended.is_none_or(|ended| ended.after > came)
    });
    holder.map_or_else(String::new, |holder| format!(" behind {}, who held it when it came", words::client(holder)))
}

fn queue(incident: &Incident<'_>, lock: &LockBars<'_>, top: f64) -> Markup {
    let lengths = queue_lengths(&incident.window.contenders, &lock.contenders, incident.times(), PARTS);
    let most = lengths.iter().copied().max().unwrap_or(0);
    let bottom = top + QUEUE;
    let step = (WIDTH - LEFT) / whole(PARTS);
    let mut path = format!("M{LEFT} {bottom}");
    let mut last = 0;
    for (part, length) in lengths.iter().enumerate() {
        if *length != last {
            let height = if most == 0 { 0.0 } else { QUEUE * whole(*length) / whole(most) };
            let _ = write!(path, "H{}V{}", tenth(LEFT + whole(part) * step), tenth(bottom - height));
            last = *length;
        }
    }
    let _ = write!(path, "H{WIDTH}V{bottom}z");
    html! {
        text class="label" x="4" y=(tenth(top + QUEUE / 2.0)) { "waiting: at most " (count(most)) }
        path class="queue" d=(path) data-most-waiting=(most) { title { "How many waited" } }
    }
}

fn sign(end: ContenderEnd, held: bool) -> Option<&'static str> {
    match end {
        ContenderEnd::Expired => Some("✝"),
        ContenderEnd::Deleted => Some("✂"),
        ContenderEnd::Unknown => Some("?"),
        ContenderEnd::Left => Some("×"),
        ContenderEnd::Gone | ContenderEnd::Closed if !held => Some("×"),
        ContenderEnd::Gone | ContenderEnd::Released | ContenderEnd::Closed | ContenderEnd::Open => None,
    }
}

fn severity(text: &str) -> &'static str {
    match text {
        "critical" => "critical",
        "warning" => "warning",
        _ => "info",
    }
}

fn short(who: &str) -> String {
    cut(who, 34, Keep::Ends, Charset::Unicode)
}

/// The width of a picture, and the offset of its time axis, in pixels.
const WIDTH: f64 = 1120.0;

const LEFT: f64 = 240.0;

/// The possible intervals between written times, in milliseconds: those that people count in.
const STEPS: [i64; 28] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    2 * 60_000,
    5 * 60_000,
    10 * 60_000,
    15 * 60_000,
    30 * 60_000,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
    7 * 24 * HOUR,
];

const HOUR: i64 = 3_600_000;

/// The most times written below a picture.
const MAX_TICKS: i64 = 8;

/// Returns round times and their texts.
fn ticks(scale: TimeScale, utc: bool) -> Vec<(i64, String)> {
    let span = scale.to.saturating_sub(scale.from).max(1);
    let longest = STEPS[STEPS.len() - 1];
    let fits = |step: &i64| span / step < MAX_TICKS;
    let step = STEPS.into_iter().find(fits).unwrap_or_else(|| longest * (span / longest / MAX_TICKS + 1));
    let first = scale.from.div_euclid(step).saturating_add(1).saturating_mul(step);
    let times = (0..MAX_TICKS).map(|number| first.saturating_add(number * step)).take_while(|at| *at < scale.to);
    let time = |at| match step {
        ..1_000 => exact_time(Timestamp(at), utc),
        _ if span < 24 * HOUR => time_of_day(Timestamp(at), utc),
        // Without seconds and zone.
        _ => date_and_time(Timestamp(at), utc).chars().take("2024-05-01 14:41".len()).collect(),
    };
    times.map(|at| (at, time(at))).collect()
}

/// Maps times to positions in the picture.
#[derive(Clone, Copy, Debug)]
struct TimeScale {
    pub from: i64,
    pub to: i64,
}

impl TimeScale {
    pub fn x(self, at: i64) -> f64 {
        let part = millis(at.clamp(self.from, self.to) - self.from) / millis((self.to - self.from).max(1));
        tenth(LEFT + part * (WIDTH - LEFT))
    }

    /// Returns the anchor of a text at a time, so that the text stays in the picture.
    pub fn anchor(self, at: i64) -> &'static str {
        if self.x(at) > WIDTH - 60.0 { "end" } else { "middle" }
    }

    /// Returns the position and width of a span; the width is at least visible.
    pub fn span(self, time: TimeRange) -> (f64, f64) {
        let x = self.x(time.from.0);
        (x, tenth((self.x(time.to.0) - x).max(1.0)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a pixel is coarser than the rounding")]
fn millis(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_below_a_picture_are_round_and_few_for_any_length() {
        let began = 1_714_574_467_123;
        let written = |span: i64| {
            let ticks = ticks(TimeScale { from: began, to: began + span }, true);
            assert!(
                ticks.len() <= 8 && ticks.iter().all(|(at, _)| (began..=began + span).contains(at)),
                "{span}: {ticks:?}"
            );
            ticks.into_iter().map(|(_, time)| time).collect::<Vec<_>>()
        };
        assert_eq!(
            written(63_000),
            ["14:41:10", "14:41:20", "14:41:30", "14:41:40", "14:41:50", "14:42:00", "14:42:10"]
        );
        assert_eq!(written(30 * 60_000)[..2], ["14:45:00", "14:50:00"]);
        assert_eq!(written(900)[0], "14:41:07.200");
        assert_eq!(written(3 * 24 * HOUR)[0], "2024-05-02 00:00");
        for span in [0, 1, 10, 1_000, HOUR, 400 * 24 * HOUR, i64::MAX / 4] {
            written(span);
        }
    }
}
