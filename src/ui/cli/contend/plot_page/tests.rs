//! Tests of `plot_page`.

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
    outcome.pointer(&format!("/{}", field.replace('.', "/"))).unwrap_or(&Value::Null)
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
            for value in std::iter::once(&point.value).chain(&point.others) {
                let expected = find(outcome_of(point.clients, &curve.name), value.field);
                assert_eq!(Some(value.exact), expected.as_f64(), "{} of {}", value.field, curve.name);
                drawn += 1;
            }
        }
    }
    let spread = compared.runs.iter().flat_map(ComparedFleets::outcomes).filter(|of| of.watch_events.spread.is_some());
    assert_eq!(
        drawn,
        4 * 3 * 6 + 2 * spread.count(),
        "six figures of each fleet, and the spread of those that have it"
    );
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

#[test]
fn the_model_is_the_table_of_costs() {
    let of = |recipe, clients| {
        let outcome = outcome(recipe, clients);
        (
            events_at_most(&outcome).expect("acquisitions").round(),
            requests_at_most(&outcome).expect("acquisitions").round(),
        )
    };
    assert_eq!(of("herd", 10), (20.0, 23.0));
    assert_eq!((of("chain", 1).1, of("chain", 2).1), (3.0, 4.0));
    assert_eq!(of("chain", 10), (1.0, 5.0));
    assert_eq!(of("chain-ahead", 2), (1.0, 4.0));
    assert_eq!(of("chain-ahead", 10), (2.0, 6.0));
    let none = FleetOutcome { acquisitions: 0, acquisitions_per_second: 0.0, ..outcome("chain", 3) };
    assert_eq!((events_at_most(&none), requests_at_most(&none), wait_ms(&none)), (None, None, None));
}

#[test]
fn a_hand_over_takes_the_hold_and_its_round_trips() {
    let millis = Duration::from_millis;
    let of = |recipe, clients| throughput_at_most(&outcome(recipe, clients), millis(10), millis(5));
    // Two round trips of 10 ms and a hold of 10 ms, or one round trip and the hold.
    assert_eq!(of("herd", 9).map(f64::round), Some(33.0));
    assert_eq!(of("chain", 9).map(f64::round), Some(33.0));
    assert_eq!(of("chain-ahead", 9).map(f64::round), Some(50.0));
    assert_eq!(of("chain", 2).map(f64::round), Some(50.0));
    assert_eq!(throughput_at_most(&outcome("chain", 9), Duration::ZERO, Duration::ZERO), None);
    assert_eq!(wait_ms(&outcome("chain-ahead", 25)).map(f64::round), Some(10.0));
    assert_eq!(wait_ms(&outcome("chain", 1)), None);
}
