//! The options by which commands read a recording instead of an ensemble, the moment or the time
//! that they read, and several recordings at once: files, and folders of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use tempfile::TempDir;

use super::output::note;
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::report::ReportedEnsemble;
use lockscope_model::text::human::date_and_time;
use lockscope_past::record::history::{CoveredTime, RecordedEnsemble};
use lockscope_past::record::{
    Combined, Past, PastTime, Playback, ReadError, RecordedState, SegmentDamage, SegmentInfo, combine, parts_of,
    recording_of,
};

const NO_SUCH_TIME: &str = "there is no such time on that day: write it with its zone, as in 2026-05-01T02:13:00Z";

/// What is wrong with a range that ends before it begins.
pub const EXCHANGED: &str = "--from is later than --to: exchange them";

/// How far the end of a range may be ahead. A later one is a range whose bounds are exchanged.
const MAX_AHEAD: Duration = Duration::from_secs(12 * 3600);

/// A recording that ended less than this ago is still written.
const STILL_WRITTEN: Duration = Duration::from_secs(10);

/// The moment at which a recording is read.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Past")]
pub(super) struct MomentOptions {
    /// Read this recording of `lockscope record` in place of an ensemble, or those of a folder,
    /// NAME.db each; can be given several times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["connect", "root", "lock", "timeout"])]
    pub store: Vec<PathBuf>,
    /// The moment to read of the recording: 02:13, 02:13:30, -10m or 2026-05-01T02:13:00Z [default:
    /// its end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "store")]
    pub at: Option<PastTime>,
}

/// A recording that a check reads, alone or beside the ensemble.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Past")]
pub(super) struct CheckedPast {
    /// Read this recording of `lockscope record` in place of an ensemble, or those of a folder,
    /// NAME.db each; can be given several times. With --connect, take from it since when locks are
    /// held and waited for, and who led
    #[arg(long, value_name = "FILE")]
    pub store: Vec<PathBuf>,
    /// The moment to read of the recording: 02:13, 02:13:30, -10m or 2026-05-01T02:13:00Z [default:
    /// its end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "store", conflicts_with = "connect")]
    pub at: Option<PastTime>,
}

/// The time range in which a recording is read.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Past")]
pub(super) struct SpanOptions {
    /// Read this recording of `lockscope record` in place of an ensemble
    #[arg(long, value_name = "FILE", conflicts_with_all = ["connect", "root", "lock", "timeout", "stop_after"])]
    pub store: Option<PathBuf>,
    /// Where to begin: 02:13, 02:13:30, -10m or 2026-05-01T02:13:00Z [default: the beginning of the
    /// recording]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "store")]
    pub from: Option<PastTime>,
    /// Where to end [default: its end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "store")]
    pub to: Option<PastTime>,
}

/// The known state at one moment.
pub struct PastMoment {
    pub at: Timestamp,
    pub state: RecordedState,
    /// The ensemble, as reports name it.
    pub ensemble: ReportedEnsemble,
    /// The beginning of the recorded time without a gap before this moment.
    pub since: Timestamp,
    /// The covered time up to the moment, if that lies in one; `None` if there are too many gaps to tell.
    pub coverage: Option<Vec<CoveredTime>>,
}

/// Resolves a written time in a recording with this end: `02:13` is the last one before the end.
pub fn resolve(time: PastTime, end: Timestamp, utc: bool) -> anyhow::Result<Timestamp> {
    time.resolve(end, utc).context(NO_SUCH_TIME)
}

/// Resolves the written bounds of a range, in a recording that ends at `last`. A time of day is the
/// last one before the end as the beginning, and the first one after the beginning as the end. If that
/// has not come yet, it is now, or the end of the recording if it is still written.
pub fn resolve_both(
    from: Option<PastTime>,
    to: Option<PastTime>,
    (last, now): (Timestamp, Timestamp),
    utc: bool,
) -> anyhow::Result<(Option<Timestamp>, Option<Timestamp>)> {
    let from = match from {
        Some(written @ PastTime::TimeOfDay(_)) => Some(resolve_unless_missing(written, (last, now), utc)?),
        written => written.map(|written| resolve(written, last, utc)).transpose()?,
    };
    let is_of_a_day = matches!(to, Some(PastTime::TimeOfDay(_)));
    let to = match (from, to) {
        (Some(from), Some(to)) => Some(to.resolve_after(from, last, utc).context(NO_SUCH_TIME)?),
        (None, to) => to.map(|to| resolve(to, last, utc)).transpose()?,
        (Some(_), None) => None,
    };
    let Some(ahead) = to.filter(|to| is_of_a_day && *to > now) else { return Ok((from, to)) };
    ensure!(ahead.since(now) <= MAX_AHEAD, "{EXCHANGED}");
    Ok((from, Some(if now.since(last) < STILL_WRITTEN { last } else { now })))
}

