//! The findings alone, for a terminal that is too small for the screens, such as that of a phone.

use std::cmp::Reverse;

use super::{App, Area};
use crate::tui::app::{MIN_TERMINAL, ShownPage};
use crate::tui::keymap::Command;
use crate::tui::page::below_lists::{OfEnsemble, write_finding, write_findings};
use crate::tui::page::{Columns, Focus, Page, PageWriter, Tone};
use lockscope_model::diagnose::Finding;
use lockscope_model::summary::{EnsembleCondition, MAX_FINDINGS, StateKind};
use lockscope_model::text::human::{count, plural};

/// The smallest terminal that shows findings: columns and lines.
const MIN_FINDINGS: (u16, u16) = (40, 10);

/// Maximum number of ensembles on the page.
const MAX_ENSEMBLES: usize = 50;

impl App {
    /// The findings, in a terminal that is too small for the screens but large enough for a text.
    pub(super) fn small_page(&self) -> Option<ShownPage> {
        let (width, height) = self.size;
        if self.layout().is_some() || width < MIN_FINDINGS.0 || height < MIN_FINDINGS.1 {
            return None;
        }
        let area = Area { x: 0, y: 0, width, height: height - 1 };
        let mut page = self.writer(Columns::SIGNS, area);
        let title = if self.shows_ensembles() {
            self.write_ensembles_findings(&mut page);
            "Ensembles".to_owned()
        } else {
            self.write_own_findings(&mut page);
            self.settings.connect.clone()
        };
        let mut page = Page::new(title, Columns::SIGNS, page.lines());
        page.stale = !self.shows_ensembles() && !self.shows_truth();
        page.title.extend(self.as_of().filter(|_| page.stale));
        let mut shown = ShownPage { page, area, top: 0, focus: Focus::Alone };
        shown.top = self.navigation.scroll.top(shown.end());
        Some(shown)
    }

    /// Says below the findings how to quit, and what the other screens need.
    pub fn small_footer(&self) -> String {
        let quit = self.settings.bindings.name(Command::Quit);
        format!("{quit} quits. {}x{} shows all screens.", MIN_TERMINAL.0, MIN_TERMINAL.1)
    }

    fn write_own_findings(&self, page: &mut PageWriter) {
        let (table, diagnosis) = (self.world().table(), self.world().diagnosis());
        let condition = EnsembleCondition::of(table);
        if condition.kind() != StateKind::Live || !self.shows_truth() {
            let reason = condition.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
            page.sentence(&format!("{}{reason}", condition.kind().id()), Tone::Unsure);
        }
        let mut findings: Vec<&Finding> = diagnosis.findings().collect();
        let all = findings.len();
        let order = |finding: &&Finding| (finding.muted.is_some(), Reverse(finding.severity));
        findings.sort_by(|one, other| order(one).cmp(&order(other)).then_with(|| one.lock.path.cmp(&other.lock.path)));
        for finding in findings.iter().take(MAX_FINDINGS) {
            write_finding(page, finding, Tone::Strong, self.settings.utc);
        }
        if all > MAX_FINDINGS {
            page.sentence(&format!("{} findings more.", count(all - MAX_FINDINGS)), Tone::Dim);
        }
        if all == 0 && self.shows_truth() {
            page.sentence(&format!("No finding at {}.", plural(table.lock_count(), "lock", "locks")), Tone::Text);
        }
        self.write_unknown(page);
    }

    /// Writes what was not looked at, because a finding may be there.
    fn write_unknown(&self, page: &mut PageWriter) {
        let table = self.world().table();
        let (open, unreadable) = (self.world().open_checks(), table.unreadable().len());
        if open > 0 {
            page.sentence(&format!("{} not decided yet.", plural(open, "check is", "checks are")), Tone::Unsure);
        }
        if unreadable > 0 {
            page.sentence(&format!("{} cannot be read.", plural(unreadable, "place", "places")), Tone::Unsure);
        }
        if !self.settings.asks_servers {
            page.sentence("The servers are not asked, so dead clients are not known.", Tone::Unsure);
        } else if !table.view().every_member_answered() {
            page.sentence("Not every server reports its connections, so dead clients may be missed.", Tone::Unsure);
        }
    }

    fn write_ensembles_findings(&self, page: &mut PageWriter) {
        let Some(ensembles) = self.ensembles() else { return };
        for row in ensembles.shown().take(MAX_ENSEMBLES) {
            page.add(None, None, &row.name, Tone::Label);
            let utc = self.settings.utc;
            let of = OfEnsemble { state: row.state(), reason: row.reason(), summary: row.summary.as_ref(), utc };
            write_findings(page, of);
        }
        let more = ensembles.all().saturating_sub(MAX_ENSEMBLES);
        if more > 0 {
            page.sentence(&format!("{} more.", plural(more, "ensemble", "ensembles")), Tone::Dim);
        }
    }
}
