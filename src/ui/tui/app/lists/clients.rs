//! Contend: the test clients of the chosen side.

use serde::Serialize;

use crate::tui::app::filter::Matching;
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Cursor, FleetSide, Rows, Screen};
use crate::tui::screen::Column;
use lockscope_lab::contend::{ClientId, ClientStatus, FleetOutcome};

pub struct Clients;

/// The figures of the test clients. Each fleet has the format of `lockscope contend`.
#[derive(Serialize)]
struct FleetsExport {
    fleets: Vec<FleetOutcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientColumn {
    Id,
    State,
    Since,
    Session,
    Expired,
    Link,
    Token,
    Events,
    Requests,
    Acquired,
    Held,
    Longest,
    Median,
    Slowest,
    Trouble,
}

const COLUMNS: &[Column<ClientColumn>] = &[
    Column::number(ClientColumn::Id, "ID", 4, 0),
    Column::text(ClientColumn::State, "STATE", 15, 15, 0),
    Column::number(ClientColumn::Since, "SINCE", 6, 6),
    Column::text(ClientColumn::Session, "SESSION", 9, 18, 1),
    Column::number(ClientColumn::Expired, "EXPIRED", 7, 7),
    Column::text(ClientColumn::Link, "LINK", 10, 12, 0),
    Column::number(ClientColumn::Token, "TOKEN", 12, 9),
    Column::number(ClientColumn::Events, "EVENTS", 7, 0),
    Column::number(ClientColumn::Acquired, "ACQ", 6, 0),
    Column::number(ClientColumn::Held, "HELD", 6, 3),
    Column::number(ClientColumn::Median, "WAIT p50", 8, 5),
    Column::number(ClientColumn::Slowest, "p99", 6, 4),
    Column::number(ClientColumn::Longest, "LONGEST", 7, 2),
    Column::number(ClientColumn::Requests, "REQUESTS", 8, 8),
    Column::text(ClientColumn::Trouble, "TROUBLE", 16, 60, 10),
];

impl ListScreen<App> for Clients {
    type Id = ClientId;
    type Row<'a> = &'a ClientStatus;
    type Order = FixedOrder;
    type Column = ClientColumn;

    fn columns(&self) -> &'static [Column<ClientColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Contend)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<ClientId> + 'a {
        app.fleets().clients(app.side())
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a ClientStatus> {
        app.fleets().clients(app.side()).get(rank)
    }

    fn search(&self, _: &App, client: &&ClientStatus, matching: &mut Matching<'_>) {
        matching
            .made(|| client.id.to_string())
            .session(client.session)
            .made(|| format!("{:?}", client.state).to_lowercase());
        matching.texts(client.trouble.as_deref()).texts(client.frozen.then_some("frozen"));
        matching.texts(client.token.map(|token| token.to_string()).as_deref());
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

    fn move_sideways(&self, app: &mut App, to_right: bool) -> bool {
        let there = if to_right { FleetSide::Right } else { FleetSide::Left };
        let turns = app.side() != there;
        if turns {
            app.test_clients.turn_side();
        }
        turns
    }
}
