//! The way through the transactions, from the first one to the end, and what of it is covered.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::bridge::{Continuity, Importer, Loaded, MAX_GAPS, digest_behind};
use super::files::{Defect, ServerFiles, note};
use super::player::{Epochs, ImportRecording, MAX_CLOCK_SKEW, Player};
use super::transactions::{NextTransaction, Transactions};
use super::tree::{FollowedTree, LogTree};
use super::{Certainty, Covered, ImportError, ImportOptions, ImportProgress, Imported, MissingTransactions, Proof};
use crate::record::RecordedState;
use crate::record::tables::ProvenTime;
use lockscope_base::disk::{Entry, Txn};
use lockscope_base::recipe::Classifier;
use lockscope_base::znode::{TimeRange, Timestamp, Zxid};
use lockscope_model::follow::Follower;
use lockscope_model::queue::LockTable;

/// The number of transactions between two reports of the progress.
const REPORT_INTERVAL: u64 = 4_096;

/// Imports files into an empty file. `target` is the path of the recording that errors name.
pub fn import_into(
    files: &ServerFiles,
    file: &Path,
    target: &Path,
    options: &ImportOptions,
    goes_on: &mut dyn FnMut(ImportProgress) -> bool,
) -> Result<Imported, ImportError> {
    let named = || options.named.iter().cloned();
    let table = LockTable::new(named()).with_recipes(&options.recipes).with_expectations(&options.expected);
    let state = RecordedState::new(table, options.thresholds);
    let recording = ImportRecording::create(file, target, &files.name(), state, options.with_data)?;
    let roots = options.roots();
    let tree = LogTree::new(&roots, Classifier::new(named()).with_recipes(&options.recipes));
    let follower = Follower::new(&roots, &options.named)
        .with_recipes(options.recipes.clone())
        .with_expectations(options.expected.clone());
    let importer = Importer {
        until: options.time.to,
        player: Player::new(FollowedTree::new(tree, follower), recording),
        epochs: Epochs::default(),
        last: None,
        digest: None,
        done: Imported::default(),
        exact_from: Zxid(i64::MAX),
        is_covering: false,
        files,
        goes_on,
    };
    importer.run()
}

