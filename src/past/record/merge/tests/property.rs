//! Random histories with gaps: what a log completes is the truth at each moment.

use proptest::prelude::*;

use super::fixture::MergeFixture;
use crate::record::tests::fixture::SMALL;
use lockscope_base::znode::{Timestamp, ZnodePath};

#[derive(Clone, Debug)]
enum Step {
    Comes(u8, i64),
    Goes(prop::sample::Index),
    Kill,
    Start,
    Cut,
    Reconnect,
    Flush,
    Pass(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..2_u8, 1..5_i64).prop_map(|(lock, session)| Step::Comes(lock, session)),
        4 => any::<prop::sample::Index>().prop_map(Step::Goes),
        1 => Just(Step::Kill),
        2 => Just(Step::Start),
        1 => Just(Step::Cut),
        2 => Just(Step::Reconnect),
        2 => Just(Step::Flush),
        3 => (10..3_000_i64).prop_map(Step::Pass),
    ]
}

/// Plays the steps. Returns the fixture, and who held at some moments.
fn played(steps: Vec<Step>) -> (MergeFixture, Vec<(Timestamp, Vec<String>)>) {
    let mut fixture = MergeFixture::new(SMALL);
    let (mut standing, mut moments): (Vec<ZnodePath>, Vec<_>) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Comes(lock, session) => {
                standing.push(fixture.comes(["/a/lock-", "/b/lock-"][usize::from(lock)], session));
            }
            Step::Goes(_) if standing.is_empty() => {}
            Step::Goes(which) => {
                let path = standing.remove(which.index(standing.len()));
                fixture.goes(&path);
            }
            Step::Kill => fixture.kill(),
            Step::Start => fixture.start(),
            Step::Cut => fixture.cut(),
            Step::Reconnect => fixture.reconnect(),
            Step::Flush => fixture.flush(),
            Step::Pass(ms) => fixture.pass(ms),
        }
        // The recorder hears of everything within a few milliseconds.
        fixture.pass(4);
        moments.push((fixture.now(), fixture.holders()));
        fixture.pass(4);
    }
    fixture.start();
    fixture.reconnect();
    fixture.pass(2_000);
    fixture.stop();
    (fixture, moments)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_completed_recording_shows_the_truth_at_each_moment(steps in prop::collection::vec(step(), 1..60)) {
        let (mut fixture, moments) = played(steps);
        let log = fixture.end_log();
        fixture.merge(&log);
        let from = Timestamp(0);
        prop_assert_eq!(fixture.gaps(from), []);
        prop_assert_eq!(fixture.played_gaps().0, []);
        for (at, holders) in moments {
            prop_assert_eq!(fixture.holders_at(at), Some(holders), "at {}", at.0);
        }
        let sql = fixture.sql();
        let count = |query: &str| sql.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
        let bounds = "SELECT count(*) FROM contender WHERE acquired_after <> acquired_before OR ended_after <> ended_before
            OR ending IN ('unknown', 'gone') OR source = 'watched' OR source IS NULL";
        prop_assert_eq!(count(bounds), 0, "{:#?}", fixture.rows(from));
        let disorder = "SELECT count(*) FROM contender AS one JOIN contender AS next ON next.id > one.id AND next.first_seen_at < one.first_seen_at";
        prop_assert_eq!(count(disorder), 0);
        let twice = "SELECT count(*) - count(DISTINCT czxid) FROM contender";
        prop_assert_eq!(count(twice), 0, "{:#?}", fixture.rows(from));
        let overlap = "SELECT count(*) FROM segment AS one JOIN segment AS next ON next.id > one.id AND next.from_ms < one.until_ms";
        prop_assert_eq!(count(overlap), 0);
        let orphans = "SELECT count(*) FROM chunk WHERE segment NOT IN (SELECT segment FROM keyframe)";
        prop_assert_eq!(count(orphans), 0);
        let before = std::fs::read(&fixture.watched.path).unwrap();
        fixture.merge(&log);
        prop_assert!(std::fs::read(&fixture.watched.path).unwrap() == before, "a second time changes nothing");
    }
}
