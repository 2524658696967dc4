//! What Help says, made of the table of commands. Pure.

use super::keymap::{COMMANDS, Entry, Group};

/// One line of Help.
#[derive(Clone, Copy, Debug)]
pub enum Line {
    /// Nothing.
    Blank,
    /// A heading.
    Title(&'static str),
    /// A command.
    Command(&'static Entry),
    /// A word, and what it means.
    Meaning(&'static str, &'static str),
}

/// Words of the screens that need a sentence.
const MEANINGS: &[(&str, &str)] = &[
    ("at most", "A time after ≤: the lock was held before this console came, at the most since its node was created"),
    ("waits for", "The contender right before it in its recipe's order: its predecessor"),
    ("herd-style", "Watch events that a change costs when every waiter watches the lock parent's children"),
    ("chain-style", "Watch events that it costs when each waiter watches its predecessor only"),
    ("not known", "States marked ? are not known: the console is not in step with the ensemble"),
];

/// All of Help.
pub fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.push(Line::Title(group.title()));
        lines.extend(COMMANDS.iter().filter(|entry| entry.group == group).map(Line::Command));
        lines.push(Line::Blank);
    }
    lines.push(Line::Title("Words"));
    lines.extend(MEANINGS.iter().map(|(word, meaning)| Line::Meaning(word, meaning)));
    lines
}
