//! Reads a recording for the screen: where a jump leads, and what was known at that time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::app::{Arrival, Arrived, Event, Outline, RaisedFinding, ScreenWorld, Travel};
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath};
use lockscope_model::queue::LockName;
use lockscope_model::text::human::{date_and_time, time_of_day};
use lockscope_past::record::{Past, ReadError, ReadSegment, SegmentDamage, SegmentInfo, StoreError, TimedEntry};

/// The number of parts of the bar for which entries are counted.
const OUTLINE_PARTS: usize = 240;

/// Maximum findings marked in the bar; the last ones are kept.
const MAX_OUTLINE_FINDINGS: usize = 1_000;

/// Maximum entries applied at once while a recording plays.
const MAX_PLAYED: usize = 20_000;

/// Maximum segments searched for the next event of a lock.
const MAX_SEARCHED: usize = 64;

/// Maximum segments kept in memory after reading.
const MAX_READ: usize = 2;

/// A segment that takes more memory than this is dropped before another one is read, in bytes.
const MAX_READ_MEMORY: u64 = 64 << 20;

/// The next segment is read in advance once fewer entries than this lie between the shown time and
/// the segment's border.
const READ_AHEAD_ENTRIES: usize = 2_000;

/// The minimum number of entries before the shown time in its timeline, as far as they can be read
/// quickly.
const MIN_TIMELINE_ENTRIES: usize = 2_000;

const NOTHING_YET: &str = "Nothing was recorded yet.";

/// A recording shown on the screen. Cheap to clone: all clones share the open file.
#[derive(Clone, Debug)]
pub struct PastReader {
    open: Arc<Mutex<OpenPast>>,
    utc: bool,
}

#[derive(Debug)]
struct OpenPast {
    past: Past,
    /// The segments read last, newest first. Two are kept, since both sides of a border are visited
    /// in turns.
    read: VecDeque<ReadSegment>,
    /// The time of the last jump.
    at: Option<Timestamp>,
}

impl PastReader {
    /// Creates a reader of an open recording.
    pub fn new(past: Past, utc: bool) -> Self {
        let open = OpenPast { past, read: VecDeque::new(), at: None };
        Self { open: Arc::new(Mutex::new(open)), utc }
    }

    /// Opens a recording. Returns the reader, the outline and the recorded ensemble. Blocks the
    /// thread for as long as the disk takes.
    pub fn open(path: &Path, utc: bool) -> Result<(Self, Outline, String), StoreError> {
        let mut past = Past::open(path)?;
        let outline = outline(&mut past)?;
        let run = past.segments()?.last().map_or(0, |last| last.run);
        let connect = past.connect(run)?;
        Ok((Self::new(past, utc), outline, connect))
    }

    /// Goes on with another file.
    pub fn replace(&self, past: Past) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = OpenPast { past, read: VecDeque::new(), at: None };
    }

    /// Drops the segments kept in memory.
    pub fn forget(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        (open.read, open.at) = (VecDeque::new(), None);
    }

    /// Finds who led these elections last. An unreadable recording knows nobody. Blocks the thread
    /// for as long as reading takes.
    pub fn last_leaders(&self, elections: &[ZnodePath]) -> Event {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.past.last_leaders(elections);
        let found = found.inspect_err(|error| tracing::warn!(%error, "the last leaders cannot be read"));
        Event::LastLeadersFound(found.unwrap_or_default())
    }

    /// Reads the neighbouring segment if the time of the last jump is near its border, so that a
    /// step over the border does not wait. Blocks the thread for as long as reading takes.
    pub fn read_ahead(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // An error is reported to the jump that needs the segment.
        let _ = open.read_ahead();
    }

    /// Goes from one time to another, and renews the outline if the recording has grown beyond
    /// `outlined`. Blocks the thread for as long as reading takes.
    pub fn travel(&self, from: Timestamp, outlined: Timestamp, travel: &Travel) -> Event {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let arrival = open.travel((from, outlined), travel, self.utc).unwrap_or_else(|error| Arrival {
            at: from,
            what: Arrived::Nowhere(format!("{error}.")),
            outline: None,
        });
        open.at = Some(arrival.at);
        Event::Arrived(Box::new(arrival))
    }
}

