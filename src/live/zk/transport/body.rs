//! Checks the body of a reply or a watch event, piece by piece. Pure.

use super::steps::{self, Number, Step};
use super::utf8::Utf8Check;
use crate::zk::reply_fault::{MAX_NAMES, ReplyFault};
use lockscope_base::wire::{CONNECTED, EventKind, Gather, Reader};

/// The bits of all permissions.
const ALL_PERMISSIONS: i32 = 31;

/// The part of a frame behind its header.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The expected content, a stack with the next step on top. At most a handful of steps.
    steps: Vec<Step>,
    number: Gather<4>,
    /// The header of one result of a multi: its operation, whether it is the end, and an error.
    result: Gather<9>,
    text: Utf8Check,
    /// Names and other items with memory of their own in this frame.
    counted: u32,
}

impl Body {
    /// Expects a reply that nobody reads beyond its header.
    pub(super) fn ignore(&mut self, left: u32) {
        self.begin(&[Step::Skip(left)]);
    }

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
        (self.number, self.result, self.counted) = (Gather::default(), Gather::default(), 0);
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
                    None => self.wait(step),
                },
                Step::Repeat(times, number) => {
                    let times = if number == Number::Text { whole_names(bytes, left, times)? } else { times };
                    if times == 0 {
                        continue;
                    }
                    self.steps.extend([Step::Repeat(times - 1, number), Step::Number(number)]);
                    true
                }
                Step::Number(number) => match gather(&mut self.number, bytes, left)? {
                    Some(value) => {
                        self.number(number, i32::from_be_bytes(value), *left)?;
                        true
                    }
                    None => self.wait(step),
                },
                Step::Result => match gather(&mut self.result, bytes, left)? {
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

    /// Makes a step the next one, to be continued with more bytes.
    fn wait(&mut self, step: Step) -> bool {
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
        self.steps.push(Step::Repeat(times, number));
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
        let steps = steps::of_result(operation).ok_or(ReplyFault::Impossible(operation))?;
        self.steps.push(Step::Result);
        self.steps.extend(steps.iter().rev());
        Ok(())
    }
}

/// Gathers a number or a header; `None` while some of its bytes are missing.
fn gather<const N: usize>(
    gather: &mut Gather<N>,
    bytes: &mut &[u8],
    left: &mut u32,
) -> Result<Option<[u8; N]>, ReplyFault> {
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
