//! Checks the body of a reply or a watch event, piece by piece. Pure.

use super::steps::{self, Number, Step};
use super::utf8::Utf8Check;
use crate::zk::reply_fault::{MAX_NAMES, ReplyFault};

/// The only state that the library accepts in a watch event: connected.
const CONNECTED: i32 = 3;

/// The bits of all permissions.
const ALL_PERMISSIONS: i32 = 31;

/// The part of a frame behind its header.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The expected content, a stack with the next step on top. At most a handful of steps.
    steps: Vec<Step>,
    kept: [u8; 9],
    have: usize,
    text: Utf8Check,
    /// Names and other items with memory of their own in this frame.
    counted: u32,
}

impl Body {
    /// Expects a reply that nobody reads beyond its header.
    pub(super) fn ignore(&mut self, left: u32) {
        self.begin(&[Step::Skip(left)]);
    }

    /// Expects a watch event.
    pub(super) fn expect_event(&mut self) {
        self.begin(steps::EVENT);
    }

    /// Expects the reply to a successful operation.
    pub(super) fn expect(&mut self, operation: i32, left: u32) {
        match steps::of_reply(operation) {
            Some(steps) => self.begin(steps),
            None => self.ignore(left),
        }
    }

    fn begin(&mut self, steps: &[Step]) {
        self.steps.clear();
        self.steps.extend(steps.iter().rev());
        (self.have, self.counted) = (0, 0);
        self.text = Utf8Check::default();
    }

    /// Returns whether the whole body has arrived.
    pub(super) fn is_done(&self) -> bool {
        self.steps.is_empty()
    }

    /// Consumes the bytes that belong to the body; `left` is the rest of the frame in bytes.
    pub(super) fn feed(&mut self, bytes: &mut &[u8], left: &mut u32) -> Result<(), ReplyFault> {
        while let Some(step) = self.steps.pop() {
            let goes_on = match step {
                Step::Skip(length) => self.take(bytes, left, length, Step::Skip)?.1,
                Step::Text(length) => {
                    let (piece, is_whole) = self.take(bytes, left, length, Step::Text)?;
                    self.text.feed(piece)?;
                    if is_whole && self.text.is_within_character() {
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

    /// Takes up to `length` bytes, and returns whether that was all; the missing rest becomes the
    /// next step.
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

    /// Collects bytes until there are `goal` of them, a small number; until then the step stays the
    /// next one.
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

    /// Pushes the steps that follow a number.
    fn number(&mut self, number: Number, value: i32, left: u32) -> Result<(), ReplyFault> {
        let impossible = Err(ReplyFault::Impossible(value));
        // The protocol marks absent values with the length -1.
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

    /// Pushes `times` items, each starting with a number.
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

    /// Pushes the steps that follow the header of one result in a multi.
    fn result(&mut self) -> Result<(), ReplyFault> {
        let operation = self.kept_number(0);
        match self.kept[4] {
            0 => {}
            1 => return Ok(()),
            other => return Err(ReplyFault::Impossible(other.into())),
        }
        self.count(1)?;
        let steps = steps::of_result(operation).ok_or(ReplyFault::Impossible(operation))?;
        self.steps.push(Step::Result);
        self.steps.extend(steps.iter().rev());
        Ok(())
    }
}

/// Skips the names that lie whole in the bytes, and leaves unusual ones to the step-by-step check.
/// Returns how many names are left.
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
