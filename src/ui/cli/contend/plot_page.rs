//! The content of a plot file: the figures of the comparison's JSON beside those of the model.

use super::figures::{clients, troubles};
use super::plot_values::{
    events_of, millis, modelled_events, modelled_requests, modelled_throughput, modelled_wait, requests_of,
    throughput_of, waits_of,
};
use super::run_conditions::{RunConditions, list, named};
use super::side_by_side::problems;
use lockscope_lab::contend::{ComparedFleets, Comparison, FleetOutcome, Scenario};
use lockscope_lab::plot::{Curve, CurveLook, CurvePoint, LineChart, PlotPage, PlotRow, PlotTable, PlotUnit, PlotValue};
use lockscope_model::text::human::latency;

/// The fleets of a size, and the looks of their curves.
const FLEETS: [(&str, CurveLook); 3] =
    [("herd", CurveLook::Square), ("chain", CurveLook::Circle), ("chain-ahead", CurveLook::Triangle)];

/// The names of calculated curves: bounds, and what the model expects.
const AT_MOST: &str = "at most";
const MODEL: &str = "model";

/// The column of a bound.
const AT_MOST_COLUMN: &str = "At most";

pub(super) fn plot_page(comparison: &Comparison, conditions: &RunConditions) -> PlotPage {
    PlotPage {
        title: "What a lock costs: herd, chain and look-ahead chain".to_owned(),
        summary: comparison.conclusion(),
        warnings: warnings(comparison, &conditions.sizes),
        charts: if comparison.runs.is_empty() { Vec::new() } else { charts(comparison, &conditions.scenario) },
        table: table(comparison, &conditions.scenario),
        conditions: named(comparison, conditions),
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
            "Watch events an acquisition",
            "How many watch events the servers deliver for one acquisition. At most, each request and each release wakes \
             every waiter of a herd. Two changes that a waiter learns of by one event cost one: a run without pauses stays \
             at about half of the bound. \
             What the bound leaves out is a holder's event for its own release. A \
             release wakes one in a chain, and two in one that looks ahead.",
            PlotUnit::Number,
            &|outcome| events_of(outcome).into_iter().collect(),
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
            Some(CurvePoint { clients: outcome.clients, value: values.next()?, above: values.collect() })
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::super::testing::{comparison, outcome};
    use super::*;
    use lockscope_base::znode::{Timestamp, ZnodePath};
    use lockscope_lab::plot;
    use lockscope_lock::Algorithm;

    fn conditions(sizes: &[u32]) -> RunConditions {
        let path = ZnodePath::new("/lockscope").expect("a path");
        RunConditions {
            started: Timestamp(1_760_000_000_000),
            utc: true,
            versions: vec!["3.9.3".to_owned()],
            scenario: Scenario {
                hold: Duration::from_millis(5),
                link_delay: Duration::from_millis(1),
                ..Scenario::new(Algorithm::Herd, path, 1)
            },
            sizes: sizes.to_vec(),
        }
    }

    /// Returns the figure at a path such as `wait_ms.p50`.
    fn find<'a>(outcome: &'a Value, field: &str) -> &'a Value {
        field.split('.').fold(outcome, |at, name| &at[name])
    }

    #[test]
    fn every_figure_equals_the_one_in_the_json() {
        let compared = comparison(&[1, 2, 10, 50], Some(10));
        let json = serde_json::to_value(&compared).expect("JSON");
        let page = plot_page(&compared, &conditions(&[1, 2, 10, 50]));
        let outcome_of = |clients: u32, name: &str| {
            let run = json["runs"].as_array().and_then(|runs| runs.iter().find(|run| run["clients"] == clients));
            &run.unwrap_or_else(|| panic!("{name} of {clients}"))[name.replace('-', "_")]
        };
        let mut drawn = 0;
        for curve in page.charts.iter().flat_map(|chart| &chart.curves).filter(|curve| !curve.is_model) {
            for point in &curve.points {
                for value in std::iter::once(&point.value).chain(&point.above) {
                    let expected = find(outcome_of(point.clients, &curve.name), value.field);
                    assert_eq!(Some(value.exact), expected.as_f64(), "{} of {}", value.field, curve.name);
                    drawn += 1;
                }
            }
        }
        assert_eq!(drawn, 4 * 3 * 6, "six figures of each fleet");
        for row in &page.table.rows {
            for value in row.values.iter().flatten().filter(|value| value.field != "model") {
                let expected = find(outcome_of(row.clients, &row.name), value.field);
                assert_eq!(Some(value.exact), expected.as_f64(), "{} of {}", value.field, row.name);
            }
            assert_eq!(row.values.len() + 2, page.table.columns.len());
        }
        assert_eq!(page.table.rows.len(), 12);
    }

    #[test]
    fn the_conditions_are_written_on_it() {
        let page = plot_page(&comparison(&[2, 10], Some(10)), &conditions(&[2, 10]));
        let conditions: Vec<String> = page.conditions.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        insta::assert_snapshot!(conditions.join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r"
        Started: 2025-10-09 08:53:20 UTC
        Servers: ZooKeeper 3.9.3
        Parent of the locks: /lockscope
        Numbers of clients: 2, 10
        Acquisitions: each client at least 4, each fleet at least 400
        Hold: 5ms
        Link delay: 1ms each way
        Session timeout: 15s
        Seed: 0
        Time: 2 clients in 9.63s; 10 clients in 9.63s
        End: all runs were made
        Made by: lockscope VERSION compare
        ");
        assert!(page.summary.starts_with("From 10 clients on, a herd costs more"), "{}", page.summary);
        assert!(page.warnings.is_empty(), "{:?}", page.warnings);
    }

    #[test]
    fn failures_and_missing_fleets_are_mentioned() {
        let mut partial = comparison(&[2, 10], None);
        partial.interrupted = true;
        partial.runs[0].herd.violations = 1;
        partial.runs[1].chain_ahead = None;
        partial.runs[1].chain = FleetOutcome {
            acquisitions: 0,
            acquisitions_per_second: 0.0,
            interrupted: true,
            wait_ms: lockscope_lab::contend::Quantiles::default(),
            ..outcome("chain", 10)
        };
        partial.unpaired = Some(FleetOutcome { troubles: vec!["<b>cut</b>".to_owned()], ..outcome("herd", 20) });
        let page = plot_page(&partial, &conditions(&[2, 10, 20, 50]));
        insta::assert_snapshot!(page.warnings.join("\n"), @r"
        The comparison was interrupted: these are the figures until then.
        herd of 2 clients: 1 violation of the lock
        chain of 10 clients: ended before all rounds were made
        herd of 20 clients: ended before its chain began, and is not drawn
        herd of 20 clients: trouble: <b>cut</b>
        chain-ahead of 10 clients: did not run
        chain of 10 clients: made no acquisition
        Numbers of clients that were not compared: 20, 50
        ");
        // A rate of zero is known; the cost of an acquisition is not, without one.
        let point = |chart: usize| {
            let curve = page.charts[chart].curves.iter().find(|curve| curve.name == "chain").expect("a chain");
            curve.points.iter().find(|point| point.clients == 10).map(|point| point.value.exact)
        };
        assert_eq!([0, 1, 2, 3].map(point), [Some(0.0), None, None, None]);
        let html = plot::html(&page);
        assert!(html.contains("&lt;b&gt;cut&lt;/b&gt;") && html.contains("<td>-</td>"), "{html}");
        assert!(plot::svg(&page).contains("&lt;b&gt;cut&lt;/b&gt;"));
    }

    #[test]
    fn a_comparison_of_nothing_has_no_chart() {
        let page = plot_page(&comparison(&[], None), &conditions(&[2]));
        assert!(page.charts.is_empty() && page.table.rows.is_empty() && page.summary.contains("nothing to compare"));
    }
}
