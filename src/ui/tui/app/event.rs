//! What comes into the state of the screen, and what goes out of it.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Arrival, ConfigChange, FleetSide, Recorded, Tour, Travel};
use crate::tui::key::{Key, Mouse};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{FleetCommand, FleetOutcome, FleetStatus, Scenario};
use lockscope_lab::demo::SceneCommand;
use lockscope_live::admin::audit::AuditHistory;
use lockscope_live::admin::{self, Confirmed, DeletePlan};
use lockscope_live::observe::Observed;
use lockscope_live::zk::NodeReading;
use lockscope_past::record::Batch;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditReading {
    /// What stands in it, or why it could not be read: a sentence that says what to do.
    pub history: Result<AuditHistory, String>,
    /// Why nothing can be written into it, where that was tried: a sentence that says what to do.
    pub unwritable: Option<String>,
}

/// What came of reading a node: `None` inside where there is no such node, or a sentence that says why it cannot be read.
pub type NodeRead = Result<Box<Option<NodeReading>>, String>;

#[derive(Clone, Debug)]
pub enum Event {
    Key(Key),
    Mouse(Mouse),
    /// The terminal has this many columns and lines now.
    Resize(u16, u16),
    /// The ensemble changed, or the way we look at it.
    Changes(Vec<Observed>),
    Tick,
    /// The time came that [`App::next_due`](super::App::next_due) named.
    Due,
    /// An [`Effect::Export`] was carried out: where the file is, or why there is none.
    ExportDone(Result<PathBuf, String>),
    /// Something that the user should know, said once.
    Note(String),
    /// An [`Effect::GoToContext`] could not be carried out: why, as a sentence.
    ContextRefused(String),
    /// The config file has changed.
    ConfigChanged(Box<ConfigChange>),
    /// An [`Effect::FindGuards`] was carried out: the plan with what was found out, or why nothing could be; a sentence.
    GuardsFound(Result<Box<DeletePlan>, String>),
    /// An [`Effect::Delete`] was carried out: what came of each node, or why nothing was even tried.
    DeletionDone(Result<Vec<admin::NodeOutcome>, String>),
    AuditRead(Box<AuditReading>),
    /// An [`Effect::ReadNode`] was carried out.
    NodeRead {
        path: ZnodePath,
        read: NodeRead,
    },
    /// The observer ended by itself and will bring nothing more.
    ObserverEnded,
    Fleet {
        side: FleetSide,
        status: Arc<FleetStatus>,
    },
    /// A fleet could not run, and is no more.
    FleetFailed {
        side: FleetSide,
        /// Why, and what to do: a sentence without a full stop.
        why: String,
    },
    /// A fleet has ended because it was stopped: its clients are gone.
    FleetEnded {
        side: FleetSide,
        outcome: Box<FleetOutcome>,
    },
    /// A fleet had too much to do and dropped an order.
    FleetBusy(FleetSide),
    /// The next fleet of an [`Effect::CompareFleets`] has ended, or it could not run and no other follows: why, as a sentence without
    /// a full stop.
    FleetCompared(Result<Box<FleetOutcome>, String>),
    /// An [`Effect::Travel`] was carried out.
    Arrived(Box<Arrival>),
    /// An [`Effect::Record`] was carried out.
    Recorded(Box<Recorded>),
    TourBegins(Box<Tour>),
    /// The scene of the tour cannot be played: why, as a sentence without a full stop.
    SceneFailed(String),
}

/// What the console wants done. Data: [`run`](crate::tui::run()) carries it out and reports back as an [`Event`].
///
/// It cannot be cloned: what was confirmed once is carried out once.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    Quit,
    /// Leave this ensemble for the one of that context.
    GoToContext(String),
    /// Put this text on the clipboard of the terminal.
    Copy(String),
    /// Write a file with this name into the current directory, unless there is one.
    Export {
        name: String,
        text: String,
    },
    /// Find out how each node of a plan can be made sure of, and what is missing to delete it.
    FindGuards(Box<DeletePlan>),
    /// Carry out what was confirmed.
    Delete(Box<Confirmed<DeletePlan>>),
    ReadAudit,
    /// Read a node as it is: its stat, its ACL, its data.
    ReadNode(ZnodePath),
    /// Give the terminal back and stop the process until it is continued.
    Suspend,
    /// Draw everything anew: something else wrote to the terminal.
    Redraw,
    /// Start test clients. There is no fleet on that side, or it has ended.
    StartFleet {
        side: FleetSide,
        scenario: Box<Scenario>,
    },
    Order {
        side: FleetSide,
        order: FleetCommand,
    },
    /// Ask the servers who watches what, which is dear, or no longer.
    LookAtWatchers(bool),
    /// Stop a fleet: its clients go, with their sessions and nodes.
    StopFleet(FleetSide),
    /// All fleets leave in the background, and nothing more is heard of them.
    DismissFleets,
    DirectScene(SceneCommand),
    /// Go from this moment of the recording that is shown to another.
    Travel {
        from: Timestamp,
        /// The end of the recording that the screen knows of.
        outlined: Timestamp,
        travel: Travel,
    },
    /// Let go of what was read of the past: live is shown again.
    ForgetPast,
    /// Write what was taken down; the next one comes when that was [reported](Event::Recorded).
    Record(Vec<Batch>),
    /// Let these fleets run to their end, one after the other.
    CompareFleets(Vec<Scenario>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Update {
    pub redraw: bool,
    /// What is to be done, in order.
    pub effects: Vec<Effect>,
}

impl Update {
    pub(super) fn redraw() -> Self {
        Self { redraw: true, effects: Vec::new() }
    }

    pub(super) fn effect(effect: Effect) -> Self {
        Self { redraw: true, effects: vec![effect] }
    }

    /// Does what comes of something else too, behind this.
    pub(super) fn append(&mut self, then: Self) {
        self.redraw |= then.redraw;
        self.effects.extend(then.effects);
    }
}
