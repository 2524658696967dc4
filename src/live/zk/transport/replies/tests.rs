//! Tests of checking replies: in pieces of any size, valid or broken.

use proptest::prelude::*;

use super::*;

/// Builds the content of a frame.
#[derive(Clone, Default)]
struct Jute(Vec<u8>);

impl Jute {
    fn int(mut self, number: i32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self = self.int(i32::try_from(bytes.len()).expect("a short value"));
        self.0.extend(bytes);
        self
    }

    fn stat(mut self) -> Self {
        self.0.extend([7; 68]);
        self
    }

    fn names(self, names: &[&str]) -> Self {
        let count = i32::try_from(names.len()).expect("a short list");
        names.iter().fold(self.int(count), |jute, name| jute.bytes(name.as_bytes()))
    }

    fn result(mut self, operation: i32, done: bool) -> Self {
        self = self.int(operation);
        self.0.push(u8::from(done));
        self.int(-1)
    }
}

fn frame(xid: i32, error: i32, body: &Jute) -> Vec<u8> {
    let length = i32::try_from(16 + body.0.len()).expect("a short frame");
    let mut frame = Jute::default().int(length).int(xid).int(0).int(9).int(error).0;
    frame.extend(&body.0);
    frame
}

/// Returns valid replies, with the operations that they answer.
fn replies() -> Vec<(i32, Jute)> {
    let jute = Jute::default;
    vec![
        (1, jute().bytes(b"/a")),
        (15, jute().bytes(b"/a0000000001").stat()),
        (2, jute()),
        (3, jute().stat()),
        (4, jute().bytes(b"data").stat()),
        (4, jute().int(-1).stat()),
        (5, jute().stat()),
        (6, jute().int(1).int(31).bytes(b"world").bytes(b"anyone").stat()),
        (8, jute().names(&["a", "", "lock-0000000001", "\u{fc}\u{20ac}"])),
        (9, jute().bytes(b"/")),
        (12, jute().int(-1).stat()),
        (
            14,
            jute()
                .result(13, false)
                .result(5, false)
                .stat()
                .result(15, false)
                .bytes(b"/b")
                .stat()
                .result(2, false)
                .result(-1, false)
                .int(-101)
                .result(-1, true),
        ),
        (22, jute().result(4, false).bytes(b"d").stat().result(8, false).names(&["x"]).result(-1, true)),
        (103, jute().names(&["/a"])),
        (104, jute().int(5)),
        (106, jute().int(0)),
        (107, jute().int(1).bytes(b"digest").bytes(&[0xff, 0xfe])),
    ]
}

fn asked(requests: &[(i32, i32)]) -> Outstanding {
    let mut outstanding = Outstanding::default();
    for (xid, operation) in requests {
        outstanding.sent(*xid, *operation);
    }
    outstanding
}

fn fault_of(requests: &[(i32, i32)], bytes: &[u8]) -> Option<ReplyFault> {
    Replies::default().feed(bytes, &mut asked(requests), &mut Vec::new()).err()
}

#[test]
fn valid_replies_to_all_operations_pass() {
    for (operation, body) in replies() {
        assert_eq!(fault_of(&[(1, operation)], &frame(1, 0, &body)), None, "{operation}");
        assert_eq!(fault_of(&[(1, operation)], &frame(1, -101, &Jute::default())), None, "{operation}");
    }
}

#[test]
fn a_reply_that_ends_early_or_late_never_passes_completely() {
    let looked_at = |operation: &i32| ![2, 106].contains(operation);
    for (operation, body) in replies().into_iter().filter(|(operation, _)| looked_at(operation)) {
        for length in 0..body.0.len() {
            let short = Jute(body.0[..length].to_vec());
            assert!(fault_of(&[(1, operation)], &frame(1, 0, &short)).is_some(), "{operation} with {length} bytes");
        }
        let mut long = body.clone();
        long.0.push(0);
        assert!(fault_of(&[(1, operation)], &frame(1, 0, &long)).is_some(), "{operation} with a byte more");
    }
}

#[test]
fn impossible_lengths_and_counts_are_refused_by_their_header_alone() {
    let jute = Jute::default;
    for (length, fault) in [
        (-1, ReplyFault::NegativeLength(-1)),
        (3, ReplyFault::Short),
        (i32::MAX, ReplyFault::TooLarge(i32::MAX as u32)),
    ] {
        assert_eq!(fault_of(&[], &jute().int(length).0), Some(fault));
    }
    let count = |count: i32| frame(1, 0, &Jute([&count.to_be_bytes()[..], &[0; 40]].concat()));
    assert_eq!(fault_of(&[(1, 8)], &count(i32::MAX)), Some(ReplyFault::TooMany(i32::MAX as u32)));
    assert_eq!(fault_of(&[(1, 8)], &count(1000)), Some(ReplyFault::Short));
    assert_eq!(fault_of(&[(1, 8)], &count(-2)), Some(ReplyFault::Impossible(-2)));
}

