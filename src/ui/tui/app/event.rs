//! The events that change the state of the screen, and the effects that it returns.
//!
//! Besides plain values they carry two requests with their replies: what is written into the past
//! or taken in from logs ([`TakeIn`], [`TakenIn`], [`RecordedSize`]), and a move through a
//! recording ([`Travel`], [`Arrival`]).

use std::path::PathBuf;
use std::sync::Arc;

use super::{CommandReport, ConfigChange, EnsembleReport, Filter, FleetSide, ScreenWorld, Tour, TreeAnswer, TreeWish};
use crate::tui::keymap::key::{Key, Mouse};
use crate::tui::own_command::PreparedCommand;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_lab::contend::{FleetCommand, FleetOutcome, FleetStatus, Scenario};
use lockscope_lab::demo::SceneCommand;
use lockscope_live::admin;
use lockscope_live::admin::audit::AuditHistory;
use lockscope_live::admin::notebook::{FollowedNotes, NoteChange};
use lockscope_live::admin::{Confirmed, DeletePlan, ProductionMark};
use lockscope_live::observe::Observed;
use lockscope_live::zk::NodeReading;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::diagnose::{CrossWaitsByEnsemble, Severity};
use lockscope_model::members::ComparedNodes;
use lockscope_model::queue::{LedBefore, LockName};
use lockscope_past::record::history::PastGap;
use lockscope_past::record::{Batch, LostBatches, TimedEntry};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditReading {
    /// The entries of the log, or a sentence that says why it could not be read and what to do.
    pub history: Result<AuditHistory, String>,
    /// A sentence that says why the log cannot be written and what to do; `None` when the log is
    /// writable or nobody tried.
    pub unwritable: Option<String>,
}

/// The result of reading a node: the node, `None` when there is no such node, or a sentence that
/// says why the node cannot be read.
pub type NodeRead = Result<Box<Option<NodeReading>>, String>;

#[derive(Clone, Debug)]
pub enum Event {
    Key(Key),
    Mouse(Mouse),
    /// The new size of the terminal: columns and lines.
    Resize(u16, u16),
    /// Changes of the ensemble or of the connection to it, with their times.
    Changes(Vec<Observed>),
    Tick,
    /// The time that [`App::next_due`](super::App::next_due) returned has come.
    Due,
    /// The result of an [`Effect::Export`]: the path of the file, or why there is none.
    ExportDone(Result<PathBuf, String>),
    /// A message for the user, shown once.
    Note(String),
    /// An [`Effect::GoToContext`] failed: the reason, as a sentence.
    ContextRefused(String),
    /// The config file was changed and read again.
    ConfigChanged(Box<ConfigChange>),
    /// The result of an [`Effect::FindGuards`]: the plan with the guards found, or a sentence that
    /// says why none could be found.
    GuardsFound(Result<Box<DeletePlan>, String>),
    /// The result of an [`Effect::FindProtection`]: the context that marks the ensemble as production.
    ProtectionFound(Option<ProductionMark>),
    /// How many nodes of the plan that is carried out have an outcome.
    DeletionProgressed(usize),
    /// The result of an [`Effect::Delete`]: the outcome for each node, or why no deletion was
    /// attempted.
    DeletionDone(Result<Vec<admin::NodeOutcome>, String>),
    AuditRead(Box<AuditReading>),
    /// The result of an [`Effect::ReadNode`].
    NodeRead {
        path: ZnodePath,
        read: NodeRead,
    },
    /// The result of an [`Effect::ReadTree`] with that number.
    TreeRead {
        number: u64,
        answer: Box<TreeAnswer>,
    },
    /// A command of an [`Effect::RunCommand`] reports.
    Command(Box<CommandReport>),
    /// The observer ended by itself and sends no more changes.
    ObserverEnded,
    Fleet {
        side: FleetSide,
        status: Arc<FleetStatus>,
    },
    /// A fleet failed and is gone.
    FleetFailed {
        side: FleetSide,
        /// The reason and what to do, as a sentence without a full stop.
        why: String,
    },
    /// A fleet was stopped: its clients are gone.
    FleetEnded {
        side: FleetSide,
        outcome: Box<FleetOutcome>,
    },
    /// A fleet was too busy and dropped an order.
    FleetBusy(FleetSide),
    /// The next fleet of an [`Effect::CompareFleets`] has ended. An error ends the comparison: the
    /// reason, as a sentence without a full stop.
    FleetCompared(Result<Box<FleetOutcome>, String>),
    /// The result of an [`Effect::Travel`].
    Arrived(Box<Arrival>),
    /// The result of an [`Effect::Record`].
    Recorded(Box<RecordedSize>),
    /// The folders with the files of servers on this machine.
    ServerFilesFound(Vec<PathBuf>),
    /// The result of an [`Effect::TakeIn`]: a failure is a part of a sentence.
    PastTakenIn(Result<TakenIn, String>),
    /// The result of an [`Effect::FindLastLeaders`].
    LastLeadersFound(Vec<LedBefore>),
    /// The latest summaries of ensembles that are not open.
    EnsemblesReported(Vec<EnsembleReport>),
    /// What is noted about the open ensemble.
    NotesFollowed(Box<FollowedNotes>),
    /// The result of an [`Effect::Note`]: whether it was kept, and what to say then.
    NoteKept {
        kept: Result<(), String>,
        said: Option<String>,
    },
    TourBegins(Box<Tour>),
    /// The scene of the tour cannot be played: the reason, as a sentence without a full stop.
    SceneFailed(String),
}

