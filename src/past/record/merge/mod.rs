//! Completes a recording with one that was made from transaction logs.
//!
//! What the recorder saw exactly stays. Its gaps are filled with what the logs have, its bounds get
//! exact times, and each row says which of both it is from. All of it is one transaction: after a
//! failure the recording is as it was.
//!
//! # The stream
//!
//! The log's part begins exactly where the recording's part ends, so there is no gap between them.
//! Each part begins with a state of its own, as after a gap: the recorder and the log do not know
//! the same of each node. What lies between the two parts is a *seam*, a
//! [step](super::PlaybackStep::Gap) without a length.
//!
//! Both parts have the times of their own clocks, the recorder's and the leader's.
//!
//! # Files
//!
//! The sets of times in `tables::spans` say which times are to be filled. `stream` fills the
//! stream, and `tables::merge` completes the rows.

mod stream;

use std::path::{Path, PathBuf};

use self::stream::StreamMerge;
use super::past::Past;
use super::store;
use super::store::{Store, StoreError};
use super::tables::merge;
use super::tables::merge::ContenderMerge;
use super::tables::spans::{Spans, TooManySpans, known};
use crate::record::SegmentDamage;
use lockscope_base::znode::{TimeRange, ZnodePath, Zxid, escaped};

#[cfg(test)]
mod tests;

/// The most times that are filled at once.
const MAX_FILLED: usize = 10_000;

/// What a merge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The number of contenders that both the recorder and the log have.
    pub rows_both: u64,
    /// The number of contenders that only the log has.
    pub rows_added: u64,
    /// The number of contenders of which the recorder claimed what the log disproves.
    pub rows_contradicted: u64,
    /// The number of gaps that vanished or became shorter.
    pub gaps_filled: u64,
    /// By how many milliseconds the recorder's clock was ahead of the leader's; negative if it was
    /// behind, `None` if no contender tells.
    pub clock_ms: Option<i64>,
}

/// What a log covers.
#[derive(Clone, Debug)]
pub(crate) struct LogCoverage<'a> {
    /// The time to complete.
    pub time: TimeRange,
    /// The nodes below which locks are followed.
    pub roots: &'a [ZnodePath],
    /// The first and the last transaction.
    pub zxids: (Zxid, Zxid),
    /// The missing transactions, as those before and behind them.
    pub missing: Vec<(Zxid, Zxid)>,
}

/// A recording that is to be completed. Nobody else writes it meanwhile.
#[derive(Debug)]
pub(crate) struct MergeTarget {
    store: Store,
}

impl MergeTarget {
    /// Opens a recording for this. Changes nothing. Fails while a recorder writes it, and when it
    /// is none.
    pub fn open(path: &Path) -> Result<Self, MergeError> {
        let mut store = Store::open_to_complete(path)?;
        let mut chroot = None;
        store.sql(|sql| {
            let mut query = sql.prepare("SELECT connect FROM run")?;
            let mut rows = query.query([])?;
            while let (None, Some(row)) = (&chroot, rows.next()?) {
                chroot = chroot_of(&row.get::<_, String>(0)?);
            }
            Ok(())
        })?;
        match chroot {
            Some(chroot) => Err(MergeError::Chroot { path: path.to_owned(), chroot }),
            None => Ok(Self { store }),
        }
    }

    /// Completes it with a recording that was made from logs. `should_stop` is polled during the
    /// work. Blocks the thread meanwhile.
    pub fn complete(
        mut self,
        log: &Path,
        covered: &LogCoverage<'_>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Merged, MergeError> {
        self.refuse_other_roots(covered.roots)?;
        let mut log = Past::open(log)?;
        let of_log = log.store.sql(|sql| known(sql))?;
        let of_log = self.few(of_log)?;
        let recorded = self.store.sql(|sql| known(sql))?;
        let recorded = self.few(recorded)?;
        let asked = self.few(asked(covered.time))?;
        let of_log = self.few(of_log.within(&asked))?;
        let filled = self.few(of_log.without(&recorded))?;
        if filled.len() > MAX_FILLED {
            return Err(MergeError::TooManyGaps(self.path()));
        }
        self.store.sql(|sql| {
            store::set_cache(sql, None)?;
            // Segments get other numbers, and their parts follow.
            sql.pragma_update(None, "foreign_keys", false)?;
            sql.execute_batch("BEGIN IMMEDIATE")
        })?;
        let merge = MergeRun { target: &mut self, log: &mut log, covered, of_log, recorded, filled, should_stop };
        let merged = merge.all();
        let end = if merged.as_ref().is_ok_and(|(_, has_changed)| *has_changed) { "COMMIT" } else { "ROLLBACK" };
        let ended = self.store.sql(|sql| sql.execute_batch(end));
        let (merged, _) = merged?;
        ended?;
        Ok(merged)
    }

