//! The line over sequences of views, and over random ones.

use proptest::prelude::*;

use super::*;
use crate::server_view::{
    Absence, AbsenceReason, MemberExtras, MemberProgress, MemberView, ServerMode, ServerView, SyncSettings,
};
use lockscope_base::znode::{TimeRange, Timestamp, Zxid};

use EnsembleEventKind::{Election, LeaderChanged, MemberMissing, NoMajority, SlowWrites};
use ServerMode::{Follower, Leader, Observer, ReadOnly, Standalone};

/// How long a member says that it serves after it lost the others.
const SYNC_MS: i64 = 2_625;

/// An event with its member, and with the bounds of its beginning and its end.
type ToldEvent<'a> = (EnsembleEventKind, Option<&'a str>, [i64; 2], Option<[i64; 2]>);

/// An ensemble whose members are asked all at once, every second.
struct Asked {
    line: EnsembleLine,
    now: i64,
    voters: Option<u16>,
    members: Vec<MemberView>,
}

fn serving(mode: ServerMode, zxid: i64) -> MemberView {
    let progress = Some(MemberProgress { asked_at: Timestamp(0), zxid: Some(Zxid(zxid)) });
    let sync_settings = Some(SyncSettings { tick_ms: 200, sync_limit: 10 });
    let extras = MemberExtras { progress, sync_settings, ..MemberExtras::default() };
    MemberView { mode: Some(mode), extras, ..MemberView::default() }
}

fn absent(why: AbsenceReason) -> MemberView {
    let absence = Some(Absence { asked_at: Timestamp(0), why });
    let extras = MemberExtras { absence, ..MemberExtras::default() };
    MemberView { error: Some("it serves nobody".to_owned()), extras, ..MemberView::default() }
}

fn zxid(epoch: i64, counter: i64) -> i64 {
    epoch << 32 | counter
}

impl Asked {
    fn new(voters: u16) -> Self {
        Self { line: EnsembleLine::default(), now: 100_000, voters: Some(voters), members: Vec::new() }
    }

    /// Asks the members a second later. They answer after 20 ms.
    fn ask(&mut self, members: Vec<MemberView>) -> &mut Self {
        self.now += 1_000;
        let asked_at = Timestamp(self.now - 20);
        self.members = (1..)
            .zip(members)
            .map(|(number, mut member)| {
                member.address = format!("zk{number}:2181");
                member.answered_at = member.mode.map(|_| Timestamp(self.now));
                let MemberExtras { progress, absence, .. } = &mut member.extras;
                if let Some(progress) = progress {
                    progress.asked_at = asked_at;
                }
                if let Some(absence) = absence {
                    absence.asked_at = asked_at;
                }
                member
            })
            .collect();
        self.again()
    }

    /// Shows the same answers once more, as happens when another member answers.
    fn again(&mut self) -> &mut Self {
        let members = self.members.clone();
        let view = ServerView { at: Timestamp(self.now), members, voters: self.voters, ..ServerView::default() };
        self.line.surveyed(&view);
        self
    }

    fn calm(&mut self) -> &mut Self {
        self.ask(vec![serving(Leader, zxid(1, 5)), serving(Follower, zxid(1, 5)), serving(Follower, zxid(1, 4))])
    }

    fn all(&mut self, why: AbsenceReason) -> &mut Self {
        self.ask(vec![absent(why), absent(why), absent(why)])
    }

    /// Returns each event with its bounds in milliseconds since the first look.
    fn told(&self) -> Vec<ToldEvent<'_>> {
        let since = |at: Timestamp| if at == BEFORE_THE_FIRST_LOOK { -1 } else { at.0 - 101_000 };
        let bounds = |bounds: lockscope_base::znode::TimeBounds| [since(bounds.after), since(bounds.before)];
        let told = |event: &EnsembleEvent| (event.what, bounds(event.began), event.ended.map(bounds));
        let events = self.line.events();
        events.map(|event| (told(event).0, event.member.as_deref(), told(event).1, told(event).2)).collect()
    }

    fn is_lost(&self) -> bool {
        matches!(self.line.majority(), Majority::Lost { .. })
    }
}

#[test]
fn an_ensemble_in_peace_has_no_events_and_names_its_leader() {
    let mut asked = Asked::new(3);
    asked.calm().again().calm();
    assert_eq!(asked.told(), []);
    let Majority::Serves { leader, epoch, since } = asked.line.majority() else { panic!("it serves") };
    assert_eq!((leader.as_deref(), *epoch), (Some("zk1:2181"), Some(1)));
    assert_eq!(since.map(|since| since.after), Some(BEFORE_THE_FIRST_LOOK));
    assert_eq!(asked.line.upheaval_at(), None);
}

