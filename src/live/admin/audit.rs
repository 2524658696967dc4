//! The audit log: JSON Lines with the intents and the outcomes of changes, and the person who made
//! them.
//!
//! A line with the intent is synced to the disk before any request that changes the ensemble is
//! sent. A line with the outcome follows. Each line can be read by itself, and both have the same
//! id. An intent without an outcome means that the program was killed or is still at work: the
//! outcome of the deletion is unknown.

use std::collections::HashMap;
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use zookeeper_client::Client;

use super::{Action, PlannedNode};
use lockscope_base::time;
use lockscope_files as files;
use lockscope_files::{FileError, Sensitivity};
use lockscope_model::report::{ReportedEnsemble, json};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod follow_tests;

#[cfg(test)]
mod who_tests;

/// The audit log cannot be written. No change is made without it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit log {path} cannot be written: {error}; nothing is changed without it: make it writable, or name another \
     one with --audit-log"
)]
pub struct AuditError {
    /// The log file.
    pub path: PathBuf,
    /// The error.
    pub error: FileError,
}

/// Returns the default path of the log, `$XDG_STATE_HOME/lockscope/audit.jsonl`, or `None` for a
/// user without a home.
pub fn usual_path() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.state_dir()?.join("lockscope").join("audit.jsonl"))
}

/// The version of the format: fields are added, never renamed.
const SCHEMA: u32 = 1;

/// The node of an entry, and what was known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// The lock's path.
    pub lock: String,
    /// The node's path.
    pub path: String,
    /// The transaction that created the node, if the node was seen.
    pub czxid: Option<i64>,
    /// The number of changes of the node's data.
    pub version: Option<i32>,
    /// The node's sequence number; `None` if its name has none.
    pub sequence: Option<i32>,
    /// The session that owned the node, as unsigned hex.
    pub owner: Option<String>,
    /// The state of the owner: `ghost`, `ownerless`, `expiring`, `suspect`, `live`, `unknown`. The
    /// field's name is part of the log's format.
    pub life: String,
    /// The evidence for `life`.
    pub evidence: String,
}

impl Subject {
    /// Returns the facts that a plan has about a node.
    pub fn of(node: &PlannedNode) -> Self {
        Self {
            lock: node.lock.to_string(),
            path: node.path.to_string(),
            czxid: Some(node.czxid.0),
            version: Some(node.version),
            sequence: node.sequence.map(|sequence| sequence.0),
            owner: node.session.map(|session| session.to_string()),
            life: node.liveness.id().to_owned(),
            evidence: node.evidence.clone(),
        }
    }
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LineKind {
    /// The action that is about to be done.
    Intent,
    /// The outcome of the action.
    Outcome,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuditLine {
    pub schema: u32,
    pub entry: LineKind,
    /// The id that an intent and its outcome share.
    pub id: String,
    /// The time of the line by this machine's clock, in RFC 3339 and UTC.
    pub at: String,
    pub action: String,
    #[serde(flatten)]
    pub subject: Subject,
    #[serde(flatten)]
    pub who: Who,
    /// The way in which the action was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The result as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AuditLine {
    /// Creates the line for the intent to act on a node.
    pub fn intent(action: Action, subject: Subject, who: &Who, confirmed_by: &str) -> Self {
        Self {
            schema: SCHEMA,
            entry: LineKind::Intent,
            id: uuid::Uuid::new_v4().to_string(),
            at: now(),
            action: action.id().to_owned(),
            subject,
            who: who.clone(),
            confirmed_by: Some(confirmed_by.to_owned()),
            result: None,
            reason: None,
        }
    }

    /// Creates the line for the outcome of this intent.
    pub fn outcome(self, result: &str, reason: String) -> Self {
        Self { entry: LineKind::Outcome, at: now(), result: Some(result.to_owned()), reason: Some(reason), ..self }
    }
}

/// Returns the current time in RFC 3339 and UTC, with milliseconds.
fn now() -> String {
    let now = chrono::DateTime::from_timestamp_millis(time::now().0).unwrap_or_default();
    now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOutcome {
    /// The time of the outcome, in RFC 3339 and UTC.
    pub at: String,
    /// [`Ending::id`](super::Ending::id), or the reason why the change was not tried.
    pub result: String,
    /// The result as a sentence.
    pub reason: String,
}

/// A change: its intent and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id that the two lines share.
    pub id: String,
    /// The time of the first line, in RFC 3339 and UTC.
    pub at: String,
    /// `delete` or `revoke`.
    pub action: String,
    /// The node, and what was known about it.
    pub subject: Subject,
    /// The person who changed the node or wanted to.
    pub who: Who,
    /// The way in which the change was confirmed.
    pub confirmed_by: Option<String>,
    /// Whether an intent was written; `false` if the change was refused before that.
    pub intended: bool,
    /// The outcome. `None` if only the intent was written: it is unknown whether the node was
    /// deleted.
    pub outcome: Option<AuditOutcome>,
}

impl From<AuditLine> for AuditEntry {
    fn from(line: AuditLine) -> Self {
        let AuditLine { entry, id, at, action, subject, who, confirmed_by, result, reason, .. } = line;
        let outcome = (entry == LineKind::Outcome).then(|| AuditOutcome {
            at: at.clone(),
            result: result.unwrap_or_default(),
            reason: reason.unwrap_or_default(),
        });
        Self { id, at, action, subject, who, confirmed_by, intended: entry == LineKind::Intent, outcome }
    }
}

/// Joins the lines of each id, in the order of their first lines.
fn joined(lines: impl Iterator<Item = AuditLine>) -> Vec<AuditEntry> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let entry = AuditEntry::from(line);
        if let Some(known) = places.get(&entry.id).and_then(|place| entries.get_mut(*place)) {
            known.intended |= entry.intended;
            known.outcome = entry.outcome.or(known.outcome.take());
        } else {
            places.insert(entry.id.clone(), entries.len());
            entries.push(entry);
        }
    }
    entries
}

