//! What may stand in a reply, by the operation that it answers, as ZooKeeper's `jute` writes it. Pure.

use super::outstanding::op as own;
use crate::zk::reply_fault::{MAX_NAMES, ReplyFault};

/// Operations whose replies hold something that the client library reads, as the protocol numbers them.
mod op {
    pub(super) const CREATE: i32 = 1;
    pub(super) const DELETE: i32 = 2;
    pub(super) const EXISTS: i32 = 3;
    pub(super) const GET_DATA: i32 = 4;
    pub(super) const SET_DATA: i32 = 5;
    pub(super) const GET_ACL: i32 = 6;
    pub(super) const SET_ACL: i32 = 7;
    pub(super) const GET_CHILDREN: i32 = 8;
    pub(super) const SYNC: i32 = 9;
    pub(super) const GET_CHILDREN_2: i32 = 12;
    pub(super) const CHECK: i32 = 13;
    pub(super) const MULTI: i32 = 14;
    pub(super) const CREATE_2: i32 = 15;
    pub(super) const RECONFIG: i32 = 16;
    pub(super) const CREATE_CONTAINER: i32 = 19;
    pub(super) const CREATE_TTL: i32 = 21;
    pub(super) const MULTI_READ: i32 = 22;
    pub(super) const GET_EPHEMERALS: i32 = 103;
    pub(super) const GET_ALL_CHILDREN_NUMBER: i32 = 104;
    pub(super) const WHO_AM_I: i32 = 107;
    pub(super) const ERROR: i32 = -1;
}

/// The length of a `Stat`.
const STAT: u32 = 68;

/// The only state that the library takes in a watch event: connected.
const CONNECTED: i32 = 3;

/// The bits of all permissions.
const ALL_PERMISSIONS: i32 = 31;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// So many bytes, whatever they are.
    Skip(u32),
    /// So many bytes of text.
    Text(u32),
    /// A path: a text that begins with a slash.
    Slash(u32),
    /// A number, which means something.
    Number(Number),
    /// So many times the same.
    Repeat(u32, Number),
    /// The head of one result of several, or of their end.
    Result,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// The length of bytes, or -1 for none.
    Bytes,
    /// The length of a text, or -1 for none.
    Text,
    /// The length of the path of an event.
    Path,
    /// How many there are of what follows.
    Names,
    Acls,
    Users,
    /// The permissions of an ACL's entry; its scheme and its identity follow.
    Permissions,
    /// The length of a user's scheme; the user follows.
    Scheme,
    EventType,
    EventState,
    Any,
}

/// The part of a frame behind its header.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// What is to come, the next at the end. At most a handful.
    steps: Vec<Step>,
    kept: [u8; 9],
    have: usize,
    /// The beginning of a character.
    begun: [u8; 4],
    begun_len: usize,
    /// Names and other things with memory of their own, in this frame.
    counted: u32,
}

impl Body {
    /// A reply of which nobody reads more than the header.
    pub(super) fn ignore(&mut self, left: u32) {
        self.begin(&[Step::Skip(left)]);
    }

    /// A watch event.
    pub(super) fn expect_event(&mut self) {
        use Number::{EventState, EventType, Path};
        self.begin(&[Step::Number(EventType), Step::Number(EventState), Step::Number(Path)]);
    }

    /// The reply to an operation that was done.
    pub(super) fn expect(&mut self, operation: i32, left: u32) {
        use Step::{Number as N, Skip};
        match operation {
            op::CREATE | op::SYNC => self.begin(&[N(Number::Text)]),
            op::CREATE_2 | op::CREATE_CONTAINER | op::CREATE_TTL => self.begin(&[N(Number::Text), Skip(STAT)]),
            op::EXISTS | op::SET_DATA | op::SET_ACL => self.begin(&[Skip(STAT)]),
            op::GET_DATA | op::RECONFIG => self.begin(&[N(Number::Bytes), Skip(STAT)]),
            op::GET_ACL => self.begin(&[N(Number::Acls), Skip(STAT)]),
            op::GET_CHILDREN | op::GET_EPHEMERALS => self.begin(&[N(Number::Names)]),
            op::GET_CHILDREN_2 => self.begin(&[N(Number::Names), Skip(STAT)]),
            op::MULTI | op::MULTI_READ => self.begin(&[Step::Result]),
            op::GET_ALL_CHILDREN_NUMBER => self.begin(&[N(Number::Any)]),
            op::WHO_AM_I => self.begin(&[N(Number::Users)]),
            own::SASL => self.begin(&[N(Number::Bytes)]),
            // The library looks at the header only.
            _ => self.ignore(left),
        }
    }

