//! The visible text pages and their areas. The texts are in `page`, one file for each.

use super::leaving::Leaving;
use super::screens::Content;
use super::tour::LEFT_ALONE;
use super::{App, Area, Deletion, Key, Layout, Pane, PromptPurpose, Screen, TimelineEntry};
use crate::tui::keymap::{Command, CommandEntry, FixedKey, command_groups};
use crate::tui::page::{
    BORDER, Columns, Focus, Line, Page, Sign, Tone, Writer, banner, deletion, entries, help, servers, test_clients,
};
use lockscope_lab::demo::Step;
use lockscope_model::queue::ConnectionState;
use lockscope_model::text::human::{count, plural};

/// Lines of the list that stay visible above a plan, unless the terminal is low.
const MIN_LIST_LINES: u16 = 6;
/// Minimum lines of the body that keep the list visible.
const MIN_BODY_WITH_LIST: u16 = 20;
/// Minimum lines of a plan that are visible.
const MIN_PLAN_LINES: u16 = 4;

/// A text page and its area.
#[derive(Clone, Debug)]
pub struct ShownPage {
    pub page: Page,
    pub area: Area,
    /// The index of the first visible line.
    pub top: usize,
    /// Whether the keys scroll it.
    pub focus: Focus,
}

impl ShownPage {
    /// The number of visible lines, of those that scroll.
    pub fn shown(&self) -> usize {
        self.page.shown(self.area.height)
    }

    /// The largest `top` that the page can be scrolled to.
    pub fn end(&self) -> usize {
        self.page.lines.len().saturating_sub(self.shown())
    }
}

/// Lines of the bar below a recording.
pub const PAST_BAR_HEIGHT: u16 = 2;

impl App {
    /// The text pages of the screen, without the popup.
    pub fn pages(&self) -> Vec<ShownPage> {
        let Some(layout) = self.layout() else { return Vec::new() };
        let entry = self.navigation.screen.entry();
        if let Content::Text(write) = entry.content {
            return vec![self.scrolled_page(write(self, layout.main), layout.main, Focus::Alone)];
        }
        if self.screen() == Screen::Locks {
            let page = self.below_locks_page(layout.side).filter(|_| layout.side.height > 0);
            return page.into_iter().map(|page| self.scrolled_page(page, layout.side, Focus::Elsewhere)).collect();
        }
        let shown = entry.panes.iter().zip(self.pane_areas(&layout)).filter(|(_, area)| area.height > 0);
        shown.map(|((pane, write), area)| self.in_pane(write(self, area), area, *pane)).collect()
    }

    /// The popup over the lower end of the screen: a deletion plan, an explanation for an open
    /// prompt, or a long notice.
    pub fn popup(&self) -> Option<ShownPage> {
        let layout = self.layout()?;
        let top = layout.tabs.y + layout.tabs.height;
        let body = Area { y: top, height: layout.caption.y - top, ..layout.tabs };
        let page = self.plan(body).or_else(|| self.own_question_page(body));
        let page = page.or_else(|| self.prompt_page(body)).or_else(|| self.notice_page(body))?;
        // The popup covers the whole box below a list, because the box's upper border alone would
        // look broken.
        let mut height = page.height().max(layout.side.height).min(body.height);
        if self.deletions.open.is_some() {
            let answers = u16::try_from(page.answers.len()).unwrap_or(u16::MAX).saturating_add(BORDER);
            let list = if body.height < MIN_BODY_WITH_LIST { 0 } else { MIN_LIST_LINES };
            let most = body.height.saturating_sub(list).max(answers.saturating_add(MIN_PLAN_LINES));
            height = height.min(most).max(layout.side.height).min(body.height);
        }
        let area = Area { y: body.y + body.height - height, height, ..body };
        let mut shown = ShownPage { page, area, top: 0, focus: Focus::Here };
        let asked = self.own_runs.question.as_ref().map(|question| question.scroll);
        let scroll = self.deletions.open.as_ref().map(Deletion::scroll).or(asked);
        shown.top = scroll.map_or(0, |scroll| scroll.top(shown.end()));
        Some(shown)
    }

    /// The page that the keys scroll, popup aside.
    pub(super) fn focused_page(&self) -> Option<ShownPage> {
        self.pages().into_iter().find(|shown| shown.focus != Focus::Elsewhere)
    }

    /// The problems of the connection; no lines when there are none.
    pub fn banner_lines(&self) -> Vec<Line> {
        if self.is_live() || self.shows_ensembles() {
            return Vec::new();
        }
        let table = self.followed().table();
        let (clock, utc, is_default) = (self.moment(), self.settings.utc, self.settings.connect_is_default);
        let attempt = match (self.is_observing(), self.replay()) {
            (false, _) => banner::Attempt::Ended,
            (true, Some(_)) => banner::Attempt::Past,
            (true, None) => banner::Attempt::GoesOn,
        };
        let of = banner::Connection { table, attempt, is_default, clock, utc };
        banner::lines(of, self.size.0, self.charset())
    }

