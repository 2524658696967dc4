//! Plays transactions on a tree, and records what they mean for the locks and what they tell of the
//! ensemble.
//!
//! The epochs of the transactions tell when another leader began, and when nothing was written.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ImportError;
use super::tree::{FollowedTree, SingleNodeLocks};
use super::writing::{NotWritten, WritingThread};
use crate::record::tables::{ProvenTime, RecordedAttempts, RowSource};
use crate::record::{BatchRecorder, BatchWriter, Bounds, RecordOptions, RecordedState};
use lockscope_base::disk::{CreateTxn, Entry, Paths, Txn, TxnHeader};
use lockscope_base::znode::{SessionId, TimeBounds, TimeRange, Timestamp, ZnodePath, Zxid};
use lockscope_model::ensemble::{EnsembleEvent, EnsembleEventKind};
use lockscope_model::queue::{Change, ConnectionState, Deleter};

/// The tree, and the recording of what happens in it.
pub struct Player {
    pub followed: FollowedTree,
    pub recording: ImportRecording,
    /// Contenders that stand although no file describes them: what they are is known only by their
    /// deletion. The locks are read once all of them are gone, since one may be a holder.
    undescribed: BTreeSet<ZnodePath>,
    taken: SingleNodeLocks,
    is_live: bool,
    /// Whether it stays unknown what stands.
    is_blind: bool,
}

impl Player {
    pub fn new(followed: FollowedTree, recording: ImportRecording) -> Self {
        Self {
            followed,
            recording,
            undescribed: BTreeSet::new(),
            taken: SingleNodeLocks::default(),
            is_live: false,
            is_blind: false,
        }
    }

    /// Returns whether the locks are known and recorded.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Returns whether it stays unknown what stands.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Returns whether something is recorded.
    pub fn has_begun(&self) -> bool {
        self.recording.at.0 != i64::MIN
    }

    /// Goes on with the nodes of the tree, and with those that stand without being in it.
    pub fn goes_on(&mut self, undescribed: BTreeSet<ZnodePath>, time: Timestamp) -> Result<(), ImportError> {
        self.taken = SingleNodeLocks::of(&self.followed.tree);
        self.undescribed = undescribed;
        self.undescribed.retain(|path| self.followed.tree.may_contend(path));
        (self.is_live, self.is_blind) = (false, false);
        self.reads_if_described(time)
    }

    /// Goes on without knowing what stands: nothing is recorded.
    pub fn goes_on_blindly(&mut self) {
        (self.is_live, self.is_blind) = (false, true);
    }

    fn reads_if_described(&mut self, time: Timestamp) -> Result<(), ImportError> {
        if !self.is_live && !self.is_blind && self.undescribed.is_empty() {
            self.is_live = true;
            self.recording.passes(time)?;
            let changes = self.followed.read_all();
            self.recording.reads(changes);
        }
        Ok(())
    }

    /// Plays one transaction.
    pub fn play(&mut self, Entry { header, txn, .. }: Entry<'_>) -> Result<(), ImportError> {
        if self.is_live {
            self.recording.passes(header.time)?;
        }
        match txn {
            txn if txn.is_refused_as_existing() => self.refused(header.session),
            Txn::Multi(multi) if multi.failure().is_some() => {}
            Txn::Multi(multi) => multi.parts().for_each(|part| self.part(header, part)),
            Txn::CloseSession { deleted } => self.closes(header, deleted),
            part => self.part(header, part),
        }
        self.reads_if_described(header.time)
    }

    fn part(&mut self, header: TxnHeader, txn: Txn<'_>) {
        match txn {
            Txn::Create(create) => self.creates(header, &create),
            Txn::Delete { path, by_servers } => {
                let by = (!by_servers).then_some(Deleter::Session(header.session));
                self.deletes(&path, header.zxid, by);
            }
            Txn::SetData { path, data, version } => self.writes(header, &path, data, version),
            Txn::SetAcl { path, version, .. } => self.followed.tree.set_acl(&path, version),
            // Checks and sessions that begin change no node.
            _ => {}
        }
    }

    fn creates(&mut self, header: TxnHeader, create: &CreateTxn<'_>) {
        if !self.followed.tree.is_followed(&create.path) {
            return;
        }
        let Ok(path) = ZnodePath::new(&create.path) else { return };
        if self.followed.tree.create(&path, create, header.zxid, header.time) {
            if let Some(owner) = create.kind.session().filter(|_| self.followed.tree.is_single_node_lock(&path)) {
                self.taken.takes(&path, owner);
            }
            self.records(|followed| followed.created(&path, header.zxid));
        }
    }

