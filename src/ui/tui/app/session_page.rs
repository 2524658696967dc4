//! The text pages of one session, below its list.

use super::{App, Area, Screen, TimelineEntry};
use crate::tui::keymap::Command;
use crate::tui::page::session::{self, OwnedNodes, SessionEvent, ShownSession};
use crate::tui::page::{Columns, Page};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath};
use lockscope_model::queue::LockEvent;

impl App {
    pub(super) fn session_page(&self, area: Area) -> Page {
        let (world, detail) = (self.world(), self.world().session_detail());
        let mut page = self.writer(Columns::FACTS, area);
        if let Some(id) = detail.session() {
            let table_at = world.table_at(self.now());
            let contenders = detail.places().iter().filter_map(|place| {
                let (lock, position) = world.table().position(place.node.as_ref()?)?;
                world.table().lock(lock)?.row(position).map(|row| row.contender)
            });
            let ahead = world.table().clock_ahead_ms();
            let since: Option<Timestamp> = contenders.map(|contender| contender.contends_since(ahead)).min();
            let owner = table_at.owner_state(id, since.unwrap_or(self.now()));
            let (watches, places) = (detail.watches(), detail.places().len());
            session::write(
                &mut page,
                &ShownSession {
                    session: id,
                    view: table_at.view(),
                    last: table_at.table().last_connection(id),
                    owner,
                    holds: detail.holds(),
                    awaits: places - detail.holds(),
                    watches: watches.paths.iter().map(ZnodePath::as_str).collect(),
                    more_watches: watches.more,
                    watches_are_whole: watches.is_whole,
                    ephemerals: self.owned_nodes(id),
                    asks_servers: self.settings.asks_servers,
                    now: self.now(),
                    live: self.shows_truth(),
                    utc: self.settings.utc,
                    servers: &self.settings.bindings.name(Command::Go(Screen::Servers)),
                },
            );
        }
        Page { stale: !self.shows_truth(), ..Page::new("Session", Columns::FACTS, page.lines()) }
    }

    /// The ephemeral nodes of a session, as far as a server listed them.
    fn owned_nodes(&self, session: SessionId) -> Option<OwnedNodes<'_>> {
        let table = self.world().table();
        let listed = table.view().ephemerals()?;
        let owned = listed.of(session);
        let paths = owned.into_iter().flat_map(|owned| &owned.paths);
        Some(OwnedNodes {
            count: owned.map_or(0, |owned| owned.count),
            paths: paths.map(|path| (path.as_str(), table.position(path).is_some())).collect(),
            is_whole: listed.whole,
        })
    }

    /// The events of the session, the newest first.
    pub(super) fn session_events_page(&self, area: Area) -> Page {
        let (world, detail) = (self.world(), self.world().session_detail());
        let mut page = self.writer(session::EVENT_COLUMNS, area);
        let entries = detail.events().iter().filter_map(|number| world.timeline().get(*number));
        session::write_events(&mut page, entries.map(event), detail.has_older_events(), self.settings.utc);
        Page::new("What happened to it", session::EVENT_COLUMNS, page.lines())
    }
}

fn event(entry: &TimelineEntry) -> SessionEvent {
    let lock = entry.lock().map(ToString::to_string).unwrap_or_default();
    let number = entry.node().and_then(|node| Sequence::split(node)).map(|(_, Sequence(number))| number);
    let (waited_ms, held_ms, why) = match entry {
        TimelineEntry::Happening(happening) => {
            // A client that acquires the lock as soon as it enqueues has held it for no time, so no
            // figure is shown.
            let held = happening.held_ms.filter(|_| happening.event != LockEvent::Enqueued);
            (happening.waited_ms, held, None)
        }
        TimelineEntry::Finding { finding, .. } => (None, None, Some(finding.sentence().into_owned())),
        TimelineEntry::Deletion { ending, .. } => (None, None, Some(ending.to_string())),
    };
    SessionEvent { at: entry.at(), event: entry.event(), lock, number, waited_ms, held_ms, why }
}
