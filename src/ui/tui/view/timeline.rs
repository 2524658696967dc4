//! The events of all locks, newest last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use super::list::{ListTitle, ListView};
use super::who::who;
use crate::tui::app::{ListScreen, TimelineColumn, TimelineEntry, TimelineList};
use crate::tui::columns::Placed;
use crate::tui::widget::table::{Cell, row};
use crate::tui::widget::write::write_text;
use lockscope_base::znode::{Sequence, Timestamp};
use lockscope_live::admin::Ending;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ClientIdentity, Happening, LockEvent};
use lockscope_model::text::Keep;
use lockscope_model::text::human::{count, duration, exact_time, plural};

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
            TimelineEntry::Happening(happening) => cell(view, happening, column),
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
            TimelineEntry::Happening(happening) => row(buffer, line, placed, |column| cell(view, happening, column)),
            TimelineEntry::Finding { at, finding, raised } => {
                Sentence::of_finding(view, *at, finding, *raised).draw(view, line, placed, buffer);
            }
            TimelineEntry::Deletion { node, client, ending, .. } => {
                Sentence::of_deletion(view, entry, (node, client), ending).draw(view, line, placed, buffer);
            }
        }
    }
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
                let known = view.app.world().table().identity(session);
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