    fn writes(&mut self, header: TxnHeader, path: &str, data: &[u8], version: i32) {
        if self.followed.tree.set(path, data, version, header.zxid, header.time)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.records(|followed| followed.written(&path, header.zxid));
        }
    }

    fn deletes(&mut self, path: &str, zxid: Zxid, by: Option<Deleter>) {
        self.undescribed.remove(path);
        if self.followed.tree.delete(path, zxid)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.taken.released(&path);
            self.records(|followed| followed.deleted(&path, zxid, by));
        }
    }

    /// Records a refused create, if it may have been for a lock that was taken. Where only a part of
    /// the nodes is followed, one without a known lock may have been for any other node.
    fn refused(&mut self, session: SessionId) {
        let follows_all = self.followed.tree.follows_all();
        let lock = self.taken.tried_by(session, follows_all);
        if self.is_live && self.taken.is_any() && (follows_all || lock.is_some()) {
            self.recording.attempted(session, lock);
        }
    }

    fn records(&mut self, changes: impl FnOnce(&mut FollowedTree) -> Vec<Change>) {
        if self.is_live {
            let changes = changes(&mut self.followed);
            self.recording.apply(changes);
        }
    }

    /// Deletes the ephemeral nodes of a session that ends.
    fn closes(&mut self, header: TxnHeader, deleted: Option<Paths<'_>>) {
        let by = if header.is_expiry() { Deleter::Expiry } else { Deleter::Close };
        let owned = self.ended_with(header.session, deleted);
        for path in owned {
            self.deletes(path.as_str(), header.zxid, Some(by));
        }
        self.taken.closed(header.session);
    }

    /// Returns the nodes that end with a session: known ones in the order in which they may go, then
    /// those that only the transaction names.
    fn ended_with(&self, session: SessionId, deleted: Option<Paths<'_>>) -> Vec<ZnodePath> {
        let mut owned = self.followed.owned_by(session);
        if let Some(deleted) = deleted {
            let named: BTreeSet<ZnodePath> = deleted.iter().filter_map(|path| ZnodePath::new(&path).ok()).collect();
            // A later node of that session cannot be in a list made before: sessions end last.
            owned.retain(|path| named.contains(path));
            let undescribed = named.into_iter().filter(|path| self.undescribed.contains(path)).collect::<Vec<_>>();
            owned.extend(undescribed);
        }
        owned
    }
}

/// The recorded time after which what happened is written.
const WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// The recorded bytes after which what happened is written, uncompressed.
const WRITE_BYTES: u64 = 4 << 20;

/// The recorded time between two looks for findings, at least.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The recorded time until the next look while nothing happens; it doubles with each look.
const QUIET_MS: u64 = 10_000;

/// How often that time doubles: up to 640 s.
const MAX_DOUBLINGS: u32 = 6;

/// After so many looks while nothing happens, a week, the time doubles without a limit.
const MANY_LOOKS: u32 = 1_000;

/// The most doublings, which make [`QUIET_MS`] longer than any time.
const MOST_DOUBLINGS: u32 = 49;

/// The part of the contenders that must have changed before the next look, within
/// [`QUIET_MS`]. A look visits all of them.
const CHANGED_PART: usize = 4;

/// A new recording, and the state at its end.
pub struct ImportRecording {
    path: PathBuf,
    state: RecordedState,
    batches: BatchRecorder,
    writer: WritingThread,
    began_at: Timestamp,
    at: Timestamp,
    written_at: Timestamp,
    looked_at: Timestamp,
    changes_since_look: usize,
    /// The number of looks since the last change.
    quiet_looks: u32,
    /// Whether a look starts over, because the locks were not seen for a while.
    was_cut: bool,
    pub changes: u64,
    /// The number of attempts in vain.
    pub attempts: u64,
}

impl ImportRecording {
    /// Begins a recording in an empty file. `target` is its later path.
    pub fn create(
        file: &Path,
        target: &Path,
        name: &str,
        state: RecordedState,
        with_data: bool,
    ) -> Result<Self, ImportError> {
        let bounds = Bounds { keep: None, max_bytes: None };
        let mut writer = BatchWriter::create_alone(file, RecordOptions { bounds, with_data, group_reads: false })?;
        Ok(Self {
            path: target.to_owned(),
            state,
            batches: writer.recorder_of(name, RowSource::Log)?,
            writer: WritingThread::start(writer),
            began_at: Timestamp(i64::MIN),
            at: Timestamp(i64::MIN),
            written_at: Timestamp(i64::MIN),
            looked_at: Timestamp(i64::MIN),
            changes_since_look: 0,
            quiet_looks: 0,
            was_cut: false,
            changes: 0,
            attempts: 0,
        })
    }