/// An action that the screen's state asks for, as data: [`run`](crate::tui::run()) carries it out
/// and reports the result as an [`Event`].
///
/// An effect cannot be cloned, so a deletion that was confirmed once is carried out at most once.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    Quit,
    /// Leave this ensemble and connect to the one of that context.
    GoToContext(String),
    /// Copy this text to the terminal's clipboard.
    Copy(String),
    /// Write a file with this name into the current directory, unless the file exists.
    Export {
        name: String,
        text: String,
    },
    /// Find the recreation guard of each node of a plan, and which permissions are missing.
    FindGuards(Box<DeletePlan>),
    /// Find out whether people depend on the ensemble.
    FindProtection,
    /// Carry out the confirmed deletions.
    Delete(Box<Confirmed<DeletePlan>>),
    ReadAudit,
    /// Read a node: its stat, its ACL and its data.
    ReadNode(ZnodePath),
    /// Read for the tree, or end its session. The latest wish counts.
    ReadTree(Option<(u64, TreeWish)>),
    /// Run a program. At most one has a pane, and at most one has the terminal.
    RunCommand(Box<PreparedCommand>),
    /// Kill the program whose output goes to the pane.
    StopCommand,
    /// Restore the terminal and suspend the process until it is continued.
    Suspend,
    /// Redraw the whole screen, because another program wrote to the terminal.
    Redraw,
    /// Start test clients on a side that has no fleet, or whose fleet has ended.
    StartFleet {
        side: FleetSide,
        scenario: Box<Scenario>,
    },
    Order {
        side: FleetSide,
        order: FleetCommand,
    },
    /// Ask the servers for their watches from now on, or no longer.
    LookAtWatchers(WatchersWanted),
    /// Look for locks that pass this filter in all ensembles. The answers come with their reports.
    FilterEnsembles(Filter),
    /// Tell the ensembles that are not open of the clients that wait for each other across them.
    TellCrossWaits(CrossWaitsByEnsemble),
    /// Keep a note about the ensemble with this connect string.
    Note {
        connect: String,
        change: NoteChange,
        /// What to say once it is kept; `None` for what the console does by itself.
        said: Option<String>,
    },
    /// Compare the trees of the members in these nodes. The result comes as a change.
    CompareMembers(Box<ComparedNodes>),
    /// Stop a fleet: its clients, their sessions and their nodes are removed.
    StopFleet(FleetSide),
    /// Stop all fleets in the background, without further reports.
    DismissFleets,
    DirectScene(SceneCommand),
    /// Go from the shown moment of the recording to another.
    Travel {
        from: Timestamp,
        /// The end of the recording as of the screen's outline.
        outlined: Timestamp,
        travel: Travel,
    },
    /// Drop the state that was read for the replay, because the screen is live again.
    ForgetPast,
    /// Write these batches. The next batches follow after the [report](Event::Recorded).
    Record(Vec<Batch>),
    /// Take the past in from the transaction logs of servers.
    TakeIn(Box<TakeIn>),
    /// Find in the recording who led these elections last.
    FindLastLeaders(Vec<ZnodePath>),
    /// Run these fleets to their end, one after the other.
    CompareFleets(Vec<Scenario>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Update {
    pub redraw: bool,
    /// The effects to carry out, in order.
    pub effects: Vec<Effect>,
}

impl Update {
    pub(super) fn redraw() -> Self {
        Self { redraw: true, effects: Vec::new() }
    }

    pub(super) fn effect(effect: Effect) -> Self {
        Self { redraw: true, effects: vec![effect] }
    }

    /// Appends the effects of another update, and redraws if either asks for it.
    pub(super) fn append(&mut self, then: Self) {
        self.redraw |= then.redraw;
        self.effects.extend(then.effects);
    }
}

/// The result of an [`Effect::Record`](super::Effect::Record).
#[derive(Clone, Debug)]
pub struct RecordedSize {
    /// The earliest moment that can be replayed; `None` when there is none.
    pub since: Option<Timestamp>,
    /// Why writing fails at the moment, or what became of the file, as a sentence without a full
    /// stop.
    pub trouble: Option<String>,
    /// Batches that could not be written and were dropped.
    pub lost: Option<LostBatches>,
}

/// What to take in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeIn {
    /// The places of the logs.
    pub folders: Vec<PathBuf>,
    /// The console's session, which the right logs know.
    pub session: SessionId,
    /// The beginning of the console's own past.
    pub until: Timestamp,
    /// The elections that nobody leads and whose last leader is wanted.
    pub leaderless: Vec<ZnodePath>,
}

