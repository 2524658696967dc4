//! What the screen shows of the test clients, and where new ones would go.

use super::{CannotJoin, Destination, FleetSide, Fleets, SlowMotion};
use crate::tui::app::comparison::FleetComparison;
use crate::tui::app::{App, Cursor, Screen};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{ClientId, ClientStatus};

/// The node that all of the console's own queues lie below.
const OWN_NODE: &str = "lockscope";

impl App {
    /// What the screen shows of the fleets: as they are, or as they were when the screen was
    /// paused.
    pub fn fleets(&self) -> &Fleets {
        self.shown.fleets(self.test_clients.fleets())
    }

    /// How many test clients live, paused or not.
    pub fn living_clients(&self) -> usize {
        self.test_clients.fleets().living()
    }

    /// Whether there are test clients to stop, paused or not.
    pub fn has_fleets(&self) -> bool {
        self.test_clients.fleets().is_active()
    }

    /// The side whose clients are listed.
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

    /// Whether Contend shows the picture in place of figures and clients.
    pub fn shows_picture(&self) -> bool {
        self.screen() == Screen::Contend
            && self.slow_motion().wants_picture()
            && self.fleets().fleet(FleetSide::Left).is_some()
    }

    /// What the fleets of a comparison came to; without a fleet when there is none.
    pub fn comparison(&self) -> &FleetComparison {
        &self.test_clients.comparison
    }

    /// The node below which the console's own queues lie: within what is observed, so that they
    /// show.
    pub fn own_node(&self) -> ZnodePath {
        let own = ZnodePath::root().child(OWN_NODE);
        let roots = &self.settings.roots;
        if roots.iter().any(|root| own.is_within(root)) {
            return own;
        }
        let within = roots.iter().find(|root| root.is_within(&own)).cloned();
        within.or_else(|| roots.first().map(|root| root.child(OWN_NODE))).unwrap_or(own)
    }

    /// Where clients would be sent from Queue; `None` when no lock is open.
    pub fn destination(&self) -> Option<Result<Destination, CannotJoin>> {
        let name = self.opened()?;
        let table = self.live.table();
        let lock = table.find(&name.path, name.name.as_deref()).and_then(|id| table.lock(id))?;
        Some(Destination::of(lock))
    }
}