    /// Returns the time of the first entry.
    pub fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// Returns the time of the last entry.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Lets the time pass until a transaction.
    pub fn passes(&mut self, until: Timestamp) -> Result<(), ImportError> {
        if self.at.0 == i64::MIN {
            (self.began_at, self.written_at, self.looked_at) = (until, until, until);
        }
        while self.state.table.is_live() {
            let next = self.next_look();
            // Behind the end of time comes no other time.
            if next > until || next == self.looked_at {
                break;
            }
            self.at = next;
            self.look();
            self.write_if_due()?;
        }
        // The clock of a new leader may be behind that of the last one.
        self.at = self.at.max(until);
        self.write_if_due()
    }

    /// Returns the time of the next look for findings.
    fn next_look(&self) -> Timestamp {
        let enough = self.state.table.contender_count() / CHANGED_PART;
        let is_busy = self.changes_since_look > enough;
        // A wrong clock may say that ages passed.
        let doublings = self.quiet_looks.min(MAX_DOUBLINGS) + self.quiet_looks.saturating_sub(MANY_LOOKS);
        let quiet = Duration::from_millis(QUIET_MS << doublings.min(MOST_DOUBLINGS));
        let interval = if is_busy { LOOK_INTERVAL } else { quiet };
        self.looked_at.plus(interval).max(self.at)
    }

    fn look(&mut self) {
        let RecordedState { table, diagnosis } = &mut self.state;
        if std::mem::take(&mut self.was_cut) {
            self.batches.forget_findings(self.at, table, diagnosis);
        }
        self.batches.examine(self.at, table, diagnosis);
        self.quiet_looks = self.quiet_looks.saturating_add(1);
        (self.looked_at, self.changes_since_look) = (self.at, 0);
    }

    /// Records changes of the current moment.
    pub fn apply(&mut self, changes: Vec<Change>) {
        let RecordedState { table, diagnosis } = &mut self.state;
        self.changes += changes.len() as u64;
        self.changes_since_look += changes.len();
        self.quiet_looks = 0;
        for change in changes {
            self.batches.apply(change, self.at, table, diagnosis);
        }
    }

    /// Records that a session tried in vain to take a lock, if it is known which.
    pub fn attempted(&mut self, session: SessionId, lock: Option<&ZnodePath>) {
        self.attempts += 1;
        let time = TimeRange { from: self.at, to: self.at };
        let lock = lock.map(ToString::to_string);
        self.batches.attempted(RecordedAttempts { lock, session: Some(session), time, count: 1 });
    }

    /// Records what the transactions show of the ensemble.
    pub fn happened_to_ensemble(&mut self, events: impl IntoIterator<Item = EnsembleEvent>) {
        for event in events {
            self.batches.happened_to_ensemble(&event);
        }
    }

    /// Records what proves that the transactions of a time are complete.
    pub fn proven(&mut self, proven: ProvenTime) {
        self.batches.proven(proven);
    }

    /// Begins a reading of everything, which `changes` are.
    pub fn reads(&mut self, changes: Vec<Change>) {
        let connected = ConnectionState::Connected { session: SessionId(0), recursive: true };
        self.apply(vec![Change::Connection(connected)]);
        self.apply(changes);
    }

    /// Begins a gap: nothing is known from the last moment on.
    pub fn loses(&mut self, reason: &str) {
        self.apply(vec![Change::Connection(ConnectionState::Lost { reason: reason.to_owned() })]);
        self.was_cut = true;
    }

    fn write_if_due(&mut self) -> Result<(), ImportError> {
        if self.at.since(self.written_at) < WRITE_INTERVAL && self.batches.untaken_bytes() < WRITE_BYTES {
            return Ok(());
        }
        self.written_at = self.at;
        let batches = self.batches.take_batches(self.at, &self.state.table);
        self.writer.write((batches, self.at)).map_err(|error| not_written(&self.path, error))
    }

    /// Writes the rest, and returns the numbers of holds and of waits without a hold. The file then
    /// needs no other beside it.
    pub fn finish(mut self) -> Result<(u64, u64), ImportError> {
        if self.state.table.is_live() {
            self.look();
        }
        let batches = self.batches.end(self.at, &self.state.table);
        self.writer.finish((batches, self.at)).map_err(|error| not_written(&self.path, error))
    }
}

fn not_written(path: &Path, error: NotWritten) -> ImportError {
    match error {
        NotWritten::Lost(reason) => ImportError::NotWritten { path: path.to_owned(), reason },
        NotWritten::Store(error) => error.into(),
    }
}

