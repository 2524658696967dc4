//! Property tests: each moment is read exactly as it was shown, byte for byte.

use proptest::prelude::*;

use super::fixture::{ALL, ConsoleFixture, SMALL, json};
use crate::record::{ReadSegment, RecordOptions, TimedEntry};
use crate::steps::{self, Step, apply_step};
use crate::testing::path;
use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};
use lockscope_model::queue::{Change, ConnectionState};

#[derive(Clone, Debug)]
pub(super) enum RecordStep {
    Tree(Step),
    Pass(i64),
    Survey(u32),
    Examine,
    Flush,
    Remember,
    /// Steps that are not seen.
    Cut(Vec<Step>),
    /// Steps during which only counts are seen.
    Overload(Vec<Step>),
    Refuse,
    Stop(Vec<Step>),
    Kill(Vec<Step>),
}

pub(super) fn record_step() -> impl Strategy<Value = RecordStep> {
    let missed = || prop::collection::vec(steps::step(), 0..6);
    prop_oneof![
        20 => steps::step().prop_map(RecordStep::Tree),
        4 => (1..9_000_i64).prop_map(RecordStep::Pass),
        3 => any::<u16>().prop_map(|number| RecordStep::Survey(number.into())),
        6 => Just(RecordStep::Examine),
        4 => Just(RecordStep::Flush),
        12 => Just(RecordStep::Remember),
        1 => missed().prop_map(RecordStep::Cut),
        1 => missed().prop_map(RecordStep::Overload),
        1 => Just(RecordStep::Refuse),
        1 => missed().prop_map(RecordStep::Stop),
        1 => missed().prop_map(RecordStep::Kill),
    ]
}

pub(super) fn act(fixture: &mut ConsoleFixture, step: &RecordStep, serial: u32) {
    let miss = |fixture: &mut ConsoleFixture, missed: &[Step]| {
        for (more, step) in (0_u32..).zip(missed) {
            apply_step(&mut fixture.ensemble, step, 10_000 + serial * 100 + more);
        }
        fixture.ensemble.now.0 += 2_000;
    };
    match step {
        RecordStep::Tree(step) => {
            for change in apply_step(&mut fixture.ensemble, step, serial) {
                fixture.apply(change);
            }
        }
        RecordStep::Pass(ms) => fixture.ensemble.now.0 += ms,
        RecordStep::Survey(number) => fixture.survey(*number),
        RecordStep::Examine => fixture.examine(),
        RecordStep::Flush => fixture.flush(),
        RecordStep::Remember => fixture.remember(),
        RecordStep::Cut(missed) => {
            fixture.cut();
            miss(fixture, missed);
            fixture.remember();
            fixture.read_everything();
        }
        RecordStep::Overload(missed) => {
            let reason = "too much happens".to_owned();
            fixture.apply(Change::Connection(ConnectionState::Overloaded { reason }));
            miss(fixture, missed);
            for number in 1..3 {
                let stat = ZnodeStat { num_children: number, cversion: number * 7, ..stat(fixture) };
                fixture.apply(Change::Sampled { path: path("/c"), stat });
            }
            fixture.remember();
            fixture.read_everything();
        }
        RecordStep::Refuse => {
            let path = path("/secret");
            fixture.apply(Change::Unreadable { path, why: "no permission to read".to_owned() });
        }
        RecordStep::Stop(missed) => {
            fixture.stop();
            miss(fixture, missed);
            fixture.start();
        }
        RecordStep::Kill(missed) => {
            fixture.kill();
            miss(fixture, missed);
            fixture.start();
        }
    }
}

fn stat(fixture: &ConsoleFixture) -> ZnodeStat {
    ZnodeStat::of_new(Zxid(50), fixture.ensemble.now, Some(SessionId(3)))
}

pub(super) fn assert_same(expected: &str, recorded: &str, at: Timestamp) {
    let differs = expected.bytes().zip(recorded.bytes()).position(|(one, other)| one != other);
    let place = differs.unwrap_or(expected.len().min(recorded.len())).saturating_sub(100);
    let around =
        |text: &str| String::from_utf8_lossy(&text.as_bytes()[place..(place + 300).min(text.len())]).into_owned();
    assert!(expected == recorded, "at {at:?} was shown\n{}\nand is recorded\n{}", around(expected), around(recorded));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_moment_is_read_as_it_was_shown(steps in prop::collection::vec(record_step(), 1..200), with_data in any::<bool>()) {
        let mut fixture = ConsoleFixture::new(RecordOptions { with_data, ..ALL }, SMALL);
        for (serial, step) in (0_u32..).zip(&steps) {
            act(&mut fixture, step, serial);
        }
        fixture.stop();
        for (at, expected) in &fixture.shown {
            let recorded = fixture.recorded(*at);
            prop_assert!(recorded.is_some(), "nothing is recorded at {:?}", at);
            assert_same(expected, &recorded.unwrap_or_default(), *at);
            let info = fixture.past().segment_at(*at).unwrap().unwrap();
            let segment = ReadSegment::read(&mut fixture.past(), info).unwrap();
            let (mut state, entries) = segment.state_before(*at, 7);
            for TimedEntry { at, entry } in entries {
                drop(state.play(at, entry));
            }
            assert_same(expected, &json(&state.table, &state.diagnosis, *at), *at);
        }
        let played = fixture.played();
        prop_assert_eq!(played.len(), fixture.shown.len());
        for ((at, expected), (_, played)) in fixture.shown.iter().zip(&played) {
            assert_same(expected, played, *at);
        }
    }
}