    /// Overlaps: clients that thought they held a lock at the same time. No lines on screens other
    /// than Contend.
    pub fn overlap_lines(&self) -> Vec<Line> {
        let shown = self.fleets().each().filter(|_| self.navigation.screen == Screen::Contend);
        let fleets = shown.filter_map(|(_, fleet)| Some((fleet.scenario().algorithm.name(), fleet.status()?)));
        test_clients::lines(fleets, self.size.0, self.charset())
    }

    /// The caption of the tour's current step; no lines without a tour.
    pub fn caption_lines(&self) -> Vec<Line> {
        let is_left_alone = self.tour_is_left_alone();
        let lines = |tour: &super::Tour| {
            let text = if is_left_alone { LEFT_ALONE } else { &tour.step().caption };
            banner::caption_lines(&self.settings.bindings.fill(text), tour.trouble(), self.size.0, self.charset())
        };
        self.tour().map(lines).unwrap_or_default()
    }

    /// The lines that the bar of a recording and the tour's caption take.
    pub(super) fn caption_height(&self) -> u16 {
        let bar = if self.replay().is_some() { PAST_BAR_HEIGHT } else { 0 };
        let fill = |step: &Step| self.settings.bindings.fill(&step.caption);
        let captions = self.tour().map(|tour| tour.scene().steps.iter().map(fill));
        bar + captions.map_or(0, |captions| banner::caption_height(captions, self.size.0))
    }

    /// The question about running test clients; `None` when it is not open.
    pub fn quit_question(&self) -> Option<String> {
        let then = match self.footer.leaving.as_ref()? {
            Leaving::Quit => "quit".to_owned(),
            Leaving::Context(name) => format!("go to {name}"),
        };
        let clients = self.living_clients();
        let run = if clients == 1 { "runs: stop it" } else { "run: stop them" };
        let (yes, no) = (FixedKey::Yes.name(), FixedKey::No.name());
        Some(format!("{} {run} and {then}? {yes}/{no}", plural(clients, "test client", "test clients")))
    }

    /// The areas of the pages below the list. A hidden page has no lines.
    fn pane_areas(&self, layout: &Layout) -> [Area; 2] {
        let nothing = Area { height: 0, ..layout.side };
        match (self.only_pane(layout.side.width), layout.panes()) {
            (Some(0), _) => [layout.side, nothing],
            (Some(_), _) => [nothing, layout.side],
            (None, Some((left, right))) if self.screen().entry().panes.len() > 1 => [left, right],
            (None, _) => [layout.side, nothing],
        }
    }

    fn in_pane(&self, page: Page, area: Area, focused: Pane) -> ShownPage {
        let focus = if self.navigation.pane == focused { Focus::Here } else { Focus::Elsewhere };
        self.scrolled_page(page, area, focus)
    }

    fn scrolled_page(&self, page: Page, area: Area, focus: Focus) -> ShownPage {
        let mut shown = ShownPage { page, area, top: 0, focus };
        if focus != Focus::Elsewhere {
            shown.top = self.navigation.scroll.top(shown.end());
        }
        shown
    }

