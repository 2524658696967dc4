//! Keys of other programs that do nothing here, and the keys to press instead.

use crate::tui::key::Key;

/// Keys of k9s, lazygit and less, each with a sentence that names the key to press here. A key that
/// does something on a screen keeps doing that.
const HABITS: &[(&[Key], &str)] = &[
    (&[Key::Char('0')], "All locks show already: / filters them, and 1 to 7 are the screens."),
    (&[Key::Char('8'), Key::Char('9')], "The screens are 1 to 7; ? lists the others."),
    (&[Key::Char('@')], "7 shows what this console has changed, and 6 what happened."),
    (
        &[Key::Char('A'), Key::Char('M'), Key::Char('O'), Key::Char('T')],
        "s sorts by the next column, :sort by a named one.",
    ),
    (&[Key::Char('E'), Key::Ctrl('s')], "e writes what is shown to a JSON file."),
    (&[Key::Char('Q'), Key::Char('Z')], "q ends the program."),
    (&[Key::Ctrl('k')], "x shows the plan to delete what is selected, and asks."),
    (&[Key::Ctrl('r'), Key::F(5)], "Everything here is live and needs no refreshing; Ctrl-L draws the screen anew."),
    (
        &[Key::Char('_'), Key::Char('+'), Key::Char('-')],
        "The panes share the screen by themselves: Tab goes from one to the next.",
    ),
    (&[Key::Char('&')], "/ shows only the rows that match, n and N go through them."),
    (
        &[Key::Char('f'), Key::Char('b')],
        "In a list Ctrl-F and Ctrl-B page, as PgDn and PgUp do; f and b page in texts.",
    ),
    (&[Key::Char('m'), Key::Char('\'')], "There are no marks here: g and G go to the ends, / finds what you look for."),
    (&[Key::Char('K'), Key::Char('J')], "h, j, k and l move, PgUp and PgDn page, g and G go to the ends."),
];

/// Returns the hint for a key that does nothing here.
pub fn habit(key: Key) -> Option<&'static str> {
    HABITS.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, sentence)| *sentence)
}