    fn refuse_other_roots(&mut self, roots: &[ZnodePath]) -> Result<(), MergeError> {
        let mut other = None;
        self.store.sql(|sql| {
            let mut query = sql.prepare("SELECT path FROM lock")?;
            let mut rows = query.query([])?;
            while let (None, Some(row)) = (&other, rows.next()?) {
                let path: String = row.get(0)?;
                let is_within = |path: &ZnodePath| roots.iter().any(|root| path.is_within(root));
                other = ZnodePath::new(&path).ok().filter(|path| !is_within(path));
            }
            Ok(())
        })?;
        let lock =
            |lock: ZnodePath| MergeError::OtherRoots { path: self.path(), lock: escaped(lock.as_str()).into_owned() };
        other.map_or(Ok(()), |other| Err(lock(other)))
    }

    fn path(&self) -> PathBuf {
        self.store.path().to_owned()
    }

    fn few<T>(&self, spans: Result<T, TooManySpans>) -> Result<T, MergeError> {
        spans.map_err(|TooManySpans| MergeError::TooManyGaps(self.path()))
    }
}

/// The work within the transaction.
struct MergeRun<'a> {
    target: &'a mut MergeTarget,
    log: &'a mut Past,
    covered: &'a LogCoverage<'a>,
    /// The times that the log knows.
    of_log: Spans,
    /// The times that the recording knows.
    recorded: Spans,
    /// The times that only the log knows.
    filled: Spans,
    should_stop: &'a dyn Fn() -> bool,
}

impl MergeRun<'_> {
    /// Returns what was done, and whether something changed.
    fn all(mut self) -> Result<(Merged, bool), MergeError> {
        let mut has_changed = self.sql(|sql| {
            let is_older = store::complete_older(sql)?;
            Ok(merge::prove_ends(sql)? || is_older)
        })?;
        let (mut merged, rows_changed) = self.contenders()?;
        has_changed |= rows_changed;
        has_changed |= self.others()?;
        merged.gaps_filled = self.gaps()?;
        if !self.filled.is_empty() {
            StreamMerge::new(&mut self.target.store, self.log, &self.filled, self.should_stop)?.fill()?;
        }
        Ok((merged, has_changed || merged.gaps_filled > 0 || !self.filled.is_empty()))
    }

    fn sql<T>(&mut self, act: impl FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.target.store.sql(act)
    }

    fn contenders(&mut self) -> Result<(Merged, bool), MergeError> {
        let (known, time) = (self.of_log.clone(), self.covered.time);
        let mut rows = self.sql(|sql| ContenderMerge::new(sql, &known, time))?;
        let mut after = i64::MIN;
        loop {
            if (self.should_stop)() {
                return Err(MergeError::Interrupted);
            }
            let batch = self.log.store.sql(|sql| merge::read_rows(sql, after))?;
            let Some(last) = batch.last() else { break };
            after = last;
            self.sql(|sql| rows.take(sql, &batch))?;
        }
        if rows.found == 0 && self.saw_others(&rows)? {
            return Err(MergeError::OtherEnsemble(self.target.path()));
        }
        self.sql(|sql| rows.finish(sql))?;
        let merged = Merged {
            rows_both: rows.both,
            rows_added: rows.added,
            rows_contradicted: rows.contradicted,
            gaps_filled: 0,
            clock_ms: rows.clock_ms(),
        };
        Ok((merged, rows.has_changed))
    }

    /// Returns whether the recorder saw a node come that the log should have.
    fn saw_others(&mut self, rows: &ContenderMerge<'_>) -> Result<bool, StoreError> {
        let LogCoverage { zxids, missing, .. } = self.covered;
        let is_missing = |zxid: Zxid| missing.iter().any(|(after, before)| *after < zxid && zxid < *before);
        self.target.store.sql(|sql| rows.saw_any(sql, *zxids, is_missing))
    }

    fn others(&mut self) -> Result<bool, MergeError> {
        let Self { target, log, of_log, filled, recorded, covered, .. } = self;
        let ended = recorded.bounds().map(|known| known.to);
        let goes_beyond = ended.filter(|ended| filled.bounds().is_some_and(|filled| filled.to > *ended));
        let changed = log.store.sql(|log| {
            Ok(target.store.sql(|sql| {
                goes_beyond.map_or(Ok(()), |ended| merge::close_findings(sql, ended))?;
                merge::add_runs(sql, filled)?;
                merge::add_coverage(sql, log, filled)?;
                merge::add_activity(sql, log, filled)?;
                merge::add_findings(sql, log, filled)?;
                merge::complete_ensemble(sql, log, filled.iter())?;
                let tried = of_log.bounds().map_or(Ok(false), |time| merge::complete_attempts(sql, log, time))?;
                Ok(merge::complete_sessions(sql, log, covered.time)? || tried)
            }))
        })?;
        Ok(changed?)
    }

    /// Reduces the gaps, and adds those between the recording and the log.
    fn gaps(&mut self) -> Result<u64, MergeError> {
        let of_log = self.of_log.clone();
        let reduced = self.sql(|sql| merge::reduce_gaps(sql, &of_log))?;
        let between = self.between();
        let between = self.target.few(between)?;
        self.sql(|sql| merge::add_gaps(sql, &between))?;
        Ok(reduced)
    }

    /// Returns what lies between the recording and the times that the log adds before and behind it.
    fn between(&self) -> Result<Spans, TooManySpans> {
        let (recorded, filled) = (span_of(&self.recorded)?, &self.filled);
        span_of(&recorded.and(filled)?)?.without(&recorded)?.without(filled)
    }
}

