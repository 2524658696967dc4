//! What happened, newest last: the events of all locks, the history of one lock, and the audit log.
//!
//! ```text
//! ┌ History of /locks/billing ── 3 entries ──────────────────────────────────────────── following ┐
//! │   SINCE          WHAT          WHO                            WAITED    HELD  UNTIL             │
//! │   ≤14:27:05.250  - gone        10.0.4.17:51586  0x…001b                 ≥14m  14:41:08.250      │
//! │   14:41:06.000   ! stuck       /locks/billing has not changed hands for 14m while 128 wait      │
//! │▸  14:41:08.250   ● holds       10.0.4.18:40112  0x…001c       13m58s    0.8s                    │
//! └────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! ```text
//! ┌ Audit ── 3 changes ────────────────────────────────────────────────────── following ┐
//! │   TIME                 RESULT           WHO       ENSEMBLE         NODE              │
//! │▸  2024-05-01 14:41:07  ● deleted        ann@ops1  zk1:2181,zk2…    /locks/b…004711   │
//! └ /home/ann/.local/state/lockscope/audit.jsonl ───────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use super::list::{ListTitle, ListView, name_of, who};
use crate::tui::app::{
    AuditColumn, AuditEntries, HistoryColumn, HistoryList, HistoryRow, ListScreen, Rows, TimelineColumn, TimelineEntry,
    TimelineList,
};
use crate::tui::lock_history::{HistoryEntry, Stay, StayEnd};
use crate::tui::page::entries;
use crate::tui::page::entries::{is_done, result};
use crate::tui::screen::Placed;
use crate::tui::widget::write::write_text;
use crate::tui::widget::{Cell, row};
use lockscope_base::znode::{Sequence, Timestamp};
use lockscope_live::admin::Ending;
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ClientIdentity, Happening, LockEvent};
use lockscope_model::text::human::{bounded, count, date_and_time, duration, exact_time, plural};
use lockscope_model::text::{Charset, Keep, wrap_words};

impl ListView for TimelineList {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (timeline, theme) = (view.app.world().timeline(), view.theme);
        let mut before_filter = vec![(plural(timeline.len(), "event", "events"), theme.text)];
        if timeline.first() > 0 {
            before_filter.push((format!("{} older ones are forgotten", count(timeline.first())), theme.dim));
        }
        ListTitle {
            name: "Timeline".to_owned(),
            before_filter,
            all: timeline.len(),
            right: Some(view.following(self.cursor(view.app).follows_last())),
            ..ListTitle::default()
        }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        if view.app.world().timeline().is_empty() {
            return vec!["Nothing has happened since this console started.".to_owned()];
        }
        view.nothing_contains("No event")
    }

    fn cell(&self, view: View<'_>, entry: &&TimelineEntry, column: Placed<TimelineColumn>) -> Cell {
        match entry {
            TimelineEntry::Happening(happening) => happening_cell(view, happening, column),
            _ => Cell::new("", view.theme.text),
        }
    }

    fn draw_row(
        &self,
        view: View<'_>,
        entry: &&TimelineEntry,
        line: Rect,
        placed: &[Placed<TimelineColumn>],
        buffer: &mut Buffer,
    ) {
        match entry {
            TimelineEntry::Happening(happening) => {
                row(buffer, line, placed, |column| happening_cell(view, happening, column));
            }
            TimelineEntry::Finding { at, finding, raised } => {
                Sentence::of_finding(view, *at, finding, *raised).draw(view, line, placed, buffer);
            }
            TimelineEntry::Deletion { node, client, ending, .. } => {
                Sentence::of_deletion(view, entry, (node, client), ending).draw(view, line, placed, buffer);
            }
        }
    }
}