    fn begin(&mut self, steps: &[Step]) {
        self.steps.clear();
        self.steps.extend(steps.iter().rev());
        (self.have, self.begun_len, self.counted) = (0, 0, 0);
    }

    /// Whether all has come.
    pub(super) fn is_done(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes what there is of it from the bytes; `left` is what is still to come of the frame.
    pub(super) fn feed(&mut self, bytes: &mut &[u8], left: &mut u32) -> Result<(), ReplyFault> {
        while let Some(step) = self.steps.pop() {
            let goes_on = match step {
                Step::Skip(length) => self.take(bytes, left, length, Step::Skip)?.1,
                Step::Text(length) => {
                    let (piece, is_whole) = self.take(bytes, left, length, Step::Text)?;
                    self.text(piece)?;
                    if is_whole && self.begun_len > 0 {
                        return Err(ReplyFault::NotText);
                    }
                    is_whole
                }
                Step::Slash(length) => match bytes.first() {
                    Some(b'/') => {
                        self.steps.push(Step::Text(length));
                        true
                    }
                    Some(other) => return Err(ReplyFault::Impossible((*other).into())),
                    None if length > *left => return Err(ReplyFault::Short),
                    None => {
                        self.steps.push(step);
                        false
                    }
                },
                Step::Repeat(times, number) => {
                    let times = if number == Number::Text { whole_names(bytes, left, times)? } else { times };
                    if times == 0 {
                        continue;
                    }
                    self.steps.extend([Step::Repeat(times - 1, number), Step::Number(number)]);
                    true
                }
                Step::Number(number) => {
                    let is_whole = self.gather(bytes, left, 4, step)?;
                    if is_whole {
                        self.number(number, self.kept_number(0), *left)?;
                    }
                    is_whole
                }
                Step::Result => {
                    let is_whole = self.gather(bytes, left, 9, step)?;
                    if is_whole {
                        self.result()?;
                    }
                    is_whole
                }
            };
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes at most so many bytes, and whether these were all; what is missing is to come next.
    fn take<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        left: &mut u32,
        length: u32,
        again: fn(u32) -> Step,
    ) -> Result<(&'a [u8], bool), ReplyFault> {
        if length > *left {
            return Err(ReplyFault::Short);
        }
        let there = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let taken = length.min(there);
        let (piece, rest) = bytes.split_at(taken as usize);
        (*bytes, *left) = (rest, *left - taken);
        if taken < length {
            self.steps.push(again(length - taken));
        }
        Ok((piece, taken == length))
    }

    /// Keeps bytes until there are as many as the goal, which is small; until then the step is to come next.
    fn gather(&mut self, bytes: &mut &[u8], left: &mut u32, goal: usize, step: Step) -> Result<bool, ReplyFault> {
        let missing = u32::try_from(goal - self.have).unwrap_or_default();
        if missing > *left {
            return Err(ReplyFault::Short);
        }
        let taken = (goal - self.have).min(bytes.len());
        self.kept[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
        *bytes = &bytes[taken..];
        *left -= u32::try_from(taken).unwrap_or_default();
        self.have += taken;
        if self.have < goal {
            self.steps.push(step);
            return Ok(false);
        }
        self.have = 0;
        Ok(true)
    }

    fn kept_number(&self, at: usize) -> i32 {
        i32::from_be_bytes([self.kept[at], self.kept[at + 1], self.kept[at + 2], self.kept[at + 3]])
    }

    /// What follows a number.
    fn number(&mut self, number: Number, value: i32, left: u32) -> Result<(), ReplyFault> {
        let impossible = Err(ReplyFault::Impossible(value));
        // The protocol writes what is absent with the length -1.
        let length =
            || if value == -1 { Ok(0) } else { u32::try_from(value).map_err(|_| ReplyFault::Impossible(value)) };
        match number {
            Number::Bytes => self.steps.push(Step::Skip(length()?)),
            Number::Text => self.steps.push(Step::Text(length()?)),
            Number::Scheme => self.steps.extend([Step::Number(Number::Bytes), Step::Skip(length()?)]),
            Number::Path => match length()? {
                0 => return impossible,
                length => self.steps.push(Step::Slash(length)),
            },
            Number::Names => self.repeat(length()?, Number::Text, left)?,
            Number::Acls => self.repeat(length()?, Number::Permissions, left)?,
            Number::Users => self.repeat(length()?, Number::Scheme, left)?,
            Number::Permissions if value & !ALL_PERMISSIONS != 0 => return impossible,
            Number::Permissions => self.steps.extend([Step::Number(Number::Bytes); 2]),
            Number::EventType if !(1..=4).contains(&value) => return impossible,
            Number::EventState if value != CONNECTED => return impossible,
            Number::EventType | Number::EventState | Number::Any => {}
        }
        Ok(())
    }

    /// So many things, each of which begins with a number.
    fn repeat(&mut self, times: u32, number: Number, left: u32) -> Result<(), ReplyFault> {
        self.count(times)?;
        if times.saturating_mul(4) > left {
            return Err(ReplyFault::Short);
        }
        self.steps.push(Step::Repeat(times, number));
        Ok(())
    }

    fn count(&mut self, more: u32) -> Result<(), ReplyFault> {
        self.counted = self.counted.saturating_add(more);
        if self.counted > MAX_NAMES { Err(ReplyFault::TooMany(self.counted)) } else { Ok(()) }
    }

    /// What follows the head of one result of several.
    fn result(&mut self) -> Result<(), ReplyFault> {
        use Step::{Number as N, Skip};
        let operation = self.kept_number(0);
        match self.kept[4] {
            0 => {}
            1 => return Ok(()),
            other => return Err(ReplyFault::Impossible(other.into())),
        }
        self.count(1)?;
        self.steps.push(Step::Result);
        match operation {
            op::CHECK | op::DELETE => {}
            op::CREATE => self.steps.push(N(Number::Text)),
            op::CREATE_2 => self.steps.extend([Skip(STAT), N(Number::Text)]),
            op::SET_DATA => self.steps.push(Skip(STAT)),
            op::GET_DATA => self.steps.extend([Skip(STAT), N(Number::Bytes)]),
            op::GET_CHILDREN => self.steps.push(N(Number::Names)),
            op::ERROR => self.steps.push(N(Number::Any)),
            other => return Err(ReplyFault::Impossible(other)),
        }
        Ok(())
    }

    /// Whether the text goes on as UTF-8. The beginning of a character is kept for the next piece.
    fn text(&mut self, mut piece: &[u8]) -> Result<(), ReplyFault> {
        while self.begun_len > 0 {
            let Some((byte, rest)) = piece.split_first() else { return Ok(()) };
            // A character has at most four bytes, and four that are none are an error below.
            self.begun[self.begun_len] = *byte;
            (self.begun_len, piece) = (self.begun_len + 1, rest);
            match std::str::from_utf8(&self.begun[..self.begun_len]) {
                Ok(_) => self.begun_len = 0,
                Err(error) if error.error_len().is_some() => return Err(ReplyFault::NotText),
                Err(_) => {}
            }
        }
        let Err(error) = std::str::from_utf8(piece) else { return Ok(()) };
        if error.error_len().is_some() {
            return Err(ReplyFault::NotText);
        }
        let rest = &piece[error.valid_up_to()..];
        self.begun[..rest.len()].copy_from_slice(rest);
        self.begun_len = rest.len();
        Ok(())
    }
}

/// Takes the names that lie whole in the bytes, and leaves what is unusual to those who look at each number. Gives how many are
/// still to come.
fn whole_names(bytes: &mut &[u8], left: &mut u32, mut times: u32) -> Result<u32, ReplyFault> {
    let within = bytes.len().min(*left as usize);
    let mut rest = &bytes[..within];
    while times > 0 {
        let Some((length, after)) = rest.split_first_chunk::<4>() else { break };
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { break };
        let Some((name, after)) = after.split_at_checked(length) else { break };
        if std::str::from_utf8(name).is_err() {
            return Err(ReplyFault::NotText);
        }
        (rest, times) = (after, times - 1);
    }
    let taken = within - rest.len();
    *bytes = &bytes[taken..];
    *left -= u32::try_from(taken).unwrap_or_default();
    Ok(times)
}
