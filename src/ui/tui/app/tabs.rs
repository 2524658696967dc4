//! The line of tabs: which screens it names, and how much it says of each in the width that is
//! left.

use super::screens::SCREENS;
use super::{App, Screen};
use crate::tui::page::Sign;
use lockscope_live::admin::Action;
use lockscope_model::text::human::{plural, time_of_day};
use lockscope_model::text::width;

/// How much the tabs show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    WithoutHelp,
    /// Keys only, with the name of the current screen.
    Numbers,
}

/// Columns of a badge's sign and the spaces around it.
const BADGE_SIGN: usize = 4;

impl App {
    /// The badges of running work, such as test clients or a deletion. Each sign takes one column.
    pub fn badges(&self) -> Vec<(Sign, String)> {
        let mut badges = Vec::new();
        if self.has_fleets() {
            badges.push((Sign::Warning, plural(self.living_clients(), "test client", "test clients")));
        }
        if let Some(working) = self.working() {
            let nodes = plural(working.count(), "node", "nodes");
            let doing = match working.action() {
                Action::Delete => format!("deleting {nodes}"),
                Action::Revoke => format!("asking for {nodes}"),
            };
            badges.push((Sign::Busy, doing));
        }
        badges
    }

    /// The marks of a paused screen, from the longest to the shortest; empty when the screen is not
    /// paused.
    pub fn pause_texts(&self) -> Vec<String> {
        let Some(paused) = self.paused() else { return Vec::new() };
        let missed = usize::try_from(paused.missed).unwrap_or(usize::MAX);
        let as_of = format!(" PAUSED  as of {}", time_of_day(paused.at, self.settings.utc));
        let since = format!("{as_of}, {} since ", plural(missed, "change", "changes"));
        vec![since, format!("{as_of} "), " PAUSED ".to_owned()]
    }

    /// The tabs that fit, from left to right, each with its screen. The badges and the mark of a
    /// pause must be visible, so the names of the screens are shortened for them.
    pub fn tabs(&self) -> Vec<(Screen, String)> {
        let taken = self.badges().iter().map(|(_, text)| BADGE_SIGN + width(text)).sum::<usize>()
            + self.pause_texts().first().map_or(0, |text| width(text));
        let room = usize::from(self.size.0).saturating_sub(taken);
        let forms = [Form::Full, Form::WithoutHelp, Form::Numbers].map(|form| self.tabs_as(form));
        let fits = |tabs: &Vec<(Screen, String)>| tabs.iter().map(|(_, text)| width(text)).sum::<usize>() <= room;
        let at = forms.iter().position(fits).unwrap_or(forms.len() - 1);
        forms.into_iter().nth(at).unwrap_or_default()
    }

    fn tabs_as(&self, form: Form) -> Vec<(Screen, String)> {
        let has_tab = |screen: Screen| match screen {
            Screen::Help => form == Form::Full,
            Screen::Ensembles => self.ensembles().is_some(),
            _ => true,
        };
        let tabs = SCREENS.iter().filter(|entry| entry.has_tab && has_tab(entry.screen));
        let named = tabs.map(|entry| {
            let key = self.settings.bindings.keys(entry.go()).first().map(|key| key.label(true)).unwrap_or_default();
            let is_named = self.screen() == entry.screen || form != Form::Numbers;
            (entry.screen, if is_named { format!(" {key} {} ", entry.title) } else { format!(" {key} ") })
        });
        named.collect()
    }

    /// The screen whose tab is at a column.
    pub(super) fn tab_at(&self, column: u16) -> Option<Screen> {
        let mut end = 0;
        self.tabs().into_iter().find_map(|(screen, text)| {
            end += width(&text);
            (usize::from(column) < end).then_some(screen)
        })
    }
}
