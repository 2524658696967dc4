//! The clients of the chosen fleet.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use super::list::{ListTitle, ListView};
use crate::tui::app::{ClientColumn, Clients, FleetView, Phase};
use crate::tui::columns::Placed;
use crate::tui::keymap::Command;
use crate::tui::widget::panel::Panel;
use crate::tui::widget::table::Cell;
use lockscope_lab::contend::{ClientState, ClientStatus, LinkState};
use lockscope_model::text::human::{count, duration, latency, plural};
use lockscope_model::text::{Keep, session};

impl ListView for Clients {
    fn title(&self, view: View<'_>) -> ListTitle {
        title(view)
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        why_empty(view, view.app.fleets().fleet(view.app.side()))
    }

    fn cell(&self, view: View<'_>, client: &&ClientStatus, column: Placed<ClientColumn>) -> Cell {
        cell(view, client, column)
    }
}

/// Draws the screen before the first fleet has started: the text says how to start one.
pub fn draw_nothing(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let title = ("Contend".to_owned(), view.theme.strong);
    let inner = Panel { left: vec![title], ..Panel::default() }.draw(area, buffer, view.theme);
    let parent = view.app.own_node();
    let lines = if view.app.settings().write {
        vec![
            "No test clients run.".to_owned(),
            String::new(),
            format!(
                "{} starts a herd and a chain side by side, below {}.",
                view.app.bindings().name(Command::Start),
                view.fit(parent.as_str(), 30, Keep::End)
            ),
            view.sentence("{start} on a lock's queue sends test clients into that very queue."),
        ]
    } else {
        vec![
            "No test clients run: this console is read-only.".to_owned(),
            String::new(),
            view.sentence("Start it as `lockscope --write`, and {start} starts a herd beside a chain."),
            "`lockscope contend` and `lockscope compare` need no screen for it.".to_owned(),
        ]
    };
    view.placeholder(&lines, inner, buffer);
}

fn title(view: View<'_>) -> ListTitle {
    let (app, theme) = (view.app, view.theme);
    let fleet = app.fleets().fleet(app.side());
    let name = fleet.map_or("", |fleet| fleet.scenario().algorithm.name());
    let mut after_filter = Vec::new();
    let all = app.fleets().clients(app.side()).len();
    let dead = all.saturating_sub(fleet.map_or(0, FleetView::living));
    if dead > 0 {
        after_filter.push((format!("{} out of action", count(dead as u64)), theme.bad));
    }
    if app.fleets().is_pair() {
        after_filter.push((view.sentence("{pane}: the other"), theme.dim));
    }
    let bottom = app.selected_client().and_then(|client| {
        let trouble = client.trouble.as_deref()?;
        let text = format!("{} client {}: {trouble}", theme.signs.warning, client.id);
        Some(view.bottom(&text, theme.wait, Keep::Start))
    });
    let right = fleet.and_then(FleetView::holder).map(|(id, token)| {
        let (sign, dot) = (theme.signs.holds, theme.signs.dot);
        (format!("{sign} client {id} holds {dot} token {token}"), theme.good)
    });
    ListTitle { name: format!("Clients of the {name}"), all, after_filter, right, bottom, ..ListTitle::default() }
}

fn why_empty(view: View<'_>, fleet: Option<&FleetView>) -> Vec<String> {
    let again = view.sentence("{start} starts new ones.");
    match fleet.map(FleetView::phase) {
        Some(Phase::Running) => match fleet.and_then(FleetView::status) {
            None => vec!["The test clients connect.".to_owned()],
            Some(_) => vec![view.sentence("There is no client: {join} adds one, {stop} ends the fleet.")],
        },
        Some(Phase::Stopping) => vec!["The test clients are leaving.".to_owned()],
        Some(Phase::Failed(_)) => vec!["There are no clients.".to_owned(), again],
        Some(Phase::Ended(outcome)) => {
            let left = match outcome.left_behind {
                Some(0) => "The test clients are gone, and their nodes with them.".to_owned(),
                Some(left) => format!(
                    "They left {} behind.",
                    plural(usize::try_from(left).unwrap_or(usize::MAX), "node", "nodes")
                ),
                None => "Whether they left nodes behind is not known.".to_owned(),
            };
            let trouble = outcome.troubles.first().map(|trouble| view.fit(trouble, 76, Keep::Start));
            [Some(left), trouble, Some(again)].into_iter().flatten().collect()
        }
        None => vec![again],
    }
}

