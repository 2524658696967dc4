//! What Help says, made of the table of commands. Pure.

use super::keymap::{COMMANDS, CommandEntry, HelpGroup};

/// One line of Help.
#[derive(Clone, Copy, Debug)]
pub enum Line {
    /// Nothing.
    Blank,
    /// A heading.
    Title(&'static str),
    /// A command.
    Command(&'static CommandEntry),
    /// A word, and what it means.
    Meaning(&'static str, &'static str),
}

/// Words of the screens that need a sentence.
const MEANINGS: &[(&str, &str)] = &[
    ("at most", "It was held already when this console came: not longer than"),
    ("", "since its node was created"),
    ("unknown", "Not in step with the ensemble: nobody can say who holds"),
    ("waits for", "Its predecessor: whom it stands behind directly"),
    ("expiring", "Its session has no connection: the node goes with it"),
    ("ghost", "Its session is gone, and its node is still there"),
    ("live 2/3", "So many of the servers tell all about themselves (v)"),
    ("herd-style", "Watch events when every waiter watches the lock parent"),
    ("chain-style", "Watch events when each waiter watches its predecessor"),
    ("[WHO]", "A test client: its number, or holder; the selected one"),
    ("frozen", "A test client that is stopped, and believes what it believed"),
    ("mouse", "With --mouse: press to select, press again to open"),
];

/// All of Help.
pub fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for group in HelpGroup::ALL {
        lines.push(Line::Title(group.title()));
        lines.extend(COMMANDS.iter().filter(|entry| entry.group == group).map(Line::Command));
        lines.push(Line::Blank);
    }
    lines.push(Line::Title("Words"));
    lines.extend(MEANINGS.iter().map(|(word, meaning)| Line::Meaning(word, meaning)));
    lines
}