#[test]
fn a_majority_is_lost_when_two_rounds_say_so_and_back_with_the_first_that_serves() {
    let mut asked = Asked::new(3);
    asked.calm();
    for why in [AbsenceReason::Refused, AbsenceReason::Leaderless] {
        asked.all(why).again();
        assert_eq!(asked.is_lost(), why == AbsenceReason::Leaderless, "one round may be an election");
    }
    asked.all(AbsenceReason::Leaderless);
    asked.ask(vec![absent(AbsenceReason::Refused), serving(Leader, zxid(2, 0)), serving(Follower, zxid(1, 5))]);
    let event = (NoMajority, None, [-20 - SYNC_MS, 1_000], Some([2_980, 4_000]));
    let changed = (LeaderChanged, Some("zk2:2181"), [2_980, 4_000], Some([2_980, 4_000]));
    let missing = (MemberMissing, Some("zk1:2181"), [-20, 1_000], None);
    assert_eq!(asked.told(), [event, changed, missing]);
    let detail = asked.line.events().next().and_then(|event| event.detail.clone());
    assert_eq!(detail.as_deref(), Some("zk1:2181 has no leader, zk2:2181 has no leader, zk3:2181 has no leader"));
    let Majority::Serves { leader, epoch, .. } = asked.line.majority() else { panic!("it serves") };
    assert_eq!((leader.as_deref(), *epoch), (Some("zk2:2181"), Some(2)));
}

#[test]
fn two_of_three_without_a_leader_are_no_majority_though_the_third_is_silent() {
    let mut asked = Asked::new(3);
    let away = || vec![absent(AbsenceReason::Silent), absent(AbsenceReason::Leaderless), serving(ReadOnly, zxid(1, 5))];
    asked.calm().ask(away());
    assert!(!asked.is_lost());
    assert!(asked.ask(away()).is_lost());
}

#[test]
fn what_could_be_otherwise_is_not_called_a_lost_majority() {
    let silent = || absent(AbsenceReason::Silent);
    let mut asked = Asked::new(3);
    asked.calm();
    for _ in 0..3 {
        asked.ask(vec![silent(), silent(), absent(AbsenceReason::Leaderless)]);
        assert!(matches!(asked.line.majority(), Majority::Unknown { .. }), "two may serve whom they reach");
    }
    for _ in 0..3 {
        asked.all(AbsenceReason::NotAsked);
        assert!(matches!(asked.line.majority(), Majority::Unknown { .. }));
    }
    let mut asked = Asked::new(3);
    asked.voters = None;
    asked.all(AbsenceReason::Refused).all(AbsenceReason::Refused);
    let Majority::Unknown { why } = asked.line.majority() else { panic!("there may be other members") };
    assert!(why.contains("config"), "{why}");
    let mut asked = Asked::new(3);
    let observer = || serving(Observer, zxid(1, 1));
    let four = |last| vec![silent(), silent(), silent(), absent(AbsenceReason::Leaderless), last];
    asked.ask(vec![serving(Leader, zxid(1, 1)), serving(Follower, 1), serving(Follower, 1), observer(), observer()]);
    for _ in 0..3 {
        asked.ask(four(absent(AbsenceReason::Leaderless)));
        assert!(!asked.is_lost(), "observers are no part of a majority");
    }
}

#[test]
fn a_standalone_server_is_its_own_majority() {
    let mut asked = Asked::new(1);
    let up = || vec![serving(Standalone, zxid(0, 7))];
    let down = || vec![absent(AbsenceReason::Refused)];
    asked.ask(up()).ask(down()).ask(down()).ask(up());
    assert_eq!(asked.told(), [(NoMajority, None, [-20, 1_000], Some([1_980, 3_000]))]);
}

#[test]
fn another_epoch_is_another_leader_even_at_the_same_member_and_its_name_may_come_later() {
    let mut asked = Asked::new(3);
    asked.calm();
    asked.ask(vec![absent(AbsenceReason::Leaderless), serving(Follower, zxid(2, 1)), serving(Follower, zxid(1, 5))]);
    assert_eq!(asked.told(), [(LeaderChanged, None, [-20 - SYNC_MS, 1_000], Some([-20 - SYNC_MS, 1_000]))]);
    asked.ask(vec![serving(Leader, zxid(2, 1)), serving(Follower, zxid(2, 1)), serving(Follower, zxid(2, 1))]);
    assert_eq!(asked.told().len(), 1);
    assert_eq!(asked.told()[0].1, Some("zk1:2181"));
    let event = asked.line.events().next().cloned().expect("an event");
    assert_eq!((event.epoch, event.detail.as_deref()), (Some(2), Some("zk1:2181 led before")));
    assert!(asked.line.upheaval_at().is_some());
}

