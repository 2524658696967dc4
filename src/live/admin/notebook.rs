//! What a person noted about ensembles, kept over restarts: which findings are muted, and which were
//! seen.
//!
//! One file has the notes of all ensembles. Several programs may change it: each change reads it
//! anew, under a lock. [`NotesFollower`] follows the file and the mutes that the settings plan, at
//! the cost of two `stat` calls a look.
//!
//! Architecture invariant: notes that cannot be read mute nothing. A file that is damaged is never
//! written over.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::TryLockError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::{audit, protection};
use crate::zk::EnsembleAddress;
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_files as files;
use lockscope_files::{FileError, Readers, Sensitivity};
use lockscope_model::queue::{MAX_MUTES, MAX_NOTE_CHARS, Mute, MuteScope, MutedFinding, Mutes};
use lockscope_model::report::json;

#[cfg(test)]
mod tests;

/// The largest file of notes, in bytes.
const MAX_NOTES_BYTES: u64 = 8 << 20;

/// The most findings that are remembered of one ensemble.
pub const MAX_KNOWN_FINDINGS: usize = 1_000;

/// The most ensembles with notes. Those that were used longest ago go first.
const MAX_ENSEMBLES: usize = 256;

/// How long to wait for another program that changes the file.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The pause before mutes are ended again that could not be ended.
const END_INTERVAL: Duration = Duration::from_secs(10);

/// The version of the format: fields are added, never renamed.
const SCHEMA: u32 = 1;

/// Returns the default path of the notes, `$XDG_STATE_HOME/lockscope/notes.json`, or `None` for a
/// user without a home.
pub fn usual_path() -> Option<PathBuf> {
    Some(protection::usual_path()?.with_file_name("notes.json"))
}

/// The notes cannot be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the notes in {path} cannot be {what}: {why}; nothing in them mutes a finding until that is mended, or another file is named with --notes-file"
)]
pub struct NotesError {
    path: String,
    what: &'static str,
    why: String,
}

/// The notes of one ensemble.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnsembleNotes {
    /// What is muted.
    pub mutes: Vec<Arc<Mute>>,
    /// The findings that stood when they were last looked at.
    pub findings: Vec<KnownFinding>,
    /// When the notes were last changed.
    used_at: Timestamp,
}

/// A finding that stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: MutedFinding,
    /// Since when it is known, by this machine's clock.
    pub since: Timestamp,
    /// Whether the person has seen it.
    pub seen: bool,
}

/// A change of the notes of an ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteChange {
    /// Mute. An earlier mute of the same scope is replaced.
    Mute(Vec<Mute>),
    /// End mutes.
    Unmute(Vec<MuteScope>),
    /// Remember the findings that stand.
    Know(Vec<KnownFinding>),
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NotesFile {
    schema: u32,
    ensembles: BTreeMap<String, EnsembleNotes>,
}

/// The file with the notes of all ensembles. The person needs the right to write it, and nobody else
/// may have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notebook {
    path: PathBuf,
}

impl Notebook {
    /// Returns the notebook in a file, which need not exist.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the notes of an ensemble. Blocks the thread during disk I/O.
    pub fn read(&self, ensemble: &EnsembleAddress) -> Result<EnsembleNotes, NotesError> {
        Ok(self.file()?.ensembles.remove(&ensemble.key()).unwrap_or_default())
    }

    /// Changes the notes of an ensemble and returns them once they are on the disk. Blocks the thread
    /// during disk I/O, and up to two seconds for other programs.
    pub fn change(&self, ensemble: &EnsembleAddress, change: NoteChange) -> Result<EnsembleNotes, NotesError> {
        let cannot = |error: FileError| self.error("written", &error);
        files::create_folders_above(&self.path).map_err(|error| cannot(error.into()))?;
        let lock = files::append(&self.path.with_extension("lock"), Sensitivity::Steering).map_err(cannot)?;
        let until = Instant::now() + LOCK_PATIENCE;
        while let Err(error) = lock.try_lock() {
            match error {
                TryLockError::WouldBlock if Instant::now() < until => sleep(Duration::from_millis(20)),
                TryLockError::WouldBlock => return Err(self.error("written", &"another program holds its lock")),
                TryLockError::Error(error) => return Err(cannot(error.into())),
            }
        }
        let mut file = self.file()?;
        let notes = file.ensembles.entry(ensemble.key()).or_default();
        notes.apply(change, now());
        let changed = notes.clone();
        file.tidy(now());
        let text = json::to_string(&file).map_err(|error| self.error("written", &error))?;
        files::replace_for(&self.path, text.as_bytes(), Readers::Owner).map_err(cannot)?;
        Ok(changed)
    }

    fn file(&self) -> Result<NotesFile, NotesError> {
        match files::read_text(&self.path, Sensitivity::Steering, MAX_NOTES_BYTES) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| self.error("read", &error)),
            Err(error) if error.is_absent() => Ok(NotesFile { schema: SCHEMA, ..NotesFile::default() }),
            Err(error) => Err(self.error("read", &error)),
        }
    }

    fn error(&self, what: &'static str, why: &dyn std::fmt::Display) -> NotesError {
        NotesError { path: self.path.display().to_string(), what, why: why.to_string() }
    }
}

impl NotesFile {
    /// Drops what is over or too much.
    fn tidy(&mut self, now: Timestamp) {
        for notes in self.ensembles.values_mut() {
            notes.mutes.retain(|mute| !mute.is_over(now));
        }
        self.ensembles.retain(|_, notes| !notes.mutes.is_empty() || !notes.findings.is_empty());
        while self.ensembles.len() > MAX_ENSEMBLES
            && let Some((oldest, _)) = self.ensembles.iter().min_by_key(|(_, notes)| notes.used_at)
        {
            let oldest = oldest.clone();
            self.ensembles.remove(&oldest);
        }
    }
}

