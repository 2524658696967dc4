//! Two clients that each think they hold, face to face above the resource that tells them apart.
//!
//! ```text
//! ┌ client-1 ──────────────────┐  ┌ client-3 ──────────────────┐
//! │ ! thinks it holds, FROZEN  │  │ ● holds                    │
//! │ token 1314                 │  │ token 1317                 │
//! └─────────────┬──────────────┘  └─────────────┬──────────────┘
//!               ✖ refused: below 1317           ▼ taken
//! ┌ resource ─────────────────────── 11 writes, 1 refused ─────┐
//! │ the highest token that has written: 1317                   │
//! └────────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::super::View;
use super::rows::words;
use super::write;
use crate::tui::app::FleetView;
use crate::tui::picture::{PictureRow, RowId, RowState, RowTrouble};
use crate::tui::widget::Panel;
use crate::tui::widget::write::write_line;
use lockscope_base::znode::Zxid;
use lockscope_lab::contend::{ClientId, ResourceStatus};
use lockscope_model::text::{Charset, Keep, width};

/// The lines of everything.
pub const HEIGHT: u16 = BOX_HEIGHT + ARROW_HEIGHT + 3;

const BOX_HEIGHT: u16 = 4;

const ARROW_HEIGHT: u16 = 2;

/// Minimum columns of the area.
const MIN_WIDTH: u16 = 64;

/// Maximum columns of each box, and the columns between the boxes.
const MAX_WIDTH: u16 = 44;

const GAP: u16 = 4;

/// A client that holds, or that held without knowing that it no longer does.
struct Believer<'a> {
    client: ClientId,
    token: Option<Zxid>,
    row: Option<&'a PictureRow>,
}

/// The client whose session ended while it held, and the client that holds now.
pub struct Believers<'a> {
    outdated: Believer<'a>,
    holder: Option<Believer<'a>>,
    resource: &'a ResourceStatus,
}

impl<'a> Believers<'a> {
    /// Returns the two clients: while one of them thinks that it holds, and after the resource has
    /// refused its write.
    pub fn of(fleet: &'a FleetView) -> Option<Self> {
        let resource = &fleet.status()?.resource;
        let rows = &fleet.replay.picture().rows;
        let believer = |row: &'a PictureRow| {
            let RowId::Client(number) = row.id else { return None };
            Some(Believer { client: ClientId(u32::try_from(number).ok()?), token: row.token, row: Some(row) })
        };
        let in_state = |state: RowState| rows.iter().find(|row| row.state == state).and_then(believer);
        let of = |id: ClientId| rows.iter().find(|row| row.id == RowId::Client(u64::from(id.0)));
        let refused = || {
            let (client, token, _) = resource.last_rejected?;
            Some(Believer { client, token: Some(token), row: of(client) })
        };
        let outdated = in_state(RowState::ThinksItHolds).or_else(refused)?;
        let holder = in_state(RowState::Holds).filter(|holder| holder.client != outdated.client);
        Some(Self { outdated, holder, resource })
    }

    /// Draws both and the resource at the top of an area. Returns how many lines they take: none
    /// where they do not fit.
    pub fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
        if area.width < MIN_WIDTH || area.height < HEIGHT {
            return 0;
        }
        let columns = ((area.width - GAP) / 2).min(MAX_WIDTH);
        let left = Rect { width: columns, height: BOX_HEIGHT, ..area };
        let right = Rect { x: area.x + columns + GAP, ..left };
        let theme = view.theme;
        draw_box(view, Some(&self.outdated), theme.bad, left, buffer);
        draw_box(view, self.holder.as_ref(), theme.good, right, buffer);
        let arrow = |at: Rect| Rect { y: at.bottom(), height: ARROW_HEIGHT, ..at };
        let fate = if self.refused() {
            (theme.signs.bad, format!("refused{}", self.below()), theme.bad)
        } else {
            (theme.signs.dot, "no write since".to_owned(), theme.dim)
        };
        draw_arrow(view, fate, arrow(left), buffer);
        if let Some(holder) = &self.holder {
            let taken = holder.token.is_some() && holder.token == self.resource.highest;
            let text = if taken { "taken" } else { "no write yet" };
            let sign = if theme.signs.charset == Charset::Ascii { "v" } else { "▼" };
            let style = if taken { theme.good } else { theme.dim };
            draw_arrow(view, (sign, text.to_owned(), style), arrow(right), buffer);
        }
        let below = Rect { y: area.y + BOX_HEIGHT + ARROW_HEIGHT, width: 2 * columns + GAP, height: 3, ..left };
        let title = vec![("resource".to_owned(), theme.strong)];
        let right = Some((super::writes(self.resource), theme.dim));
        let inner = Panel { left: title, right, ..Panel::default() }.draw(below, buffer, theme);
        let highest = self.resource.highest.map_or_else(|| "none".to_owned(), |token| token.to_string());
        write(view, &format!(" the highest token that has written: {highest}"), theme.text, inner, buffer);
        HEIGHT
    }

    /// Returns whether the resource refused the write with the outdated token.
    fn refused(&self) -> bool {
        let outdated = (self.outdated.client, self.outdated.token);
        self.resource.last_rejected.is_some_and(|(client, token, _)| (client, Some(token)) == outdated)
    }

    fn below(&self) -> String {
        self.resource.highest.map_or_else(String::new, |token| format!(": below {token}"))
    }
}

