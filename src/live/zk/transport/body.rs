//! Checks the body of a reply or a watch event, piece by piece. Pure.
//!
//! The content of replies is described step by step, for each operation, in ZooKeeper's `jute`
//! encoding. Text that arrives in pieces must be UTF-8.

use BodyStep::{Number as N, Skip};
use Number::{Acls, Any, Bytes, EventState, EventType, Names, Path, Text, Users};

use crate::zk::fault::{MAX_NAMES, ReplyFault};
use lockscope_base::wire::{CONNECTED, EventKind, Gather, Reader, op};

/// The bits of all permissions.
const ALL_PERMISSIONS: i32 = 31;

/// The part of a frame behind its header.
#[derive(Debug, Default)]
pub struct Body {
    /// The expected content, a stack with the next step on top. At most a handful of steps.
    steps: Vec<BodyStep>,
    number: Gather<4>,
    /// The header of one result of a multi: its operation, whether it is the end, and an error.
    result: Gather<9>,
    text: Utf8Check,
    /// Names and other items with memory of their own in this frame.
    counted: u32,
}

impl Body {
    /// Expects a reply that nobody reads beyond its header.
    pub fn ignore(&mut self, left: u32) {
        self.begin(&[BodyStep::Skip(left)]);
    }

    pub fn expect_event(&mut self) {
        self.begin(EVENT);
    }

    /// Expects the reply to a successful operation.
    pub fn expect(&mut self, operation: i32, left: u32) {
        match of_reply(operation) {
            Some(steps) => self.begin(steps),
            None => self.ignore(left),
        }
    }

    fn begin(&mut self, steps: &[BodyStep]) {
        self.steps.clear();
        self.steps.extend(steps.iter().rev());
        (self.number, self.result, self.counted) = (Gather::default(), Gather::default(), 0);
        self.text = Utf8Check::default();
    }

    /// Returns whether the whole body has arrived.
    pub fn is_done(&self) -> bool {
        self.steps.is_empty()
    }

