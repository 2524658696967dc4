//! ```text
//! ┌ Ensembles ── 3 ensembles ── sort: worst ▼ ─────────────────────────────────┐
//! │  ENSEMBLE   STATE          LOCKS LONGEST FINDINGS   NEW WORST               │
//! │▌✖prod-eu    ● live           210  14m02s ✖1 !2       +3 /locks/billing …    │
//! │  prod-us    ✖ no connection    -       -              - connection refused  │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use super::list::{ListTitle, ListView, waited_for};
use crate::tui::app::{EnsembleColumn, EnsembleRow, Ensembles, FoundPlace, ListedRow, WatchedEnsembles};
use crate::tui::screen::Placed;
use crate::tui::theme::Theme;
use crate::tui::widget::write::write_line;
use crate::tui::widget::{Cell, row};
use lockscope_base::znode::escaped;
use lockscope_model::diagnose::Severity;
use lockscope_model::summary::{FindingCounts, StateKind};
use lockscope_model::text::human::{count, duration, plural, rate};
use lockscope_model::text::{Keep, width};
use lockscope_model::verdict::{ServerTrouble, VerdictKind};

/// The program's name, with a blank on either side.
const PROGRAM: &str = " lockscope ";
/// Between two parts of the first line.
const GAP: &str = "   ";

impl ListView for Ensembles {
    fn title(&self, view: View<'_>) -> ListTitle {
        let all = view.app.ensembles().map_or(0, WatchedEnsembles::all);
        let mut after_filter = vec![(plural(all, "ensemble", "ensembles"), view.theme.text)];
        let open = view.app.ensembles().and_then(WatchedEnsembles::open);
        after_filter.extend(open.map(|name| (view.sentence(&format!("{name} is open ({{locks}})")), view.theme.text)));
        let uncounted = view.app.ensembles().map_or(0, WatchedEnsembles::listed_places);
        ListTitle { name: "Ensembles".to_owned(), all, uncounted, after_filter, ..ListTitle::default() }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        if view.app.ensembles().is_some_and(WatchedEnsembles::is_looking) {
            return vec!["The locks of all ensembles are looked through.".to_owned()];
        }
        view.nothing_contains("No ensemble")
    }

    fn cell(&self, view: View<'_>, row: &ListedRow<'_>, column: Placed<EnsembleColumn>) -> Cell {
        let row = row.ensemble();
        let (theme, columns) = (view.theme, usize::from(column.width));
        // Figures that may no longer be true are dim.
        let data = |style: Style| if row.is_live() { style } else { theme.dim };
        let plain = data(theme.text);
        match column.key {
            EnsembleColumn::Ensemble => {
                let mark = if row.production { " PROD" } else { "" };
                let behind = if width(&row.name) + mark.len() <= columns { mark } else { "" };
                let name = view.fit(&row.name, columns - behind.len(), Keep::Ends);
                Cell::new(format!("{name}{behind}"), if row.production { theme.wait } else { theme.strong })
            }
            EnsembleColumn::State => {
                let (text, style) = state(theme, row);
                Cell::new(view.fit(&text, columns, Keep::Start), style)
            }
            EnsembleColumn::Worst => worst(view, row, columns),
            EnsembleColumn::New if row.news > 0 => Cell::new(format!("+{}", count(row.news)), data(theme.wait)),
            EnsembleColumn::New => Cell::new("-", theme.dim),
            _ => figure(view, row, column, plain),
        }
    }

    fn draw_row(
        &self,
        view: View<'_>,
        shown: &ListedRow<'_>,
        line: Rect,
        placed: &[Placed<EnsembleColumn>],
        buffer: &mut Buffer,
    ) {
        match shown {
            ListedRow::Place(ensemble, place) => draw_place(view, ensemble, place, line, buffer),
            ListedRow::Ensemble(_) => row(buffer, line, placed, |column| self.cell(view, shown, column)),
        }
    }