#[test]
fn a_follower_with_a_transaction_of_an_earlier_epoch_at_the_first_look_tells_no_change() {
    let mut asked = Asked::new(3);
    let follower = || serving(Follower, zxid(0, 0));
    asked.ask(vec![absent(AbsenceReason::Silent), follower(), follower()]).calm();
    assert_eq!(asked.told(), []);
    assert!(matches!(asked.line.majority(), Majority::Serves { epoch: Some(1), .. }));
}

#[test]
fn a_leader_that_writes_proves_that_it_led_until_its_answer_before() {
    let mut asked = Asked::new(3);
    let led = |counter| vec![serving(Leader, zxid(1, counter)), serving(Follower, zxid(1, 1)), serving(Follower, 1)];
    asked.ask(led(1)).ask(led(2)).ask(led(3));
    asked.ask(vec![absent(AbsenceReason::Refused), serving(Leader, zxid(2, 0)), serving(Follower, zxid(1, 3))]);
    assert_eq!(asked.told(), [(LeaderChanged, Some("zk2:2181"), [980, 3_000], Some([980, 3_000]))]);
}

#[test]
fn a_member_is_missing_after_two_rounds_in_which_others_serve() {
    let mut asked = Asked::new(3);
    let without = |why| vec![serving(Leader, zxid(1, 5)), serving(Follower, zxid(1, 5)), absent(why)];
    asked.calm().ask(without(AbsenceReason::Refused)).again();
    assert_eq!(asked.told(), []);
    asked.ask(without(AbsenceReason::Silent)).calm();
    assert_eq!(asked.told(), [(MemberMissing, Some("zk3:2181"), [-20, 1_000], Some([1_980, 3_000]))]);
    asked.ask(without(AbsenceReason::NotAsked)).ask(without(AbsenceReason::NotAsked)).again();
    assert_eq!(asked.told().len(), 1, "nothing is known of it");
    asked.ask(without(AbsenceReason::Refused)).ask(without(AbsenceReason::Refused));
    asked.ask(vec![serving(Leader, zxid(1, 5)), serving(Follower, zxid(1, 5))]);
    assert!(asked.told()[1].3.is_some(), "a member that the ensemble has no longer is not missing");
}

#[test]
fn who_comes_back_last_after_an_outage_is_not_missing() {
    let mut asked = Asked::new(3);
    asked.calm().all(AbsenceReason::Leaderless).all(AbsenceReason::Leaderless).all(AbsenceReason::Leaderless);
    let mut back = [serving(Leader, zxid(2, 1)), serving(Follower, zxid(2, 1)), absent(AbsenceReason::Leaderless)];
    asked.ask(back.to_vec());
    back[2].extras.absence = asked.members[2].extras.absence;
    assert_eq!(
        asked.told().iter().filter(|event| event.0 == MemberMissing).count(),
        1,
        "it was asked at the same time"
    );
    let mut asked = Asked::new(3);
    asked.calm().all(AbsenceReason::Leaderless).all(AbsenceReason::Leaderless);
    let before = asked.members[2].clone();
    asked.ask(vec![serving(Leader, zxid(2, 1)), serving(Follower, zxid(2, 1)), serving(Follower, zxid(2, 1))]);
    let mut line = asked.line.clone();
    asked.members[2] = before;
    assert!(asked.told().iter().all(|event| event.0 != MemberMissing));
    line.surveyed(&ServerView { at: Timestamp(asked.now), members: asked.members.clone(), ..ServerView::default() });
    assert!(line.events().all(|event| event.what != MemberMissing), "it was asked before the others served");
}

#[test]
fn writes_are_slow_after_two_figures_and_an_election_without_another_epoch_is_one_members() {
    let mut asked = Asked::new(1);
    let mut figures = |millis, elections, after_s: i64| {
        let mut members = vec![serving(Leader, zxid(1, 1)), serving(Follower, zxid(1, 1))];
        members[1].extras.write_p99_ms = Some(millis);
        members[1].extras.elections = Some(elections);
        members[1].counted_at = Some(Timestamp(101_000 + after_s * 1_000));
        asked.ask(members).again();
        asked.told().iter().map(|event| (event.0, event.2, event.3)).collect::<Vec<_>>()
    };
    assert_eq!(figures(3, 1, 0), []);
    assert_eq!(figures(2_000, 1, 60), [], "once");
    assert_eq!(figures(2_000, 1, 60), [], "the same figure");
    assert_eq!(figures(4_000, 1, 120), [(SlowWrites, [0, 60_000], None)]);
    figures(5, 1, 180);
    let over = figures(6, 2, 240);
    assert_eq!(over[0], (Election, [180_000, 240_000], Some([180_000, 240_000])));
    assert_eq!(over[1], (SlowWrites, [0, 60_000], Some([120_000, 180_000])));
}

