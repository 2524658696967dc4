//! The sign and the words beside a row.

use ratatui::style::Style;

use super::super::View;
use super::super::who::lifetime;
use crate::tui::picture::{Departure, PictureRow, RowState, RowTrouble, WakeEffect};
use lockscope_lab::contend::RequestKind;
use lockscope_lock::Access;
use lockscope_model::text::human::countdown;

/// Returns the sign of a row.
pub fn sign(view: View<'_>, row: &PictureRow) -> (&'static str, Style) {
    let (theme, signs) = (view.theme, &view.theme.signs);
    match row.state {
        RowState::Parent => (signs.tag, theme.accent),
        RowState::Holds => (signs.holds, theme.good),
        RowState::ThinksItHolds => (signs.warning, theme.bad),
        RowState::Waits => (signs.waits, theme.wait),
        RowState::Gone(_) => (signs.nothing, theme.dim),
        RowState::Unknown => (signs.unknown, theme.unsure),
    }
}

/// Returns the letter that marks a reader or a writer of a shared lock.
pub fn letter(view: View<'_>, row: &PictureRow) -> Option<(&'static str, Style)> {
    Some(match row.access? {
        Access::Read => ("R", view.theme.accent),
        Access::Write => ("W", view.theme.wait),
    })
}

/// Returns the words of a row, the most important first.
pub fn words(view: View<'_>, row: &PictureRow) -> Vec<(String, Style)> {
    let theme = view.theme;
    let mut words: Vec<(String, Style)> = row.troubles.iter().map(|trouble| say_trouble(view, *trouble)).collect();
    let say = |text: &str, style: Style| (text.to_owned(), style);
    let state = match (row.state, row.effect) {
        (RowState::Parent, _) => say("the parent", theme.dim),
        (RowState::Gone(Departure::Released), _) => say("released", theme.dim),
        (RowState::Gone(Departure::SessionEnded), _) => say("session ended", theme.bad),
        (RowState::ThinksItHolds, _) => say("thinks it holds", theme.bad),
        (RowState::Holds, Some(WakeEffect::GetsIt)) => say("gets it", theme.good),
        (RowState::Holds, _) => say("holds", theme.good),
        (RowState::Unknown, _) => say("unknown", theme.unsure),
        (RowState::Waits, Some(effect)) => say_effect(view, effect),
        (RowState::Waits, None) => say("waits", theme.dim),
    };
    if row.state == RowState::ThinksItHolds {
        words.insert(0, state);
    } else {
        words.push(state);
    }
    words.extend(row.token.map(|token| (format!("token {token}"), theme.dim)));
    words
}

fn say_effect(view: View<'_>, effect: WakeEffect) -> (String, Style) {
    let theme = view.theme;
    let (text, style) = match effect {
        WakeEffect::IsWoken => ("is woken", theme.wait),
        WakeEffect::Woken => ("woken", theme.wait),
        WakeEffect::Asks(RequestKind::List) => ("lists", theme.wait),
        WakeEffect::Asks(RequestKind::Create) => ("tries to create", theme.wait),
        WakeEffect::Asks(_) => ("reads", theme.wait),
        WakeEffect::GetsIt => ("gets it", theme.good),
        WakeEffect::InVain => ("woken in vain", theme.wait),
        WakeEffect::SleepsOn => ("sleeps on", theme.dim),
    };
    (text.to_owned(), style)
}

fn say_trouble(view: View<'_>, trouble: RowTrouble) -> (String, Style) {
    let text = match trouble {
        RowTrouble::Frozen => "frozen".to_owned(),
        RowTrouble::Crashed { expires_in } if expires_in.is_zero() => "crashed".to_owned(),
        RowTrouble::Crashed { expires_in } => format!("crashed, {} left", countdown(expires_in)),
        RowTrouble::Cut => "link cut".to_owned(),
        RowTrouble::NodeGone => "node gone".to_owned(),
        RowTrouble::WriteRefused => "write refused".to_owned(),
        RowTrouble::WatchesNothing => "watches nothing".to_owned(),
        RowTrouble::Owner { state, expires_in } => lifetime(state, expires_in).unwrap_or_default(),
    };
    (text, view.theme.bad)
}
