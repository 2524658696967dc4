//! Help that is longer than the terminal goes through a pager, as git and man show theirs.

use std::fs::File;
use std::io::{IsTerminal, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{env, io};

use anstream::{AutoStream, ColorChoice};
use clap::error::ErrorKind;

/// What `less` does unless `LESS` says otherwise: it ends where all fits, shows colours, and leaves
/// the text on the terminal.
const LESS: &str = "FRX";

/// Prints a help or a version. A pager that shows it takes the place of this process, so that
/// signals and the exit are its own.
pub fn print_help(help: &clap::Error) {
    let is_seen = io::stdout().is_terminal() && env::var_os("TERM").is_some_and(|name| name != "dumb");
    if help.kind() == ErrorKind::DisplayHelp && is_seen {
        let rows = crossterm::terminal::size().map_or(usize::MAX, |(_, rows)| rows.into());
        let text = help.render();
        // It returns only where there is no pager.
        if text.to_string().lines().count() >= rows {
            let _ = become_pager(&text);
        }
    }
    // A reader that has closed the pipe is no error.
    let _ = help.print();
}

/// Replaces this process by the pager of `PAGER`, else by `less`; no pager where that is empty or
/// `cat`. Its words are split as a shell does, and no shell runs.
fn become_pager(text: &clap::builder::StyledStr) -> Option<io::Error> {
    let words = shell_words::split(&env::var("PAGER").unwrap_or_else(|_| "less".to_owned())).ok()?;
    let (program, arguments) = words.split_first().filter(|(program, _)| *program != "cat")?;
    let options = env::var("LESS").unwrap_or_else(|_| LESS.to_owned());
    let is_less = program.rsplit('/').next() == Some("less");
    let has_colours = is_less && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let text = if has_colours { text.ansi().to_string() } else { text.to_string() };
    let file = holding(&text).ok()?;
    // Whatever LESS says, the colours are for the terminal.
    let more = has_colours.then_some("-R");
    Some(Command::new(program).args(arguments).args(more).env("LESS", options).stdin(file).exec())
}

/// Returns a file without a name that holds the text. Other than a pipe it never fills up.
fn holding(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
