//! The colours of what is printed outside of the screens: help, errors, findings.
//!
//! `--color` overrides the environment (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, `TERM`), which
//! overrides whether a terminal reads the text. The screen takes its colours from a theme; there
//! `never` means no colours, and `always` overrides `NO_COLOR`.

use std::ffi::OsString;
use std::io;

use anstream::AutoStream;
use clap::builder::styling::{AnsiColor, Style};
use clap::{ColorChoice, ValueEnum};

/// Takes `--color` from the words of a command line. That comes before they are parsed, because
/// help and mistakes are coloured too; a value that is none of the possible ones is refused later.
pub fn choose(words: &[OsString]) {
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let given = words.iter().enumerate().take_while(|(_, word)| **word != "--");
    let values = given.filter_map(|(at, word)| match word.strip_prefix("--color")? {
        "" => words.get(at + 1).copied(),
        value => value.strip_prefix('='),
    });
    let choice = match values.filter_map(|value| ColorChoice::from_str(value, false).ok()).last() {
        Some(ColorChoice::Always) => anstream::ColorChoice::Always,
        Some(ColorChoice::Never) => anstream::ColorChoice::Never,
        _ => anstream::ColorChoice::Auto,
    };
    choice.write_global();
}

/// What a coloured word tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordTone {
    Good,
    Warning,
    Bad,
}

/// Returns a text in the colour of its tone, if standard output has colours.
pub fn on_stdout(tone: WordTone, text: &str) -> String {
    painted(AutoStream::choice(&io::stdout()), tone, text)
}

/// Returns a text in the colour of its tone, if standard error has colours.
pub fn on_stderr(tone: WordTone, text: &str) -> String {
    painted(AutoStream::choice(&io::stderr()), tone, text)
}

fn painted(choice: anstream::ColorChoice, tone: WordTone, text: &str) -> String {
    let colour = match tone {
        WordTone::Good => AnsiColor::Green,
        WordTone::Warning => AnsiColor::Yellow,
        WordTone::Bad => AnsiColor::Red,
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    if choice == anstream::ColorChoice::Never { text.to_owned() } else { format!("{style}{text}{style:#}") }
}
