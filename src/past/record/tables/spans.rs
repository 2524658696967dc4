//! Sets of times: those that a recording knows, and those that a log fills.

use rusqlite::Connection;

use lockscope_base::znode::{TimeRange, Timestamp};

/// The most spans of a set: more gaps than this have no recording.
const MAX_SPANS: usize = 100_000;

/// A set has more spans than are kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct TooManySpans;

/// A set of times: spans that do not touch each other, in order. A span without a length is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::record) struct Spans(Vec<TimeRange>);

impl Spans {
    /// Adds a span that does not begin before the last one added.
    pub fn add(&mut self, span: TimeRange) -> Result<(), TooManySpans> {
        if let Some(last) = self.0.last_mut().filter(|last| span.from <= last.to) {
            last.to = last.to.max(span.to);
        } else if span.from < span.to {
            if self.0.len() >= MAX_SPANS {
                return Err(TooManySpans);
            }
            self.0.push(span);
        }
        Ok(())
    }

    /// Returns the spans, the earliest first.
    pub fn iter(&self) -> impl Iterator<Item = TimeRange> {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the beginning of the first span and the end of the last one.
    pub fn bounds(&self) -> Option<TimeRange> {
        Some(TimeRange { from: self.0.first()?.from, to: self.0.last()?.to })
    }

    /// Returns the times that both sets have.
    pub fn within(&self, other: &Self) -> Result<Self, TooManySpans> {
        let mut both = Self::default();
        for span in self.iter() {
            other.parts_of(span).try_for_each(|part| both.add(part))?;
        }
        Ok(both)
    }

    /// Returns the times that the other set does not have.
    pub fn without(&self, other: &Self) -> Result<Self, TooManySpans> {
        let mut rest = Self::default();
        for span in self.iter() {
            other.rest_of(span).try_for_each(|part| rest.add(part))?;
        }
        Ok(rest)
    }

    /// Returns the set of these times, in whatever order they are.
    pub fn of(mut times: Vec<TimeRange>) -> Result<Self, TooManySpans> {
        times.sort_unstable_by_key(|time| time.from);
        let mut all = Self::default();
        times.into_iter().try_for_each(|time| all.add(time))?;
        Ok(all)
    }

    /// Returns the times of either set.
    pub fn and(&self, other: &Self) -> Result<Self, TooManySpans> {
        Self::of(self.iter().chain(other.iter()).collect())
    }

    /// Returns the parts of a span that are in the set.
    pub fn parts_of(&self, span: TimeRange) -> impl Iterator<Item = TimeRange> {
        self.meeting(span).filter_map(move |known| known.within(span))
    }

    /// Returns the parts of a span that are not in the set.
    pub fn rest_of(&self, span: TimeRange) -> impl Iterator<Item = TimeRange> {
        let ends = self.meeting(span).map(|known| known.from).chain([span.to]);
        let begins = [span.from].into_iter().chain(self.meeting(span).map(|known| known.to));
        begins.zip(ends).filter_map(move |(from, to)| TimeRange { from, to }.within(span))
    }

    /// Returns whether the set has a whole span.
    pub fn covers(&self, span: TimeRange) -> bool {
        self.meeting(span).any(|known| known.from <= span.from && span.to <= known.to)
    }

    /// Returns whether the set has a part of a span.
    pub fn meets(&self, span: TimeRange) -> bool {
        self.meeting(span).any(|known| known.within(span).is_some())
    }

    /// Returns the spans that meet or touch another.
    fn meeting(&self, span: TimeRange) -> impl Iterator<Item = TimeRange> {
        let first = self.0.partition_point(|known| known.to < span.from);
        self.0.iter().skip(first).take_while(move |known| known.from <= span.to).copied()
    }
}

/// Returns when everything is known: a run of a recorder has rows and segments of that time, and it
/// is in no gap.
pub(in crate::record) fn known(connection: &Connection) -> rusqlite::Result<Result<Spans, TooManySpans>> {
    let rows = spans(connection, "SELECT began_at, until_at FROM recording ORDER BY began_at")?;
    known_of(connection, rows)
}

/// Returns the same where the runs have rows of these times.
pub(in crate::record) fn known_of(
    connection: &Connection,
    rows: Result<Spans, TooManySpans>,
) -> rusqlite::Result<Result<Spans, TooManySpans>> {
    let segments = spans(connection, "SELECT from_ms, until_ms FROM segment ORDER BY from_ms")?;
    let gaps = spans(connection, "SELECT began_at, ifnull(ended_at, 9223372036854775807) FROM gap ORDER BY began_at")?;
    Ok(rows.and_then(|rows| rows.within(&segments?)?.without(&gaps?)))
}

fn spans(connection: &Connection, query: &str) -> rusqlite::Result<Result<Spans, TooManySpans>> {
    let (mut statement, mut spans) = (connection.prepare(query)?, Spans::default());
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let span = TimeRange { from: Timestamp(row.get(0)?), to: Timestamp(row.get(1)?) };
        if let Err(error) = spans.add(span) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(spans))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(spans: &[(i64, i64)]) -> Spans {
        let mut set = Spans::default();
        for (from, to) in spans {
            set.add(span(*from, *to)).unwrap();
        }
        set
    }

    fn span(from: i64, to: i64) -> TimeRange {
        TimeRange { from: Timestamp(from), to: Timestamp(to) }
    }

    #[test]
    fn spans_that_touch_are_one_and_those_without_a_length_are_none() {
        assert_eq!(spans(&[(0, 5), (5, 7), (6, 6), (9, 9), (10, 12), (11, 11)]), spans(&[(0, 7), (10, 12)]));
    }

    #[test]
    fn sets_are_intersected_and_subtracted() {
        let (one, other) = (spans(&[(0, 10), (20, 30)]), spans(&[(5, 7), (9, 22), (30, 40)]));
        assert_eq!(one.within(&other), Ok(spans(&[(5, 7), (9, 10), (20, 22)])));
        assert_eq!(one.without(&other), Ok(spans(&[(0, 5), (7, 9), (22, 30)])));
        assert_eq!(one.and(&other), Ok(spans(&[(0, 40)])));
        assert_eq!(one.without(&one), Ok(Spans::default()));
        assert_eq!(one.bounds(), Some(span(0, 30)));
    }

    #[test]
    fn parts_of_a_span_are_known_or_not() {
        let set = spans(&[(0, 10), (20, 30)]);
        let rest: Vec<_> = set.rest_of(span(-5, 25)).collect();
        assert_eq!(rest, [span(-5, 0), span(10, 20)]);
        assert_eq!(set.rest_of(span(2, 8)).count(), 0);
        assert_eq!((set.covers(span(0, 10)), set.covers(span(5, 21))), (true, false));
        assert_eq!((set.meets(span(10, 20)), set.meets(span(10, 21))), (false, true));
    }

    #[test]
    fn the_memory_of_a_set_is_bounded() {
        let mut set = Spans::default();
        let most = i64::try_from(MAX_SPANS).unwrap();
        (0..most).for_each(|at| set.add(span(at * 2, at * 2 + 1)).unwrap());
        assert_eq!(set.add(span(most * 2, most * 2 + 1)), Err(TooManySpans));
    }
}
