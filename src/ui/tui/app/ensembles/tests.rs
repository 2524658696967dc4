//! The list of ensembles: its order, its filter, and what is new.

use super::*;
use crate::testing::table;
use crate::tui::app::list::Directed;
use crate::tui::testing::NOW;
use crate::tui::testing::ensembles::{cut_off, orphan, report, reports};
use lockscope_base::znode::Timestamp;

fn names(ensembles: &WatchedEnsembles) -> Vec<&str> {
    ensembles.shown().map(|row| &*row.name).collect()
}

fn three() -> WatchedEnsembles {
    let row = |name: &str| EnsembleRow {
        name: name.into(),
        connect: format!("{name}1:2181"),
        production: name.starts_with("prod"),
        trouble: None,
        summary: None,
        news: 0,
    };
    let mut ensembles = WatchedEnsembles::new(["dev", "prod-eu", "prod-us"].map(row));
    ensembles.take(reports());
    ensembles
}

fn said(ensembles: &WatchedEnsembles) -> Vec<String> {
    let word = |event: &EnsembleEvent| match &event.news {
        EnsembleNews::Raised(finding) => format!("{} + {} {}", event.ensemble, finding.lock, finding.code),
        EnsembleNews::Renamed(before, finding) => {
            format!("{} {} {before} is {}", event.ensemble, finding.lock, finding.code)
        }
        EnsembleNews::Cleared(finding) => format!("{} - {} {}", event.ensemble, finding.lock, finding.code),
        EnsembleNews::State(state) => format!("{} {}", event.ensemble, state.id()),
    };
    ensembles.events().map(word).collect()
}

#[test]
fn the_worst_ensemble_comes_first_and_one_that_cannot_be_seen_before_one_that_is_well() {
    let mut ensembles = three();
    assert_eq!(names(&ensembles), ["prod-eu", "prod-us", "dev"]);
    let by = |by, reversed| Sorting { first: Directed { by, reversed }, then: None };
    ensembles.sort(by(EnsembleOrder::Ensemble, true));
    assert_eq!(names(&ensembles), ["prod-us", "prod-eu", "dev"]);
    ensembles.sort(by(EnsembleOrder::Contenders, false));
    assert_eq!(names(&ensembles), ["dev", "prod-eu", "prod-us"]);
}

#[test]
fn a_filter_takes_names_states_and_findings_and_holds_for_the_events_too() {
    let mut ensembles = three();
    for (filter, expected) in [
        ("prod", &["prod-eu", "prod-us"][..]),
        ("production !eu", &["prod-us"]),
        ("no connection", &["prod-us"]),
        ("persistent billing", &["prod-eu"]),
        ("nothing", &[]),
        ("", &["prod-eu", "prod-us", "dev"]),
    ] {
        ensembles.set_filter(Filter::new(filter));
        assert_eq!(names(&ensembles), expected, "{filter}");
    }
    ensembles.set_filter(Filter::new("us"));
    assert_eq!(said(&ensembles), ["prod-us no connection"]);
}

#[test]
fn a_finding_is_told_once_and_its_end_only_while_the_locks_are_seen() {
    let mut ensembles = three();
    let raised = ["prod-eu + /locks/billing persistent-contender", "prod-eu + /locks/orders persistent-contender"];
    let before = said(&ensembles);
    assert!(raised.iter().all(|event| before.iter().any(|said| said == event)), "{before:?}");
    ensembles.take(reports());
    assert_eq!(said(&ensembles), before, "nothing new");
    ensembles.take(vec![report("prod-eu", &cut_off(), NOW)]);
    assert_eq!(said(&ensembles)[before.len()..], ["prod-eu cut off"]);
    ensembles.take(vec![report("prod-eu", &table([orphan("/locks/orders")], NOW), NOW)]);
    assert_eq!(said(&ensembles)[before.len() + 1..], ["prod-eu live", "prod-eu + /locks/orders persistent-contender"]);
}

#[test]
fn what_is_new_counts_until_the_ensemble_is_opened() {
    let mut ensembles = three();
    let news = |ensembles: &WatchedEnsembles| ensembles.named("prod-eu").unwrap().news;
    assert_eq!(news(&ensembles), 2);
    ensembles.opened(Some("prod-eu"));
    assert_eq!((news(&ensembles), ensembles.open().map(|name| &**name)), (0, Some("prod-eu")));
    let more = table([orphan("/locks/billing"), orphan("/locks/orders"), orphan("/locks/third")], NOW);
    ensembles.take(vec![report("prod-eu", &more, NOW)]);
    assert_eq!(news(&ensembles), 0, "it is looked at");
    ensembles.opened(None);
    ensembles.take(vec![report("prod-eu", &table([], NOW), NOW)]);
    ensembles.take(vec![report("prod-eu", &more, Timestamp(NOW.0 + 1_000))]);
    assert_eq!(news(&ensembles), 3);
}

#[test]
fn a_cause_with_another_name_is_neither_over_nor_new() {
    let mut ensembles = three();
    let before = said(&ensembles).len();
    let orders = || report("prod-eu", &table([orphan("/locks/orders")], NOW), NOW);
    ensembles.take(vec![orders()]);
    assert_eq!(said(&ensembles)[before..], ["prod-eu - /locks/billing persistent-contender"]);
    ensembles.opened(None);
    let news = ensembles.named("prod-eu").unwrap().news;
    let mut renamed = orders();
    let mut finding = (*renamed.summary.findings[0]).clone();
    finding.code = lockscope_model::diagnose::Code::Stuck;
    renamed.summary.findings = vec![std::sync::Arc::new(finding)];
    ensembles.take(vec![renamed.clone()]);
    assert_eq!(said(&ensembles)[before + 1..], ["prod-eu /locks/orders persistent-contender is stuck"]);
    assert_eq!(ensembles.named("prod-eu").unwrap().news, news);
    renamed.summary.findings.clear();
    ensembles.take(vec![renamed]);
    assert_eq!(said(&ensembles)[before + 2..], ["prod-eu - /locks/orders stuck"]);
}
