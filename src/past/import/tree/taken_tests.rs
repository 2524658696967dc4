//! Tests of `taken`.

use super::*;

fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).unwrap()
}

#[test]
fn a_lock_is_named_only_where_no_other_can_be_meant() {
    let (leader, mutex) = (path("/leader"), path("/mutex"));
    let (one, two, three) = (SessionId(1), SessionId(2), SessionId(3));
    let mut taken = SingleNodeLocks::default();
    assert!(!taken.is_any() && taken.tried_by(one, true).is_none());
    taken.takes(&leader, one);
    assert_eq!(taken.tried_by(two, true), Some(&leader));
    assert_eq!(taken.tried_by(two, false), None, "there may be others");
    assert_eq!(taken.tried_by(one, true), None, "it has the lock");
    taken.takes(&mutex, two);
    assert_eq!(taken.tried_by(three, true), None, "two are taken");
    taken.released(&leader);
    taken.takes(&leader, three);
    assert_eq!(taken.tried_by(one, false), Some(&leader), "it had it before");
    taken.closed(one);
    assert_eq!(taken.tried_by(one, false), None);
}
