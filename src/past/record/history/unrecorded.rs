//! The parts of a time range before and after the recording.

use rusqlite::{Connection, Row};

use super::PastGap;
use lockscope_base::znode::Timestamp;

/// Adds the parts of a time range outside of the recording to its gaps, the earliest first.
pub(super) fn add(
    connection: &Connection,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    gaps: &mut Vec<PastGap>,
) -> rusqlite::Result<()> {
    let times = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let (first, last) = connection.query_row("SELECT min(from_ms), max(until_ms) FROM segment", [], times)?;
    let (Some(first), Some(last)) = (first.map(Timestamp), last.map(Timestamp)) else { return Ok(()) };
    let gap = |from, to, reason: &str| PastGap { from, to: Some(to), reason: reason.to_owned() };
    if let Some(from) = from.filter(|from| *from < first) {
        gaps.insert(0, gap(from, first, "the recording begins later"));
    }
    if let Some(to) = to.filter(|to| *to > last) {
        gaps.push(gap(last, to, "the recording ends earlier"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::history::PastWindow;
    use crate::record::segment::SegmentBounds;
    use crate::record::store::Store;
    use crate::record::tests::fixture::{ALL, ConsoleFixture};

    #[test]
    fn parts_of_a_window_outside_of_the_recording_are_gaps_without_contenders() {
        let mut fixture = ConsoleFixture::new(ALL, SegmentBounds::default());
        let path = fixture.ensemble.put_numbered("/a/lock-", 1);
        fixture.apply(fixture.ensemble.observed(&path));
        fixture.stop();
        let mut store = Store::open(&fixture.path).unwrap();
        let whole = PastWindow::read(&mut store, None, None).unwrap().expect("recorded");
        let (from, to) = (Timestamp(whole.from.0 - 60_000), Timestamp(whole.to.0 + 60_000));
        let wide = PastWindow::read(&mut store, Some(from), Some(to)).unwrap().expect("recorded");
        assert_eq!((wide.from, wide.to, wide.known_until), (from, to, whole.to));
        let outside = wide.gaps.iter().filter(|gap| gap.reason.starts_with("the recording ")).count();
        assert_eq!(whole.gaps, [], "the first reading is no gap");
        assert_eq!((outside, wide.gaps[0].from), (2, from), "{:?}", wide.gaps);
        assert_eq!(wide.gaps.last().map(|gap| (gap.from >= whole.to, gap.to)), Some((true, Some(to))));
    }
}
