//! Findings that stand, that are cleared, and that are muted.

use super::*;
use crate::diagnose::Code;
use crate::diagnose::testing::{DiagnosisFixture, curator};

use crate::queue::Change;
use crate::server_view::Provenance;

fn troubled() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/b", 1), 0);
    world.create(&curator("/a", 2), 2);
    world.create(&curator("/a", 2), 2);
    world.pass(10);
    world
}

#[test]
fn findings_stand_with_the_worst_first_and_at_their_locks() {
    let world = troubled();
    let codes: Vec<Code> = world.diagnosis.findings().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::Orphan, Code::PersistentContender, Code::SelfBlocked]);
    let at = |lock| world.diagnosis.worst(world.id(lock)).map(|finding| finding.code);
    assert_eq!((at("/a"), at("/b")), (Some(Code::Orphan), Some(Code::PersistentContender)));
    assert_eq!(world.diagnosis.of(world.id("/a")).len(), 2);
    assert_eq!(world.diagnosis.of(LockId(99)).len(), 0);
}

#[test]
fn a_table_that_is_not_live_has_no_findings_and_begins_anew() {
    let mut world = troubled();
    world.apply(crate::testing::lost());
    assert_eq!(world.pass(1), (vec![], vec![Code::Orphan, Code::PersistentContender, Code::SelfBlocked]));
    assert_eq!(world.pass(5), (vec![], vec![]));
}

#[test]
fn plain_text_beside_tls_proves_no_ghost_and_its_findings_say_so() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 3);
    world.provenance = Provenance::PlainBesideTls;
    let hidden = world.client(1);
    (hidden.connected, hidden.listed) = (false, false);
    world.client(3).sound = false;
    world.pass(30);
    assert!(world.found(Code::Ghost).is_none() && world.found(Code::ExpiringHolder).is_none());
    let finding = world.found(Code::LostWakeUp).expect("the finding stands");
    assert!(finding.summary.ends_with("(told in plain text, which proves nothing beside TLS)"), "{}", finding.summary);
    assert!(finding.severity <= Severity::Warning);

    world.provenance = Provenance::AsSession;
    world.pass(30);
    assert!(world.found(Code::Ghost).is_some());
}

#[test]
fn a_look_that_could_not_have_shown_a_finding_does_not_end_it() {
    let mut world = DiagnosisFixture::new();
    let [first, _] = [1, 2].map(|session| world.create(&curator("/l", session), session.into()));
    world.client(1).connected = false;
    world.pass(3);
    assert!(world.found(Code::ExpiringHolder).is_some());
    world.answers = false;
    assert_eq!(world.pass(5), (vec![], vec![]));
    let open = world.diagnosis.last_look().expect("a look").open().to_vec();
    assert_eq!((open[0].check, open[0].why), (Code::ExpiringHolder, WhyOpen::NoAnswer), "{open:?}");
    let mut without = world.clone();
    assert_eq!(without.pass(10), (vec![], vec![Code::ExpiringHolder]), "the answer is too old");
    world.answers = true;
    assert_eq!(world.pass(1), (vec![], vec![]));
    world.answers = false;
    world.pass(1);
    world.delete(&first);
    assert_eq!(world.pass(1), (vec![], vec![Code::ExpiringHolder]), "its node is gone");
}

#[test]
fn a_look_says_since_when_it_looks_and_what_is_open() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.client(2).sound = false;
    assert!(world.diagnosis.last_look().is_none());
    world.pass(2);
    let look = world.diagnosis.last_look().expect("a look");
    assert_eq!((look.rounds, look.lasted()), (2, Duration::from_secs(1)));
    assert_eq!(look.open().iter().map(|open| open.check).collect::<Vec<_>>(), [Code::LostWakeUp]);
    world.pass(5);
    assert!(world.found(Code::LostWakeUp).is_some());
    assert_eq!(world.diagnosis.last_look().expect("a look").open(), []);
    world.apply(crate::testing::lost());
    world.pass(1);
    assert!(world.diagnosis.last_look().is_none());
}

/// Mutes the finding of `/a` until it is cleared.
fn muted_until_cleared(world: &mut DiagnosisFixture) {
    let finding = world.found(Code::Orphan).expect("the finding stands").to_muted();
    let (scope, note, by) = (MuteScope::Finding(finding), "known".into(), "ann".into());
    let mute = Mute { scope, since: Timestamp(0), until: None, note, by };
    world.apply(Change::Muted { mutes: Arc::new(Mutes::new([Arc::new(mute)])) });
}

#[test]
fn a_muted_finding_comes_last_and_its_change_is_told_once() {
    let mut world = troubled();
    muted_until_cleared(&mut world);
    let changes = world.diagnosis.examine(&world.table.clone(), world.now);
    assert_eq!(changes.muted.iter().map(|finding| finding.code).collect::<Vec<_>>(), [Code::Orphan]);
    assert!(world.diagnosis.examine(&world.table.clone(), world.now).muted.is_empty());
    let codes: Vec<Code> = world.diagnosis.findings().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::PersistentContender, Code::SelfBlocked, Code::Orphan]);
    assert_eq!((world.diagnosis.unmuted().count(), world.diagnosis.muted_count()), (2, 1));
    assert_eq!(world.diagnosis.worst(world.id("/a")).map(|finding| finding.code), Some(Code::SelfBlocked));
    world.apply(Change::Muted { mutes: Arc::default() });
    let changes = world.diagnosis.examine(&world.table.clone(), world.now);
    assert_eq!(changes.muted.iter().map(|finding| finding.muted.clone()).collect::<Vec<_>>(), [None]);
}

#[test]
fn a_mute_until_cleared_ends_once_looks_have_lasted_without_the_finding() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/a", 2), 2);
    let second = world.create(&curator("/a", 2), 2);
    world.pass(40);
    muted_until_cleared(&mut world);
    world.pass(1);
    assert!(world.diagnosis.cleared_mutes(&world.table).is_empty(), "it stands");
    let mut cut = world.clone();
    cut.apply(crate::testing::lost());
    cut.pass(40);
    assert!(cut.diagnosis.cleared_mutes(&cut.table).is_empty(), "nothing is seen");
    world.delete(&second);
    world.pass(1);
    assert_eq!(world.diagnosis.cleared_mutes(&world.table).len(), 1);
}

#[test]
fn a_finding_that_gets_worse_is_raised_again() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 1);
    let (raised, cleared) = world.pass(70);
    assert_eq!(raised.iter().filter(|code| **code == Code::SelfBlocked).count(), 2, "{raised:?}");
    assert!(!cleared.contains(&Code::SelfBlocked));
}
