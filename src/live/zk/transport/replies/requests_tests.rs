//! Tests of `requests`.

use proptest::prelude::*;

use super::*;

fn frame(xid: i32, op: i32, more: usize) -> Vec<u8> {
    let length = i32::try_from(8 + more).expect("a short frame");
    let mut bytes: Vec<u8> = [length, xid, op].iter().flat_map(|number| number.to_be_bytes()).collect();
    bytes.resize(bytes.len() + more, 7);
    bytes
}

#[test]
fn requests_of_the_library_are_recorded_and_not_counted() {
    let mut outstanding = Outstanding::default();
    let said = [frame(1, 15, 90), frame(-2, op::PING, 0), frame(2, 8, 20), frame(3, op::CLOSE_SESSION, 0)];
    assert_eq!(OpenRequests::default().feed(&said.concat(), &mut outstanding), 2);
    assert_eq!(outstanding.pinged(), Ok(()));
    for (xid, op) in [(1, 15), (2, 8), (3, op::CLOSE_SESSION)] {
        assert_eq!(outstanding.answered(xid, 0), Ok(op));
    }
}

proptest! {
    #[test]
    fn in_whatever_pieces_they_come_the_same_requests_are_noted(
        sent in proptest::collection::vec((1i32..1000, prop_oneof![Just(4i32), Just(8), Just(11)], 0usize..40), 0..20),
        cuts in proptest::collection::vec(1usize..30, 1..50),
    ) {
        let said: Vec<u8> = sent.iter().flat_map(|(xid, op, more)| frame(*xid, *op, *more)).collect();
        let (mut requests, mut outstanding, mut count, mut rest) =
            (OpenRequests::default(), Outstanding::default(), 0, said.as_slice());
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*cut).min(rest.len()));
            count += requests.feed(piece, &mut outstanding);
            rest = more;
        }
        let asked: Vec<_> = sent.iter().filter(|(_, op, _)| *op != op::PING).collect();
        prop_assert_eq!(count, asked.len() as u64);
        for (xid, op, _) in asked {
            prop_assert_eq!(outstanding.answered(*xid, 0), Ok(*op));
        }
    }
}
