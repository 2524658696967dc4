//! No way leads to "well" without a look that would have shown the opposite.

use super::*;
use crate::diagnose::{Code, Thresholds};
use crate::queue::Change;
use crate::server_view::{MemberExtras, MemberProgress, MemberView, ServerMode, ServerView};
use crate::testing::{lost, path, seen, table};
use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

/// Two contenders of Curator's mutex; those of one session are numbered alike.
fn queue(sessions: [i64; 2]) -> Vec<Change> {
    let node = |(number, session): (i64, i64)| {
        let stat = ZnodeStat::of_new(Zxid(number + 10), Timestamp(1_000), Some(SessionId(session)));
        let at = format!("/locks/a/_c_{}-lock-{number:010}", crate::testing::uuid(u32::try_from(number).expect("few")));
        seen(&at, stat, b"")
    };
    [(1, sessions[0]), (2, sessions[1])].map(node).into()
}

fn verdict(table: &LockTable, diagnosis: &Diagnosis) -> Verdict {
    Verdict::of(table, diagnosis, Duration::from_secs(3), Timestamp(3_000), Severity::Warning)
}

#[test]
fn without_a_look_nothing_is_well() {
    let mut table = table(queue([1, 2]), Timestamp(2_000));
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    assert_eq!(verdict(&table, &diagnosis), Verdict::Unknown(NotKnown::NoLook));
    diagnosis.examine(&table, Timestamp(2_000));
    let looked = verdict(&table, &diagnosis);
    assert_eq!(looked.kind(), VerdictKind::Well);
    let looked = looked.looked_at().expect("it was looked at");
    assert_eq!((looked.locks(), looked.rounds(), looked.lasted()), (1, 1, Duration::from_secs(3)));
    diagnosis.start_over();
    assert_eq!(verdict(&table, &diagnosis), Verdict::Unknown(NotKnown::NoLook));
    diagnosis.examine(&table, Timestamp(3_000));
    table.apply(lost(), Timestamp(3_500));
    assert_eq!(verdict(&table, &diagnosis), Verdict::Unknown(NotKnown::NotLive));
}

#[test]
fn what_cannot_be_read_may_be_in_any_state() {
    let closed = Change::Unreadable { path: path("/closed"), why: "no READ".to_owned() };
    let table = table(queue([1, 2]).into_iter().chain([closed]), Timestamp(2_000));
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    diagnosis.examine(&table, Timestamp(2_000));
    let said = verdict(&table, &diagnosis);
    assert_eq!(said.not_known().map(NotKnown::sentence).as_deref(), Some("/closed cannot be read: no READ"));
}

#[test]
fn a_state_that_was_seen_twice_is_open_until_it_is_over_or_a_finding() {
    // Nobody tells when the lock was handed on, since a third contender has left.
    let mut stat = ZnodeStat::of_new(Zxid(5), Timestamp(500), None);
    (stat.pzxid, stat.cversion, stat.num_children) = (Zxid(90), 4, 2);
    let listed = Change::Listed { path: path("/locks/a"), stat };
    let table = table([listed].into_iter().chain(queue([1, 2])), Timestamp(100_000));
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    let mut kinds = Vec::new();
    for second in 100..=103 {
        diagnosis.examine(&table, Timestamp(second * 1_000));
        kinds.push(verdict(&table, &diagnosis).kind());
    }
    assert_eq!(kinds, [VerdictKind::Unknown, VerdictKind::Unknown, VerdictKind::Trouble, VerdictKind::Trouble]);
    assert_eq!(diagnosis.findings().map(|finding| finding.code).collect::<Vec<_>>(), [Code::MayBeStuck]);
    let counts = Verdict::of(&table, &diagnosis, Duration::from_secs(3), Timestamp(3_000), Severity::Critical);
    assert_eq!(counts.kind(), VerdictKind::Well, "warnings do not count");
}

#[test]
fn what_could_be_found_at_no_lock_is_named_and_leaves_it_well() {
    let table = table(queue([1, 2]), Timestamp(2_000));
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    diagnosis.examine(&table, Timestamp(2_000));
    let said = verdict(&table, &diagnosis);
    let looked = said.looked_at().expect("it was looked at");
    let needs = |code| looked.unsought().iter().find(|kind| kind.code == code).map(|kind| kind.needs);
    assert_eq!(needs(Code::Ghost), Some(Needs::Servers), "nobody was asked");
    assert_eq!(needs(Code::EmptyParent), Some(Needs::Longer(Duration::from_secs(601))));
    assert_eq!((needs(Code::Deadlock), needs(Code::Flapping)), (None, None));
    let missing = "4 kinds need a longer look, 16 the servers' answers";
    assert_eq!(looked.what_is_missing().as_deref(), Some(missing));
}

/// A survey of three members, of which so many serve and the others have no leader.
fn surveyed(serving: usize, at: Timestamp) -> Change {
    let member = |number: usize| {
        let out =
            MemberView { error: Some("serves no clients".to_owned()), ..MemberView::unasked(format!("zk{number}")) };
        let progress = Some(MemberProgress { asked_at: at, zxid: None });
        if number > serving {
            let extras = MemberExtras { progress, ..MemberExtras::default() };
            return MemberView { rounds_out: Some(2), extras, ..out };
        }
        MemberView { mode: Some(ServerMode::Follower), error: None, rounds_out: Some(0), ..out }
    };
    let view = ServerView { at, members: (1..=3).map(member).collect(), members_known: true, ..ServerView::default() };
    Change::Surveyed { view: std::sync::Arc::new(view) }
}

#[test]
fn servers_that_do_not_serve_are_trouble_whatever_the_locks_are() {
    let mut table = table(queue([1, 2]), Timestamp(2_000));
    table.apply(surveyed(2, Timestamp(2_500)), Timestamp(2_500));
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    assert_eq!(verdict(&table, &diagnosis), Verdict::Unknown(NotKnown::NoLook));
    diagnosis.examine(&table, Timestamp(3_000));
    let warned = verdict(&table, &diagnosis);
    assert_eq!((warned.kind(), warned.worst()), (VerdictKind::Trouble, Some(Severity::Warning)));
    assert!(warned.servers().is_some_and(|servers| servers.serving() == (2, 3)) && warned.looked_at().is_some());
    let counts = Verdict::of(&table, &diagnosis, Duration::from_secs(3), Timestamp(3_000), Severity::Critical);
    assert_eq!(counts.kind(), VerdictKind::Well, "warnings do not count");
    table.apply(lost(), Timestamp(3_500));
    assert_eq!(verdict(&table, &diagnosis), Verdict::Unknown(NotKnown::NotLive));
    table.apply(surveyed(0, Timestamp(4_000)), Timestamp(4_000));
    let critical = verdict(&table, &diagnosis);
    assert_eq!((critical.worst(), critical.looked_at()), (Some(Severity::Critical), None));
}
