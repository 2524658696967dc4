//! The content of a plot file: the figures of the comparison's JSON beside those of the model, and
//! the conditions of the comparison.
//!
//! The model is that of a fleet whose clients contend without pauses, by the table of costs in the
//! documentation of [`lock`](lockscope_lock#costs).

use std::time::Duration;

use tokio::time::timeout;

use super::figures::{clients, per, problems, troubles};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{ComparedFleets, Comparison, FleetOptions, FleetOutcome, Scenario};
use lockscope_lab::plot::{Curve, CurveLook, CurvePoint, LineChart, PlotPage, PlotRow, PlotTable, PlotUnit, PlotValue};
use lockscope_live::zk::Dialer;
use lockscope_live::zk::four_letter::FourLetterWord;
use lockscope_model::server_view::four_letter::srvr;
use lockscope_model::text::human::{count, date_and_time, latency, rate, ratio};

#[cfg(test)]
mod tests;

/// The fleets of a size, and the looks of their curves.
const FLEETS: [(&str, CurveLook); 3] =
    [("herd", CurveLook::Square), ("chain", CurveLook::Circle), ("chain-ahead", CurveLook::Triangle)];

/// The names of calculated curves: bounds, and what the model expects.
const AT_MOST: &str = "at most, as calculated";

const MODEL: &str = "as calculated";

/// The column of a bound.
const AT_MOST_COLUMN: &str = "At most";

pub fn plot_page(comparison: &Comparison, conditions: &RunConditions) -> PlotPage {
    PlotPage {
        title: "What a lock costs: herd, chain and look-ahead chain".to_owned(),
        summary: comparison.conclusion(),
        warnings: warnings(comparison, &conditions.sizes),
        charts: if comparison.runs.is_empty() { Vec::new() } else { charts(comparison, &conditions.scenario) },
        table: table(comparison, &conditions.scenario),
        conditions: named_conditions(comparison, conditions),
    }
}

/// Returns the figures of a fleet; none when they are unknown.
type Figures<'a> = &'a dyn Fn(&FleetOutcome) -> Vec<PlotValue>;

fn charts(comparison: &Comparison, scenario: &Scenario) -> Vec<LineChart> {
    let bound = if scenario.hold.is_zero() && scenario.link_delay.is_zero() {
        "Neither holds nor links take time here, so there is no model: the pace is that of the servers and of this machine."
    } else {
        "At most is the pace that holds and link delays leave room for: no fleet can be faster."
    };
    let throughput = |outcome: &FleetOutcome| modelled_throughput(outcome, scenario).into_iter().collect();
    let chart = |id, title: &str, description: &str, unit, measured: Figures<'_>, modelled: Figures<'_>| LineChart {
        id,
        title: title.to_owned(),
        description: description.to_owned(),
        unit,
        calculated: if id == "waits" { MODEL } else { AT_MOST },
        curves: [curves(comparison, false, measured), curves(comparison, true, modelled)].concat(),
    };
    vec![
        chart(
            "throughput",
            "Acquisitions a second",
            &format!("How many acquisitions all clients of a fleet make in a second. {bound}"),
            PlotUnit::Number,
            &|outcome| vec![throughput_of(outcome)],
            &throughput,
        ),
        chart(
            "events",
            "Watch events an acquisition: ticks at the least and the most",
            "How many watch events the servers deliver for one acquisition: the mark of the whole \
             run, the ticks of those tenths of it that had the least and the most. At most, each request and each release wakes \
             every waiter of a herd. Two changes that a waiter learns of by one event cost one: a run without pauses stays \
             at about half of the bound. \
             What the bound leaves out is a holder's event for its own release. A \
             release wakes one in a chain, and two in one that looks ahead.",
            PlotUnit::Number,
            &|outcome| events_of(outcome).into_iter().chain(spread_of(outcome)).collect(),
            &|outcome| modelled_events(outcome).into_iter().collect(),
        ),
        chart(
            "requests",
            "Requests an acquisition",
            "How many requests the clients send for one acquisition. At most these are three without a wait; in a herd \
             one more for each event; in a chain where many wait five, and six in one that looks ahead.",
            PlotUnit::Number,
            &|outcome| requests_of(outcome).into_iter().collect(),
            &|outcome| modelled_requests(outcome).into_iter().collect(),
        ),
        chart(
            "waits",
            "Waits: marks at p50, ticks at p90 and p99",
            "How long clients waited for the lock: half of the waits were no longer than the mark, 90 of 100 no longer than the \
             first tick above it, 99 of 100 no longer than the second. By the model a client waits a turn for each of the \
             others, at the measured pace.",
            PlotUnit::Milliseconds,
            &waits_of,
            &|outcome| modelled_wait(outcome).into_iter().collect(),
        ),
    ]
}

