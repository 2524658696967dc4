//! What happened, newest last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{View, filter_title, window};
use crate::admin::Ending;
use crate::diagnose::Finding;
use crate::queue::{Happening, LockEvent, LockName};
use crate::text::human::{count, duration, exact_time, plural};
use crate::text::{Keep, session};
use crate::tui::app::{Rows, TimelineEntry};
use crate::tui::widget::panel::Panel;
use crate::tui::widget::table::{Cell, Column, Placed, place, row, titles};
use crate::znode::{Sequence, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimelineColumn {
    Mark,
    Time,
    Event,
    Lock,
    Sequence,
    Session,
    Waited,
    Held,
    Queue,
    Herd,
    Chain,
    Node,
}

const COLUMNS: &[Column<TimelineColumn>] = &[
    Column::text(TimelineColumn::Mark, "", 1, 1, 0),
    Column::text(TimelineColumn::Time, "TIME", 12, 12, 0),
    Column::text(TimelineColumn::Event, "EVENT", 14, 14, 0),
    Column::text(TimelineColumn::Lock, "LOCK", 13, 48, 0),
    Column::number(TimelineColumn::Sequence, "NUMBER", 7, 4),
    Column::text(TimelineColumn::Session, "SESSION", 9, 18, 3),
    Column::number(TimelineColumn::Waited, "WAITED", 6, 1),
    Column::number(TimelineColumn::Held, "HELD", 6, 1),
    Column::number(TimelineColumn::Queue, "QUEUE", 6, 5),
    Column::number(TimelineColumn::Herd, "HERD", 7, 6),
    Column::number(TimelineColumn::Chain, "CHAIN", 6, 7),
    Column::text(TimelineColumn::Node, "NODE", 26, 54, 8),
];

/// The happenings that the console remembers.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let timeline = app.world().timeline();
    let rows = app.world().timeline_rows();
    let cursor = app.moment_cursor();
    let mut left = vec![("Timeline".to_owned(), theme.strong)];
    left.push((plural(timeline.len(), "event", "events"), theme.text));
    if timeline.first() > 0 {
        left.push((format!("{} older ones are forgotten", count(timeline.first())), theme.dim));
    }
    left.extend(filter_title(view, rows.len(), timeline.len()));
    let follows = if cursor.follows_last() { "following" } else { "G: follow" };
    let right = Some((follows.to_owned(), theme.dim));
    let inner = Panel { left, right, ..Panel::default() }.draw(area, buffer, theme);
    if inner.height < 2 {
        return;
    }
    if rows.len() == 0 {
        view.placeholder(&why_empty(view, timeline.is_empty()), inner, buffer);
        return;
    }
    let placed = place(COLUMNS, inner.width);
    titles(buffer, inner, &placed, |_| theme.title);
    let list = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    for (rank, line) in window(cursor.top(), rows.len(), list) {
        match rows.id(rank).and_then(|number| timeline.get(number)) {
            Some(TimelineEntry::Happening(happening)) => {
                row(buffer, line, &placed, |column| cell(view, happening, column));
            }
            Some(TimelineEntry::Finding { at, finding, raised }) => {
                Sentence::of_finding(view, *at, finding, *raised).draw(view, line, &placed, buffer);
            }
            Some(moment @ TimelineEntry::Deletion { node, ending, .. }) => {
                Sentence::of_deletion(view, moment, node, ending).draw(view, line, &placed, buffer);
            }
            None => {}
        }
        if rank == cursor.rank() {
            view.select(line, buffer, true);
        }
    }
}

fn why_empty(view: View<'_>, nothing: bool) -> Vec<String> {
    if nothing {
        return vec!["Nothing has happened since this console came.".to_owned()];
    }
    vec![
        format!("Nothing that happened contains \"{}\".", view.fit(view.app.filter().text(), 30, Keep::Start)),
        "Esc clears the filter.".to_owned(),
    ]
}

