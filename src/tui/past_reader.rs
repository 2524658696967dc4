//! Reads a recording for the screen: where a way through it leads, and what was known there.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::app::{Arrival, Arrived, Event, Outline, RaisedFinding, RecordedGap, Travel, World};
use crate::queue::LockName;
use crate::record::{Damage, Past, Played, RecordedState, SegmentInfo, StoreError, TimedEntry};
use crate::text::human::time_of_day;
use crate::znode::Timestamp;

/// Parts of the bar whose density is counted.
const OUTLINE_PARTS: usize = 240;

/// Findings that the bar marks; of more, the last ones.
const MAX_OUTLINE_FINDINGS: usize = 1_000;

/// Entries that are played at once, when a recording is played.
const MAX_PLAYED: usize = 20_000;

/// Segments that are looked through for the next event of a lock.
const MAX_SEARCHED: usize = 64;

/// A timeline that would have fewer entries than this begins with those of the segment before, too.
const MIN_TIMELINE_ENTRIES: usize = 2_000;

/// A recording that the screen shows. Cheap to clone: all clones read the same one.
#[derive(Clone, Debug)]
pub struct PastReader {
    open: Arc<Mutex<OpenPast>>,
    utc: bool,
}

#[derive(Debug)]
struct OpenPast {
    past: Past,
    /// The segment that was read last.
    segment: Option<ReadSegment>,
    /// The end of the recording when its outline was made.
    outlined: Timestamp,
}

/// A segment with all that happened in it.
#[derive(Debug)]
struct ReadSegment {
    info: SegmentInfo,
    keyframe: RecordedState,
    entries: Vec<TimedEntry>,
    events: Vec<(Timestamp, Option<LockName>)>,
}

impl PastReader {
    /// Opens a recording. Answers its outline, and the ensemble that it is of. Blocks the thread as long as the disk does.
    pub fn open(path: &Path, utc: bool) -> Result<(Self, Outline, String), StoreError> {
        let mut past = Past::open(path)?;
        let outline = outline(&mut past)?;
        let run = past.segments()?.last().map_or(0, |last| last.run);
        let connect = past.connect(run)?;
        let open = OpenPast { past, segment: None, outlined: outline.until };
        Ok((Self { open: Arc::new(Mutex::new(open)), utc }, outline, connect))
    }

    /// Goes from one moment to another. Blocks the thread for as long as reading takes.
    pub fn travel(&self, from: Timestamp, travel: &Travel) -> Event {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let arrival = open.travel(from, travel, self.utc).unwrap_or_else(|error| Arrival {
            at: from,
            what: Arrived::Nowhere(format!("{error}.")),
            outline: None,
        });
        Event::Arrived(Box::new(arrival))
    }
}

impl OpenPast {
    fn travel(&mut self, from: Timestamp, travel: &Travel, utc: bool) -> Result<Arrival, StoreError> {
        let outline = self.outline_if_longer()?;
        let nowhere = |why: &str| (from, Arrived::Nowhere(why.to_owned()));
        let (at, what) = match travel {
            Travel::To(at) => self.world_near(*at, *at >= from, utc)?,
            Travel::Play { until } => self.entries_until(from, *until, utc)?,
            Travel::Finding { forward } => match self.past.finding_beside(from, *forward)? {
                Some(at) => self.world_near(at, *forward, utc)?,
                None => nowhere("There is no other finding on that side."),
            },
            Travel::Event { forward, lock } => match self.event_beside(from, *forward, lock.as_ref())? {
                Some(at) => self.world_near(at, *forward, utc)?,
                None => nowhere("There is no other event near on that side."),
            },
        };
        Ok(Arrival { at, what, outline })
    }

    /// The outline, where the recording has become longer.
    fn outline_if_longer(&mut self) -> Result<Option<Outline>, StoreError> {
        let end = self.past.span()?.map_or(self.outlined, |(_, end)| end);
        if end.since(self.outlined).as_secs() < 5 {
            return Ok(None);
        }
        self.outlined = end;
        outline(&mut self.past).map(Some)
    }

    /// What was known at a moment; where nothing was recorded then, at the one next to it, in the direction in which one goes.
    fn world_near(&mut self, at: Timestamp, forward: bool, utc: bool) -> Result<(Timestamp, Arrived), StoreError> {
        let (before, after) = self.past.around(at)?;
        let at = match self.past.segment_at(at)? {
            Some(_) => at,
            None => match if forward { after.or(before) } else { before.or(after) } {
                Some(near) => near,
                None => return Ok((at, Arrived::Nowhere("Nothing was recorded yet.".to_owned()))),
            },
        };
        Ok(match self.world(at)? {
            Ok(world) => (at, Arrived::World(Box::new(world))),
            Err(damage) => (
                at,
                Arrived::Nowhere(format!("What was recorded at {} cannot be shown: {damage}.", time_of_day(at, utc))),
            ),
        })
    }