/// Returns one curve for each fleet.
fn curves(comparison: &Comparison, is_model: bool, figures: Figures<'_>) -> Vec<Curve> {
    let curve = |(name, look): (&str, CurveLook)| {
        let outcomes = comparison.runs.iter().flat_map(ComparedFleets::outcomes).filter(|found| found.recipe == name);
        let point = |outcome: &FleetOutcome| {
            let mut values = figures(outcome).into_iter();
            Some(CurvePoint { clients: outcome.clients, value: values.next()?, others: values.collect() })
        };
        Curve { name: name.to_owned(), look, is_model, points: outcomes.filter_map(point).collect() }
    };
    FLEETS.into_iter().map(curve).collect()
}

fn table(comparison: &Comparison, scenario: &Scenario) -> PlotTable {
    let row = |outcome: &FleetOutcome| {
        let mut waits = waits_of(outcome).into_iter().map(without_name);
        let elapsed =
            PlotValue { field: "elapsed_ms", exact: millis(outcome.elapsed), shown: latency(outcome.elapsed) };
        let values = vec![
            Some(throughput_of(outcome)),
            modelled_throughput(outcome, scenario).map(as_model),
            events_of(outcome),
            modelled_events(outcome).map(as_model),
            requests_of(outcome),
            modelled_requests(outcome).map(as_model),
            waits.next(),
            waits.next(),
            waits.next(),
            modelled_wait(outcome).map(as_model),
            Some(elapsed),
        ];
        PlotRow { clients: outcome.clients, name: outcome.recipe.to_owned(), values }
    };
    PlotTable {
        caption: "One line for each fleet. \"At most\" is a bound of the column before it; \"Model\" is what a wait should be, \
                  at p50."
            .to_owned(),
        columns: vec![
            "Clients",
            "Fleet",
            "Acquisitions a second",
            AT_MOST_COLUMN,
            "Watch events an acquisition",
            AT_MOST_COLUMN,
            "Requests an acquisition",
            AT_MOST_COLUMN,
            "Wait p50",
            "Wait p90",
            "Wait p99",
            "Model",
            "Time",
        ],
        rows: comparison.runs.iter().flat_map(ComparedFleets::outcomes).map(row).collect(),
    }
}

/// Marks a value as one of the model, which is not in the JSON.
fn as_model(value: PlotValue) -> PlotValue {
    PlotValue { field: "model", ..value }
}

/// Returns `40ms` of `p50 40ms`, because the column names the percentile.
fn without_name(mut value: PlotValue) -> PlotValue {
    if let Some((_, time)) = value.shown.split_once(' ') {
        value.shown = time.to_owned();
    }
    value
}

/// Returns the problems of the comparison, and what is missing.
fn warnings(comparison: &Comparison, sizes: &[u32]) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.interrupted {
        warnings.push("The comparison was interrupted: these are the figures until then.".to_owned());
    }
    warnings.extend(problems(&comparison.runs));
    if let Some(alone) = &comparison.unpaired {
        let who = format!("{} of {}", alone.recipe, clients(alone.clients));
        warnings.push(format!("{who}: ended before its chain began, and is not drawn"));
        warnings.extend(troubles(alone).map(|trouble| format!("{who}: {trouble}")));
    }
    for run in comparison.runs.iter().filter(|run| run.chain_ahead.is_none()) {
        warnings.push(format!("chain-ahead of {}: did not run", clients(run.clients)));
    }
    for outcome in comparison.runs.iter().flat_map(ComparedFleets::outcomes).filter(|outcome| outcome.acquisitions == 0)
    {
        warnings.push(format!("{} of {}: made no acquisition", outcome.recipe, clients(outcome.clients)));
    }
    let missing: Vec<u32> =
        sizes.iter().copied().filter(|size| comparison.runs.iter().all(|run| run.clients != *size)).collect();
    if !missing.is_empty() {
        warnings.push(format!("Numbers of clients that were not compared: {}", list(&missing)));
    }
    warnings
}

fn throughput(exact: f64) -> PlotValue {
    PlotValue { field: "acquisitions_per_second", exact, shown: format!("{}/s", rate(exact)) }
}