/// How far the clock of another leader may be behind without a word.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(1);

/// The number of pauses between transactions that tell what is usual.
const MAX_PAUSES: usize = 1_000;

/// With fewer pauses, nothing is called unusual.
const MIN_PAUSES: usize = 20;

/// A silence is unusual from this length on, and from this multiple of the 99th percentile of the
/// pauses.
const MIN_SILENCE: Duration = Duration::from_secs(2);

const SILENCE_FACTOR: u32 = 10;

/// How long a leader may write transactions that no majority gets: it notices the loss after
/// `syncLimit` × `tickTime`. This is that of the sample config, with a margin.
const MAX_UNCOMMITTED: Duration = Duration::from_millis(13_750);

/// How long after a silence sessions expire because of it: the longest usual session timeout.
const MAX_AFTERMATH: Duration = Duration::from_secs(60);

/// So many expiries within [`BURST_TIME`] are a burst: their clients did not all fail at once.
const MIN_BURST: usize = 3;

const BURST_TIME: Duration = Duration::from_secs(1);

/// A silence before a new epoch, and the expiries after it.
#[derive(Debug)]
struct Outage {
    event: EnsembleEvent,
    over: Timestamp,
    expiries: VecDeque<Timestamp>,
    burst: usize,
}

/// Follows the epochs of the transactions.
#[derive(Debug, Default)]
pub struct Epochs {
    last: Option<(Zxid, Timestamp)>,
    pauses: VecDeque<Duration>,
    outage: Option<Outage>,
}

impl Epochs {
    /// Takes in the next transaction. `is_next` tells whether none is missing before it. Returns
    /// what happened to the ensemble.
    pub fn transaction(&mut self, zxid: Zxid, time: Timestamp, is_next: bool) -> Vec<EnsembleEvent> {
        let Some((last, at)) = self.last.replace((zxid, time)) else { return Vec::new() };
        let mut events = Vec::new();
        if at.since(time) > MAX_CLOCK_SKEW {
            let set_back = EnsembleEvent::moment(EnsembleEventKind::ClockSetBack, None, TimeBounds::exact(at));
            let by = humantime::format_duration(at.since(time));
            events.push(set_back.with_detail(format!("by {by}: times before may be wrong by as much")));
        }
        if self.outage.as_ref().is_some_and(|outage| time.since(outage.over) > MAX_AFTERMATH) {
            events.extend(self.finish());
        }
        let epoch = zxid.epoch();
        if epoch > last.epoch() {
            events.extend(self.finish());
            let bounds = TimeBounds::between(at, time);
            let changed = EnsembleEvent::moment(EnsembleEventKind::LeaderChanged, None, bounds);
            events.push(changed.with_epoch(u32::try_from(epoch).ok()));
            let unusual = self.unusual_silence().filter(|silence| is_next && time.since(at) > *silence);
            self.outage = unusual.map(|silence| Outage::between(at, time, silence));
        } else if is_next {
            if self.pauses.len() == MAX_PAUSES {
                self.pauses.pop_front();
            }
            self.pauses.push_back(time.since(at));
        }
        events
    }

    /// Takes in that a session expired.
    pub fn expired(&mut self, time: Timestamp) {
        let Some(outage) = &mut self.outage else { return };
        outage.expiries.push_back(time);
        while outage.expiries.front().is_some_and(|first| time.since(*first) > BURST_TIME) {
            outage.expiries.pop_front();
        }
        outage.burst = outage.burst.max(outage.expiries.len());
    }

    /// Returns the silence whose aftermath was still awaited.
    pub fn finish(&mut self) -> Option<EnsembleEvent> {
        let Outage { event, burst, .. } = self.outage.take()?;
        if burst < MIN_BURST {
            return Some(event);
        }
        let detail = event.detail.as_deref().unwrap_or_default();
        let more = format!("{detail}; then {burst} sessions expired within a second, whose clients may have lived");
        Some(event.with_detail(more))
    }

    /// Returns the length from which on a silence is unusual. Sorts, since epochs are rare.
    fn unusual_silence(&self) -> Option<Duration> {
        let mut pauses: Vec<Duration> = self.pauses.iter().copied().collect();
        pauses.sort_unstable();
        let p99 = pauses.get(pauses.len().checked_sub(1)? * 99 / 100).filter(|_| pauses.len() >= MIN_PAUSES)?;
        Some(p99.saturating_mul(SILENCE_FACTOR).max(MIN_SILENCE))
    }
}