fn cell(view: View<'_>, happening: &Happening, column: Placed<TimelineColumn>) -> Cell {
    let theme = view.theme;
    let width = usize::from(column.width);
    let span = |millis: Option<u64>| {
        millis.map_or_else(String::new, |millis| duration(std::time::Duration::from_millis(millis)))
    };
    let cost = |events: u64| Cell::new(count(events), if events == 0 { theme.dim } else { theme.text });
    let has_lock = happening.lock.is_some();
    match column.key {
        TimelineColumn::Time => Cell::new(exact_time(happening.at, view.app.settings().utc), theme.dim),
        TimelineColumn::Event => event(view, happening.event),
        TimelineColumn::Lock => {
            let name = happening.lock.as_ref().map(name_of).unwrap_or_default();
            Cell::new(view.fit(&name, width, Keep::End), theme.strong)
        }
        TimelineColumn::Sequence => {
            let sequence = happening.node.as_deref().and_then(Sequence::split).map(|(_, Sequence(number))| number);
            Cell::new(sequence.map_or_else(String::new, |number| number.to_string()), theme.text)
        }
        TimelineColumn::Session => {
            let id = happening.session.map(|id| session(id, width, theme.signs.charset));
            Cell::new(id.unwrap_or_default(), theme.text)
        }
        TimelineColumn::Waited => Cell::new(span(happening.waited_ms), theme.wait),
        // Who gets the lock as soon as it comes has held it for no time: that tells nothing.
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
        TimelineColumn::Mark
        | TimelineColumn::Held
        | TimelineColumn::Queue
        | TimelineColumn::Herd
        | TimelineColumn::Chain => Cell::new("", theme.text),
    }
}

fn name_of(lock: &LockName) -> String {
    match &lock.name {
        Some(name) => format!("{} [{name}]", lock.path),
        None => lock.path.to_string(),
    }
}

/// A line that is not in columns behind its lock.
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
    /// What was found, or is mended.
    fn of_finding(view: View<'_>, at: Timestamp, finding: &Finding, raised: bool) -> Self {
        let theme = view.theme;
        let (sign, word, style) = if raised {
            (theme.signs.severity(finding.severity), "raised", theme.severity(finding.severity))
        } else {
            (theme.signs.good, "cleared", theme.good)
        };
        let text = format!("{}: {}", finding.code, finding.summary);
        let text_style = if raised { theme.text } else { theme.dim };
        Self { at, sign, word, style, lock: name_of(&finding.lock), text, text_style }
    }

    /// What came of a deletion from this console.
    fn of_deletion(view: View<'_>, moment: &TimelineEntry, node: &str, ending: &Ending) -> Self {
        let theme = view.theme;
        let (sign, style) = match moment.event() {
            "deleted" | "asked" => (theme.signs.tag, theme.wait),
            "not-known" => (theme.signs.unknown, theme.unsure),
            _ => (theme.signs.bad, theme.bad),
        };
        let node = Sequence::split(node).map_or_else(|| node.to_owned(), |(_, Sequence(number))| number.to_string());
        Self {
            at: moment.at(),
            sign,
            word: moment.event(),
            style,
            lock: moment.lock().map(name_of).unwrap_or_default(),
            text: format!("{node} {ending}"),
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
        let room = usize::from(line.width.saturating_sub(end));
        let text = view.fit(&self.text, room, Keep::Start);
        buffer.set_stringn(line.x + end, line.y, text, room, self.text_style);
    }
}

/// Its sign and its name.
fn event(view: View<'_>, event: LockEvent) -> Cell {
    let theme = view.theme;
    let signs = &theme.signs;
    let (sign, style): (&str, Style) = match event {
        LockEvent::Enqueued => ("+", theme.wait),
        LockEvent::Acquired => (signs.holds, theme.good),
        LockEvent::Released => ("-", theme.text),
        LockEvent::Left => ("-", theme.dim),
        LockEvent::Expired => (signs.warning, theme.bad),
        LockEvent::LockFound | LockEvent::LockGone => (" ", theme.dim),
        LockEvent::Disconnected => (signs.bad, theme.bad),
        LockEvent::Reconnected | LockEvent::Resynced => (" ", theme.unsure),
    };
    Cell::new(format!("{sign} {}", event.id()), style)
}