impl EnsembleNotes {
    fn apply(&mut self, change: NoteChange, now: Timestamp) {
        self.used_at = now;
        match change {
            NoteChange::Mute(mutes) => {
                let is_replaced = |known: &Mute| mutes.iter().any(|mute| mute.scope == known.scope);
                self.mutes.retain(|known| !is_replaced(known) && !known.is_over(now));
                let short = |note: &str| note.chars().take(MAX_NOTE_CHARS).collect::<String>().into();
                self.mutes.extend(mutes.into_iter().map(|mute| Arc::new(Mute { note: short(&mute.note), ..mute })));
                let over = self.mutes.len().saturating_sub(MAX_MUTES);
                self.mutes.drain(..over);
            }
            NoteChange::Unmute(scopes) => self.mutes.retain(|mute| !scopes.contains(&mute.scope)),
            NoteChange::Know(mut findings) => {
                findings.truncate(MAX_KNOWN_FINDINGS);
                // Another console may have shown them, too.
                for known in &mut findings {
                    if let Some(before) = self.findings.iter().find(|before| before.finding == known.finding) {
                        known.since = known.since.min(before.since);
                        known.seen |= before.seen;
                    }
                }
                self.findings = findings;
            }
        }
    }
}

/// Knows the mutes of planned work, from the settings.
pub trait PlannedMutes: Debug + Send + Sync {
    /// The file that the settings come from.
    fn path(&self) -> Option<&Path>;
    /// Reads the mutes as they are now. Blocks the thread during disk I/O. An error is a sentence
    /// without a full stop.
    fn read(&self) -> Result<Vec<Mute>, String>;
}

/// Follows what is muted in one ensemble.
#[derive(Clone, Debug, Default)]
pub struct NotesFollower {
    notebook: Option<Notebook>,
    planned: Option<Arc<dyn PlannedMutes>>,
    ensemble: EnsembleAddress,
    /// The files as they were read last.
    seen: Option<[Option<FileVersion>; 2]>,
    told: FollowedNotes,
    /// When it was last tried to end mutes.
    ended_at: Option<Instant>,
}

/// Tells one content of a file from another.
type FileVersion = (u64, u64, i64, i64);

/// What is noted now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedNotes {
    /// What is muted.
    pub mutes: Arc<Mutes>,
    /// The findings that stood.
    pub findings: Vec<KnownFinding>,
    /// Why the notes or the settings cannot be read, as a sentence without a full stop. What they
    /// said before stands.
    pub trouble: Option<String>,
}

impl NotesFollower {
    /// Follows the notes of an ensemble, given without identities, and the mutes that are planned.
    pub fn new(notebook: Option<Notebook>, planned: Option<Arc<dyn PlannedMutes>>, connect: &str) -> Self {
        Self { notebook, planned, ensemble: EnsembleAddress::of(connect), ..Self::default() }
    }

    /// Returns the notebook, and the ensemble.
    pub fn notebook(&self) -> Option<(&Notebook, &EnsembleAddress)> {
        Some((self.notebook.as_ref()?, &self.ensemble))
    }

    /// Returns what is noted, if that is news; always at the first call. Blocks the thread during
    /// disk I/O.
    pub fn news(&mut self) -> Option<&FollowedNotes> {
        let version = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
        };
        let notes = self.notebook.as_ref().and_then(|notebook| version(&notebook.path));
        let settings = self.planned.as_ref().and_then(|planned| version(planned.path()?));
        if self.seen == Some([notes, settings]) {
            return None;
        }
        let is_first = self.seen.replace([notes, settings]).is_none();
        let before = self.told.clone();
        self.read();
        (is_first || self.told != before).then_some(&self.told)
    }

    fn read(&mut self) {
        let read = self.notebook.as_ref().map_or(Ok(EnsembleNotes::default()), |book| book.read(&self.ensemble));
        let planned = self.planned.as_ref().map_or(Ok(Vec::new()), |planned| planned.read());
        self.told.trouble = match (read, planned) {
            (Ok(notes), Ok(planned)) => {
                let planned = planned.into_iter().map(Arc::new);
                self.told.mutes = Arc::new(Mutes::new(notes.mutes.into_iter().chain(planned)));
                self.told.findings = notes.findings;
                None
            }
            (Err(error), _) => Some(error.to_string()),
            (_, Err(why)) => Some(why),
        };
    }

    /// Ends mutes whose findings are cleared, in the background. One that cannot be ended is tried
    /// again after ten seconds.
    pub fn end_cleared(&mut self, cleared: Vec<Arc<Mute>>) {
        let is_tried = self.ended_at.is_some_and(|at| at.elapsed() < END_INTERVAL);
        let Some((notebook, ensemble)) = self.notebook().filter(|_| !cleared.is_empty() && !is_tried) else { return };
        let (notebook, ensemble) = (notebook.clone(), ensemble.clone());
        self.ended_at = Some(Instant::now());
        spawn_blocking(move || {
            let change = NoteChange::Unmute(cleared.iter().map(|mute| mute.scope.clone()).collect());
            if let Err(error) = notebook.change(&ensemble, change) {
                tracing::warn!(%error, "a mute whose finding is cleared goes on");
            }
        });
    }
}

/// Returns who mutes, as notes name them: `ann@host`.
pub fn author() -> String {
    let who = audit::Who::here("");
    format!("{}@{}", who.sudo_user.unwrap_or(who.user), who.host)
}