impl OpenPast {
    fn travel(
        &mut self,
        (from, outlined): (Timestamp, Timestamp),
        travel: &Travel,
        utc: bool,
    ) -> Result<Arrival, StoreError> {
        let outline = self.outline_if_longer(outlined)?;
        let nowhere = |why: &str| (from, Arrived::Nowhere(why.to_owned()));
        let (at, what) = match travel {
            Travel::At(at) => match self.refuse_before_start(*at, utc)? {
                Some(why) => nowhere(&why),
                None => self.world_near(*at, *at >= from, utc)?,
            },
            Travel::To(at) => match self.past.span()? {
                Some(TimeRange { from: start, .. }) if *at < start => match self.world_at_start(utc)? {
                    (start, _) if start == from => nowhere("The past begins here."),
                    start => start,
                },
                _ => self.world_near(*at, *at >= from, utc)?,
            },
            Travel::Start => self.world_at_start(utc)?,
            Travel::Play { until } => self.entries_until(from, *until, utc)?,
            Travel::Finding { forward } => match self.past.finding_beside(from, *forward)? {
                Some(at) => self.world_near(at, *forward, utc)?,
                None => nowhere("There is no other finding on that side."),
            },
            Travel::Event { forward, lock } => match self.event_beside(from, *forward, lock.as_ref())? {
                Some(at) if *forward => self.forward_to(from, at, utc)?,
                Some(at) => self.world_near(at, false, utc)?,
                None => nowhere("There is no other event near on that side."),
            },
        };
        Ok(Arrival { at, what, outline })
    }

    fn read_ahead(&mut self) -> Result<(), StoreError> {
        let Some(at) = self.at else { return Ok(()) };
        let Some(info) = self.past.segment_at(at)? else { return Ok(()) };
        let Some(segment) = self.read.iter().find(|read| read.info().id == info.id) else { return Ok(()) };
        let (before, after) = segment.entries_around(at);
        let sides = if before < after { [(false, before), (true, after)] } else { [(true, after), (false, before)] };
        let mut beside = None;
        for (forward, _) in sides.into_iter().filter(|(_, entries)| *entries < READ_AHEAD_ENTRIES) {
            beside = match beside {
                None if forward => self.past.segment_after(info.id)?,
                None => self.past.segment_before(info.id)?,
                beside => beside,
            };
        }
        if let Some(beside) = beside.filter(|beside| self.read.iter().all(|read| read.info().id != beside.id)) {
            // Reading the present segment again keeps it in memory.
            ReadError::skip_damage(self.read(info))?;
            ReadError::skip_damage(self.read(beside))?;
        }
        Ok(())
    }

    /// Returns a new outline if the recording has grown by at least five seconds.
    fn outline_if_longer(&mut self, outlined: Timestamp) -> Result<Option<Outline>, StoreError> {
        let end = self.past.span()?.map_or(outlined, |all| all.to);
        if end.since(outlined).as_secs() < 5 {
            return Ok(None);
        }
        outline(&mut self.past).map(Some)
    }

    /// Returns the entries up to a later event; if it is far away, the state at its time.
    fn forward_to(&mut self, from: Timestamp, at: Timestamp, utc: bool) -> Result<(Timestamp, Arrived), StoreError> {
        if let Some(info) = self.past.segment_at(from)?.filter(|info| at <= info.until)
            && let Some(segment) = ReadError::skip_damage(self.read(info))?
        {
            let entries = segment.entries_between(from, at);
            if entries.len() <= MIN_TIMELINE_ENTRIES {
                return Ok((at, Arrived::Entries(entries.to_vec())));
            }
        }
        self.world_near(at, true, utc)
    }

    /// Explains that a time lies before the past begins, and how to go to the beginning.
    fn refuse_before_start(&mut self, at: Timestamp, utc: bool) -> Result<Option<String>, StoreError> {
        let start = self.past.span()?.map(|all| all.from).filter(|start| at < *start);
        Ok(start.map(|start| {
            let [at, start] = [at, start].map(|time| date_and_time(time, utc));
            format!("Nothing is known of {at}: the past begins at {start}. `:at start` goes there.")
        }))
    }

    /// Returns the state after the first full reading: before it, nothing is known.
    fn world_at_start(&mut self, utc: bool) -> Result<(Timestamp, Arrived), StoreError> {
        let Some(TimeRange { from: start, .. }) = self.past.span()? else {
            return Ok((Timestamp::default(), Arrived::Nowhere(NOTHING_YET.to_owned())));
        };
        let known = match self.past.segment_at(start)? {
            Some(info) => ReadError::skip_damage(self.read(info))?.and_then(ReadSegment::first_known),
            None => None,
        };
        self.world_near(known.unwrap_or(start), true, utc)
    }

    /// Returns the state at a time. If nothing was recorded then, takes the nearest recorded time
    /// in the direction of the jump.
    fn world_near(&mut self, at: Timestamp, forward: bool, utc: bool) -> Result<(Timestamp, Arrived), StoreError> {
        let (before, after) = self.past.around(at)?;
        let at = match self.past.segment_at(at)? {
            Some(_) => at,
            None => match if forward { after.or(before) } else { before.or(after) } {
                Some(near) => near,
                None => return Ok((at, Arrived::Nowhere(NOTHING_YET.to_owned()))),
            },
        };
        match self.world(at) {
            Ok(world) => Ok((at, Arrived::World(Box::new(world)))),
            Err(ReadError::Damaged(damage)) => {
                let why = format!("What was recorded at {} cannot be shown: {damage}.", time_of_day(at, utc));
                Ok((at, Arrived::Nowhere(why)))
            }
            Err(ReadError::Store(error)) => Err(error),
        }
    }

