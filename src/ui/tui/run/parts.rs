//! The parts that the loop drives.

use crate::tui::app::{Event, FleetSide};
use crate::tui::input::{ProcessSignal, ProcessSignals};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{self, Scenario};
use lockscope_lab::demo::SceneCommand;
use lockscope_live::observe::Observed;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::members::ComparedNodes;

/// A source of changes.
pub trait ChangeSource {
    /// Waits for the next changes; `None` when no more will come. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Option<Vec<Observed>>>;
    /// Sets when to ask the servers for the watches of each session.
    fn set_watchers_wanted(&mut self, wanted: WatchersWanted);
    /// Sets the parent of the open queue, whose contenders are read first.
    fn set_open_queue(&mut self, parent: Option<ZnodePath>);
    /// Compares the members in these nodes, unless a comparison is under way.
    fn compare_members(&mut self, _: ComparedNodes) {}
}

/// A source of signals.
pub trait SignalSource {
    /// Waits for the next signal. Cancel safe.
    fn next(&mut self) -> impl Future<Output = ProcessSignal>;
}

impl SignalSource for ProcessSignals {
    fn next(&mut self) -> impl Future<Output = ProcessSignal> {
        ProcessSignals::next(self)
    }
}

/// Starts and controls test clients.
pub trait FleetControl {
    /// Waits for the fleets' next report; forever while there is no fleet. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Event>;
    fn start(&mut self, side: FleetSide, scenario: Scenario);
    fn order(&mut self, side: FleetSide, order: contend::FleetCommand);
    /// Stops the fleet on a side; its end is reported as an event.
    fn stop(&mut self, side: FleetSide);
    /// Lets all fleets end in the background and reports no more events of them.
    fn dismiss(&mut self) {}
    fn direct(&mut self, _: SceneCommand) {}
    /// Runs these scenarios to their end, one after the other; each outcome is reported as an
    /// event.
    fn compare(&mut self, _: Vec<Scenario>) {}
}