    fn mark(&self, view: View<'_>, row: &ListedRow<'_>) -> Option<(&'static str, Style)> {
        let ListedRow::Ensemble(row) = row else { return None };
        let (theme, signs) = (view.theme, &view.theme.signs);
        let counts = row.summary.as_ref().map(|summary| summary.counts).unwrap_or_default();
        let style = |style| if row.is_live() { style } else { theme.dim };
        let servers = row.servers_trouble().map(ServerTrouble::severity);
        let is_known = row.summary.as_ref().is_none_or(|summary| summary.verdict != VerdictKind::Unknown);
        match counts {
            FindingCounts { critical: 1.., .. } => Some((signs.bad, style(theme.bad))),
            _ if row.state().is_broken() => Some((signs.bad, theme.bad)),
            FindingCounts { warning: 1.., .. } => Some((signs.warning, style(theme.wait))),
            FindingCounts { .. } if servers.is_some() => Some((signs.warning, style(theme.wait))),
            FindingCounts { .. } if row.is_live() && !is_known => Some((signs.unknown, theme.unsure)),
            FindingCounts { .. } => None,
        }
    }
}

/// Draws a lock or a contender that was looked for, below its ensemble.
fn draw_place(view: View<'_>, row: &EnsembleRow, place: &FoundPlace, line: Rect, buffer: &mut Buffer) {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let data = |style: Style| if row.is_live() { style } else { theme.dim };
    let before = format!("   {}", signs.branch);
    let room = usize::from(line.width).saturating_sub(width(&before) + 1);
    let who = place.who.as_ref().map(|(state, who)| format!("  {state}  {who}")).unwrap_or_default();
    let of_lock = room.saturating_sub(width(&who)).max(room / 2);
    let lock = view.fit(&place.lock.to_string(), of_lock, Keep::End);
    let who = view.fit(&who, room.saturating_sub(width(&lock)), Keep::Start);
    let spans = vec![
        Span::styled(before, theme.dim),
        Span::styled(lock, data(theme.strong)),
        Span::styled(who, data(theme.text)),
    ];
    write_line(spans, line, buffer);
}

/// Draws a figure; a dash where nothing is known.
fn figure(view: View<'_>, row: &EnsembleRow, column: Placed<EnsembleColumn>, plain: Style) -> Cell {
    let theme = view.theme;
    let unknown = || Cell::new("-", theme.dim);
    let Some(summary) = row.summary.as_ref().filter(|summary| summary.last_true.is_some()) else { return unknown() };
    match column.key {
        EnsembleColumn::Servers if summary.servers.1 > 0 => {
            let (answering, all) = summary.servers;
            Cell::new(format!("{answering}/{all}"), if answering < all { theme.wait } else { plain })
        }
        EnsembleColumn::Locks => Cell::new(count(summary.locks), plain),
        EnsembleColumn::Contenders => Cell::new(count(summary.contenders), plain),
        EnsembleColumn::Longest => summary.longest_wait.map_or_else(unknown, |wait| Cell::new(duration(wait), plain)),
        EnsembleColumn::Cost => waited_for(view, summary.waited.0, plain),
        EnsembleColumn::Changes => Cell::new(rate(summary.changes_per_second), plain),
        EnsembleColumn::Findings => findings(view, row, summary.counts, usize::from(column.width)),
        _ => unknown(),
    }
}

/// Draws the number of findings of each severity.
fn findings(view: View<'_>, row: &EnsembleRow, counts: FindingCounts, columns: usize) -> Cell {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let of = [(signs.bad, counts.critical), (signs.warning, counts.warning), (signs.info, counts.info)];
    let parts: Vec<String> =
        of.iter().filter(|(_, number)| *number > 0).map(|(sign, number)| format!("{sign}{}", count(*number))).collect();
    let muted = (counts.muted > 0).then(|| format!("({} muted)", count(counts.muted)));
    let text = parts.into_iter().chain(muted).collect::<Vec<_>>().join(" ");
    let worst = match counts {
        FindingCounts { critical: 1.., .. } => Some(Severity::Critical),
        FindingCounts { warning: 1.., .. } => Some(Severity::Warning),
        FindingCounts { .. } => None,
    };
    let style = worst.map_or(theme.text, |worst| theme.severity(worst));
    Cell::new(view.fit(&text, columns, Keep::Start), if row.is_live() { style } else { theme.dim })
}