/// Resolves a time of day as a beginning. Fails if the recording ended within a day, and before
/// the last such time: an earlier one is not what was asked for.
fn resolve_unless_missing(time: PastTime, (last, now): (Timestamp, Timestamp), utc: bool) -> anyhow::Result<Timestamp> {
    let today = resolve(time, now, utc)?;
    let ended_lately = now.since(last) < MAX_AHEAD * 2;
    ensure!(
        !ended_lately || today <= last,
        "nothing was recorded at {} or later: the recording ends at {}; name the day for an earlier one",
        date_and_time(today, utc),
        date_and_time(last, utc)
    );
    resolve(time, last, utc)
}

/// Returns whether two times are of different days.
fn is_another_day(one: Timestamp, other: Timestamp, utc: bool) -> bool {
    let day = |at| date_and_time(at, utc).split(' ').next().map(str::to_owned);
    day(one) != day(other)
}

/// Returns the part of a recording that the options name. A missing bound is that of the recording.
/// Fails when nothing was recorded within the part.
pub fn span(
    past: &mut Past,
    from: Option<PastTime>,
    to: Option<PastTime>,
    store: &Path,
    utc: bool,
) -> anyhow::Result<TimeRange> {
    let Some(TimeRange { from: first, to: last }) = past.span()? else {
        bail!("nothing was recorded in {} yet", store.display())
    };
    let (named_day, now) = (from.is_some_and(|from| !matches!(from, PastTime::TimeOfDay(_))), now());
    let (from, to) = resolve_both(from, to, (last, now), utc)?;
    if let Some(day) = from.filter(|from| !named_day && is_another_day(*from, last, utc)) {
        note(&format!("read from {} on: name the day for another one", date_and_time(day, utc)));
    }
    let (from, to) = (from.or(to.filter(|to| *to < first)), to.or(from.filter(|from| *from > last)));
    let time = TimeRange { from: from.unwrap_or(first), to: to.unwrap_or(last) };
    ensure!(time.from <= time.to, "{EXCHANGED}");
    if !past.has_any(time)? {
        return Err(not_recorded_within(past, time, utc));
    }
    Ok(time)
}

/// A recording as one file, put together where it lies in several.
pub struct WholeStore {
    pub path: PathBuf,
    /// Where it was put together; deleted at the end.
    pub folder: Option<TempDir>,
}

impl WholeStore {
    /// Finds the tables of a recording.
    pub fn tables(store: &Path) -> anyhow::Result<Self> {
        Self::find(store, |_| Ok(Combined::Tables))
    }

    /// Finds the tables and the stream of a time.
    pub fn stream(store: &Path, from: Option<PastTime>, to: Option<PastTime>, utc: bool) -> anyhow::Result<Self> {
        Self::find(store, |last| {
            let (from, to) = resolve_both(from, to, (last, now()), utc)?;
            let (from, to) = (from.unwrap_or(Timestamp(i64::MIN)), to.unwrap_or(Timestamp(i64::MAX)));
            Ok(Combined::Stream(TimeRange { from, to }))
        })
    }

    fn find(store: &Path, what: impl FnOnce(Timestamp) -> anyhow::Result<Combined>) -> anyhow::Result<Self> {
        let parts = parts_of(store).with_context(|| format!("cannot read the folder of {}", store.display()))?;
        if parts.len() < 2 {
            let path = parts.into_iter().next().unwrap_or_else(|| store.to_owned());
            return Ok(Self { path, folder: None });
        }
        let ends = parts.iter().filter_map(|part| part_span(part)).map(|time| time.to);
        let last = ends.max().with_context(|| format!("nothing was recorded in {} yet", store.display()))?;
        let folder = tempfile::tempdir().context("cannot create a temporary folder: set TMPDIR to one with room")?;
        let path = folder.path().join(store.file_name().unwrap_or(store.as_os_str()));
        let what = what(last)?;
        combine(&parts, &path, what)?;
        ensure!(
            Past::open(&path)?.span()?.is_some(),
            "nothing was recorded in that time: name another with --from and --to"
        );
        Ok(Self { path, folder: Some(folder) })
    }
}