/// Draws a client: its name, what it thinks or does, and its token.
fn draw_box(view: View<'_>, believer: Option<&Believer<'_>>, style: Style, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let name = believer.map_or_else(|| "nobody yet".to_owned(), |believer| believer.client.name());
    let inner = Panel { left: vec![(name, theme.strong)], ..Panel::default() }.draw(area, buffer, theme);
    let Some(believer) = believer else { return };
    let row = believer.row;
    let sign = row.map_or(theme.signs.nothing, |row| super::rows::sign(view, row).0);
    let frozen = row.is_some_and(|row| row.troubles.contains(&RowTrouble::Frozen));
    let said = row.and_then(|row| {
        let said = words(view, row).into_iter().map(|(text, _)| text);
        said.into_iter().find(|text| text != "frozen" && !text.starts_with("token"))
    });
    let said = said.unwrap_or_else(|| "not in the queue".to_owned());
    let frozen = if frozen { ", FROZEN" } else { "" };
    let room = usize::from(inner.width).saturating_sub(1);
    let line = |at: u16| Rect { y: inner.y + at, height: 1, ..inner };
    let text = view.fit(&format!("{sign} {said}{frozen}"), room, Keep::Start);
    write_line(Span::styled(format!(" {text}"), style), line(0), buffer);
    let holds = row.is_some_and(|row| matches!(row.state, RowState::Holds | RowState::ThinksItHolds));
    if let Some(token) = believer.token {
        let text = if holds { format!(" token {token}") } else { format!(" wrote too late, with token {token}") };
        write(view, &text, theme.strong, line(1), buffer);
    }
}

/// Draws an arrow from a box to the resource, with its end and the words beside it.
fn draw_arrow(view: View<'_>, (end, text, style): (&str, String, Style), area: Rect, buffer: &mut Buffer) {
    let line = if view.theme.signs.charset == Charset::Ascii { "|" } else { "│" };
    let x = area.x + area.width / 3;
    let beside = Rect { x, width: area.right().saturating_sub(x), height: 1, ..area };
    write_line(Span::styled(line.to_owned(), style), beside, buffer);
    let whole = format!("{end} {text}");
    let text = if width(&whole) <= usize::from(beside.width) { whole } else { format!("{end} {}", first_word(&text)) };
    write_line(Span::styled(text, style), Rect { y: area.y + 1, ..beside }, buffer);
}

fn first_word(text: &str) -> &str {
    text.split(':').next().unwrap_or_default()
}