    /// Consumes the bytes that belong to the body; `left` is the rest of the frame in bytes.
    pub fn feed(&mut self, bytes: &mut &[u8], left: &mut u32) -> Result<(), ReplyFault> {
        while let Some(step) = self.steps.pop() {
            let goes_on = match step {
                BodyStep::Skip(length) => self.take(bytes, left, length, BodyStep::Skip)?.1,
                BodyStep::Text(length) => {
                    let (piece, is_whole) = self.take(bytes, left, length, BodyStep::Text)?;
                    self.text.feed(piece)?;
                    if is_whole && self.text.is_within_character() {
                        return Err(ReplyFault::NotText);
                    }
                    is_whole
                }
                BodyStep::Slash(length) => match bytes.first() {
                    Some(b'/') => {
                        self.steps.push(BodyStep::Text(length));
                        true
                    }
                    Some(other) => return Err(ReplyFault::Impossible((*other).into())),
                    None if length > *left => return Err(ReplyFault::Short),
                    None => self.wait(step),
                },
                BodyStep::Repeat(times, number) => {
                    let times = if number == Number::Text { whole_names(bytes, left, times)? } else { times };
                    if times == 0 {
                        continue;
                    }
                    self.steps.extend([BodyStep::Repeat(times - 1, number), BodyStep::Number(number)]);
                    true
                }
                BodyStep::Number(number) => match gather(&mut self.number, bytes, left)? {
                    Some(value) => {
                        self.number(number, i32::from_be_bytes(value), *left)?;
                        true
                    }
                    None => self.wait(step),
                },
                BodyStep::Result => match gather(&mut self.result, bytes, left)? {
                    Some(head) => {
                        self.result(head)?;
                        true
                    }
                    None => self.wait(step),
                },
            };
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes up to `length` bytes, and returns whether that was all; the missing rest becomes the
    /// next step.
    fn take<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        left: &mut u32,
        length: u32,
        again: fn(u32) -> BodyStep,
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

    /// Makes a step the next one, to be continued with more bytes.
    fn wait(&mut self, step: BodyStep) -> bool {
        self.steps.push(step);
        false
    }

    /// Pushes the steps that follow a number.
    fn number(&mut self, number: Number, value: i32, left: u32) -> Result<(), ReplyFault> {
        let impossible = Err(ReplyFault::Impossible(value));
        // The protocol marks absent values with the length -1.
        let length =
            || if value == -1 { Ok(0) } else { u32::try_from(value).map_err(|_| ReplyFault::Impossible(value)) };
        match number {
            Number::Bytes => self.steps.push(BodyStep::Skip(length()?)),
            Number::Text => self.steps.push(BodyStep::Text(length()?)),
            Number::Scheme => self.steps.extend([BodyStep::Number(Number::Bytes), BodyStep::Skip(length()?)]),
            Number::Path => match length()? {
                0 => return impossible,
                length => self.steps.push(BodyStep::Slash(length)),
            },
            Number::Names => self.repeat(length()?, Number::Text, left)?,
            Number::Acls => self.repeat(length()?, Number::Permissions, left)?,
            Number::Users => self.repeat(length()?, Number::Scheme, left)?,
            Number::Permissions if value & !ALL_PERMISSIONS != 0 => return impossible,
            Number::Permissions => self.steps.extend([BodyStep::Number(Number::Bytes); 2]),
            Number::EventType if EventKind::of(value).is_none() => return impossible,
            Number::EventState if value != CONNECTED => return impossible,
            Number::EventType | Number::EventState | Number::Any => {}
        }
        Ok(())
    }

    /// Pushes `times` items, each starting with a number.
    fn repeat(&mut self, times: u32, number: Number, left: u32) -> Result<(), ReplyFault> {
        self.count(times)?;
        if times.saturating_mul(4) > left {
            return Err(ReplyFault::Short);
        }
        self.steps.push(BodyStep::Repeat(times, number));
        Ok(())
    }

    fn count(&mut self, more: u32) -> Result<(), ReplyFault> {
        self.counted = self.counted.saturating_add(more);
        if self.counted > MAX_NAMES { Err(ReplyFault::TooMany(self.counted)) } else { Ok(()) }
    }

    /// Pushes the steps that follow the header of one result of a multi.
    fn result(&mut self, [a, b, c, d, done, ..]: [u8; 9]) -> Result<(), ReplyFault> {
        let operation = i32::from_be_bytes([a, b, c, d]);
        match done {
            0 => {}
            1 => return Ok(()),
            other => return Err(ReplyFault::Impossible(other.into())),
        }
        self.count(1)?;
        let steps = of_result(operation).ok_or(ReplyFault::Impossible(operation))?;
        self.steps.push(BodyStep::Result);
        self.steps.extend(steps.iter().rev());
        Ok(())
    }
}

/// Gathers a number or a header; `None` while some of its bytes are missing.
fn gather<const LENGTH: usize>(
    gather: &mut Gather<LENGTH>,
    bytes: &mut &[u8],
    left: &mut u32,
) -> Result<Option<[u8; LENGTH]>, ReplyFault> {
    if gather.missing() > *left as usize {
        return Err(ReplyFault::Short);
    }
    let before = bytes.len();
    let whole = gather.take(bytes);
    *left -= u32::try_from(before - bytes.len()).unwrap_or_default();
    Ok(whole)
}

/// Skips the names that lie whole in the bytes, and leaves unusual ones to the step-by-step check.
/// Returns how many names are left.
fn whole_names(bytes: &mut &[u8], left: &mut u32, mut times: u32) -> Result<u32, ReplyFault> {
    let within = bytes.len().min(*left as usize);
    let mut rest = Reader::new(&bytes[..within]);
    while times > 0 {
        let mut ahead = rest.clone();
        let Ok(Some(name)) = ahead.buffer() else { break };
        if std::str::from_utf8(name).is_err() {
            return Err(ReplyFault::NotText);
        }
        (rest, times) = (ahead, times - 1);
    }
    let taken = within - rest.rest().len();
    *bytes = &bytes[taken..];
    *left -= u32::try_from(taken).unwrap_or_default();
    Ok(times)
}

/// The length of a `Stat`, in bytes.
const STAT: u32 = 68;

const EVENT: &[BodyStep] = &[N(EventType), N(EventState), N(Path)];

/// The next item in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyStep {
    /// This many bytes of any content.
    Skip(u32),
    /// This many bytes of text.
    Text(u32),
    /// A path of this many bytes: a text that begins with a slash.
    Slash(u32),
    /// A four-byte number and its meaning.
    Number(Number),
    /// This many items, each starting with the same kind of number.
    Repeat(u32, Number),
    /// The header of one result of a multi, or of the end of the results.
    Result,
}

/// The meaning of a number in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// The length of bytes, or -1 for none.
    Bytes,
    /// The length of a text, or -1 for none.
    Text,
    /// The length of the path of an event.
    Path,
    /// The number of items that follow.
    Names,
    Acls,
    Users,
    /// The permissions in an ACL entry; its scheme and identity follow.
    Permissions,
    /// The length of a user's scheme; the user follows.
    Scheme,
    EventType,
    EventState,
    Any,
}

