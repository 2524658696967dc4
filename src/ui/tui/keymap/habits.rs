//! Keys of other programs that do nothing here, and the keys to press instead.

use super::Bindings;
use crate::tui::key::Key;

/// Keys of k9s, lazygit and less, each with a sentence that names the key to press here. A key that
/// does something on a screen keeps doing that.
const HABITS: &[(&[Key], &str)] = &[
    (&[Key::Char('8'), Key::Char('9')], "The screens are {locks} to {audit}; {help} lists the others."),
    (&[Key::Char('@')], "{audit} shows what this console has changed, and {timeline} what happened."),
    (
        &[Key::Char('A'), Key::Char('M'), Key::Char('O'), Key::Char('T')],
        "{sort} sorts by the next column, :sort by a named one.",
    ),
    (&[Key::Char('E'), Key::Ctrl('s')], "{export} writes what is shown to a JSON file."),
    (&[Key::Char('Q'), Key::Char('Z')], "{quit} ends the program."),
    (&[Key::Ctrl('k')], "{delete} shows the plan to delete what is selected, and asks."),
    (&[Key::Ctrl('r'), Key::F(5)], "Everything here is live and needs no refresh; {redraw} redraws the screen."),
    (&[Key::Char('_'), Key::Char('+'), Key::Char('-')], "The panes size themselves: {pane} goes from one to the next."),
    (&[Key::Char('&')], "{filter} shows only the rows that match, {next-match} and {previous-match} go through them."),
    (&[Key::Char('f'), Key::Char('b')], "In a list {keys of page-down} pages down, and {keys of page-up} pages up."),
    (
        &[Key::Char('m'), Key::Char('\'')],
        "There are no marks here: {letter of first} and {letter of last} go to the ends, {filter} finds what you look for.",
    ),
    (
        &[Key::Char('K'), Key::Char('J')],
        "{letter of left}, {letter of down}, {letter of up} and {letter of right} move, {page-up} and {page-down} page, \
         {letter of first} and {letter of last} go to the ends.",
    ),
];

/// Returns a sentence with the key to press in place of one that does nothing here.
pub fn habit(key: Key, bindings: &Bindings) -> Option<String> {
    HABITS.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, sentence)| bindings.fill(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_braces_is_that_of_a_command() {
        for (_, sentence) in HABITS {
            let filled = Bindings::default().fill(sentence);
            assert!(!filled.contains('{'), "{filled}");
        }
    }
}
