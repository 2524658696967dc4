//! Reads what a client sends after its handshake: frames of a length, an xid, an operation and its
//! arguments. Pure; keeps twelve bytes.

use super::outstanding::Outstanding;
use lockscope_base::wire::{Gather, LENGTH_BYTES, RequestHead, op};

/// Requests that the client library makes by itself, for no purpose of its user.
const HOUSEKEEPING: [i32; 6] = [op::PING, op::AUTH, op::SET_WATCHES, op::SASL, op::SET_WATCHES2, op::CLOSE_SESSION];

/// Reads requests as they pass, in pieces of any size. The client is this program, so its frames
/// are not checked.
#[derive(Debug, Default)]
pub(super) struct Requests {
    head: Gather<{ LENGTH_BYTES + RequestHead::BYTES }>,
    /// The rest of the frame's body, in bytes.
    left: usize,
}

impl Requests {
    /// Records every request whose header ends in these bytes. Returns how many of them the program
    /// itself made.
    pub(super) fn feed(&mut self, mut bytes: &[u8], outstanding: &mut Outstanding) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len());
                (self.left, bytes) = (self.left - taken, &bytes[taken..]);
            } else if let Some([a, b, c, d, head @ ..]) = self.head.take(&mut bytes) {
                let length = i32::from_be_bytes([a, b, c, d]);
                self.left = usize::try_from(length).unwrap_or_default().saturating_sub(RequestHead::BYTES);
                let RequestHead { xid, op } = head.into();
                outstanding.sent(xid, op);
                count += u64::from(!HOUSEKEEPING.contains(&op));
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(Requests::default().feed(&said.concat(), &mut outstanding), 2);
        assert_eq!(outstanding.pinged(), Ok(()));
        for (xid, op) in [(1, 15), (2, 8), (3, op::CLOSE_SESSION)] {
            assert_eq!(outstanding.answered(xid), Ok(op));
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
                (Requests::default(), Outstanding::default(), 0, said.as_slice());
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
                prop_assert_eq!(outstanding.answered(*xid), Ok(*op));
            }
        }
    }
}