fn events(exact: f64) -> PlotValue {
    PlotValue { field: "watch_events.per_acquisition", exact, shown: ratio(exact) }
}

fn requests(exact: f64) -> PlotValue {
    PlotValue { field: "requests.per_acquisition", exact, shown: ratio(exact) }
}

fn throughput_of(outcome: &FleetOutcome) -> PlotValue {
    throughput(outcome.acquisitions_per_second)
}

fn events_of(outcome: &FleetOutcome) -> Option<PlotValue> {
    (outcome.acquisitions > 0).then(|| events(outcome.watch_events.per_acquisition))
}

/// Returns the least and the most watch events an acquisition, over tenths of the run.
fn spread_of(outcome: &FleetOutcome) -> Vec<PlotValue> {
    let fields = [("watch_events.spread.0", "from"), ("watch_events.spread.1", "to")];
    let named = outcome.watch_events.spread.into_iter().flat_map(|spread| fields.into_iter().zip(spread));
    named.map(|((field, word), exact)| PlotValue { field, exact, shown: format!("{word} {}", ratio(exact)) }).collect()
}

fn requests_of(outcome: &FleetOutcome) -> Option<PlotValue> {
    (outcome.acquisitions > 0).then(|| requests(outcome.requests.per_acquisition))
}

/// Returns p50, p90 and p99; nothing without a wait.
fn waits_of(outcome: &FleetOutcome) -> Vec<PlotValue> {
    let waits = &outcome.wait_ms;
    let quantiles =
        [("wait_ms.p50", "p50", waits.p50), ("wait_ms.p90", "p90", waits.p90), ("wait_ms.p99", "p99", waits.p99)];
    let value = |(field, name, time): (&'static str, &str, Duration)| PlotValue {
        field,
        exact: millis(time),
        shown: format!("{name} {}", latency(time)),
    };
    if waits.count == 0 { Vec::new() } else { quantiles.map(value).to_vec() }
}

/// Returns milliseconds as in the JSON, with microseconds as decimals.
#[expect(clippy::cast_precision_loss, reason = "a time of a run is below 2^53 microseconds")]
fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

fn modelled_throughput(outcome: &FleetOutcome, scenario: &Scenario) -> Option<PlotValue> {
    throughput_at_most(outcome, scenario.hold, scenario.link_delay).map(throughput)
}

fn modelled_events(outcome: &FleetOutcome) -> Option<PlotValue> {
    events_at_most(outcome).map(events)
}

fn modelled_requests(outcome: &FleetOutcome) -> Option<PlotValue> {
    requests_at_most(outcome).map(requests)
}

fn modelled_wait(outcome: &FleetOutcome) -> Option<PlotValue> {
    let exact = wait_ms(outcome)?;
    Some(PlotValue { field: "wait_ms.p50", exact, shown: latency(Duration::from_secs_f64(exact / 1000.0)) })
}

/// Returns the most watch events per acquisition: in a herd one for every change and waiter, in
/// chains one for each watched predecessor. Returns `None` without an acquisition.
fn events_at_most(outcome: &FleetOutcome) -> Option<f64> {
    let modelled = &outcome.watch_events;
    let each = |all: u64| (outcome.acquisitions > 0).then(|| per(all, outcome.acquisitions));
    match (outcome.recipe, outcome.clients) {
        ("herd", _) => each(modelled.modelled_herd),
        // A waiter watches one more node unless the head is its predecessor.
        ("chain-ahead", 3..) => each(modelled.modelled_chain).map(|events| 2.0 * events),
        _ => each(modelled.modelled_chain),
    }
}

/// Returns the most requests per acquisition: create, list and delete, plus one for each event of a
/// herd, or the watch and the listing of a chain. Returns `None` without an acquisition.
fn requests_at_most(outcome: &FleetOutcome) -> Option<f64> {
    let events = events_at_most(outcome)?;
    Some(match (outcome.recipe, outcome.clients) {
        ("herd", _) => 3.0 + events,
        (_, 0..=1) => 3.0,
        // The predecessor is the head: no listing is needed when it is gone.
        (_, 2) => 4.0,
        ("chain-ahead", _) => 6.0,
        _ => 5.0,
    })
}