impl Outage {
    /// Creates a silence between two transactions. A working ensemble would have written one within
    /// `usual`. The new leader may have served for a while before anybody wrote.
    fn between(last: Timestamp, first: Timestamp, usual: Duration) -> Self {
        let began = TimeBounds::between(last.minus(MAX_UNCOMMITTED), last.plus(usual).min(first));
        let event = EnsembleEvent::lasting(EnsembleEventKind::NoMajority, None, began);
        let event = event.with_end(TimeBounds::between(began.before, first));
        let silence = humantime::format_duration(first.since(last));
        let event = event.with_detail(format!("no transaction was written for {silence}, then another epoch began"));
        Self { event, over: first, expiries: VecDeque::new(), burst: 0 }
    }
}

#[cfg(test)]
mod tests {
    use EnsembleEventKind::{ClockSetBack, LeaderChanged, NoMajority};

    use super::*;

    /// Plays an epoch of transactions, one every `each` milliseconds, and returns the events.
    fn plays(epochs: &mut Epochs, epoch: i64, from: i64, each: i64, count: i64) -> Vec<EnsembleEvent> {
        let one = |number: i64| (Zxid(epoch << 32 | (number + 1)), Timestamp(from + number * each));
        (0..count).map(one).flat_map(|(zxid, time)| epochs.transaction(zxid, time, true)).collect()
    }

    fn short(events: &[EnsembleEvent]) -> Vec<(EnsembleEventKind, i64, i64)> {
        let times = |event: &EnsembleEvent| (event.began.after.0, event.ended.map_or(0, |ended| ended.before.0));
        events.iter().map(|event| (event.what, times(event).0, times(event).1)).collect()
    }

    #[test]
    fn another_epoch_is_another_leader_and_an_unusual_silence_before_it_no_majority() {
        let mut epochs = Epochs::default();
        assert_eq!(plays(&mut epochs, 1, 0, 100, 50), []);
        let changed = plays(&mut epochs, 2, 5_400, 100, 50);
        assert_eq!(short(&changed), [(LeaderChanged, 4_900, 5_400)]);
        assert_eq!(changed[0].epoch, Some(2));
        let changed = plays(&mut epochs, 3, 20_000, 100, 700);
        assert_eq!(short(&changed), [(LeaderChanged, 10_300, 20_000), (NoMajority, -3_450, 20_000)]);
        let lost = &changed[1];
        assert_eq!((lost.began.before.0, lost.ended.map(|ended| ended.after.0)), (12_300, Some(12_300)));
        assert_eq!(lost.detail.as_deref(), Some("no transaction was written for 9s 700ms, then another epoch began"));
    }

    #[test]
    fn a_quiet_ensemble_is_silent_too_and_missing_transactions_tell_nothing() {
        let mut quiet = Epochs::default();
        plays(&mut quiet, 1, 0, 3_000, 50);
        assert_eq!(short(&plays(&mut quiet, 2, 160_000, 10, 1)), [(LeaderChanged, 147_000, 160_000)]);
        let mut few = Epochs::default();
        plays(&mut few, 1, 0, 100, 10);
        plays(&mut few, 2, 60_000, 10, 1);
        assert_eq!(few.finish(), None, "ten pauses are no rule");
        let mut missing = Epochs::default();
        plays(&mut missing, 1, 0, 100, 50);
        assert_eq!(missing.transaction(Zxid(2 << 32 | 9), Timestamp(60_000), false).len(), 1);
        assert_eq!(missing.finish(), None);
    }

    #[test]
    fn a_burst_of_expiries_after_an_outage_is_told_with_it() {
        for (each, is_told) in [(300, true), (900, false)] {
            let mut epochs = Epochs::default();
            plays(&mut epochs, 1, 0, 100, 50);
            plays(&mut epochs, 2, 60_000, 10, 1);
            (0..3).for_each(|number| epochs.expired(Timestamp(64_000 + number * each)));
            let detail = epochs.finish().and_then(|event| event.detail).unwrap_or_default();
            assert_eq!(detail.contains("3 sessions expired within a second"), is_told, "{detail}");
        }
    }

    #[test]
    fn the_clock_of_a_new_leader_may_be_behind() {
        let mut epochs = Epochs::default();
        plays(&mut epochs, 1, 1_000_000, 100, 50);
        let told = short(&plays(&mut epochs, 2, 0, 10, 1));
        assert_eq!(told, [(ClockSetBack, 1_004_900, 1_004_900), (LeaderChanged, 0, 0)]);
        assert_eq!(short(&plays(&mut epochs, 3, -900, 10, 1)), [(LeaderChanged, -900, -900)], "a little");
    }
}