    pub(super) fn audit_entry_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::FACTS, area);
        if let Some(entry) = self.selected_entry() {
            entries::write_audit_entry(&mut page, entry, self.settings.utc);
        }
        Page::new("Details", Columns::FACTS, page.lines())
    }

    pub(super) fn timeline_entry_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNED_FACTS, area);
        let utc = self.settings.utc;
        match self.selected_timeline_entry() {
            None => {}
            Some(TimelineEntry::Happening(happening)) => entries::write_happening(&mut page, happening, utc),
            Some(TimelineEntry::Finding { at, finding, raised }) => {
                entries::write_finding(&mut page, *at, finding, *raised, utc);
            }
            Some(TimelineEntry::Deletion { at, node, ending, .. }) => {
                entries::write_deletion(&mut page, *at, node, ending, utc);
            }
        }
        Page::new("Details", Columns::SIGNED_FACTS, page.lines())
    }

    pub(super) fn history_entry_page(&self, area: Area) -> Page {
        let mut page = self.writer(Columns::SIGNED_FACTS, area);
        let row = self.selected_history_entry();
        let title = row.as_ref().map_or_else(|| "Details".to_owned(), |row| entries::title(&row.entry, self.charset()));
        if let Some(row) = row {
            entries::write_history_entry(&mut page, &row.entry, self.settings.utc);
        }
        Page::new(title, Columns::SIGNED_FACTS, page.lines())
    }

    pub(super) fn servers_page(&self, area: Area) -> Page {
        let (world, view) = (self.world(), self.world().table().view());
        let mut page = self.writer(servers::COLUMNS, area);
        if self.settings.asks_servers {
            servers::write_members(&mut page, view, self.now());
            let compared = world.table().compared();
            if view.members.len() > 1 && (compared.is_some() || self.shown.is_live()) {
                servers::write_trees(&mut page, compared, self.now());
            }
            servers::write_conclusions(&mut page, view, world.watch_event_rates().recent_load());
            if let ConnectionState::Connected { recursive: false, .. } = world.table().connection() {
                servers::write_one_shot(&mut page, view);
            }
        } else {
            servers::write_not_asked(&mut page);
        }
        let mut page = Page::new("Servers", servers::COLUMNS, page.lines());
        page.stale = !self.shows_truth();
        if !view.members.is_empty() {
            page.title.push((servers::summary(view), Tone::Text));
        }
        page
    }

    pub(super) fn help_page(&self, area: Area) -> Page {
        let mut page = self.writer(help::COLUMNS, area);
        let bindings = &self.settings.bindings;
        let groups = command_groups().map(|group| {
            let is_shown = |entry: &&CommandEntry| match entry.command {
                Command::Go(Screen::Ensembles) => self.ensembles().is_some(),
                Command::Go(Screen::Output) => !self.settings.commands.is_empty(),
                _ => true,
            };
            let commands = group.commands.iter().filter(is_shown).map(|entry| help::CommandHelp {
                keys: bindings
                    .keys(entry)
                    .iter()
                    .map(|key| key.label(self.settings.ascii))
                    .collect::<Vec<_>>()
                    .join(" "),
                name: match entry.argument {
                    Some(argument) => format!(":{} {}", entry.name, argument.shown),
                    None => format!(":{}", entry.name),
                },
                help: bindings.help(entry),
            });
            (group.title, commands.collect())
        });
        let own = (!self.settings.commands.is_empty()).then(|| ("Your commands", self.own_help()));
        help::write_help(&mut page, groups.chain(own), |text| bindings.fill(text));
        let mut page = Page::new("Help", help::COLUMNS, page.lines());
        page.title.push((format!("lockscope {}", env!("CARGO_PKG_VERSION")), Tone::Dim));
        page
    }

    pub(super) fn unreadable_page(&self, area: Area) -> Page {
        let places = self.world().table().unreadable();
        let mut page = self.writer(Columns::TEXT, area);
        banner::write_unreadable(&mut page, places.iter().map(|(path, reason)| (path, &**reason)));
        let mut page = Page::new("Cannot be read", Columns::TEXT, page.lines());
        page.title.push((count(places.len()), Tone::Text));
        page
    }

    /// The page of the open deletion plan; `None` when none is open.
    fn plan(&self, area: Area) -> Option<Page> {
        let open = self.deletions.open.as_ref()?;
        let plan = open.plan();
        let question = deletion::Question {
            plan: &plan,
            context: self.settings.context.as_deref(),
            obstacle: open.obstacle(),
            finding_out: open.is_finding_out(),
            refused: open.refused(),
            changed: open.has_changed(),
            keys: deletion::AnswerKeys {
                yes: FixedKey::Yes.name(),
                enter: FixedKey::Enter.name(),
                leave: FixedKey::Leave.name(),
                turn: open.turn_key(&self.settings.bindings).map(Key::name),
            },
        };
        Some(deletion::page(|| self.writer(Columns::SIGNED_FACTS, area), &question))
    }

    /// The explanation for a prompt that asks for a number of clients; `None` for other prompts.
    fn prompt_page(&self, area: Area) -> Option<Page> {
        let page = self.writer(Columns::SIGNS, area);
        match self.footer.prompt.as_ref()?.purpose {
            PromptPurpose::Clients => Some(test_clients::pair(page, &self.own_node(), super::DEFAULT_CLIENTS)),
            PromptPurpose::ClientsIntoQueue => Some(match self.destination()? {
                Ok(to) => test_clients::queue(
                    page,
                    test_clients::QueueClients {
                        algorithm: to.algorithm,
                        path: &to.path,
                        naming: &to.naming,
                        reads: to.reads,
                        in_own_queue: to.in_own_queue,
                        foreign: !to.path.is_within(&self.own_node()),
                        default: super::DEFAULT_CLIENTS,
                    },
                    &self.settings.bindings.name(Command::Stop),
                ),
                Err(reason) => test_clients::refused(page, &reason.to_string()),
            }),
            PromptPurpose::Filter | PromptPurpose::Command | PromptPurpose::Confirmation => None,
        }
    }

    /// A notice that is too long for the footer; `None` while a prompt is open.
    fn notice_page(&self, area: Area) -> Option<Page> {
        let notice = self.footer.notice.as_ref().filter(|_| self.footer.prompt.is_none() && !self.notice_fits())?;
        let mut page = self.writer(Columns::SIGNS, area);
        page.add(Some(if notice.failed { Sign::Bad } else { Sign::Done }), None, &notice.text, Tone::Text);
        Some(Page { title: Vec::new(), ..Page::new("", Columns::SIGNS, page.lines()) })
    }

    /// Whether the notice fits into the footer.
    pub fn notice_fits(&self) -> bool {
        self.footer.notice.as_ref().is_none_or(|notice| {
            let mut page = Writer::new(Columns::SIGNS, self.size.0, self.charset());
            page.sentence(&notice.text, Tone::Text);
            page.lines().len() == 1
        })
    }
}