/// Returns all times from the first to the last of a set.
fn span_of(times: &Spans) -> Result<Spans, TooManySpans> {
    let mut whole = Spans::default();
    times.bounds().map_or(Ok(()), |bounds| whole.add(bounds))?;
    Ok(whole)
}

fn asked(time: TimeRange) -> Result<Spans, TooManySpans> {
    let mut asked = Spans::default();
    asked.add(time)?;
    Ok(asked)
}

/// Returns the chroot in the name of a recorded ensemble, escaped; `None` if it has none. Folders of
/// logs are no addresses with ports.
fn chroot_of(connect: &str) -> Option<String> {
    let (servers, chroot) = connect.split_once('/')?;
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_address = |server: &str| server.rsplit_once(':').is_some_and(|(_, port)| is_port(port.trim()));
    (!chroot.is_empty() && servers.split(',').any(is_address)).then(|| escaped(&format!("/{chroot}")).into_owned())
}

/// Why a recording was not completed. It is then as it was. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The recording cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The recorder saw nodes that the logs should have, and they have none of them.
    #[error("{} saw other nodes than those in the transaction logs: name the files of its ensemble, and the same --root and --lock", .0.display())]
    OtherEnsemble(PathBuf),
    /// The recording has locks that the import leaves out.
    #[error("{} has the lock {lock}, which lies below no --root of this import: name the same --root as in the recording", path.display())]
    OtherRoots {
        /// The path of the recording.
        path: PathBuf,
        /// The lock, escaped.
        lock: String,
    },
    /// The paths of the recording begin at a chroot.
    #[error("{} was recorded below {chroot}, and the logs have whole paths: name a new file with --store", path.display())]
    Chroot {
        /// The path of the recording.
        path: PathBuf,
        /// The chroot, escaped.
        chroot: String,
    },
    /// The recording has too many gaps.
    #[error("{} has too many gaps to fill at once: name a shorter time with --from and --to", .0.display())]
    TooManyGaps(PathBuf),
    /// A part of the recording beside a gap takes more memory than is allowed.
    #[error("{} cannot be completed: a part beside a gap is too large: {damage}", path.display())]
    NeedsMemory {
        /// The path of the recording.
        path: PathBuf,
        /// What it takes.
        damage: SegmentDamage,
    },
    /// A part of the recording beside a gap cannot be read.
    #[error("{} is damaged beside a gap: {damage}; cut out what is not with `lockscope cut`, and complete that", path.display())]
    Damaged {
        /// The path of the recording.
        path: PathBuf,
        /// The kind of damage.
        damage: SegmentDamage,
    },
    /// The caller cancelled it.
    #[error("interrupted: nothing was changed")]
    Interrupted,
}