fn cell(view: View<'_>, client: &ClientStatus, column: Placed<ClientColumn>) -> Cell {
    let theme = view.theme;
    let signs = &theme.signs;
    let width = usize::from(column.width);
    let figure = |number: u64| Cell::new(count(number), if number == 0 { theme.dim } else { theme.text });
    match column.key {
        ClientColumn::Id => Cell::new(client.id.to_string(), theme.strong),
        ClientColumn::State => state(view, client),
        ClientColumn::Since => {
            let status = view.app.fleets().fleet(view.app.side()).and_then(FleetView::status);
            let age = status.map_or(std::time::Duration::ZERO, |status| status.age);
            Cell::new(duration(age.saturating_sub(client.since)), theme.dim)
        }
        ClientColumn::Session => {
            let id = client.session.map_or_else(|| "none".to_owned(), |id| session(id, width, signs.charset));
            Cell::new(id, if client.session.is_some() { theme.text } else { theme.dim })
        }
        ClientColumn::Expired => {
            Cell::new(count(client.expired), if client.expired == 0 { theme.dim } else { theme.bad })
        }
        ClientColumn::Link => link(view, client),
        ClientColumn::Token => Cell::new(client.token.map_or_else(String::new, |token| token.to_string()), theme.good),
        ClientColumn::Events => figure(client.events),
        ClientColumn::Requests => figure(client.requests),
        ClientColumn::Acquired => figure(client.acquisitions),
        ClientColumn::Held | ClientColumn::Longest | ClientColumn::Median | ClientColumn::Slowest
            if client.acquisitions == 0 =>
        {
            Cell::new("-", theme.dim)
        }
        ClientColumn::Held => Cell::new(latency(client.held), theme.text),
        ClientColumn::Longest => Cell::new(latency(client.longest_wait), theme.text),
        ClientColumn::Median => Cell::new(latency(client.waits.p50), theme.text),
        ClientColumn::Slowest => Cell::new(latency(client.waits.p99), theme.text),
        ClientColumn::Trouble => {
            let trouble = client.trouble.as_deref().unwrap_or_default();
            Cell::new(view.fit(trouble, width, Keep::Start), theme.wait)
        }
    }
}

/// Returns the state of a client, with a sign. A frozen client keeps the state it last knew.
fn state(view: View<'_>, client: &ClientStatus) -> Cell {
    let theme = view.theme;
    let signs = &theme.signs;
    let (sign, word, style): (&str, &str, Style) = match (client.state, client.frozen) {
        (ClientState::Holding, true) => (signs.warning, "frozen, holds", theme.bad),
        (ClientState::Waiting, true) => (signs.warning, "frozen, waits", theme.bad),
        (ClientState::Crashed, _) => (signs.bad, "crashed", theme.bad),
        (ClientState::Failed, _) => (signs.bad, "failed", theme.bad),
        (_, true) => (signs.warning, "frozen", theme.bad),
        (ClientState::Connecting, _) => (signs.busy, "connecting", theme.wait),
        (ClientState::Ready, _) => (signs.busy, "ready", theme.wait),
        (ClientState::Waiting, _) => (signs.waits, "waits", theme.wait),
        (ClientState::Holding, _) => (signs.holds, "holds", theme.good),
        (ClientState::Done, _) => (signs.dot, "done", theme.dim),
        (ClientState::Leaving, _) => (signs.dot, "leaving", theme.dim),
    };
    Cell::new(format!("{sign} {word}"), style)
}

fn link(view: View<'_>, client: &ClientStatus) -> Cell {
    let theme = view.theme;
    let delay = latency(client.delay);
    match client.link {
        LinkState::Whole => Cell::new("connected", theme.dim),
        LinkState::Delayed => Cell::new(format!("late {delay}"), theme.wait),
        LinkState::Paused => Cell::new(format!("{} paused", theme.signs.warning), theme.bad),
        LinkState::Cut => Cell::new(format!("{} cut", theme.signs.bad), theme.bad),
    }
}