/// Names the worst lock and what is wrong with it, or why no lock can be seen.
fn worst(view: View<'_>, row: &EnsembleRow, columns: usize) -> Cell {
    let theme = view.theme;
    if let Some((count, first)) = row.found_locks(view.app.filter()) {
        let more = if row.found.may_lack(view.app.filter()) { ", and not all was searched" } else { "" };
        let matches = format!("  ({}{more})", plural(count, "match", "matches"));
        let lock = view.fit(&first.to_string(), columns.saturating_sub(width(&matches)), Keep::End);
        return Cell::new(view.fit(&format!("{lock}{matches}"), columns, Keep::Start), theme.text);
    }
    if row.found.may_lack(view.app.filter()) {
        return Cell::new(view.fit("not all contenders were searched", columns, Keep::Start), theme.unsure);
    }
    let trouble = row.servers_trouble();
    if let Some(reason) = row.reason().filter(|_| trouble.is_none_or(|trouble| trouble.severity() < Severity::Critical))
    {
        return Cell::new(view.fit(&escaped(reason), columns, Keep::Start), theme.bad);
    }
    let worst = row.summary.as_ref().and_then(|summary| summary.findings.first());
    let worst = worst.filter(|worst| worst.muted.is_none());
    let is_worse = |trouble: &&ServerTrouble| worst.is_none_or(|worst| trouble.severity() > worst.severity);
    if let Some(trouble) = trouble.filter(is_worse) {
        let text = view.fit(&escaped(&trouble.to_string()), columns, Keep::Start);
        return Cell::new(text, theme.severity(trouble.severity()));
    }
    let Some(worst) = worst else {
        let maintenance = row.summary.as_ref().is_some_and(|summary| summary.maintenance.is_some());
        return Cell::new(if maintenance { "maintenance" } else { "" }, theme.dim);
    };
    let style = if row.is_live() { theme.severity(worst.severity) } else { theme.dim };
    let (lock, code) = (worst.lock.to_string(), worst.code.title());
    // The name of the lock is cut rather than what is wrong with it.
    let room = columns.saturating_sub(width(code) + 2);
    let lock = view.fit(&lock, room.max(columns / 2), Keep::End);
    Cell::new(view.fit(&format!("{lock}  {code}"), columns, Keep::Start), style)
}

fn state(theme: &Theme, row: &EnsembleRow) -> (String, Style) {
    let state = row.state();
    if let Some(trouble) = row.servers_trouble().filter(|_| state == StateKind::Live) {
        let (serving, all) = trouble.serving();
        return (format!("{} {} {serving}/{all}", theme.signs.warning, state.id()), theme.wait);
    }
    let (sign, style) = match state {
        StateKind::Live => (theme.signs.holds, theme.good),
        StateKind::Reading | StateKind::Connecting => (theme.signs.busy, theme.wait),
        _ => (theme.signs.bad, theme.bad),
    };
    (format!("{sign} {}", state.id()), style)
}

/// Draws the first line: how many ensembles are live, how many cannot be seen, and their findings.
pub fn draw_header(view: View<'_>, ensembles: &WatchedEnsembles, area: Rect, buffer: &mut Buffer) {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let mut counts = FindingCounts::default();
    for summary in ensembles.each().filter_map(|row| row.summary.as_ref()) {
        let servers = summary.servers_trouble.as_ref().map(ServerTrouble::severity);
        counts.critical += summary.counts.critical + usize::from(servers == Some(Severity::Critical));
        counts.warning += summary.counts.warning + usize::from(servers == Some(Severity::Warning));
    }
    let live = ensembles.each().filter(|row| row.is_live()).count();
    let broken = ensembles.each().filter(|row| row.state().is_broken()).count();
    let mut parts = vec![(format!(" {}", plural(ensembles.all(), "ensemble", "ensembles")), theme.text)];
    if counts.critical > 0 {
        parts.push((format!("{} {} critical", signs.bad, count(counts.critical)), theme.bad));
    }
    if broken > 0 {
        parts.push((format!("{} {} not seen", signs.bad, count(broken)), theme.bad));
    }
    parts.push((format!("{} {} live", signs.holds, count(live)), theme.good));
    if counts.warning > 0 {
        parts.push((format!("{} {}", signs.warning, plural(counts.warning, "warning", "warnings")), theme.wait));
    }
    // What matters least is left out where there is no room.
    let needs = |parts: &[(String, Style)]| {
        PROGRAM.len() + parts.iter().map(|(text, _)| width(text) + GAP.len()).sum::<usize>()
    };
    while needs(&parts) > usize::from(area.width) && parts.len() > 1 {
        parts.pop();
    }
    let mut spans = vec![Span::styled(PROGRAM, theme.accent)];
    for (at, (text, style)) in parts.into_iter().enumerate() {
        let gap = if at == 0 { "" } else { GAP };
        spans.push(Span::styled(format!("{gap}{text}"), style));
    }
    write_line(spans, area, buffer);
}
