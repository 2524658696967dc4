//! ```text
//! ┌ Audit ── 3 changes ──────────────────────────────────────────────────────── following ┐
//! │   TIME                  WHAT    RESULT            OWNER     WHO        NODE             │
//! │▸  2024-05-01 14:41:07   delete  ● deleted         ghost     ann@ops1   /locks/b…004711  │
//! └ /home/ann/.local/state/lockscope/audit.jsonl ─────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{View, filter_title, window};
use crate::admin::audit::AuditEntry;
use crate::text::human::{date_and_time, plural};
use crate::text::{Keep, wrap_words};
use crate::tui::app::{Pane, Rows};
use crate::tui::page::audit_entry::{self, is_done, result};
use crate::tui::widget::panel::Panel;
use crate::tui::widget::table::{Cell, Column, Placed, place, row, titles};

/// Columns of day and time without the zone.
const TIME_WIDTH: usize = 19;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuditColumn {
    Mark,
    Time,
    Action,
    Result,
    Owner,
    Who,
    Node,
}

const COLUMNS: &[Column<AuditColumn>] = &[
    Column::text(AuditColumn::Mark, "", 1, 1, 0),
    Column::text(AuditColumn::Time, "TIME", 19, 19, 1),
    Column::text(AuditColumn::Action, "WHAT", 6, 6, 3),
    Column::text(AuditColumn::Result, "RESULT", 15, 15, 0),
    Column::text(AuditColumn::Owner, "OWNER", 9, 9, 4),
    Column::text(AuditColumn::Who, "WHO", 9, 24, 2),
    Column::text(AuditColumn::Node, "NODE", 16, 70, 0),
];

/// What was changed, newest last.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let (audit, cursor) = (app.audit(), app.entry_cursor());
    let inner = panel(view).draw(area, buffer, theme);
    if inner.height < 2 {
        return;
    }
    let trouble = app.audit().failed().filter(|_| audit.len() > 0).or(audit.unwritable());
    let (list, below) = match trouble {
        Some(trouble) => {
            let lines = wrap_words(trouble, usize::from(inner.width).saturating_sub(4), theme.signs.charset);
            let most = usize::from(inner.height).saturating_sub(4);
            let height = u16::try_from(lines.len().min(most)).unwrap_or(0);
            let list = Rect { height: inner.height - height, ..inner };
            (list, lines.into_iter().zip(list.bottom()..inner.bottom()).collect())
        }
        None => (inner, Vec::new()),
    };
    for (at, (text, y)) in below.into_iter().enumerate() {
        let sign = if at == 0 { theme.signs.bad } else { " " };
        Line::from(Span::styled(format!(" {sign} {text}"), theme.bad)).render(Rect { y, height: 1, ..inner }, buffer);
    }
    if audit.len() == 0 {
        view.placeholder(&why_empty(view, usize::from(list.width)), list, buffer);
        return;
    }
    let placed = place(COLUMNS, list.width);
    titles(buffer, list, &placed, |_| theme.title);
    let list = Rect { y: list.y + 1, height: list.height - 1, ..list };
    for (rank, line) in window(cursor.top(), audit.len(), list) {
        if let Some(entry) = audit.entry(rank) {
            row(buffer, line, &placed, |column| cell(view, entry, column));
        }
        if rank == cursor.rank() {
            view.select(line, buffer, app.pane() == Pane::List);
        }
    }
}

fn panel(view: View<'_>) -> Panel {
    let (app, theme) = (view.app, view.theme);
    let (audit, history) = (app.audit(), app.audit().history());
    let mut left = vec![("Audit".to_owned(), theme.strong)];
    left.push((plural(history.entries.len(), "change", "changes"), theme.text));
    left.extend(filter_title(view, audit.len(), history.entries.len()));
    if history.damaged > 0 {
        left.push((plural(history.damaged, "damaged line", "damaged lines"), theme.wait));
    }
    if history.cut {
        left.push(("older ones are not shown".to_owned(), theme.dim));
    }
    let follows = if app.entry_cursor().follows_last() { "following" } else { "G: follow" };
    let right = (audit.len() > 0).then(|| (follows.to_owned(), theme.dim));
    let room = app.layout().map_or(0, |layout| usize::from(layout.main.width).saturating_sub(6));
    let path = app.audit_path().map(|path| (view.fit(&path.to_string_lossy(), room, Keep::End), theme.dim));
    Panel { left, right, bottom: path, focused: app.pane() == Pane::List }
}

fn why_empty(view: View<'_>, columns: usize) -> Vec<String> {
    let (app, audit) = (view.app, view.app.audit());
    let says = match (app.audit_path(), audit.failed()) {
        (None, _) => "There is no place for the audit log, so nothing can be changed: name one with --audit-log FILE.",
        (_, Some(failed)) => failed,
        _ if !audit.was_read() => "Reading the audit log.",
        _ if !audit.history().entries.is_empty() => {
            return vec![
                format!("No change contains \"{}\".", view.fit(app.filter().text(), 30, Keep::Start)),
                "Esc clears the filter.".to_owned(),
            ];
        }
        _ => "Nothing was changed yet: here stands who deleted which node, why, and what came of it.",
    };
    wrap_words(says, columns.saturating_sub(4), view.theme.signs.charset)
}

fn cell(view: View<'_>, entry: &AuditEntry, column: Placed<AuditColumn>) -> Cell {
    let theme = view.theme;
    let width = usize::from(column.width);
    let fit = |text: &str, keep| view.fit(text, width, keep);
    match column.key {
        AuditColumn::Mark => Cell::new(" ", theme.text),
        AuditColumn::Time => {
            let known = audit_entry::time(&entry.at).map(|time| date_and_time(time, view.app.settings().utc));
            let shown = known.map_or_else(|| entry.at.clone(), |time| time.chars().take(TIME_WIDTH).collect());
            Cell::new(fit(&shown, Keep::Start), theme.dim)
        }
        AuditColumn::Action => Cell::new(fit(&entry.action, Keep::Start), theme.text),
        AuditColumn::Result => {
            let (sign, style) = match &entry.outcome {
                None => (theme.signs.unknown, theme.unsure),
                Some(_) if is_done(entry) => (theme.signs.holds, theme.good),
                Some(told) if told.result == "not-known" => (theme.signs.unknown, theme.unsure),
                Some(_) => (theme.signs.bad, theme.bad),
            };
            Cell::new(fit(&format!("{sign} {}", result(entry)), Keep::Start), style)
        }
        AuditColumn::Owner => Cell::new(fit(&entry.subject.life, Keep::Start), theme.text),
        AuditColumn::Who => Cell::new(fit(&format!("{}@{}", entry.who.user, entry.who.host), Keep::Start), theme.text),
        AuditColumn::Node => Cell::new(fit(&entry.subject.path, Keep::Ends), theme.strong),
    }
}