/// Returns the time of a part of a recording; `None` where it is empty or cannot be read.
fn part_span(part: &Path) -> Option<TimeRange> {
    Past::open(part).ok()?.span().ok()?
}

/// Returns the files of a recording up to the one that has a moment, which comes last, or the last one
/// before it; without a moment, all of them.
fn parts_until(store: &Path, at: Option<PastTime>, utc: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut parts = parts_of(store).with_context(|| format!("cannot read the folder of {}", store.display()))?;
    if parts.len() > 1 {
        parts.sort_by_cached_key(|part| part_span(part).map(|time| time.from));
        let end = parts.last().and_then(|part| part_span(part)).map(|time| time.to);
        if let Some(at) = at.zip(end).map(|(at, end)| resolve(at, end, utc)).transpose()? {
            parts.retain(|part| part_span(part).is_some_and(|time| time.from <= at));
        }
    }
    if parts.is_empty() {
        parts.push(store.to_owned());
    }
    Ok(parts)
}

/// Reads the known state at a moment; without one, at the end of the recording.
pub fn moment(store: &Path, at: Option<PastTime>, utc: bool) -> anyhow::Result<PastMoment> {
    let mut parts = parts_until(store, at, utc)?;
    let store = &parts.pop().unwrap_or_else(|| store.to_owned());
    let mut past = Past::open(store)?;
    let Some(TimeRange { to: end, .. }) = past.span()? else {
        bail!("nothing was recorded in {} yet", store.display())
    };
    let at = at.map_or(Ok(end), |at| resolve(at, end, utc))?;
    let playback = start(past, store, at, utc)?;
    let segment = *playback.segment();
    let (state, mut past) = playback.into_parts();
    let ensemble =
        ReportedEnsemble::new(&past.connect(segment.run)?, state.table.session()).with_view(state.table.view());
    let coverage = past.coverage()?.map(|mut covered| {
        covered.retain(|covered| covered.time.contains(at));
        for covered in &mut covered {
            covered.time.to = at;
        }
        covered
    });
    let mut moment = PastMoment { at, state, ensemble, since: past.run_start(&segment)?, coverage };
    for earlier in parts.iter().rev() {
        if !moment.goes_back(&mut Past::open(earlier)?, &segment)? {
            break;
        }
    }
    Ok(moment)
}

impl PastMoment {
    /// Takes in the file before the one that has the moment. Returns whether nothing is missing between
    /// both, so that the time without a gap reaches into it.
    fn goes_back(&mut self, earlier: &mut Past, segment: &SegmentInfo) -> anyhow::Result<bool> {
        let Some(last) = earlier.segments()?.pop() else { return Ok(false) };
        if last.until != self.since || last.run != segment.run {
            return Ok(false);
        }
        self.since = earlier.run_start(&last)?;
        let before = earlier.coverage()?.and_then(|mut covered| covered.pop());
        for covered in self.coverage.iter_mut().flatten() {
            covered.time.from = before
                .iter()
                .filter(|before| before.time.to == covered.time.from && before.source == covered.source)
                .map(|before| before.time.from)
                .next()
                .unwrap_or(covered.time.from);
        }
        Ok(true)
    }
}

/// Opens a recording at a moment.
fn start(past: Past, store: &Path, at: Timestamp, utc: bool) -> anyhow::Result<Playback> {
    match Playback::start(past, at) {
        Ok(Some(playback)) => Ok(playback),
        Ok(None) => Err(not_recorded(store, at, utc)),
        Err(ReadError::Damaged(damage)) => Err(damaged(store, at, damage, utc)),
        Err(ReadError::Store(error)) => Err(error.into()),
    }
}

/// Opens a recording at a moment, or at the first later one with a known state. Damaged parts are
/// named and left out.
pub fn start_or_next(mut past: Past, store: &Path, mut at: Timestamp, utc: bool) -> anyhow::Result<Playback> {
    loop {
        let segment = match past.segment_at(at)? {
            Some(segment) => Some(segment),
            None => past.segment_from(at)?,
        };
        let damage = match Playback::start_or_next(past, at) {
            Ok(Some(playback)) => return Ok(playback),
            Ok(None) => return Err(not_recorded(store, at, utc)),
            Err(ReadError::Damaged(damage @ SegmentDamage::NeedsMemory(_))) => {
                return Err(damaged(store, at, damage, utc));
            }
            Err(ReadError::Damaged(damage)) => damage,
            Err(ReadError::Store(error)) => return Err(error.into()),
        };
        past = Past::open(store)?;
        let Some(segment) = segment else { return Err(damaged(store, at, damage, utc)) };
        note(&left_out(store, &segment, damage, utc));
        let Some(next) = past.segment_after(segment.id)? else { return Err(damaged(store, at, damage, utc)) };
        at = next.from;
    }
}