#[test]
fn a_cut_of_our_own_is_told_apart() {
    let mut asked = Asked::new(3);
    asked.calm();
    asked.line.lost_sight(Timestamp(101_500), "the network is down");
    asked.calm();
    assert!(matches!(asked.line.majority(), Majority::Serves { .. }));
    asked.line.sees_again(Timestamp(103_000));
    assert_eq!(asked.told(), [(EnsembleEventKind::NotSeen, None, [500, 500], Some([2_000, 2_000]))]);
}

#[test]
fn the_line_keeps_a_bounded_number_of_events_and_tells_those_that_changed() {
    let mut line = EnsembleLine::default();
    for number in 0..3_000 {
        line.lost_sight(Timestamp(number * 10), "cut");
        let revision = line.revision();
        assert_eq!(line.changed_after(revision).count(), 0);
        line.sees_again(Timestamp(number * 10 + 5));
        assert_eq!(line.changed_after(revision).map(|event| event.began.before.0).collect::<Vec<_>>(), [number * 10]);
    }
    assert_eq!(line.events().count(), 1_000);
    assert!(
        line.events()
            .next()
            .is_some_and(|event| event.may_touch(TimeRange { from: Timestamp(20_000), to: Timestamp(20_001) }))
    );
}

/// What one member does in one step of a random world, of which only the words are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    Works,
    Stopped,
    Cut,
}

fn truths() -> impl Strategy<Value = Vec<[Truth; 3]>> {
    let one = prop_oneof![6 => Just(Truth::Works), 2 => Just(Truth::Stopped), 1 => Just(Truth::Cut)];
    // Each state lasts for some rounds.
    let several = (prop::array::uniform3(one), 1..6_usize);
    prop::collection::vec(several, 1..12)
        .prop_map(|states| states.into_iter().flat_map(|(state, rounds)| std::iter::repeat_n(state, rounds)).collect())
}

proptest! {
    /// The members of the majority serve, if there is one, and the epoch rises with each new one.
    #[test]
    fn the_bounds_of_random_outages_contain_the_truth(truths in truths()) {
        let mut asked = Asked::new(3);
        let (mut epoch, mut leader) = (0, None);
        let mut outages: Vec<(i64, Option<i64>)> = Vec::new();
        for state in &truths {
            let working: Vec<usize> = (0..3).filter(|number| state[*number] == Truth::Works).collect();
            let has_majority = working.len() >= 2;
            let stays = leader.is_some_and(|leader| has_majority && working.contains(&leader));
            if !stays {
                leader = working.first().copied().filter(|_| has_majority);
                epoch += i64::from(leader.is_some());
            }
            // The state began half a second before the next round.
            let since = asked.now + 500;
            match outages.last_mut().filter(|outage| outage.1.is_none()) {
                Some(open) => open.1 = has_majority.then_some(since),
                None if !has_majority => outages.push((since, None)),
                None => {}
            }
            let word = |number: usize| match state[number] {
                Truth::Stopped => absent(AbsenceReason::Refused),
                Truth::Works if has_majority && leader == Some(number) => serving(Leader, zxid(epoch, 0)),
                Truth::Works if has_majority => serving(Follower, zxid(epoch, 0)),
                Truth::Works | Truth::Cut => absent(AbsenceReason::Leaderless),
            };
            asked.ask((0..3).map(word).collect());
        }
        let lost: Vec<&EnsembleEvent> = asked.line.events().filter(|event| event.what == NoMajority).collect();
        for event in &lost {
            let is_within = |outage: &&(i64, Option<i64>)| {
                event.began.after.0 <= outage.0 && outage.0 <= event.began.before.0
                    && match (event.ended, outage.1) {
                        (Some(ended), Some(over)) => ended.after.0 <= over && over <= ended.before.0,
                        (None, None) => true,
                        _ => false,
                    }
            };
            prop_assert!(outages.iter().any(|outage| is_within(&outage)), "{event:?} of {outages:?}");
        }
        // What lasts for two rounds is found.
        let long = outages.iter().filter(|outage| outage.1.unwrap_or(asked.now) - outage.0 >= 1_500);
        prop_assert_eq!(lost.len(), long.count());
        let changed = asked.line.events().filter(|event| event.what == LeaderChanged);
        let epochs: Vec<i64> = changed.filter_map(|event| event.epoch).map(i64::from).collect();
        prop_assert_eq!(epochs, (2..=epoch).collect::<Vec<_>>());
    }
}
