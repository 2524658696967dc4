//! The history of one lock, newest last.
//!
//! ```text
//! ┌ History of /locks/billing ── 3 entries ──────────────────────────────────────────── following ┐
//! │   SINCE          WHAT          WHO                            WAITED    HELD  UNTIL             │
//! │   ≤14:27:05.250  - gone        10.0.4.17:51586  0x…001b                 ≥14m  14:41:08.250      │
//! │   14:41:06.000   ! stuck       /locks/billing has not changed hands for 14m while 128 wait      │
//! │▸  14:41:08.250   ● holds       10.0.4.18:40112  0x…001c       13m58s    0.8s                    │
//! └────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use super::finding::name_of;
use super::list::{ListTitle, ListView};
use crate::tui::app::{History, HistoryColumn, HistoryRow, ListScreen};
use crate::tui::columns::Placed;
use crate::tui::lock_history::{HistoryEntry, Stay, StayEnd};
use crate::tui::widget::table::{Cell, row};
use crate::tui::widget::write::write_text;
use lockscope_model::text::human::{bounded, count, duration, exact_time, plural};
use lockscope_model::text::{Charset, Keep};

impl ListView for History {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (app, theme) = (view.app, view.theme);
        let (all, forgotten) = app.history_size();
        let mut after_filter = vec![(plural(all, "entry", "entries"), theme.text)];
        if forgotten > 0 {
            after_filter.push((format!("{} older ones are forgotten", count(forgotten)), theme.dim));
        }
        let lock = app.opened().map(ToString::to_string);
        let room = app.layout().map_or(0, |layout| usize::from(layout.main.width) / 2);
        ListTitle {
            name: format!("History of {}", view.fit(&lock.unwrap_or_default(), room, Keep::End)),
            all,
            after_filter,
            right: Some(view.following(self.cursor(app).follows_last())),
            ..ListTitle::default()
        }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        if view.app.history_size().0 == 0 {
            return vec![
                "Nobody holds this lock, and nothing has happened to it".to_owned(),
                "since this console started.".to_owned(),
            ];
        }
        view.nothing_contains("No entry")
    }

    fn cell(&self, view: View<'_>, row: &HistoryRow<'_>, column: Placed<HistoryColumn>) -> Cell {
        match &*row.entry {
            HistoryEntry::Stay(stay) => stay_cell(view, stay, column),
            HistoryEntry::Finding { .. } => Cell::new("", view.theme.text),
        }
    }

    fn draw_row(
        &self,
        view: View<'_>,
        shown: &HistoryRow<'_>,
        line: Rect,
        placed: &[Placed<HistoryColumn>],
        buffer: &mut Buffer,
    ) {
        match &*shown.entry {
            HistoryEntry::Stay(stay) => row(buffer, line, placed, |column| stay_cell(view, stay, column)),
            finding @ HistoryEntry::Finding { .. } => draw_finding(view, finding, line, placed, buffer),
        }
    }
}

/// Draws a finding: when it was raised, and its text across all columns to the right.
fn draw_finding(
    view: View<'_>,
    entry: &HistoryEntry,
    line: Rect,
    placed: &[Placed<HistoryColumn>],
    buffer: &mut Buffer,
) {
    let HistoryEntry::Finding { raised_at, cleared_at, finding } = entry else { return };
    let (theme, utc) = (view.theme, view.app.settings().utc);
    let (sign, style, text_style) = match cleared_at {
        None => (theme.signs.severity(finding.severity), theme.severity(finding.severity), theme.text),
        Some(_) => (theme.signs.good, theme.good, theme.dim),
    };
    let mut end = 0;
    row(buffer, line, placed, |column| {
        let cell = match column.key {
            HistoryColumn::Since => Cell::new(raised_at.map_or_else(String::new, |at| exact_time(at, utc)), theme.dim),
            HistoryColumn::What => {
                let name = name_of(finding.code, sign, column.width.into());
                Cell::new(view.fit(&name, column.width.into(), Keep::Start), style)
            }
            _ => return Cell::new("", theme.text),
        };
        end = column.x + column.width + 1;
        cell
    });
    let room = line.width.saturating_sub(end);
    let mended = cleared_at.map(|at| format!("until {}: ", exact_time(at, utc)));
    let text = format!("{}{}", mended.unwrap_or_default(), finding.summary);
    let text = view.fit(&text, usize::from(room), Keep::Start);
    write_text(buffer, (line.x + end, line.y), room, &text, text_style);
}

fn stay_cell(view: View<'_>, stay: &Stay, column: Placed<HistoryColumn>) -> Cell {
    let (theme, utc) = (view.theme, view.app.settings().utc);
    let columns = usize::from(column.width);
    match column.key {
        HistoryColumn::Since => Cell::new(since(view, stay), theme.dim),
        HistoryColumn::What => {
            let (sign, what, style) = what(view, stay);
            Cell::new(format!("{sign} {what}"), style)
        }
        HistoryColumn::Who => Cell::new(stay.client.fit(columns, theme.signs.charset), theme.strong),
        HistoryColumn::Waited => Cell::new(stay.waited.map_or_else(String::new, duration), theme.wait),
        HistoryColumn::Held => {
            let held = stay.held.map(|held| bounded(held.at_least, held.at_most, theme.signs.charset));
            Cell::new(held.unwrap_or_default(), theme.good)
        }
        HistoryColumn::Until if stay.end == StayEnd::Open => Cell::new("now", view.data(theme.good)),
        HistoryColumn::Until => Cell::new(exact_time(stay.until, utc), theme.dim),
        HistoryColumn::Node => Cell::new(view.fit(&stay.node, columns, Keep::Ends), theme.dim),
    }
}

/// Returns when the contender acquired the lock or, before that, when it began to wait.
fn since(view: View<'_>, stay: &Stay) -> String {
    let utc = view.app.settings().utc;
    match stay.held_since() {
        Some((earliest, latest)) if earliest == latest => exact_time(latest, utc),
        Some((_, latest)) => {
            let at_most = if view.theme.signs.charset == Charset::Ascii { "<=" } else { "≤" };
            format!("{at_most}{}", exact_time(latest, utc))
        }
        None => {
            let came = stay.known.as_ref().and_then(|known| known.came_at);
            came.map_or_else(String::new, |at| exact_time(at, utc))
        }
    }
}

fn what(view: View<'_>, stay: &Stay) -> (&'static str, &'static str, Style) {
    let theme = view.theme;
    match stay.end {
        StayEnd::Open => (theme.signs.holds, "holds", view.data(theme.good)),
        StayEnd::HolderGone | StayEnd::WaiterGone if stay.may_have_expired => {
            (theme.signs.unknown, stay.end.id(), theme.unsure)
        }
        StayEnd::HolderGone => ("-", stay.end.id(), theme.text),
        StayEnd::WaiterGone => ("-", stay.end.id(), theme.dim),
        StayEnd::Expired => (theme.signs.warning, stay.end.id(), theme.bad),
        StayEnd::Deleted => (theme.signs.tag, stay.end.id(), theme.wait),
    }
}
