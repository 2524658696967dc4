//! Completions and manual pages, generated from the definition of the arguments.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use clap::builder::Resettable;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::arguments::Arguments;
use super::arguments::{ENVIRONMENT, EXIT_CODES, PRECEDENCE};
use super::exit_answer::ExitAnswer;
use super::output::print;

/// Prints the completions for a shell.
pub(super) fn completions(shell: Shell, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    // The generator panics when it cannot write, so it must not write to a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "lockscope", &mut text);
    print(out, |out| out.write_all(&text))?;
    Ok(ExitAnswer::Yes)
}

/// Prints one manual page that covers every command.
pub(super) fn man(out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    print(out, |out| out.write_all(&page()?))?;
    Ok(ExitAnswer::Yes)
}

/// Writes a manual page for each command into a directory, which is created if it is missing.
pub(super) fn man_pages(folder: &Path) -> anyhow::Result<ExitAnswer> {
    let written = fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(definition(), folder))
        .and_then(|()| fs::write(folder.join("lockscope.1"), page()?));
    written.map_err(|error| {
        anyhow!("cannot write the manual pages to {}: {error}; name another directory with --out", folder.display())
    })?;
    Ok(ExitAnswer::Yes)
}

fn definition() -> Command {
    let mut command = Arguments::command();
    command.build();
    command
}

fn page() -> std::io::Result<Vec<u8>> {
    let whole = definition();
    let mut page = Vec::new();
    let man = Man::new(whole.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
        page.extend(subcommand_section(&whole, command)?);
    }
    page.extend(epilogue_sections());
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// Returns the end of the long help as separate sections.
fn epilogue_sections() -> Vec<u8> {
    let mut roff = Roff::new();
    roff.control("SH", ["FILES"]).text([roman(PRECEDENCE)]);
    for (title, items) in [("ENVIRONMENT", &ENVIRONMENT[..]), ("EXIT STATUS", &EXIT_CODES[..])] {
        roff.control("SH", [title]);
        for (name, meaning) in items {
            roff.control("TP", []).text([bold(*name)]).text([roman(*meaning)]);
        }
    }
    roff.to_roff().into_bytes()
}

/// Returns the section of a command: its description, and the options that the main page does not
/// show.
fn subcommand_section(whole: &Command, command: &Command) -> std::io::Result<Vec<u8>> {
    let own =
        command.get_arguments().filter(|option| whole.get_arguments().all(|other| other.get_id() != option.get_id()));
    let name = format!("{} {}", whole.get_name(), command.get_name());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_page_matches_the_definition() {
        let page = String::from_utf8(page().unwrap()).unwrap();
        insta::assert_snapshot!(page.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}
