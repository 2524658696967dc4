//! Contend: the test clients of the chosen side.

use serde::Serialize;

use crate::contend::{ClientId, ClientStatus, FleetOutcome};
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Cursor, FleetSide, Rows};

pub struct Clients;

/// The figures of the test clients, each fleet as `lockscope contend` prints it.
#[derive(Serialize)]
struct FleetsExport {
    fleets: Vec<FleetOutcome>,
}

impl ListScreen<App> for Clients {
    type Id = ClientId;
    type Row<'a> = &'a ClientStatus;
    type Order = FixedOrder;

    fn rows<'a>(&self, app: &'a App) -> impl Rows<ClientId> + 'a {
        app.fleets().clients(app.side())
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a ClientStatus> {
        app.fleets().clients(app.side()).get(rank)
    }

    fn cursor<'a>(&self, app: &'a App) -> &'a Cursor<ClientId> {
        &app.cursors.clients[app.side() as usize]
    }

    fn cursor_mut<'a>(&self, app: &'a mut App) -> &'a mut Cursor<ClientId> {
        let side = app.side();
        &mut app.cursors.clients[side as usize]
    }

    fn copied(&self, _: &App, client: &ClientStatus) -> Option<String> {
        client.session.map(|session| session.to_string())
    }

    fn open(&self, _: &mut App) {}

    fn exported(&self, app: &App) -> Result<String, String> {
        let fleets: Vec<_> = app.fleets().each().filter_map(|(_, fleet)| fleet.outcome()).collect();
        if fleets.is_empty() {
            return Err("There are no figures of test clients to export.".to_owned());
        }
        app.as_json(FleetsExport { fleets })
    }

    fn go_beside(&self, app: &mut App, to_right: bool) -> bool {
        let there = if to_right { FleetSide::Right } else { FleetSide::Left };
        let turns = app.side() != there;
        if turns {
            app.turn_side();
        }
        turns
    }
}
