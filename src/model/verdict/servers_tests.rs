//! Tests of `servers`.

use super::*;
use crate::server_view::{MemberExtras, MemberProgress, ServerMode};
use lockscope_base::znode::Timestamp;

const NOW: Timestamp = Timestamp(100_000);

fn serving(number: u8, mode: ServerMode) -> MemberView {
    MemberView { mode: Some(mode), rounds_out: Some(0), ..MemberView::unasked(format!("zk{number}:2181")) }
}

fn silent(number: u8, rounds: Option<u32>) -> MemberView {
    let error = Some("refused the connection".to_owned());
    MemberView { error, rounds_out: rounds, ..MemberView::unasked(format!("zk{number}:2181")) }
}

fn leaderless(number: u8) -> MemberView {
    let progress = Some(MemberProgress { asked_at: NOW, zxid: None });
    MemberView { extras: MemberExtras { progress, ..MemberExtras::default() }, ..silent(number, Some(2)) }
}

fn told(members: Vec<MemberView>) -> Option<(Severity, String)> {
    let trouble = ServerTrouble::of(&ServerView { at: NOW, members, ..ServerView::default() })?;
    Some((trouble.severity(), trouble.to_string()))
}

fn warning(text: &str) -> (Severity, String) {
    (Severity::Warning, text.to_owned())
}

#[test]
fn a_server_that_does_not_answer_twice_is_named() {
    let two = [serving(1, ServerMode::Leader), serving(2, ServerMode::Follower)];
    let and = |third: MemberView| told(two.iter().cloned().chain([third]).collect());
    assert_eq!(and(silent(3, Some(1))), None, "one round may meet a restart");
    assert_eq!(and(silent(3, Some(2))), Some(warning("1 of 3 servers does not answer: zk3:2181")));
    assert_eq!(and(leaderless(3)), Some(warning("1 of 3 servers has no leader: zk3:2181")));
    let read_only = MemberView { rounds_out: Some(2), ..serving(3, ServerMode::ReadOnly) };
    assert_eq!(and(read_only), Some(warning("1 of 3 servers has no leader: zk3:2181")));
    let refusing = MemberView { error: Some("cons is not allowed".to_owned()), ..serving(3, ServerMode::Follower) };
    assert_eq!(and(refusing), None, "it answers");
    assert_eq!(and(silent(3, Some(0))), None, "it may be out of reach from here");
    assert_eq!(and(MemberView::unasked("zk3:2181".to_owned())), None, "it was not asked yet");
}

#[test]
fn a_recorded_server_is_silent_if_it_answered_and_has_not_for_long() {
    let recorded =
        |answered_at| told(vec![serving(1, ServerMode::Leader), MemberView { answered_at, ..silent(2, None) }]);
    assert_eq!(recorded(None), None);
    assert_eq!(recorded(Some(Timestamp(NOW.0 - 5_000))), None);
    let long_ago = recorded(Some(Timestamp(NOW.0 - 11_000)));
    assert_eq!(long_ago, Some(warning("1 of 2 servers does not answer: zk2:2181")));
}

#[test]
fn without_a_server_that_serves_it_is_critical_if_one_says_so() {
    let critical = told(vec![leaderless(1), silent(2, Some(2)), silent(3, Some(4))]);
    let text = "no server serves clients: zk2:2181, zk3:2181 do not answer; zk1:2181 has no leader";
    assert_eq!(critical, Some((Severity::Critical, text.to_owned())));
    assert_eq!(told(vec![leaderless(1), silent(2, Some(1))]), None, "the other one may serve");
    assert_eq!(told((1..=3).map(|number| silent(number, Some(9))).collect()), None, "all may be out of reach");
}

#[test]
fn of_many_servers_a_few_are_named() {
    let members = (2..=9).map(|number| silent(number, Some(2))).chain([serving(1, ServerMode::Leader)]);
    let named = "zk2:2181, zk3:2181, zk4:2181, zk5:2181, zk6:2181 and 3 more";
    assert_eq!(told(members.collect()), Some(warning(&format!("8 of 9 servers do not answer: {named}"))));
}