/// The time limit for writing one line to the disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A writable audit log. Several programs may write to one log: each line is appended in one piece.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
}

impl Audit {
    /// Creates the file and missing folders above it for the owner only, and checks that the file
    /// can be written. Blocks the thread.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let audit = Self { path: path.to_owned() };
        match files::append(path, Sensitivity::Evidence) {
            Ok(_) => Ok(audit),
            Err(error) => Err(audit.failed(error)),
        }
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records that a requested change was not tried, and why. Returns once the line is on the
    /// disk.
    pub async fn not_tried(
        &self,
        action: Action,
        subject: Subject,
        who: &Who,
        result: &str,
        reason: String,
    ) -> Result<(), AuditError> {
        let mut line = AuditLine::intent(action, subject, who, "").outcome(result, reason);
        line.confirmed_by = None;
        self.write(&line).await
    }

    /// Records what somebody noted about a finding, which changes no node. Returns once the line is on
    /// the disk.
    pub async fn noted(
        &self,
        action: &'static str,
        subject: Subject,
        who: &Who,
        reason: String,
    ) -> Result<(), AuditError> {
        let line = AuditLine::intent(Action::Delete, subject, who, "").outcome("noted", reason);
        self.write(&AuditLine { action: action.to_owned(), confirmed_by: None, ..line }).await
    }

    /// Appends a line and returns once it is on the disk. If the future is dropped or the disk
    /// takes too long, the line may or may not be written.
    pub(super) async fn write(&self, line: &AuditLine) -> Result<(), AuditError> {
        let path = self.path.clone();
        let text = json::to_string(line).map_err(|error| self.failed(io::Error::from(error)))?.into_bytes();
        let written = tokio::task::spawn_blocking(move || append(&path, text));
        match timeout(WRITE_TIMEOUT, written).await {
            Ok(Ok(written)) => written.map_err(|error| self.failed(error)),
            Ok(Err(ended)) => Err(self.failed(io::Error::other(ended))),
            Err(_) => Err(self.failed(io::Error::new(io::ErrorKind::TimedOut, "the disk takes too long"))),
        }
    }

    fn failed(&self, error: impl Into<FileError>) -> AuditError {
        AuditError { path: self.path.clone(), error: error.into() }
    }
}

/// Appends a line. The file is opened for each line, so that a log that was moved or deleted
/// meanwhile is created again.
fn append(path: &Path, mut line: Vec<u8>) -> Result<(), FileError> {
    let mut file = files::append(path, Sensitivity::Evidence)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    // A program that was killed, or found the disk full, may have left a torn line. The new line
    // must not be joined to it.
    if last != [b'\n'] {
        line.insert(0, b'\n');
    }
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(file.sync_data()?)
}

/// The maximum part of a log that is read, from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The maximum number of bytes.
    pub bytes: u64,
    /// The maximum number of entries.
    pub entries: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { bytes: 8 << 20, entries: 10_000 }
    }
}

/// The entries that were read from a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHistory {
    /// The newest entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number of lines that cannot be read, including the torn end of a write.
    pub damaged: usize,
    /// Whether the log has more than the limits allow.
    pub cut: bool,
}

/// Reads the end of a log; a missing log is empty. Blocks the thread.
pub fn read(path: &Path, limits: HistoryLimits) -> Result<AuditHistory, FileError> {
    let mut file = match files::open(path, Sensitivity::Evidence) {
        Ok(file) => file,
        Err(why) if why.is_absent() => return Ok(AuditHistory::default()),
        Err(why) => return Err(why),
    };
    let skipped = file.metadata()?.len().saturating_sub(limits.bytes);
    // The byte before is read too: if it ends a line, the first line is whole.
    file.seek(SeekFrom::Start(skipped.saturating_sub(1)))?;
    let mut bytes = Vec::new();
    file.take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let text = match (skipped, bytes.iter().position(|byte| *byte == b'\n')) {
        (0, _) => &bytes[..],
        (_, Some(end)) => &bytes[end + 1..],
        (_, None) => &[],
    };
    let mut history = parse(text, limits.entries);
    history.cut |= skipped > 0;
    Ok(history)
}

