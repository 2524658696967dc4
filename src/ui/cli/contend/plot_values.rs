//! The figures of a fleet in a plot: those of its JSON, and those of the model.

use std::time::Duration;

use super::model;
use lockscope_lab::contend::{FleetOutcome, Scenario};
use lockscope_lab::plot::PlotValue;
use lockscope_model::text::human::{latency, rate, ratio};

fn throughput(exact: f64) -> PlotValue {
    PlotValue { field: "acquisitions_per_second", exact, shown: format!("{}/s", rate(exact)) }
}

fn events(exact: f64) -> PlotValue {
    PlotValue { field: "watch_events.per_acquisition", exact, shown: ratio(exact) }
}

fn requests(exact: f64) -> PlotValue {
    PlotValue { field: "requests.per_acquisition", exact, shown: ratio(exact) }
}

pub(super) fn throughput_of(outcome: &FleetOutcome) -> PlotValue {
    throughput(outcome.acquisitions_per_second)
}

pub(super) fn events_of(outcome: &FleetOutcome) -> Option<PlotValue> {
    (outcome.acquisitions > 0).then(|| events(outcome.watch_events.per_acquisition))
}

pub(super) fn requests_of(outcome: &FleetOutcome) -> Option<PlotValue> {
    (outcome.acquisitions > 0).then(|| requests(outcome.requests.per_acquisition))
}

/// Returns p50, p90 and p99; nothing without a wait.
pub(super) fn waits_of(outcome: &FleetOutcome) -> Vec<PlotValue> {
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
pub(super) fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

pub(super) fn modelled_throughput(outcome: &FleetOutcome, scenario: &Scenario) -> Option<PlotValue> {
    model::throughput(outcome, scenario.hold, scenario.link_delay).map(throughput)
}

pub(super) fn modelled_events(outcome: &FleetOutcome) -> Option<PlotValue> {
    model::events_at_most(outcome).map(events)
}

pub(super) fn modelled_requests(outcome: &FleetOutcome) -> Option<PlotValue> {
    model::requests_at_most(outcome).map(requests)
}

pub(super) fn modelled_wait(outcome: &FleetOutcome) -> Option<PlotValue> {
    let exact = model::wait_ms(outcome)?;
    Some(PlotValue { field: "wait_ms.p50", exact, shown: latency(Duration::from_secs_f64(exact / 1000.0)) })
}
