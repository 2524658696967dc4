//! The manual pages: one of the whole program, and one of each command.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use chrono::DateTime;
use clap::builder::Resettable;
use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::arguments::{ENVIRONMENT, EXIT_CODES, PRECEDENCE, definition};
use super::output::{ExitAnswer, print};

#[cfg(test)]
mod tests;

/// The program and its version, at the foot of each page.
const SOURCE: &str = concat!("lockscope ", env!("CARGO_PKG_VERSION"));

/// The title of the manual, at the head of each page.
const MANUAL: &str = "lockscope's manual";

/// The files, their meanings, and the option that names another one.
const FILES: [(&str, &str, &str); 4] = [
    ("~/.config/lockscope/config.toml", "the config file", "config"),
    ("~/.config/lockscope/themes/NAME.toml", "a theme", "theme"),
    ("~/.local/state/lockscope/audit.jsonl", "the audit log of deletions", "audit_log"),
    ("~/.local/state/lockscope/notes.json", "what is muted, and which findings were seen", "notes_file"),
];

/// Prints one manual page that covers every command.
pub fn man(out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    print(out, |out| out.write_all(&page(&date())?))?;
    Ok(ExitAnswer::Yes)
}

/// Writes a manual page for each command into a directory, which is created if it is missing.
pub fn man_pages(folder: &Path) -> anyhow::Result<ExitAnswer> {
    let date = date();
    let written = fs::create_dir_all(folder)
        .and_then(|()| definition().get_subcommands().try_for_each(|command| write_page(command, &date, folder)))
        .and_then(|()| fs::write(folder.join("lockscope.1"), page(&date)?));
    written.map_err(|error| {
        anyhow!("cannot write the manual pages to {}: {error}; name another directory with --out", folder.display())
    })?;
    Ok(ExitAnswer::Yes)
}

fn write_page(command: &Command, date: &str, folder: &Path) -> std::io::Result<()> {
    let below = command.get_subcommands().filter(|command| command.get_name() != "help");
    below.into_iter().try_for_each(|command| write_page(command, date, folder))?;
    let name = command.get_display_name().unwrap_or(command.get_name());
    fs::write(folder.join(format!("{name}.1")), command_page(command, date)?)
}

/// Returns the day of the commit that was built, or of `SOURCE_DATE_EPOCH`; empty where the build
/// knew neither.
fn date() -> String {
    let seconds = option_env!("LOCKSCOPE_BUILT_FROM").and_then(|seconds| seconds.parse().ok());
    let day = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    day.map(|day| day.format("%Y-%m-%d").to_string()).unwrap_or_default()
}

fn page(date: &str) -> std::io::Result<Vec<u8>> {
    let whole = definition();
    let mut page = Vec::new();
    let man = Man::new(whole.clone()).date(date).manual(MANUAL);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
        page.extend(subcommand_section(&whole, command, "")?);
        for below in command.get_subcommands().filter(|command| command.get_name() != "help") {
            page.extend(subcommand_section(&whole, below, &format!("{} ", command.get_name()))?);
        }
    }
    page.extend(last_sections(&whole));
    Ok(page)
}

/// Returns the page of a command alone.
fn command_page(command: &Command, date: &str) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).source(SOURCE).date(date).manual(MANUAL);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(last_sections(command));
    Ok(page)
}

