//! The list of ensembles: its order, its filter, and what is new.

use super::*;
use std::sync::Arc;

use crate::testing::table;
use crate::tui::app::list::Directed;
use crate::tui::testing::NOW;
use crate::tui::testing::ensembles::{cut_off, orphan, report, reports};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{MemberView, ServerMode, ServerView};

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
        troubles: 0,
        known: KnownFindings::default(),
        found: FoundLocks::default(),
    };
    let mut ensembles = WatchedEnsembles::new(["dev", "prod-eu", "prod-us"].map(row));
    ensembles.take(reports());
    ensembles
}

fn said(ensembles: &WatchedEnsembles) -> Vec<String> {
    let word = |event: &ListedEvent| match &event.news {
        EnsembleNews::Raised(finding) => format!("{} + {} {}", event.ensemble, finding.lock, finding.code),
        EnsembleNews::Renamed(before, finding) => {
            format!("{} {} {before} is {}", event.ensemble, finding.lock, finding.code)
        }
        EnsembleNews::Cleared(finding) => format!("{} - {} {}", event.ensemble, finding.lock, finding.code),
        EnsembleNews::State(state) => format!("{} {}", event.ensemble, state.id()),
        EnsembleNews::Servers(Some(trouble)) => format!("{} {trouble}", event.ensemble),
        EnsembleNews::Servers(None) => format!("{} all servers", event.ensemble),
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
    assert_eq!(news(&ensembles), 0, "they are back before anybody has forgotten them");
    ensembles.take(vec![report("prod-eu", &table([], NOW), Timestamp(NOW.0 + 2_000))]);
    for seconds in [602, 603] {
        ensembles.take(vec![report("prod-eu", &table([], NOW), Timestamp(NOW.0 + seconds * 1_000))]);
    }
    ensembles.take(vec![report("prod-eu", &more, Timestamp(NOW.0 + 604_000))]);
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

#[test]
fn a_server_that_does_not_answer_is_told_once_and_again_when_it_is_back() {
    let mut ensembles = three();
    let before = said(&ensembles).len();
    let member = |number: u8, rounds_out| MemberView {
        mode: (rounds_out == 0).then_some(ServerMode::Follower),
        error: (rounds_out > 0).then(|| "refused the connection".to_owned()),
        rounds_out: Some(rounds_out),
        ..MemberView::unasked(format!("zk{number}:2181"))
    };
    for rounds_out in [0, 1, 2, 3, 0] {
        let mut table = table([], NOW);
        let view = ServerView { members: vec![member(1, 0), member(2, rounds_out)], ..ServerView::default() };
        table.apply(Change::Surveyed { view: Arc::new(view) }, NOW);
        ensembles.take(vec![report("dev", &table, NOW)]);
    }
    assert_eq!(said(&ensembles)[before..], ["dev 1 of 2 servers does not answer: zk2:2181", "dev all servers"]);
    assert_eq!(ensembles.named("dev").unwrap().news, 1);
}

/// A report of an ensemble with these locks, which were looked through for the filter of the list.
fn with_locks(ensembles: &WatchedEnsembles, name: &str, locks: &[&str]) -> EnsembleReport {
    let table = table(locks.iter().map(|lock| orphan(lock)), NOW);
    let diagnosis = Diagnosis::new(Thresholds::default());
    let found = FoundLocks::of(ensembles.filter(), &table, &diagnosis, NOW);
    let mut summary = report(name, &table, NOW).summary;
    summary.findings.clear();
    EnsembleReport { name: name.into(), summary, found, noted: Arc::default(), claims: EnsembleClaims::default() }
}

#[test]
fn a_filter_finds_the_ensemble_that_has_a_lock_and_opens_it_with_the_filter() {
    let mut ensembles = three();
    ensembles.set_filter(Filter::new("shop"));
    assert_eq!(ensembles.take_changed_filter(), Some(Filter::new("shop")));
    assert_eq!(ensembles.take_changed_filter(), None);
    assert!(names(&ensembles).is_empty() && ensembles.is_looking());
    let answers = [("dev", &["/shop/orph", "/shop/orphan"][..]), ("prod-eu", &["/stall/sound"])];
    let answers = answers.map(|(name, locks)| with_locks(&ensembles, name, locks));
    ensembles.take(answers.into());
    assert!(!ensembles.is_looking(), "an ensemble that cannot be seen is not waited for");
    assert_eq!(names(&ensembles), ["dev"]);
    let found = ensembles.named("dev").unwrap().found_locks(ensembles.filter());
    assert_eq!(found.map(|(count, first)| (count, first.to_string())), Some((2, "/shop/orph".to_owned())));
    ensembles.want("dev".into());
    assert_eq!(ensembles.take_open_with(), Some(OpenWith::Filter(Filter::new("shop"))));
    ensembles.set_filter(Filter::new("dev"));
    assert_eq!(names(&ensembles), ["dev"], "by its name");
    ensembles.want("dev".into());
    assert_eq!(ensembles.take_open_with(), None);
}

#[test]
fn a_lock_is_looked_for_until_all_have_answered_and_is_found_by_its_whole_path() {
    let mut ensembles = three();
    let mut sought = |locks: [&[&str]; 3]| {
        ensembles.seek("/shop/orph");
        for (name, locks) in ["dev", "prod-eu", "prod-us"].into_iter().zip(locks) {
            assert_eq!(ensembles.take_sought(), None, "{name} has not answered");
            let answer = with_locks(&ensembles, name, locks);
            ensembles.take(vec![answer]);
        }
        let found = ensembles.take_sought();
        assert_eq!(ensembles.take_sought(), None, "it is told once");
        ensembles.set_filter(Filter::new(""));
        for name in ["dev", "prod-eu", "prod-us"] {
            let answer = with_locks(&ensembles, name, &[]);
            ensembles.take(vec![answer]);
        }
        found
    };
    assert_eq!(sought([&["/shop/orph"], &["/shop/orphan"], &[]]), Some(Sought::In("dev".into())));
    assert_eq!(sought([&["/shop/orph"], &[], &["/shop/orph"]]), Some(Sought::InSeveral(2)));
    assert_eq!(sought([&["/shop/orphan"], &[], &[]]), Some(Sought::Nowhere(0)));
    ensembles.seek("/shop/orph");
    ensembles.set_filter(Filter::new("/shop/orp"));
    assert_eq!(ensembles.take_sought(), None, "another filter was typed");
}