/// Returns the sentence about a segment that cannot be read.
pub fn left_out(store: &Path, segment: &SegmentInfo, damage: SegmentDamage, utc: bool) -> String {
    let (from, until) = (date_and_time(segment.from, utc), date_and_time(segment.until, utc));
    let store = store.display();
    if matches!(damage, SegmentDamage::NeedsMemory(_)) {
        return format!("{store} is left out from {from} to {until}: {damage}");
    }
    format!("{store} is damaged from {from} to {until}, which is left out: {damage}")
}

fn not_recorded_within(past: &mut Past, TimeRange { from, to }: TimeRange, utc: bool) -> anyhow::Error {
    let known = recorded_around(past, from, utc);
    anyhow::anyhow!("nothing was recorded from {} to {}: {known}", date_and_time(from, utc), date_and_time(to, utc))
}

/// Returns the error that a recording does not cover a moment, and what it covers.
pub fn not_recorded(store: &Path, at: Timestamp, utc: bool) -> anyhow::Error {
    let known = Past::open(store).map(|mut past| recorded_around(&mut past, at, utc));
    let known = known.unwrap_or_else(|error| error.to_string());
    anyhow::anyhow!("nothing was recorded at {}: {known}", date_and_time(at, utc))
}

/// Describes what the recording has before and after a moment that it does not cover.
fn recorded_around(past: &mut Past, at: Timestamp, utc: bool) -> String {
    let time = |at| date_and_time(at, utc);
    match (past.around(at).unwrap_or_default(), past.span().unwrap_or_default()) {
        ((Some(before), Some(after)), _) => format!("there is a gap from {} to {}", time(before), time(after)),
        (_, Some(all)) => format!("the recording begins at {} and ends at {}", time(all.from), time(all.to)),
        (_, None) => "the recording is empty".to_owned(),
    }
}

fn damaged(store: &Path, at: Timestamp, damage: SegmentDamage, utc: bool) -> anyhow::Error {
    let (store, at) = (store.display(), date_and_time(at, utc));
    if matches!(damage, SegmentDamage::NeedsMemory(_)) {
        return anyhow::anyhow!("{store} at {at}: {damage}");
    }
    anyhow::anyhow!("{store} is damaged at {at}: {damage}; name another time")
}

/// The most recordings of one command.
const MAX_STORES: usize = 1_000;

/// The recordings that a command reads.
pub enum Stores {
    One(PathBuf),
    /// Several files, or those of a folder.
    Several(Vec<NamedStore>),
}

/// One of several recordings.
#[derive(Clone, Debug)]
pub(super) struct NamedStore {
    /// The name of the file without its extension, or the path where two files have the same name.
    pub name: String,
    pub path: PathBuf,
}

impl Stores {
    /// Finds the recordings that were named. Those of a folder are its files `*.db`, and the files of a
    /// recording in several are one.
    pub fn find(named: &[PathBuf]) -> anyhow::Result<Self> {
        if let [only] = named
            && !only.is_dir()
        {
            return Ok(Self::One(only.clone()));
        }
        let mut paths = Vec::new();
        for path in named {
            if path.is_dir() {
                paths.extend(recordings_in(path)?);
            } else {
                paths.push(path.clone());
            }
        }
        ensure!(paths.len() <= MAX_STORES, "there are {} recordings: name at most {MAX_STORES}", paths.len());
        let stem = |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let is_alone = |name: &str| paths.iter().filter(|path| stem(path) == name).count() == 1;
        let name = |path: &PathBuf| Some(stem(path)).filter(|name| is_alone(name));
        let named = paths.iter().map(|path| NamedStore {
            name: name(path).unwrap_or_else(|| path.to_string_lossy().into_owned()),
            path: path.clone(),
        });
        Ok(Self::Several(named.collect()))
    }
}