    fn world(&mut self, at: Timestamp) -> Result<Result<World, Damage>, StoreError> {
        let Some(info) = self.past.segment_at(at)? else { return Ok(Err(Damage::Keyframe)) };
        let before = match self.past.segment_before(info.id)? {
            Some(before) if before.run == info.run && info.entries < MIN_TIMELINE_ENTRIES as u64 => {
                self.past.keyframe(before.id)?.ok().zip(self.past.entries(&before)?.ok())
            }
            _ => None,
        };
        let segment = match self.read(info)? {
            Ok(segment) => segment,
            Err(damage) => return Ok(Err(damage)),
        };
        let shown = segment.entries.iter().take_while(|(then, _)| *then <= at).cloned();
        Ok(Ok(if let Some((keyframe, mut entries)) = before {
            entries.extend(shown);
            let mut world = World::replayed(keyframe);
            world.replay(entries);
            world
        } else {
            let mut world = World::replayed(segment.keyframe.clone());
            world.replay(shown.collect());
            world
        }))
    }

    /// What happened between two moments; at a gap, what was known behind it.
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
            // Into the next segment, which begins with what is known there.
            return self.world_near(until.max(next.from).min(next.until), true, utc);
        }
        match self.read(info)? {
            Err(damage) => Ok((from, Arrived::Nowhere(format!("What follows cannot be shown: {damage}.")))),
            Ok(segment) => {
                let begin = segment.entries.partition_point(|(at, _)| *at <= from);
                let end = segment.entries.partition_point(|(at, _)| *at <= until);
                let entries = segment.entries[begin..end].to_vec();
                match entries.get(MAX_PLAYED) {
                    // All that happened in one millisecond belongs together.
                    Some((at, _)) => {
                        let at = *at;
                        Ok((at, Arrived::Entries(entries.into_iter().take_while(|(then, _)| *then <= at).collect())))
                    }
                    None => Ok((until, Arrived::Entries(entries))),
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
            if let Ok(segment) = self.read(searched)? {
                let is_it = |of: &Option<LockName>| {
                    lock.is_none_or(|lock| of.as_ref().is_some_and(|of| of.path == lock.path && of.name == lock.name))
                };
                let mut events = segment.events.iter().filter(|(_, of)| is_it(of)).map(|(at, _)| *at);
                let found = if forward { events.find(|at| *at > from) } else { events.rfind(|at| *at < from) };
                if found.is_some() {
                    return Ok(found);
                }
            }
            info =
                if forward { self.past.segment_after(searched.id)? } else { self.past.segment_before(searched.id)? };
        }
        Ok(None)
    }

    /// A segment with all that is in it by now.
    fn read(&mut self, info: SegmentInfo) -> Result<Result<&ReadSegment, Damage>, StoreError> {
        let is_there = |read: &&ReadSegment| read.info.id == info.id && read.info.entries == info.entries;
        if self.segment.as_ref().as_ref().is_none_or(|x| !is_there(x)) {
            let (keyframe, entries) = (self.past.keyframe(info.id)?, self.past.entries(&info)?);
            match keyframe.and_then(|keyframe| Ok((keyframe, entries?))) {
                Ok((keyframe, entries)) => self.segment = Some(ReadSegment::new(info, keyframe, entries)),
                Err(damage) => return Ok(Err(damage)),
            }
        }
        Ok(self.segment.as_ref().ok_or(Damage::Entries))
    }
}

impl ReadSegment {
    fn new(info: SegmentInfo, keyframe: RecordedState, entries: Vec<TimedEntry>) -> Self {
        let mut state = keyframe.clone();
        let mut events = Vec::new();
        for (at, entry) in &entries {
            match state.play(*at, entry.clone()) {
                Played::Happenings(happenings) => {
                    events.extend(happenings.into_iter().map(|happening| (*at, happening.lock)));
                }
                Played::Findings(found) => {
                    let findings = found.raised.iter().chain(&found.cleared);
                    events.extend(findings.map(|finding| (*at, Some(finding.lock.clone()))));
                }
            }
        }
        Self { info, keyframe, entries, events }
    }
}

fn outline(past: &mut Past) -> Result<Outline, StoreError> {
    let Some((from, until)) = past.span()? else { return Ok(Outline::default()) };
    let gaps = past.gaps()?.into_iter().map(|(from, until, reason)| RecordedGap { from, until, reason });
    let findings = past.last_findings(MAX_OUTLINE_FINDINGS)?.into_iter();
    let findings = findings.map(|(at, severity, code)| RaisedFinding { at, severity, code });
    let density = past.density(from, until, OUTLINE_PARTS)?;
    Ok(Outline { from, until, density, gaps: gaps.collect(), findings: findings.collect() })
}

#[cfg(test)]
mod tests;
