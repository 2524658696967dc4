//! Tests of `contend`.

use std::sync::Arc;
use std::time::Duration;

use super::testing::{outcome, status};
use super::*;
use crate::cli::options::{EnsembleOptions, SharedOptions};
use crate::cli::resolved::Environment;
use lockscope_lab::contend::Scenario;

#[test]
fn a_violated_lock_and_nodes_left_behind_are_a_no() {
    let good = outcome("chain", 2);
    let code = |outcomes: &[&FleetOutcome]| answer(outcomes.iter().copied()).expect("connected fleets").code();
    assert_eq!(code(&[&good, &good]), 0);
    assert_eq!(code(&[&FleetOutcome { left_behind: None, outlived: 1, ..good.clone() }]), 0);
    assert_eq!(code(&[&good, &FleetOutcome { violations: 1, ..good.clone() }]), 1);
    assert_eq!(code(&[&FleetOutcome { left_behind: Some(1), ..good.clone() }]), 1);
    assert_eq!(ExitAnswer::Ended(2).code(), 130);
}

#[test]
fn servers_that_were_lost_are_an_error_that_names_what_may_be_left() {
    let good = outcome("chain", 2);
    let node = |name: &str| good.path.child(name);
    let lost = FleetOutcome {
        servers_lost: true,
        left_behind: None,
        left_behind_nodes: vec![node("a"), node("b"), node("c")],
        troubles: vec!["the servers were lost: zk1 is silent".to_owned()],
        ..good.clone()
    };
    let said = answer([&good, &lost]).expect_err("lost").to_string();
    assert_eq!(
        said,
        "the servers were lost: zk1 is silent; /lockscope/chain/a and 2 more may be left behind until their sessions expire"
    );
    let unnamed = FleetOutcome { left_behind_nodes: Vec::new(), ..lost.clone() };
    assert!(answer([&unnamed]).expect_err("lost").to_string().contains("nodes below /lockscope/chain go when"));
    let back = FleetOutcome { left_behind: Some(0), ..unnamed };
    assert!(answer([&back]).expect_err("lost").to_string().ends_with("zk1 is silent"));
}

#[test]
fn a_fleet_that_acquired_nothing_is_an_error_that_says_why() {
    let good = outcome("chain", 2);
    let idle = FleetOutcome { acquisitions: 0, left_behind: Some(1), ..good.clone() };
    let said = |idle: &FleetOutcome| answer([&good, idle]).expect_err("no acquisition").to_string();
    assert_eq!(said(&idle), "no test client acquired /lockscope/chain: others held it, or the run was too short");
    let troubled = FleetOutcome { troubles: vec!["the server is too old".to_owned()], ..idle };
    assert_eq!(said(&troubled), "no test client acquired /lockscope/chain: the server is too old");
}

#[tokio::test]
async fn a_missing_reader_is_no_error() {
    let (reader, mut writer) = tokio::io::duplex(8);
    drop(reader);
    print("more than eight bytes", &mut writer).await.expect("no error without a reader");
}

#[test]
fn it_shows_connected_clients_and_then_their_progress() {
    assert_eq!(of(&status(2, Duration::ZERO), None), "chain: 2 of 3 clients connected");
    let mut under_way = status(3, Duration::from_secs(4));
    under_way.totals.acquisitions = 2048;
    assert_eq!(of(&under_way, None), "chain: 3 clients, 2 048 acquisitions, 512/s, 4.00s");
    under_way.scenario = Arc::new(Scenario { rounds: Some(1000), ..(*under_way.scenario).clone() });
    let shown = of(&under_way, Some((3, 10)));
    assert_eq!(shown, "fleet 3 of 10, chain: 3 clients, 2 048 of 3 000 acquisitions, 512/s, 4.00s");
}

#[test]
fn a_pipe_without_a_reader_is_noticed_without_writing_to_it() {
    let (reader, writer) = io::pipe().expect("a pipe");
    assert!(!reader_is_gone(&writer));
    drop(reader);
    assert!(reader_is_gone(&writer));
}

const LIMIT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn it_ends_when_no_session_comes_and_says_how_many_there_are() {
    let timeout = ServerTimeout::new(LIMIT);
    timeout.update(1, &status(2, Duration::ZERO));
    timeout.expired().await;
    let given = Environment::default();
    let connect = EnsembleOptions { connect: Some("zk1".to_owned()), ..EnsembleOptions::default() };
    let options = SharedOptions { ensemble: connect, ..SharedOptions::default() };
    let settings = ResolvedOptions::resolve(options, &given, SharedOptions::default()).expect("sound options");
    let sentence = timeout.no_answer(&settings).to_string();
    assert!(
        sentence.contains("2 of 3 test clients") && sentence.contains("zk1") && sentence.contains("--timeout"),
        "{sentence}"
    );
}

#[tokio::test]
async fn it_ends_in_the_middle_of_a_run_when_the_servers_are_away_for_too_long() {
    let timeout = ServerTimeout::new(LIMIT);
    let lost_for = |lost| FleetStatus { servers_lost_for: Some(lost), ..status(0, Duration::from_millis(1)) };
    timeout.update(1, &lost_for(LIMIT / 2));
    assert!(time::timeout(LIMIT * 5, timeout.expired()).await.is_err());
    timeout.update(1, &lost_for(LIMIT));
    timeout.expired().await;
    assert!(timeout.had_begun());
}

#[tokio::test]
async fn it_lasts_forever_once_all_contend_and_begins_anew_with_the_next_fleet() {
    let timeout = ServerTimeout::new(LIMIT);
    timeout.update(1, &status(3, Duration::from_millis(1)));
    assert!(time::timeout(LIMIT * 5, timeout.expired()).await.is_err());
    timeout.update(2, &status(0, Duration::ZERO));
    timeout.expired().await;
}

const SAMPLE_FILE: SyncSettings = SyncSettings { tick_ms: 2000, sync_limit: 5 };

#[test]
fn short_sessions_are_named_with_their_bound_and_what_to_do() {
    let six = Duration::from_secs(6);
    assert_eq!(
        sentence(SAMPLE_FILE, six, six).expect("too short"),
        "Sessions of 6s are shorter than 13.75s: a member that loses its leader keeps its clients for up to 10s \
             (syncLimit × tickTime), so two clients may hold at once meanwhile; use --session-timeout 14s or longer."
    );
    let bounded = sentence(SAMPLE_FILE, Duration::from_secs(20), six).expect("too short");
    assert!(bounded.ends_with("set their maxSessionTimeout to 14s or longer."), "{bounded}");
}

#[test]
fn sessions_that_are_long_enough_are_not_mentioned() {
    let safe = SAMPLE_FILE.safe_session_timeout();
    assert_eq!(sentence(SAMPLE_FILE, safe, safe), None);
    assert_eq!(sentence(SAMPLE_FILE, Duration::from_secs(1), safe), None, "the servers lengthen them");
    let default = lockscope_lab::contend::DEFAULT_SESSION_TIMEOUT;
    assert_eq!(sentence(SAMPLE_FILE, default, default), None);
}
