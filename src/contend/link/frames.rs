//! What passes a link, as far as counting needs it: ZooKeeper's frames are a length of four bytes, then a handshake, then
//! a header each. Pure, and keeps eight bytes.

/// Heartbeats, authentication, SASL, watches set anew, and the end of the session: the library's own requests.
const HOUSEKEEPING: [i32; 6] = [11, 100, 102, 101, 105, -11];

/// The number that a watch event has in place of a request's.
const EVENT: i32 = -1;

/// A frame of this size or more is none: four-letter words look so.
const NO_FRAME: u32 = 1 << 26;

/// The number of a request and its operation.
const HEADER: usize = 8;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The client: its requests are counted.
    Client,
    /// The server: its watch events are counted.
    Server,
}

/// Reads one direction of a connection as it passes, in whatever pieces.
#[derive(Debug)]
pub(super) struct Frames {
    side: Side,
    /// The handshake is not over.
    opening: bool,
    /// Something else than frames passes.
    foreign: bool,
    /// The beginning of the length, or of the header.
    kept: [u8; HEADER],
    have: usize,
    /// `None` while the length is read; then how many bytes of the frame are to come.
    left: Option<u32>,
}

impl Frames {
    pub(super) fn new(side: Side) -> Self {
        Self { side, opening: true, foreign: false, kept: [0; HEADER], have: 0, left: None }
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// Takes the next bytes; gives how many requests or events have begun in them.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() && !self.foreign {
            let Some(left) = self.left else {
                if self.keep(&mut bytes, 4) {
                    let length = self.number(0);
                    self.foreign = length.cast_unsigned() >= NO_FRAME;
                    self.left = (length != 0).then_some(length.cast_unsigned());
                    self.have = 0;
                }
                continue;
            };
            let whole = u32::try_from(HEADER - self.have).unwrap_or_default().min(left);
            let before = bytes.len();
            if self.have < HEADER && whole > 0 {
                let goal = self.have + whole as usize;
                if self.keep(&mut bytes, goal) && goal == HEADER {
                    count += u64::from(self.counts());
                }
            } else {
                bytes = &bytes[bytes.len().min(left as usize)..];
            }
            let taken = u32::try_from(before - bytes.len()).unwrap_or(left);
            self.left = Some(left - taken).filter(|left| *left > 0);
            if self.left.is_none() {
                (self.have, self.opening) = (0, false);
            }
        }
        count
    }

    /// Keeps bytes until there are as many as the goal.
    fn keep(&mut self, bytes: &mut &[u8], goal: usize) -> bool {
        let take = (goal - self.have).min(bytes.len());
        self.kept[self.have..self.have + take].copy_from_slice(&bytes[..take]);
        *bytes = &bytes[take..];
        self.have += take;
        self.have == goal
    }

    fn number(&self, at: usize) -> i32 {
        i32::from_be_bytes([self.kept[at], self.kept[at + 1], self.kept[at + 2], self.kept[at + 3]])
    }

    /// Whether the frame whose header was read counts.
    fn counts(&self) -> bool {
        match self.side {
            _ if self.opening => false,
            Side::Client => !HOUSEKEEPING.contains(&self.number(4)),
            Side::Server => self.number(0) == EVENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(numbers: &[i32], more: usize) -> Vec<u8> {
        let length = i32::try_from(numbers.len() * 4 + more).expect("it is short");
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes.resize(bytes.len() + more, 7);
        bytes
    }

    #[test]
    fn requests_are_counted_without_the_librarys_own_and_without_the_handshake() {
        let said =
            [frame(&[0, 1], 36), frame(&[1, 15], 90), frame(&[-2, 11], 0), frame(&[2, 8], 20), frame(&[3, -11], 0)];
        assert_eq!(Frames::new(Side::Client).feed(&said.concat()), 2);
    }

    #[test]
    fn watch_events_are_counted_among_replies() {
        let said =
            [frame(&[-1, -1], 30), frame(&[1, 0], 8), frame(&[-1, -1], 40), frame(&[-2, 0], 8), frame(&[-1, -1], 40)];
        assert_eq!(Frames::new(Side::Server).feed(&said.concat()), 2);
    }

    #[test]
    fn what_is_no_frame_is_passed_uncounted() {
        assert_eq!(Frames::new(Side::Client).feed(b"mntr and whatever else may come along here"), 0);
    }

    proptest! {
        #[test]
        fn in_whatever_pieces_it_comes_the_count_is_the_same(
            ops in proptest::collection::vec((any::<i32>(), 0usize..40), 0..20),
            cuts in proptest::collection::vec(1usize..30, 1..50),
            short in proptest::collection::vec(0usize..8, 0..3),
        ) {
            let mut said = frame(&[0, 1], 36);
            for (op, more) in &ops {
                said.extend(frame(&[1, *op], *more));
            }
            for length in short {
                said.extend(frame(&[], length));
            }
            let whole = Frames::new(Side::Client).feed(&said);
            let expected = ops.iter().filter(|(op, _)| !HOUSEKEEPING.contains(op)).count() as u64;
            prop_assert_eq!(whole, expected);
            let (mut frames, mut count, mut rest) = (Frames::new(Side::Client), 0, said.as_slice());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, more) = rest.split_at((*cut).min(rest.len()));
                count += frames.feed(piece);
                rest = more;
            }
            prop_assert_eq!(count, whole);
        }
    }
}