fn happening_cell(view: View<'_>, happening: &Happening, column: Placed<TimelineColumn>) -> Cell {
    let theme = view.theme;
    let width = usize::from(column.width);
    let span = |millis: Option<u64>| {
        millis.map_or_else(String::new, |millis| duration(std::time::Duration::from_millis(millis)))
    };
    let cost = |events: u64| Cell::new(count(events), if events == 0 { theme.dim } else { theme.text });
    let has_lock = happening.lock.is_some();
    match column.key {
        TimelineColumn::Time => Cell::new(exact_time(happening.at, view.app.settings().utc), theme.dim),
        TimelineColumn::Event => event(view, happening.event, happening.may_have_expired),
        TimelineColumn::Lock => {
            let name = happening.lock.as_ref().map(ToString::to_string).unwrap_or_default();
            Cell::new(view.fit(&name, width, Keep::End), theme.strong)
        }
        TimelineColumn::Sequence => {
            let sequence = happening.node.as_deref().and_then(Sequence::split).map(|(_, Sequence(number))| number);
            Cell::new(sequence.map_or_else(String::new, |number| number.to_string()), theme.text)
        }
        // When a client has only just come, no server had listed it yet at that time.
        TimelineColumn::Client => match (&happening.client, happening.session) {
            (client, Some(session)) if client.address.is_none() => {
                let known = view.app.world().table().clients().identity(session);
                let known = ClientIdentity { name: client.name.clone().or(known.name.clone()), ..known };
                Cell::new(who(view, &known, width), theme.text)
            }
            (client, _) if happening.node.is_some() => Cell::new(who(view, client, width), theme.text),
            _ => Cell::new("", theme.text),
        },
        TimelineColumn::Waited => Cell::new(span(happening.waited_ms), theme.wait),
        // A client that acquires at once has held for no time: the figure would say nothing.
        TimelineColumn::Held if happening.event != LockEvent::Enqueued => {
            Cell::new(span(happening.held_ms), theme.good)
        }
        TimelineColumn::Queue if has_lock => Cell::new(count(happening.queue), theme.text),
        TimelineColumn::Herd if has_lock => cost(happening.watch_events.herd),
        TimelineColumn::Chain if has_lock => cost(happening.watch_events.chain),
        TimelineColumn::Node => {
            let node = happening.node.as_deref().unwrap_or_default();
            Cell::new(view.fit(node, width, Keep::Ends), theme.dim)
        }
        TimelineColumn::Held | TimelineColumn::Queue | TimelineColumn::Herd | TimelineColumn::Chain => {
            Cell::new("", theme.text)
        }
    }
}

/// A row whose text after the lock's name is not divided into columns.
struct Sentence {
    at: Timestamp,
    sign: &'static str,
    word: &'static str,
    style: Style,
    lock: String,
    text: String,
    text_style: Style,
}

impl Sentence {
    /// Returns the row of a raised or cleared finding.
    fn of_finding(view: View<'_>, at: Timestamp, finding: &Finding, raised: bool) -> Self {
        let theme = view.theme;
        let (sign, word, style) = if raised {
            (theme.signs.severity(finding.severity), "raised", theme.severity(finding.severity))
        } else {
            (theme.signs.good, "cleared", theme.good)
        };
        let text = finding.sentence().into_owned();
        let text_style = if raised { theme.text } else { theme.dim };
        Self { at, sign, word, style, lock: finding.lock.to_string(), text, text_style }
    }

    /// Returns the row of a deletion from this console.
    fn of_deletion(
        view: View<'_>,
        entry: &TimelineEntry,
        (node, client): (&str, &ClientIdentity),
        ending: &Ending,
    ) -> Self {
        let theme = view.theme;
        let (sign, style) = match entry.event() {
            "deleted" | "asked" => (theme.signs.tag, theme.wait),
            "not-known" => (theme.signs.unknown, theme.unsure),
            _ => (theme.signs.bad, theme.bad),
        };
        let node = Sequence::split(node).map_or_else(|| node.to_owned(), |(_, Sequence(number))| number.to_string());
        Self {
            at: entry.at(),
            sign,
            word: entry.event(),
            style,
            lock: entry.lock().map(ToString::to_string).unwrap_or_default(),
            text: format!("{node}{} {ending}", client.behind_node(entry.at())),
            text_style: theme.text,
        }
    }

    fn draw(&self, view: View<'_>, line: Rect, placed: &[Placed<TimelineColumn>], buffer: &mut Buffer) {
        let theme = view.theme;
        let mut end = 0;
        row(buffer, line, placed, |column| {
            let cell = match column.key {
                TimelineColumn::Time => Cell::new(exact_time(self.at, view.app.settings().utc), theme.dim),
                TimelineColumn::Event => Cell::new(format!("{} {}", self.sign, self.word), self.style),
                TimelineColumn::Lock => Cell::new(view.fit(&self.lock, column.width.into(), Keep::End), theme.strong),
                _ => return Cell::new("", theme.text),
            };
            end = column.x + column.width + 1;
            cell
        });
        let room = line.width.saturating_sub(end);
        let text = view.fit(&self.text, usize::from(room), Keep::Start);
        write_text(buffer, (line.x + end, line.y), room, &text, self.text_style);
    }
}