    fn world(&mut self, at: Timestamp) -> Result<ScreenWorld, ReadError> {
        let info = self.past.segment_at(at)?.ok_or(SegmentDamage::Keyframe)?;
        let (mut state, mut entries) = self.read(info)?.state_before(at, MIN_TIMELINE_ENTRIES);
        let missing = MIN_TIMELINE_ENTRIES.saturating_sub(entries.len());
        let before = self.past.segment_before(info.id)?.filter(|before| missing > 0 && before.run == info.run);
        // Reading two long segments would take too long.
        let is_quick = |before: &SegmentInfo| {
            info.entries < MIN_TIMELINE_ENTRIES as u64 || self.read.iter().any(|read| read.info().id == before.id)
        };
        if let Some(before) = before.filter(is_quick)
            && let Some(segment) = ReadError::skip_damage(self.read(before))?
        {
            let shown = std::mem::take(&mut entries);
            (state, entries) = segment.state_before(before.until, missing);
            entries.extend(shown);
        }
        let mut world = ScreenWorld::replayed(state);
        world.replay(entries);
        Ok(world)
    }

    /// Returns the entries between two times; at a gap, the state after the gap.
    fn entries_until(
        &mut self,
        from: Timestamp,
        until: Timestamp,
        utc: bool,
    ) -> Result<(Timestamp, Arrived), StoreError> {
        let Some(info) = self.past.segment_at(from)? else { return self.world_near(until, true, utc) };
        if until > info.until {
            let Some(next) = self.past.segment_after(info.id)? else {
                let end = self.past.segment(info.id)?.map_or(info.until, |info| info.until);
                if end <= from {
                    return Ok((from, Arrived::Entries(Vec::new())));
                }
                return self.entries_until(from, end, utc);
            };
            // The next segment begins with a state of its own.
            return self.world_near(until.max(next.from).min(next.until), true, utc);
        }
        match self.read(info) {
            Err(ReadError::Store(error)) => Err(error),
            Err(ReadError::Damaged(damage)) => {
                Ok((from, Arrived::Nowhere(format!("What follows cannot be shown: {damage}."))))
            }
            Ok(segment) => {
                let entries = segment.entries_between(from, until);
                match entries.get(MAX_PLAYED) {
                    // All entries of one millisecond belong together.
                    Some(&TimedEntry { at, .. }) => {
                        Ok((at, Arrived::Entries(segment.entries_between(from, at).to_vec())))
                    }
                    None => Ok((until, Arrived::Entries(entries.to_vec()))),
                }
            }
        }
    }

    fn event_beside(
        &mut self,
        from: Timestamp,
        forward: bool,
        lock: Option<&LockName>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let mut info = match self.past.segment_at(from)? {
            Some(info) => Some(info),
            None if forward => self.past.segment_from(from)?,
            None => None,
        };
        for _ in 0..MAX_SEARCHED {
            let Some(searched) = info else { return Ok(None) };
            if let Some(segment) = ReadError::skip_damage(self.read(searched))? {
                let found = segment.event_beside(from, forward, lock);
                if found.is_some() {
                    return Ok(found);
                }
            }
            info =
                if forward { self.past.segment_after(searched.id)? } else { self.past.segment_before(searched.id)? };
        }
        Ok(None)
    }

    /// Returns a segment with everything recorded in it so far.
    fn read(&mut self, info: SegmentInfo) -> Result<&ReadSegment, ReadError> {
        let is_there = |read: &ReadSegment| read.info().id == info.id && read.info().entries == info.entries;
        let known = self.read.iter().position(is_there).and_then(|at| self.read.remove(at));
        let segment = if let Some(segment) = known {
            segment
        } else {
            self.read.retain(|read| read.memory() <= MAX_READ_MEMORY);
            ReadSegment::read(&mut self.past, info)?
        };
        self.read.retain(|read| read.info().id != info.id);
        self.read.truncate(MAX_READ - 1);
        self.read.push_front(segment);
        Ok(self.read.front().ok_or(SegmentDamage::Entries)?)
    }
}

fn outline(past: &mut Past) -> Result<Outline, StoreError> {
    let Some(all) = past.span()? else { return Ok(Outline::default()) };
    let findings = past.last_findings(MAX_OUTLINE_FINDINGS)?.into_iter();
    let findings = findings.map(|(at, severity, code)| RaisedFinding { at, severity, code });
    let density = past.density(all, OUTLINE_PARTS)?;
    Ok(Outline { from: all.from, until: all.to, density, gaps: past.gaps()?, findings: findings.collect() })
}

#[cfg(test)]
mod tests;