/// What was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenIn {
    /// The new beginning of the past.
    pub since: Timestamp,
    /// The number of transactions that were read.
    pub transactions: u64,
    /// The last leaders of the wanted elections.
    pub leaders: Vec<LedBefore>,
}

/// The outline of a recording, from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub from: Timestamp,
    pub until: Timestamp,
    /// The number of events in each of several equal periods.
    pub density: Vec<u32>,
    /// The gaps, with their reasons.
    pub gaps: Vec<PastGap>,
    /// The raised findings, with their times.
    pub findings: Vec<RaisedFinding>,
}

/// A finding, and when it was raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaisedFinding {
    pub at: Timestamp,
    pub severity: Severity,
    /// The code of the finding.
    pub code: String,
}

/// A destination in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Travel {
    /// To a moment that the user named. Fails if it is before the beginning.
    At(Timestamp),
    /// To a moment, or to the nearest known one.
    To(Timestamp),
    /// To the first moment whose state is completely known.
    Start,
    /// To the next or the previous event, of all locks or of one.
    Event { forward: bool, lock: Option<LockName> },
    /// To the next or the previous finding that was raised.
    Finding { forward: bool },
    /// Forwards to this moment, during playback.
    Play { until: Timestamp },
}

/// The result of a move through a recording.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub at: Timestamp,
    pub what: Arrived,
    /// The outline of the recording, if it has changed.
    pub outline: Option<Outline>,
}

/// The state at the new moment of a recording.
#[derive(Clone, Debug)]
pub enum Arrived {
    /// The whole state.
    World(Box<ScreenWorld>),
    /// The entries since the moment shown before.
    Entries(Vec<TimedEntry>),
    /// The move failed: why the shown moment stays, as a sentence.
    Nowhere(String),
}