/// Returns the sections behind the options, of what the command takes and does.
fn last_sections(command: &Command) -> Vec<u8> {
    let is_whole = command.get_name() == "lockscope";
    let has = |id: &str| command.get_arguments().any(|option| option.get_id() == id);
    let takes = |id: &str| match id {
        // Most commands read it, also without an option that names another one.
        "config" => !["completions", "man", "sandbox", "store"].contains(&command.get_name()),
        "store" => has("store") || has("past_store"),
        id => has(id),
    };
    let mut roff = Roff::new();
    let files: Vec<_> = FILES.into_iter().filter(|(.., id)| takes(id)).map(|(name, what, _)| (name, what)).collect();
    if !files.is_empty() {
        roff.control("SH", ["FILES"]);
        if is_whole {
            roff.text([roman(PRECEDENCE)]);
        }
        items(&mut roff, &files);
    }
    // The tour takes its ensemble from an option alone.
    let is_read =
        |name: &str, id: &str| is_whole || takes(id) && (name, command.get_name()) != ("ZOOKEEPER_CONNECT", "demo");
    let variables =
        ENVIRONMENT.into_iter().filter(|(name, _, id)| is_read(name, id)).map(|(name, what, _)| (name, what));
    roff.control("SH", ["ENVIRONMENT"]);
    items(&mut roff, &variables.collect::<Vec<_>>());
    roff.control("SH", ["EXIT STATUS"]);
    items(&mut roff, &exit_codes(command));
    roff.control("SH", ["VERSION"]).text([roman(SOURCE)]);
    roff.control("SH", ["SEE ALSO"]).text([roman(if is_whole {
        "The page of a command, such as lockscope-check(1)"
    } else {
        "lockscope(1)"
    })]);
    roff.to_roff().into_bytes()
}

fn items(roff: &mut Roff, items: &[(&str, &str)]) {
    for (name, meaning) in items {
        roff.control("TP", []).text([bold(*name)]).text([roman(*meaning)]);
    }
}

/// Returns the exit codes of a command; of the program for the page of all.
fn exit_codes(command: &Command) -> Vec<(&'static str, &'static str)> {
    let no = match command.get_name() {
        "lockscope" => return EXIT_CODES.to_vec(),
        "find" => Some("nothing was found"),
        "members" => Some("the members differ, or one does not answer"),
        "doctor" => Some("something is not seen"),
        "check" if command.get_arguments().any(|option| option.get_id() == "nagios") => {
            Some("a finding is as severe as --fail-on, or a part of the tree could not be read")
        }
        "check" => Some("it is not whole, or not everything could be compared"),
        "record" => Some("a part of the recording is lost"),
        "contend" | "compare" => Some("the lock was violated, or nodes were left behind"),
        "delete" => Some("nothing was deleted, or not all that was meant"),
        "recipes" => Some("the node of --try is no contender"),
        _ => None,
    };
    let failed = if command.get_arguments().any(|option| option.get_id() == "connect") {
        "failed: usage, connection, permission"
    } else {
        "failed: usage, or a file"
    };
    let mut codes = vec![("0", "done")];
    codes.extend(no.map(|what| ("1", what)));
    codes.push(("2", failed));
    codes.extend(EXIT_CODES.into_iter().filter(|(code, _)| match command.get_name() {
        "record" => *code == "75",
        "contend" | "compare" => *code == "128+N",
        _ => false,
    }));
    if command.get_arguments().any(|option| option.get_id() == "nagios") {
        codes.push(("0, 1, 2, 3", "with --nagios: OK, WARNING, CRITICAL, UNKNOWN"));
    }
    codes
}

/// Returns the section of a command: its description, and the options that the main page does not
/// show, or shows with another meaning. `above` is the name of the command above it, with a blank.
fn subcommand_section(whole: &Command, command: &Command, above: &str) -> std::io::Result<Vec<u8>> {
    let is_shown = |option: &Arg| {
        let is_same = |other: &Arg| option.get_id() == "help" || other.get_help() == option.get_help();
        whole.get_arguments().any(|other| other.get_id() == option.get_id() && is_same(other))
    };
    let own = command.get_arguments().filter(|option| !is_shown(option));
    let name = format!("{} {above}{}", whole.get_name(), command.get_name());
    let mut only = Command::new("lockscope").disable_help_flag(true).args(own.cloned().map(alone));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        only = only.long_about(about.clone());
    }
    let man = Man::new(only);
    let mut section = Vec::new();
    man.render_description_section(&mut section)?;
    man.render_options_section(&mut section)?;
    let section = String::from_utf8_lossy(&section).replace(".SH ", ".SS ");
    Ok(format!(".SH \"{}\"\n{section}", name.to_uppercase()).into_bytes())
}

/// Removes references to other options, which are not on this page.
fn alone(option: Arg) -> Arg {
    option.conflicts_with(Resettable::Reset).requires(Resettable::Reset)
}
