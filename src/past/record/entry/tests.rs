//! Tests of `state`.

use super::*;
use crate::fixture::{TableFixture, surveyed};
use crate::record::decode;
use lockscope_base::recipe::PathPattern;
use lockscope_model::queue::Expectation;

#[test]
fn a_state_is_read_with_all_evidence_and_without_it_from_older_recordings() {
    let mut fixture = TableFixture::new();
    let path = PathPattern::new("/jobs/*").expect("a pattern");
    let held_at_most = Some(Duration::from_secs(600));
    let expected = Expectation { path, candidates: None, leader_within: None, held_at_most };
    fixture.table = fixture.table.clone().with_expectations(&[expected]);
    fixture.apply(surveyed(Vec::new(), fixture.now));
    let (table, diagnosis) = (&fixture.table, Diagnosis::new(Thresholds::default()));
    let of_packed = |packed: &[u8]| RecordedState::read(packed, 1 << 20).expect("a state").0;
    let read = |bytes: &[u8]| of_packed(&decode::pack(bytes).expect("packed bytes"));
    let state = of_packed(&write(table, &diagnosis).expect("packed bytes"));
    assert_eq!(state.table.session_evidence(), table.session_evidence());
    assert!(state.table.view().min_session_timeout().is_some());
    assert_eq!(state.table.ensemble_state(), table.ensemble_state());
    assert_eq!(state.table.view().voters, Some(1));
    assert_eq!(state.table.elections().expectations(), table.elections().expectations());

    let older = (table, &diagnosis, table.own_recipes());
    let of_format = |written: Result<Vec<u8>, postcard::Error>| read(&written.expect("written bytes")).table;
    let table = of_format(postcard::to_allocvec(&older));
    assert_eq!((table.view().min_session_timeout(), table.view().voters), (None, None));
    let elections = (fixture.table.elections(), diagnosis.thresholds().flapping);
    let table = of_format(postcard::to_allocvec(&(older, fixture.table.session_evidence(), elections)));
    assert!(table.view().min_session_timeout().is_some() && table.view().voters.is_none());
}