impl Importer<'_> {
    fn run(mut self) -> Result<Imported, ImportError> {
        let mut transactions = Transactions::of(self.files);
        while let Some(NextTransaction { entry, runs_on }) = transactions.next()? {
            let (zxid, time) = (entry.header.zxid, entry.header.time);
            if time > self.until {
                if self.player.is_live() {
                    self.player.recording.passes(self.until)?;
                }
                break;
            }
            let continuity = match self.last {
                None => self.begins(&entry).map(|()| Continuity::Proven(Proof::Numbers))?,
                Some((last, _)) => self.continuity(last, &entry, runs_on)?,
            };
            let proof = match continuity {
                Continuity::Proven(proof) => Some(proof),
                Continuity::Broken(certainty) => self.misses(certainty, &entry).map(|()| None)?,
            };
            self.follows_epochs(&entry, proof.is_some());
            self.notes_clock(zxid, time);
            self.digest = digest_behind(&entry, self.digest);
            self.player.play(entry)?;
            self.covers((zxid, time), proof.unwrap_or(Proof::Numbers));
            self.last = Some((zxid, time));
            self.done.transactions += 1;
            if self.done.transactions.is_multiple_of(REPORT_INTERVAL) {
                self.reports(&transactions)?;
            }
        }
        self.reports(&transactions)?;
        transactions.take_defects().into_iter().for_each(|defect| note(&mut self.done.defects, defect));
        self.files.refuse_strangers(&transactions.into_spans())?;
        self.ends()
    }

    /// Records what a transaction shows of the ensemble.
    fn follows_epochs(&mut self, entry: &Entry<'_>, is_next: bool) {
        let (zxid, time) = (entry.header.zxid, entry.header.time);
        let events = self.epochs.transaction(zxid, time, is_next);
        if matches!(entry.txn, Txn::CloseSession { .. }) && entry.header.is_expiry() {
            self.epochs.expired(time);
        }
        self.player.recording.happened_to_ensemble(events);
    }

    fn notes_clock(&mut self, zxid: Zxid, time: Timestamp) {
        let by = self.last.map_or(Duration::ZERO, |(_, last)| last.since(time));
        if by > MAX_CLOCK_SKEW {
            note(&mut self.done.defects, Defect::ClockSetBack { zxid, by });
        }
    }

    /// Takes in that a transaction was played: while the locks are known, its moment is covered.
    fn covers(&mut self, at: (Zxid, Timestamp), proof: Proof) {
        let is_covered = self.player.is_live();
        if is_covered {
            self.done.zxids.get_or_insert((at.0, at.0));
        }
        let covered = &mut self.done.covered;
        if let Some(covered) = covered.last_mut().filter(|_| self.is_covering && is_covered) {
            (covered.to, covered.proof) = (at, covered.proof.max(proof));
            return;
        }
        // Otherwise a stretch that is not listed would make the last one longer.
        self.is_covering = is_covered && covered.len() < MAX_GAPS;
        if self.is_covering {
            let has_older = !self.player.followed.tree.is_partial();
            covered.push(Covered { from: at, to: at, proof, has_older });
        }
    }

    fn reports(&mut self, transactions: &Transactions) -> Result<(), ImportError> {
        let all_bytes = self.files.logs.iter().map(|log| log.bytes).sum();
        let progress = ImportProgress {
            bytes: transactions.bytes(),
            all_bytes,
            transactions: self.done.transactions,
            at: self.player.recording.at(),
        };
        if (self.goes_on)(progress) { Ok(()) } else { Err(ImportError::Interrupted) }
    }

    /// Ends the recording.
    fn ends(mut self) -> Result<Imported, ImportError> {
        self.looks_beyond()?;
        let ((first, _), (zxid, at)) = self.done.zxids.zip(self.last).ok_or_else(|| self.nothing())?;
        self.done.zxids = Some((first, zxid));
        self.done.time = Some((self.player.recording.began_at(), self.player.recording.at().max(at)));
        (self.done.changes, self.done.attempts) = (self.player.recording.changes, self.player.recording.attempts);
        self.done.files += self.files.logs.len();
        self.player.recording.happened_to_ensemble(self.epochs.finish());
        for &Covered { from, to, proof, has_older } in &self.done.covered {
            self.player.recording.proven(ProvenTime {
                time: TimeRange { from: from.1, to: to.1 },
                zxids: (from.0, to.0),
                proven_by: proof.id().to_owned(),
                has_older,
            });
        }
        (self.done.holds, self.done.waits) = self.player.recording.finish()?;
        Ok(self.done)
    }

    /// Looks for a snapshot that knows more than the logs. Without logs, it is what is recorded, at
    /// the time of its latest change. Behind logs it only tells that transactions are missing: when
    /// it was made is not known, and so not by when a node had gone.
    fn looks_beyond(&mut self) -> Result<(), ImportError> {
        let (files, until) = (self.files, self.until);
        let last = self.last.map_or(Zxid(i64::MIN), |(last, _)| last);
        if self.last.is_some() && until != Timestamp(i64::MAX) {
            return Ok(());
        }
        for snapshot in files.snapshots.iter().rev().filter(|snapshot| snapshot.name.zxid > last) {
            let Some(Loaded { tree, .. }) = self.load(snapshot, Zxid(i64::MAX))? else { continue };
            let Some(at) = tree.latest_time() else { continue };
            let before = snapshot.name.zxid;
            if let Some((after, from)) = self.last {
                // A leader that has not written yet may have made one.
                if before.counter() != 0 || tree.last_change_before(Zxid(i64::MAX)) > last {
                    let (to, certainty) = (at.max(from), Certainty::Certain);
                    self.notes_gap(MissingTransactions { after, before, from, to, certainty });
                }
                return Ok(());
            }
            self.player.followed.tree = tree;
            self.player.goes_on(BTreeSet::new(), at)?;
            self.last = Some((before, at));
            self.covers((before, at), Proof::Snapshot);
            return Ok(());
        }
        Ok(())
    }

    /// Returns why nothing was found.
    fn nothing(&self) -> ImportError {
        let no_log = |defect: &Defect| match defect {
            Defect::NotALog { file, reason } => {
                Some(ImportError::NotAServersFile { path: file.clone(), reason: reason.clone() })
            }
            _ => None,
        };
        self.done.defects.iter().find_map(no_log).unwrap_or(ImportError::Nothing)
    }
}
