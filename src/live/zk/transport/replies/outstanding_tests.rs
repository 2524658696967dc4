//! Tests of `outstanding`.

use super::*;

#[test]
fn requests_are_answered_in_order_and_once() {
    let mut outstanding = Outstanding::default();
    outstanding.sent(1, 4);
    outstanding.sent(2, 8);
    assert_eq!(outstanding.answered(2, 0), Err(ReplyFault::OutOfOrder));
    assert_eq!(outstanding.answered(1, 0), Ok(4));
    assert_eq!(outstanding.answered(1, 0), Err(ReplyFault::NeverAsked));
    assert_eq!(outstanding.answered(2, 0), Ok(8));
}

#[test]
fn logins_and_heartbeats_may_be_answered_early_but_only_once_sent() {
    let mut outstanding = Outstanding::default();
    outstanding.sent(-8, op::SET_WATCHES);
    outstanding.sent(7, op::SASL);
    outstanding.sent(-2, op::PING);
    assert_eq!(outstanding.answered(7, 0), Ok(op::SASL));
    assert_eq!(outstanding.pinged(), Ok(()));
    assert_eq!(outstanding.pinged(), Err(ReplyFault::NeverAsked));
    assert_eq!(outstanding.answered(-8, 0), Ok(op::SET_WATCHES));
}

#[test]
fn outstanding_requests_are_bounded() {
    let mut outstanding = Outstanding::default();
    for xid in 0..i32::try_from(MAX_OUTSTANDING).expect("a small bound") {
        assert!(!outstanding.is_full());
        outstanding.sent(xid, 4);
    }
    assert!(outstanding.is_full());
}