#[test]
fn answers_without_a_request_and_unknown_errors_are_refused() {
    let body = Jute::default().stat();
    assert_eq!(fault_of(&[], &frame(1, 0, &body)), Some(ReplyFault::NeverAsked));
    assert_eq!(fault_of(&[], &frame(-2, 0, &Jute::default())), Some(ReplyFault::NeverAsked));
    assert_eq!(fault_of(&[(1, 3), (2, 3)], &frame(2, 0, &body)), Some(ReplyFault::OutOfOrder));
    assert_eq!(fault_of(&[(1, 3)], &frame(1, 7, &body)), Some(ReplyFault::UnknownError(7)));
    assert_eq!(fault_of(&[(1, 3)], &frame(1, -1000, &body)), Some(ReplyFault::UnknownError(-1000)));
}

#[test]
fn names_must_be_utf8_even_when_the_end_splits_a_character() {
    let names = |name: &[u8]| frame(1, 0, &Jute::default().int(1).bytes(name));
    assert_eq!(fault_of(&[(1, 8)], &names("\u{20ac}".as_bytes())), None);
    assert_eq!(fault_of(&[(1, 8)], &names(&[0xe2, 0x82])), Some(ReplyFault::NotText));
    assert_eq!(fault_of(&[(1, 8)], &names(&[b'a', 0xff])), Some(ReplyFault::NotText));
}

#[test]
fn events_are_counted_and_must_be_known_to_the_library() {
    let event = |kind, state, path: &[u8]| frame(-1, 0, &Jute::default().int(kind).int(state).bytes(path));
    let right = event(1, 3, b"/a/b");
    let (mut outstanding, mut out) = (Outstanding::default(), Vec::new());
    outstanding.watched.pass_all();
    let both = [right.clone(), right].concat();
    let seen = Replies::default().feed(&both, &mut outstanding, &mut out).expect("they are right");
    assert_eq!((seen.events, seen.event_bytes, seen.unwatched), (2, both.len(), 0));
    assert_eq!(out, both);
    for wrong in [event(0, 3, b"/a"), event(5, 3, b"/a"), event(1, 0, b"/a"), event(1, 3, b""), event(1, 3, b"a")] {
        assert!(fault_of(&[], &wrong).is_some(), "{wrong:?}");
    }
}

#[test]
fn the_valid_part_before_the_fault_is_reported() {
    let good = frame(1, 0, &Jute::default().stat());
    let bytes = [good.clone(), frame(5, 0, &Jute::default())].concat();
    let mut out = Vec::new();
    let broken = Replies::default().feed(&bytes, &mut asked(&[(1, 3)]), &mut out);
    assert_eq!((broken, out), (Err(ReplyFault::NeverAsked), good));
}

#[test]
fn a_refused_login_is_reported_at_any_time() {
    let seen = Replies::default().feed(&frame(4, -115, &Jute::default()), &mut Outstanding::default(), &mut Vec::new());
    assert!(seen.is_ok_and(|seen| seen.login_refused));
}

/// Feeds some bytes in pieces. Returns how many of them may pass, the events, and the fault.
fn fed(bytes: &[u8], requests: &[(i32, i32)], cuts: &[usize]) -> (usize, u64, Option<ReplyFault>) {
    let (mut replies, mut outstanding, mut out) = (Replies::default(), asked(requests), Vec::new());
    let (mut from, mut events) = (0, 0);
    for cut in cuts.iter().cycle() {
        let piece = &bytes[from..bytes.len().min(from + cut)];
        if piece.is_empty() {
            break;
        }
        match replies.feed(piece, &mut outstanding, &mut out) {
            Ok(seen) => events += seen.events + seen.unwatched,
            Err(fault) => return (whole_frames(&out), 0, Some(fault)),
        }
        from += piece.len();
    }
    (whole_frames(&out), events, None)
}

/// Returns the length of the leading complete frames.
fn whole_frames(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 4) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if at + 4 + length > bytes.len() {
            break;
        }
        at += 4 + length;
    }
    at
}

proptest! {
    #[test]
    fn in_whatever_pieces_it_comes_the_outcome_is_the_same(
        picks in proptest::collection::vec(0usize..17, 1..12),
        cuts in proptest::collection::vec(1usize..40, 1..30),
        damage in proptest::option::of((0usize..2000, any::<u8>())),
    ) {
        let right = replies();
        let mut requests = Vec::new();
        let mut bytes = Vec::new();
        for (xid, pick) in (1..).zip(&picks) {
            let (operation, body) = &right[*pick];
            requests.push((xid, *operation));
            bytes.extend(frame(xid, 0, body));
        }
        if let Some((at, byte)) = damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let whole = fed(&bytes, &requests, &[bytes.len()]);
        if damage.is_none() {
            prop_assert_eq!(whole, (bytes.len(), 0, None));
        }
        prop_assert_eq!(fed(&bytes, &requests, &cuts), whole);
    }

    #[test]
    fn no_bytes_at_all_make_it_panic_or_keep_much(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        length in 16i32..400,
        operation in prop_oneof![Just(4i32), Just(8), Just(6), Just(12), Just(14), Just(22), Just(107)],
    ) {
        let mut said = Jute::default().int(length).int(1).int(0).int(0).int(0).0;
        said.extend(bytes);
        let _ = Replies::default().feed(&said, &mut asked(&[(1, operation)]), &mut Vec::new());
    }
}