fn recordings_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in read {
        let path = entry.with_context(|| format!("cannot read the folder {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "db") && path.is_file() {
            // All files of a recording are one.
            found.push(recording_of(&path).unwrap_or(path));
        }
    }
    ensure!(
        !found.is_empty(),
        "{} is not a recording, and has none: name a file that `lockscope record` made, or a folder with files *.db",
        folder.display()
    );
    found.sort();
    found.dedup();
    Ok(found)
}

impl NamedStore {
    /// Returns the settings under which the output names this recording.
    pub(super) fn settings(&self, settings: &ResolvedOptions) -> ResolvedOptions {
        ResolvedOptions { context: Some(self.name.clone()), is_one_of_several: true, ..settings.clone() }
    }

    /// Reads of which ensemble it is, and how its clock differs. The state at the end tells both.
    pub(super) fn ensemble(&self, settings: &ResolvedOptions) -> anyhow::Result<RecordedEnsemble> {
        let at_end = moment(&self.path, None, settings.utc)?;
        Ok(RecordedEnsemble {
            context: self.name.clone(),
            connect: at_end.ensemble.connect().to_owned(),
            clock_ahead_ms: at_end.state.table.clock().ahead_ms(),
        })
    }
}

/// The recordings that a command could not read.
#[derive(Debug, Default)]
pub struct Unread(Vec<(String, String)>);

impl Unread {
    /// Names a recording that cannot be read, on standard error.
    pub fn add(&mut self, store: &NamedStore, error: &anyhow::Error) {
        note(&format!("{}: {error:#}", store.name));
        self.0.push((store.name.clone(), format!("{error:#}")));
    }

    /// Returns their names, each with the reason.
    pub fn each(&self) -> &[(String, String)] {
        &self.0
    }

    /// Fails if a recording could not be read.
    pub fn end(self, all: usize) -> anyhow::Result<()> {
        let names: Vec<String> = self.0.into_iter().map(|(name, _)| name).collect();
        ensure!(names.is_empty(), "{} of {all} recordings could not be read: {}", names.len(), names.join(", "));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-05-02 17:10 UTC.
    const NOW: Timestamp = Timestamp(1_777_741_800_000);

    /// Returns the range that is written so at 17:10, for a recording that ended this many minutes
    /// before.
    fn range(from: &str, to: &str, ended: i64) -> Result<String, String> {
        let written = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a time"));
        let (from, to) = resolve_both(written(from), written(to), (Timestamp(NOW.0 - ended * 60_000), NOW), true)
            .map_err(|error| error.to_string())?;
        let shown = |at: Option<Timestamp>| at.map_or("-".to_owned(), |at| date_and_time(at, true)[5..16].to_owned());
        Ok(format!("{} to {}", shown(from), shown(to)))
    }

    #[test]
    fn a_range_ends_on_the_day_on_which_it_begins_or_the_next() {
        for (from, to, ended, expected) in [
            ("17:00", "18:00", 0, "05-02 17:00 to 05-02 17:10"),
            ("16:00", "17:00", 0, "05-02 16:00 to 05-02 17:00"),
            ("17:20", "18:00", 0, "05-01 17:20 to 05-01 18:00"),
            ("22:00", "02:13", 0, "05-01 22:00 to 05-02 02:13"),
            ("16:00", "now", 0, "05-02 16:00 to 05-02 17:10"),
            ("-10m", "now", 0, "05-02 17:00 to 05-02 17:10"),
            ("", "17:00", 0, "- to 05-02 17:00"),
            ("16:00", "18:00", 30, "05-02 16:00 to 05-02 17:10"),
            ("2026-05-01T10:00:00Z", "11:00", 0, "05-01 10:00 to 05-01 11:00"),
            ("2030-05-01T10:00:00Z", "2030-05-01T11:00:00Z", 0, "05-01 10:00 to 05-01 11:00"),
        ] {
            assert_eq!(range(from, to, ended), Ok(expected.to_owned()), "{from} to {to}");
        }
    }

    #[test]
    fn a_range_that_ends_before_it_begins_or_was_not_recorded_is_refused() {
        assert_eq!(range("16:00", "15:00", 0), Err(EXCHANGED.to_owned()));
        assert_eq!(range("-10m", "16:55", 0), Err(EXCHANGED.to_owned()));
        let refused = range("17:00", "17:05", 30).expect_err("it ended at 16:40");
        assert!(refused.starts_with("nothing was recorded at 2026-05-02 17:00"), "{refused}");
    }
}
