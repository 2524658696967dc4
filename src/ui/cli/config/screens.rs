//! The initial columns, order and filter of the lists: the tables `[screen.NAME]`.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::texts;
use crate::tui::{Screen, ScreenChoices, ScreensChosen};

/// Reads all `[screen.NAME]` tables. Invalid settings stay as in `earlier`; `note` receives the
/// place and the reason.
pub(super) fn read(
    all: &Spanned<DeValue<'_>>,
    earlier: &ScreensChosen,
    note: &mut dyn FnMut(Range<usize>, &str),
) -> ScreensChosen {
    let mut chosen = ScreensChosen::default();
    let Some(tables) = all.get_ref().as_table() else {
        note(all.span(), "screen holds tables: write [screen.locks], and columns, sort and filter below it");
        return earlier.clone();
    };
    for (name, value) in tables {
        let screen = ScreensChosen::screen(name.get_ref());
        let before = screen.and_then(|screen| earlier.of(screen)).cloned().unwrap_or_default();
        match (screen, value.get_ref().as_table()) {
            (Some(screen), Some(table)) => chosen.choose(screen, read_one(screen, table, &before, note)),
            (Some(screen), None) => {
                chosen.choose(screen, before);
                let problem = format!("write [screen.{}], and columns, sort and filter below it", name.get_ref());
                note(value.span(), &problem);
            }
            (None, _) => {
                let known = ScreensChosen::names().collect::<Vec<_>>().join(", ");
                note(name.span(), &format!("there is no list `{}`: there are {known}", name.get_ref()));
            }
        }
    }
    chosen
}

fn read_one(
    screen: Screen,
    table: &DeTable<'_>,
    before: &ScreenChoices,
    note: &mut dyn FnMut(Range<usize>, &str),
) -> ScreenChoices {
    let mut choices = ScreenChoices::default();
    for (name, value) in table {
        let text = value.get_ref().as_str();
        let refused = match (&**name.get_ref(), text) {
            ("columns", _) => match texts(value) {
                Some(columns) => ScreenChoices::refuse_columns(screen, &columns).or_else(|| {
                    choices.columns = Some(columns);
                    None
                }),
                None => Some("columns takes a list of names".to_owned()),
            },
            ("sort", Some(sort)) => ScreenChoices::refuse_sort(screen, sort).or_else(|| {
                choices.sort = Some(sort.to_owned());
                None
            }),
            ("filter", Some(filter)) => ScreenChoices::refuse_filter(screen, filter).or_else(|| {
                choices.filter = Some(filter.to_owned());
                None
            }),
            ("sort" | "filter", None) => Some(format!("{} takes a text", name.get_ref())),
            (other, _) => Some(format!("a list has no `{other}`: it has columns, sort and filter")),
        };
        if let Some(problem) = refused {
            note(value.span(), problem.trim_end_matches('.'));
            match &**name.get_ref() {
                "columns" => choices.columns.clone_from(&before.columns),
                "sort" => choices.sort.clone_from(&before.sort),
                "filter" => choices.filter.clone_from(&before.filter),
                _ => {}
            }
        }
    }
    choices
}