/// Returns the event's sign and name.
fn event(view: View<'_>, event: LockEvent, may_have_expired: bool) -> Cell {
    let theme = view.theme;
    let signs = &theme.signs;
    let (sign, style): (&str, Style) = match event {
        LockEvent::Enqueued => ("+", theme.wait),
        LockEvent::Acquired => (signs.holds, theme.good),
        LockEvent::Released | LockEvent::Left if may_have_expired => (signs.unknown, theme.unsure),
        LockEvent::Released => ("-", theme.text),
        LockEvent::Left => ("-", theme.dim),
        LockEvent::Expired | LockEvent::Settled => (signs.warning, theme.bad),
        LockEvent::Waits => (signs.warning, theme.wait),
        LockEvent::LockFound | LockEvent::LockGone => (" ", theme.dim),
        LockEvent::Disconnected | LockEvent::Overloaded => (signs.bad, theme.bad),
        LockEvent::Reconnected | LockEvent::Resynced => (" ", theme.unsure),
    };
    Cell::new(format!("{sign} {}", event.title()), style)
}

impl ListView for HistoryList {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (app, theme) = (view.app, view.theme);
        let (all, forgotten) = HistoryList::size(app);
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
        if HistoryList::size(view.app).0 == 0 {
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

/// Columns of date and time without the time zone.
const TIME_WIDTH: usize = 19;

impl ListView for AuditEntries {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (app, theme) = (view.app, view.theme);
        let (audit, history) = (app.audit(), app.audit().history());
        let all = history.entries.len();
        let mut after_filter = Vec::new();
        if history.damaged > 0 {
            after_filter.push((plural(history.damaged, "damaged line", "damaged lines"), theme.wait));
        }
        if history.cut {
            after_filter.push(("older ones are not shown".to_owned(), theme.dim));
        }
        ListTitle {
            name: "Audit".to_owned(),
            before_filter: vec![(plural(all, "change", "changes"), theme.text)],
            all,
            after_filter,
            right: (!audit.is_empty()).then(|| view.following(self.cursor(app).follows_last())),
            uncounted: 0,
            bottom: app.audit().path().map(|path| view.bottom(&path.to_string_lossy(), theme.dim, Keep::End)),
        }
    }

    fn trouble<'a>(&self, view: View<'a>) -> Option<&'a str> {
        let audit = view.app.audit();
        audit.failed().filter(|_| !audit.is_empty()).or(audit.unwritable())
    }

    fn why_empty(&self, view: View<'_>, columns: usize) -> Vec<String> {
        let (app, audit) = (view.app, view.app.audit());
        let sentence = match (app.audit().path(), audit.failed()) {
            (None, _) => "No audit log is set, so nothing can be changed: name one with --audit-log FILE.",
            (_, Some(failed)) => failed,
            _ if !audit.was_read() => "Reading the audit log.",
            _ if !audit.history().entries.is_empty() => return view.nothing_contains("No change"),
            _ => "Nothing was changed yet: this screen will list each deletion, its author, reason and outcome.",
        };
        wrap_words(sentence, columns, view.theme.signs.charset)
    }

    fn cell(&self, view: View<'_>, entry: &&AuditEntry, column: Placed<AuditColumn>) -> Cell {
        let theme = view.theme;
        let width = usize::from(column.width);
        let fit = |text: &str, keep| view.fit(text, width, keep);
        match column.key {
            AuditColumn::Time => {
                let known = entries::time(&entry.at).map(|time| date_and_time(time, view.app.settings().utc));
                let shown = known.map_or_else(|| entry.at.clone(), |time| time.chars().take(TIME_WIDTH).collect());
                Cell::new(fit(&shown, Keep::Start), theme.dim)
            }
            AuditColumn::Action => Cell::new(fit(&entry.action, Keep::Start), theme.text),
            AuditColumn::Result => {
                let (sign, style) = match &entry.outcome {
                    None => (theme.signs.unknown, theme.unsure),
                    Some(_) if is_done(entry) => (theme.signs.holds, theme.good),
                    Some(outcome) if outcome.result == "not-known" => (theme.signs.unknown, theme.unsure),
                    Some(_) => (theme.signs.bad, theme.bad),
                };
                Cell::new(fit(&format!("{sign} {}", result(entry)), Keep::Start), style)
            }
            AuditColumn::Owner => Cell::new(fit(&entry.subject.life, Keep::Start), theme.text),
            AuditColumn::Who => {
                Cell::new(fit(&format!("{}@{}", entry.who.user, entry.who.host), Keep::Start), theme.text)
            }
            AuditColumn::Ensemble => Cell::new(fit(&entry.who.ensemble, Keep::Start), theme.text),
            AuditColumn::Node => Cell::new(fit(&entry.subject.path, Keep::Ends), theme.strong),
        }
    }
}
