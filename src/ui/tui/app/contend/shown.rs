//! Test clients as the screen shows them, and the lock that new ones would contend for.

use super::{CannotJoin, Destination, FleetSide, Fleets, SlowMotion};
use crate::tui::app::comparison::FleetComparison;
use crate::tui::app::{App, Cursor, Screen};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{ClientId, ClientStatus};

/// The name of the node that contains the console's own queues.
const OWN_NODE: &str = "lockscope";

impl App {
    /// Returns the fleets that the screen shows: the current ones, or those at the time of the
    /// pause.
    pub fn fleets(&self) -> &Fleets {
        self.shown.fleets(self.test_clients.fleets())
    }

    /// Returns the current number of living test clients, even while the screen is paused.
    pub fn living_clients(&self) -> usize {
        self.test_clients.fleets().living()
    }

    /// Returns whether any fleet is running or stopping now, even while the screen is paused.
    pub fn has_fleets(&self) -> bool {
        self.test_clients.fleets().is_active()
    }

    /// Returns the side whose clients are listed.
    pub fn side(&self) -> FleetSide {
        self.test_clients.side()
    }

    pub fn client_cursor(&self) -> &Cursor<ClientId> {
        &self.cursors.clients[self.side() as usize]
    }

    pub fn selected_client(&self) -> Option<&ClientStatus> {
        self.fleets().clients(self.side()).get(self.client_cursor().rank())
    }

    pub fn slow_motion(&self) -> SlowMotion {
        *self.test_clients.motion()
    }

    /// Returns whether Contend shows the picture instead of figures and clients.
    pub fn shows_picture(&self) -> bool {
        self.screen() == Screen::Contend
            && self.slow_motion().wants_picture()
            && self.fleets().fleet(FleetSide::Left).is_some()
    }

    /// Returns the results of the comparison; empty if there is none.
    pub fn comparison(&self) -> &FleetComparison {
        &self.test_clients.comparison
    }

    /// Returns the node that contains the console's own queues. It is within an observed root, so
    /// that the console shows the queues: `/lockscope` if a root covers it, or else a root below
    /// `/lockscope`, or else the child `lockscope` of the first root.
    pub fn own_node(&self) -> ZnodePath {
        let own = ZnodePath::root().child(OWN_NODE);
        let roots = &self.settings.roots;
        if roots.iter().any(|root| own.is_within(root)) {
            return own;
        }
        let within = roots.iter().find(|root| root.is_within(&own)).cloned();
        within.or_else(|| roots.first().map(|root| root.child(OWN_NODE))).unwrap_or(own)
    }

    /// Returns how test clients would join the open lock; `None` if no lock is open.
    pub fn destination(&self) -> Option<Result<Destination, CannotJoin>> {
        let name = self.opened()?;
        let table = self.live.table();
        let lock = table.find(&name.path, name.name.as_deref()).and_then(|id| table.lock(id))?;
        Some(Destination::of(lock))
    }
}
