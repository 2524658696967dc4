//! The box below Locks: the findings of the selected lock, else recent events, else the graph of
//! watch events.

use super::lately::{Lately, News, Span};
use super::{App, Area};
use crate::tui::keymap::Command;
use crate::tui::page::below_lists::{LatelyNews as ShownNews, ShownLately, ShownLeader, ShownSpan};
use crate::tui::page::{BORDER, Columns, Page, Tone, below_lists};

/// Lines of the box with the graph: three sparklines.
const GRAPH_HEIGHT: u16 = 5;

impl App {
    /// Whether the box below Locks prefers the graph of watch events to recent events: the user
    /// asked for it, or a tour runs.
    fn prefers_graph(&self) -> bool {
        self.navigation.shows_graph || self.tour().is_some()
    }

    /// The text below Locks in a box of that size; `None` when the graph is shown instead.
    pub(super) fn below_locks_page(&self, area: Area) -> Option<Page> {
        if self.navigation.shows_graph {
            return None;
        }
        let found = self.selected_lock_page(area.width);
        found.or_else(|| (!self.prefers_graph()).then(|| self.lately_page(area)).flatten())
    }

    /// The minimum and the wanted height of that box, in lines. `left` is the number of lines that
    /// the rows leave free.
    pub(super) fn below_locks_wish(&self, left: u16) -> (u16, u16) {
        let width = self.size.0;
        let wrong = self.selected_lock_page(width).filter(|_| !self.navigation.shows_graph);
        let (least, wanted) = match self.below_locks_page(Area { width, height: u16::MAX, ..Area::default() }) {
            None => (GRAPH_HEIGHT, GRAPH_HEIGHT),
            Some(page) if wrong.is_some() => (GRAPH_HEIGHT, page.height()),
            // Recent events take no row from the list, except for one line of each kind.
            Some(page) => {
                let kinds = self.lately_page(Area { width, height: BORDER, ..Area::default() });
                let least = kinds.map_or(GRAPH_HEIGHT, |page| page.height());
                (least, page.height().min(left).max(least))
            }
        };
        (least, wanted.max(GRAPH_HEIGHT))
    }

    /// The recent events; `None` before the first read of the ensemble is complete.
    fn lately_page(&self, area: Area) -> Option<Page> {
        let (lately, now) = (self.world().lately(), self.now());
        let minutes = lately.minutes(now)?;
        let shown = ShownLately {
            waits: lately.waits(now).into_iter().map(|span| self.shown_span(span)).collect(),
            holds: lately.holds(now).into_iter().map(|span| self.shown_span(span)).collect(),
            leader: lately.leader().map(|leader| ShownLeader {
                address: &leader.address,
                since: leader.since.as_ref().map(|(at, before)| (*at, &**before)),
                changes: leader.changes(now),
            }),
            news: self.replay().is_none().then(|| self.shown_news(lately)),
            utc: self.settings.utc,
        };
        let mut page = self.writer(Columns::FACTS, area);
        below_lists::write_lately(&mut page, &shown, usize::from(area.height.saturating_sub(BORDER)));
        let title = if minutes == 1 { "Last minute".to_owned() } else { format!("Last {minutes} minutes") };
        let mut page = Page { stale: !self.shows_truth(), ..Page::new(title, Columns::FACTS, page.lines()) };
        let key = self.key_label(Command::Picture);
        page.title.extend((!key.is_empty()).then(|| (format!("{key}: graph of watch events"), Tone::Dim)));
        Some(page)
    }

    fn shown_span<'a>(&self, span: &'a Span) -> ShownSpan<'a> {
        ShownSpan {
            lasted: (span.at_least(self.now()), span.at_most(self.now())),
            lock: span.lock.to_string(),
            client: &span.client,
            ended: span.ended,
        }
    }

    fn shown_news(&self, lately: &Lately) -> ShownNews {
        let since = self.navigation.attention.looked_until(self.wall);
        let from = since.max(lately.begun());
        let mut shown = ShownNews { since, ..ShownNews::default() };
        for news in from.into_iter().flat_map(|from| lately.news(from).rev()) {
            match news {
                News::Lock(lock) => shown.locks.push(lock.to_string()),
                News::LockGone(lock) => shown.gone.push(lock.to_string()),
                News::Finding(finding) => shown.findings.push(format!("{} {}", finding.code, finding.lock)),
            }
        }
        shown
    }
}