fn parse(text: &[u8], most: usize) -> AuditHistory {
    let mut damaged = 0;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines = lines.filter_map(|line| {
        let line = serde_json::from_slice::<AuditLine>(line).ok();
        damaged += usize::from(line.is_none());
        line
    });
    let mut entries = joined(lines);
    let surplus = entries.len().saturating_sub(most);
    entries.drain(..surplus);
    AuditHistory { entries, damaged, cut: surplus > 0 }
}

/// The maximum number of bytes in one read. The next read continues there.
const MAX_BYTES: u64 = 1 << 20;

/// A reader of what is appended to an audit log from now on. The log need not exist yet. A log that
/// is replaced or truncated is read from its beginning.
#[derive(Debug)]
pub struct AuditFollower {
    path: PathBuf,
    /// The inode of the file and the offset up to which it was read; `None` while there is no file.
    place: Option<(u64, u64)>,
}

impl AuditFollower {
    /// Starts at the end of the log: existing lines are skipped. Blocks the thread during disk I/O.
    pub fn start(path: &Path) -> Self {
        let place = std::fs::metadata(path).ok().map(|found| (found.ino(), found.len()));
        Self { path: path.to_owned(), place }
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the changes whose outcomes were written since the last call, oldest first. Skips
    /// lines that cannot be read. Blocks the thread during disk I/O.
    pub fn take_new(&mut self) -> Result<Vec<AuditEntry>, FileError> {
        let mut file = match files::open(&self.path, Sensitivity::Evidence) {
            Ok(file) => file,
            Err(error) if error.is_absent() => {
                self.place = None;
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        let from = match self.place {
            Some((file, from)) if file == found.ino() && from <= found.len() => from,
            _ => 0,
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            // A line of that length is invalid.
            None if bytes.len() as u64 == MAX_BYTES => bytes.len(),
            None => 0,
        };
        self.place = Some((found.ino(), from + end as u64));
        let lines = bytes[..end].split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice::<AuditLine>(line).ok()).map(AuditEntry::from);
        Ok(entries.filter(|entry| entry.outcome.is_some()).collect())
    }
}

/// The time limit for the server to tell our identities.
const WHO_AM_I_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of bytes that are read of a system file.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The person who changes something, with the machine, and the identities at the ensemble. Contains
/// no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Who {
    /// The user's name, or the number if the system has no name.
    pub user: String,
    /// The user's id.
    pub uid: u32,
    /// The user who ran `sudo`, as that program reports.
    pub sudo_user: Option<String>,
    /// The machine's name.
    pub host: String,
    /// This process's id.
    pub pid: u32,
    /// The identities that the server knows us by, each as `SCHEME:NAME`; empty if the server does
    /// not tell (before 3.7).
    pub identities: Vec<String>,
    /// The connect string of the ensemble, without any identities in it.
    pub ensemble: String,
    /// The id of our session there, as unsigned hex.
    pub own_session: Option<String>,
}

impl Who {
    /// Asks the system, and the server for at most a second. Costs one request, which servers
    /// before 3.7 do not know.
    pub async fn ask(client: &Client, connect: &str) -> Self {
        let identities = match timeout(WHO_AM_I_TIMEOUT, client.list_auth_users()).await {
            Ok(Ok(users)) => users.iter().map(|user| identity(user.scheme(), user.user())).collect(),
            _ => Vec::new(),
        };
        let session = lockscope_base::znode::SessionId(client.session_id().0);
        Self { identities, own_session: Some(session.to_string()), ..Self::here(connect) }
    }

    /// Returns the facts that the system knows, without asking a server.
    pub fn here(connect: &str) -> Self {
        let uid = rustix::process::getuid().as_raw();
        let user = user_named(&read_beginning("/etc/passwd"), uid).unwrap_or_else(|| format!("uid {uid}"));
        let host = read_beginning("/proc/sys/kernel/hostname").trim().to_owned();
        let host = if host.is_empty() { read_beginning("/etc/hostname").trim().to_owned() } else { host };
        Self {
            user,
            uid,
            sudo_user: std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty()),
            host,
            pid: std::process::id(),
            identities: Vec::new(),
            ensemble: ReportedEnsemble::new(connect, None).connect().to_owned(),
            own_session: None,
        }
    }
}

/// Returns an identity without the password hash that servers keep after a digest's name.
fn identity(scheme: &str, user: &str) -> String {
    let name = if scheme == "digest" { user.split(':').next().unwrap_or_default() } else { user };
    format!("{scheme}:{name}")
}

/// Reads the beginning of a small system file; empty if there is none.
fn read_beginning(path: &str) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        // The part that was read before an error is still good for a name.
        let _ = file.take(MAX_FILE_SIZE).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn user_named(passwd: &str, uid: u32) -> Option<String> {
    let entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut found = entries.filter(|fields| fields.get(2).is_some_and(|number| number.parse() == Ok(uid)));
    found.next().and_then(|fields| Some((*fields.first()?).to_owned()))
}