/// Returns the most acquisitions per second that the holds and link delays allow. Returns `None`
/// when these take no time, so that only the servers limit the rate.
fn throughput_at_most(outcome: &FleetOutcome, hold: Duration, link_delay: Duration) -> Option<f64> {
    let round_trips = match (outcome.recipe, outcome.clients) {
        // A create, and later a delete, with no other waiter in between.
        (_, 0..=1) | ("herd", _) => 2,
        (_, 2) | ("chain-ahead", _) => 1,
        _ => 2,
    };
    let turn = hold + link_delay * 2 * round_trips;
    (!turn.is_zero()).then(|| 1.0 / turn.as_secs_f64())
}

/// Returns the wait of a client behind all others at the measured rate, in milliseconds. Returns
/// `None` without an acquisition, or without others.
fn wait_ms(outcome: &FleetOutcome) -> Option<f64> {
    let others = f64::from(outcome.clients.saturating_sub(1));
    let is_known = others > 0.0 && outcome.acquisitions_per_second > 0.0;
    is_known.then(|| 1000.0 * others / outcome.acquisitions_per_second)
}

/// How long to wait for the versions of the servers.
const MAX_VERSION_WAIT: Duration = Duration::from_secs(2);

/// The conditions of a comparison that its result does not contain.
#[derive(Clone, Debug)]
pub struct RunConditions {
    /// The start of the comparison, by this machine's clock.
    pub started: Timestamp,
    /// Whether times are written in UTC.
    pub utc: bool,
    /// The versions of the servers, in their notation; empty when unknown.
    pub versions: Vec<String>,
    /// The settings shared by all fleets.
    pub scenario: Scenario,
    /// The requested numbers of clients.
    pub sizes: Vec<u32>,
}

/// Returns the distinct versions of the servers; empty when they are not asked or do not answer
/// soon.
pub async fn server_versions(fleet: &FleetOptions) -> Vec<String> {
    let asked = async {
        let dialer = Dialer::new(&fleet.connection).await.ok()?;
        Some(dialer.ask_each(FourLetterWord::Srvr).await)
    };
    let answers = if fleet.asks_servers { timeout(MAX_VERSION_WAIT, asked).await.ok().flatten() } else { None };
    let answers = answers.into_iter().flatten().filter_map(|(_, answer)| answer.ok());
    let mut versions: Vec<String> =
        answers.filter_map(|answer| srvr(&answer.text).version).map(|version| short(&version)).collect();
    versions.sort();
    versions.dedup();
    versions
}

/// Returns `3.9.3` of `3.9.3-c26634f34490bb0ea7a09cc51e05ede3b4e320ee, built on 2024-10-17`.
fn short(version: &str) -> String {
    let end = version.find([',', '-']).unwrap_or(version.len());
    version[..end].to_owned()
}

/// Returns the conditions with their names.
fn named_conditions(comparison: &Comparison, conditions: &RunConditions) -> Vec<(String, String)> {
    let RunConditions { started, utc, versions, scenario, sizes } = conditions;
    let spread =
        if scenario.spread == 0 { String::new() } else { format!(", {} % longer or shorter", scenario.spread) };
    let time = |time: Duration| humantime::format_duration(time).to_string();
    let servers = match versions.as_slice() {
        [] => "version not known".to_owned(),
        versions => versions.iter().map(|version| format!("ZooKeeper {version}")).collect::<Vec<_>>().join(", "),
    };
    let rounds = scenario.rounds.map_or_else(
        || "each client at least 4, each fleet at least 400".to_owned(),
        |rounds| format!("each client {}", count(rounds)),
    );
    let times = comparison.runs.iter().map(|run| {
        let whole: Duration = run.outcomes().map(|outcome| outcome.elapsed).sum();
        format!("{} in {}", clients(run.clients), latency(whole))
    });
    let times: Vec<String> = times.collect();
    let ended = if comparison.interrupted { "interrupted before all runs were made" } else { "all runs were made" };
    [
        ("Started", date_and_time(*started, *utc)),
        ("Servers", servers),
        ("Parent of the locks", scenario.path.to_string()),
        ("Numbers of clients", list(sizes)),
        ("Acquisitions", rounds),
        ("Hold", time(scenario.hold) + &spread),
        ("Link delay", format!("{} each way", time(scenario.link_delay))),
        ("Session timeout", time(scenario.session_timeout)),
        ("Seed", scenario.seed.to_string()),
        ("Time", if times.is_empty() { "none".to_owned() } else { times.join("; ") }),
        ("End", ended.to_owned()),
        ("Made by", concat!("lockscope ", env!("CARGO_PKG_VERSION"), " compare").to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn list(sizes: &[u32]) -> String {
    sizes.iter().map(|size| count(*size)).collect::<Vec<_>>().join(", ")
}
