//! Summaries of small tables.

use super::*;
use crate::diagnose::Thresholds;
use crate::server_view::{MemberView, ServerMode, ServerView};
use crate::testing::{connected, lost, seen, table};
use lockscope_base::znode::{SessionId, ZnodeStat, Zxid};

fn stat(czxid: i64, owner: i64, at: i64) -> ZnodeStat {
    ZnodeStat::of_new(Zxid(czxid), Timestamp(at), (owner != 0).then_some(SessionId(owner)))
}

fn contender(number: u32, at: i64) -> crate::queue::Change {
    let node = format!("/locks/a/{}__lock__{number:010}", crate::testing::uuid(number).replace('-', ""));
    seen(&node, stat(i64::from(number) + 10, i64::from(number) + 1, at), b"host")
}

fn summary(table: &LockTable, now: i64) -> EnsembleSummary {
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    diagnosis.examine(table, Timestamp(now));
    EnsembleSummary::new(table, &diagnosis, &ChangeRate::default(), None, Timestamp(now))
}

#[test]
fn a_summary_counts_locks_contenders_and_the_longest_wait() {
    let table = table([contender(1, 1_000), contender(2, 2_000), contender(3, 3_000)], Timestamp(3_500));
    let seen = summary(&table, 60_000);
    assert_eq!((seen.locks, seen.contenders), (1, 3));
    assert_eq!(seen.longest_wait, Some(Duration::from_secs(58)));
    assert_eq!(seen.state.kind(), StateKind::Live);
    assert_eq!((seen.verdict, seen.open_checks), (VerdictKind::Well, 0));
}

#[test]
fn ages_stop_and_the_reason_is_kept_when_the_connection_is_lost() {
    let mut table = table([contender(1, 1_000), contender(2, 2_000)], Timestamp(10_000));
    table.apply(lost(), Timestamp(12_000));
    let seen = summary(&table, 600_000);
    assert_eq!((seen.state.kind(), seen.state.reason()), (StateKind::CutOff, Some("cut")));
    assert!(seen.longest_wait < Some(Duration::from_secs(11)), "{:?}", seen.longest_wait);
    table.apply(connected(), Timestamp(13_000));
    assert_eq!(summary(&table, 600_000).state.kind(), StateKind::Reading);
}

/// Two servers, of which one is silent.
fn one_of_two() -> ServerView {
    let serving = MemberView { mode: Some(ServerMode::Leader), ..MemberView::unasked("zk1:2181".to_owned()) };
    let error = Some("refused the connection".to_owned());
    let silent = MemberView { error, rounds_out: Some(2), ..MemberView::unasked("zk2:2181".to_owned()) };
    ServerView { members: vec![serving, silent], ..ServerView::default() }
}

#[test]
fn a_server_that_refuses_words_answers_and_a_silent_one_is_trouble() {
    let mut view = one_of_two();
    view.members[0].error = Some("cons is not allowed".to_owned());
    let mut table = table([contender(1, 1_000)], Timestamp(3_500));
    table.apply(crate::queue::Change::Surveyed { view: Arc::new(view) }, Timestamp(4_000));
    let seen = summary(&table, 5_000);
    assert_eq!((seen.servers, seen.verdict), ((1, 2), VerdictKind::Trouble));
    assert!(seen.servers_trouble.is_some_and(|servers| servers.serving() == (1, 2)));
}

#[test]
fn an_ensemble_that_cannot_be_seen_ranks_between_critical_findings_and_warnings() {
    let well = summary(&table([], Timestamp(0)), 1_000);
    let with = |critical, warning, kind| EnsembleSummary {
        counts: FindingCounts { critical, warning, ..FindingCounts::default() },
        state: EnsembleCondition::new(kind, None),
        ..well.clone()
    };
    let ordered = [
        with(2, 0, StateKind::CutOff),
        with(1, 9, StateKind::Live),
        with(0, 3, StateKind::NoConnection),
        with(0, 0, StateKind::Refused),
        with(0, 3, StateKind::Live),
        EnsembleSummary { servers_trouble: ServerTrouble::of(&one_of_two()), ..well.clone() },
        with(0, 0, StateKind::Reading),
        EnsembleSummary { verdict: VerdictKind::Unknown, ..well.clone() },
        EnsembleSummary { waited: (WaiterTime(Duration::from_secs(9)), Duration::MAX), ..well.clone() },
        EnsembleSummary { longest_wait: Some(Duration::from_secs(99)), ..well.clone() },
        well.clone(),
    ];
    assert!(ordered.is_sorted_by(|worse, better| worse.badness() >= better.badness()));
}

#[test]
fn a_finding_that_stands_shares_the_memory_of_the_earlier_summary() {
    let orphan = seen("/locks/a/11111111111111111111111111111111__lock__0000000001", stat(5, 0, 1_000), b"host");
    let table = table([orphan], Timestamp(1_500));
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    diagnosis.examine(&table, Timestamp(2_000));
    let at = |now, before: Option<&EnsembleSummary>| {
        EnsembleSummary::new(&table, &diagnosis, &ChangeRate::default(), before, Timestamp(now))
    };
    let first = at(2_000, None);
    assert_eq!(first.findings.len(), 1);
    assert!(Arc::ptr_eq(&first.findings[0], &at(3_000, Some(&first)).findings[0]));
    assert!(is_same(&first.findings[0], &first.findings[0].clone()));
}