/// Returns the steps of the reply to a successful operation; `None` when the client library reads
/// only its header.
fn of_reply(operation: i32) -> Option<&'static [BodyStep]> {
    Some(match operation {
        op::CREATE | op::SYNC => &[N(Text)],
        op::CREATE2 | op::CREATE_CONTAINER | op::CREATE_TTL => &[N(Text), Skip(STAT)],
        op::EXISTS | op::SET_DATA | op::SET_ACL => &[Skip(STAT)],
        op::GET_DATA | op::RECONFIG => &[N(Bytes), Skip(STAT)],
        op::GET_ACL => &[N(Acls), Skip(STAT)],
        op::GET_CHILDREN | op::GET_EPHEMERALS => &[N(Names)],
        op::GET_CHILDREN2 => &[N(Names), Skip(STAT)],
        op::MULTI | op::MULTI_READ => &[BodyStep::Result],
        op::GET_ALL_CHILDREN_NUMBER => &[N(Any)],
        op::WHO_AM_I => &[N(Users)],
        op::SASL => &[N(Bytes)],
        _ => return None,
    })
}

/// Returns the steps of one result of a multi, after its header; `None` when there is no such
/// result.
fn of_result(operation: i32) -> Option<&'static [BodyStep]> {
    Some(match operation {
        op::CHECK | op::DELETE => &[],
        op::CREATE => &[N(Text)],
        op::CREATE2 => &[N(Text), Skip(STAT)],
        op::SET_DATA => &[Skip(STAT)],
        op::GET_DATA => &[N(Bytes), Skip(STAT)],
        op::GET_CHILDREN => &[N(Names)],
        op::ERROR => &[N(Any)],
        _ => return None,
    })
}

/// Checks one text after another. Keeps only the beginning of an unfinished character.
#[derive(Debug, Default)]
struct Utf8Check {
    begun: [u8; 4],
    begun_len: usize,
}

impl Utf8Check {
    /// Returns whether the text stopped in the middle of a character.
    fn is_within_character(&self) -> bool {
        self.begun_len > 0
    }

    /// Checks the next piece. After an error nothing more may be fed.
    fn feed(&mut self, mut piece: &[u8]) -> Result<(), ReplyFault> {
        while self.begun_len > 0 {
            let Some((byte, rest)) = piece.split_first() else { return Ok(()) };
            // A character has at most four bytes; four bytes that are no character are an error
            // below.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_does_not_depend_on_the_pieces() {
        let text = "a\u{fc}\u{20ac}\u{1f600}b".as_bytes();
        for size in 1..=text.len() {
            let mut check = Utf8Check::default();
            assert!(text.chunks(size).all(|piece| check.feed(piece).is_ok()), "{size}");
            assert!(!check.is_within_character());
            let mut cut = Utf8Check::default();
            assert!(text[..text.len() - 2].chunks(size).all(|piece| cut.feed(piece).is_ok()), "{size}");
            assert!(cut.is_within_character(), "its last character is not whole");
            let mut bad = Utf8Check::default();
            let spoilt = [&text[..3], &[0xff], &text[3..]].concat();
            assert!(!spoilt.chunks(size).all(|piece| bad.feed(piece).is_ok()), "{size}");
        }
    }
}
