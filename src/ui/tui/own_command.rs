//! Commands of the config file: programs that are given values of the selected row. Pure.
//!
//! Architecture invariant: a value comes from znodes and servers, which anybody may have written.
//! It stays inside one argument, it is never the program or the text of a shell, and it never
//! becomes an option.

mod template;
#[cfg(test)]
mod tests;
mod value;

use std::time::Duration;

use self::template::Template;
pub use self::value::{OwnValue, OwnValues, host_of};
use self::value::{known, like_an_option};
use super::key::Key;
use super::screen::Screen;

/// The most bytes of a program with its arguments as the config file has them.
const MAX_RUN_BYTES: usize = 32 * 1024;
/// The most words of a program with its arguments.
const MAX_WORDS: usize = 100;

/// What a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnProgram(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Program { program: String, arguments: Vec<Template> },
    Shell(String),
}

impl OwnProgram {
    /// Reads a program and its arguments, or the text of a shell. The error is a part of a
    /// sentence.
    pub fn read(words: &[String], shell: bool) -> Result<Self, String> {
        let Some((program, arguments)) = words.split_first().filter(|(program, _)| !program.trim().is_empty()) else {
            return Err("name a program and its arguments, as in [\"ssh\", \"--\", \"{client_host}\"]".to_owned());
        };
        if words.iter().any(|word| word.contains('\0')) {
            return Err("no program takes the character NUL".to_owned());
        }
        if words.len() > MAX_WORDS || words.iter().map(String::len).sum::<usize>() > MAX_RUN_BYTES {
            return Err(format!("at most {MAX_WORDS} words of {MAX_RUN_BYTES} bytes in all are allowed"));
        }
        if shell {
            if !arguments.is_empty() {
                return Err(
                    "with shell = true it is one text, as in \"dig -x \\\"$LOCKSCOPE_CLIENT_HOST\\\"\"".to_owned()
                );
            }
            return match OwnValue::ALL.into_iter().find(|value| has_place(program, *value)) {
                Some(value) => Err(format!(
                    "a shell would run what is in {}: with shell = true, write \"${}\"",
                    value.place(),
                    value.variable()
                )),
                None => Ok(Self(Kind::Shell(program.clone()))),
            };
        }
        let name = Template::read(program)?;
        if name.values().next().is_some() {
            return Err("the program cannot be a value, only its arguments can: a znode could choose it".to_owned());
        }
        let program = name.fill(&OwnValues::default())?;
        let arguments = arguments.iter().map(|word| Template::read(word)).collect::<Result<_, _>>()?;
        Ok(Self(Kind::Program { program, arguments }))
    }

    /// Returns the program as the config file has it, for Help.
    pub fn shown(&self) -> String {
        match &self.0 {
            Kind::Program { program, arguments } => {
                let words = arguments.iter().map(Template::shown);
                [program.clone()].into_iter().chain(words).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
            }
            Kind::Shell(text) => format!("sh -c {}", quoted(text)),
        }
    }

    fn needs(&self, value: OwnValue) -> bool {
        match &self.0 {
            Kind::Program { arguments, .. } => {
                arguments.iter().flat_map(Template::values).any(|needed| needed == value)
            }
            Kind::Shell(text) => text.contains(value.variable()),
        }
    }

    /// Returns whether rows of a screen can have all values that the program needs.
    pub fn is_on(&self, screen: Screen) -> bool {
        OwnValue::ALL.into_iter().all(|value| !self.needs(value) || value.is_on(screen))
    }
}

/// Returns whether a text of a shell has the place of a value. `${path}` is a variable of the
/// shell.
fn has_place(text: &str, value: OwnValue) -> bool {
    text.match_indices(value.place()).any(|(at, _)| !text[..at].ends_with('$'))
}

/// Where the output of a command goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// To a page of the console.
    #[default]
    Pane,
    /// To the terminal, which the program has until it ends.
    Terminal,
}

/// A command of the config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    /// The name in Help, in messages and on the command line.
    pub name: String,
    /// The key that runs it.
    pub key: Key,
    /// The screens on which it can be run.
    pub screens: Vec<Screen>,
    /// What it runs.
    pub run: OwnProgram,
    /// Whether to ask first.
    pub confirm: bool,
    /// Where its output goes.
    pub output: CommandOutput,
    /// How long the program may run in a pane.
    pub timeout: Duration,
}

/// A command with the values of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedCommand {
    pub name: String,
    pub program: String,
    pub arguments: Vec<String>,
    /// The variables of a shell; `None` removes an inherited one.
    pub variables: Vec<(&'static str, Option<String>)>,
    pub output: CommandOutput,
    pub timeout: Duration,
}

impl OwnCommand {
    /// Fills in the values. The error is a sentence that says why nothing is run.
    pub fn prepare(&self, values: &OwnValues) -> Result<PreparedCommand, String> {
        let (program, arguments, variables) =
            self.filled(values).map_err(|why| format!("`{}` was not run: {why}.", self.name))?;
        let (name, output, timeout) = (self.name.clone(), self.output, self.timeout);
        Ok(PreparedCommand { name, program, arguments, variables, output, timeout })
    }

    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    fn filled(&self, values: &OwnValues) -> Result<(String, Vec<String>, Vec<(&'static str, Option<String>)>), String> {
        match &self.run.0 {
            Kind::Program { program, arguments } => {
                let filled = arguments.iter().map(|argument| argument.fill(values)).collect::<Result<_, _>>()?;
                Ok((program.clone(), filled, Vec::new()))
            }
            Kind::Shell(text) => {
                let variable = |value: OwnValue| {
                    let filled = match known(value, values) {
                        Ok(known) if known.starts_with('-') => Err(like_an_option(value, known)),
                        known => known.map(str::to_owned),
                    };
                    match filled {
                        Ok(known) => Ok((value.variable(), Some(known))),
                        Err(why) if self.run.needs(value) => Err(why),
                        Err(_) => Ok((value.variable(), None)),
                    }
                };
                let variables = OwnValue::ALL.into_iter().map(variable).collect::<Result<_, _>>()?;
                Ok(("sh".to_owned(), vec!["-c".to_owned(), text.clone()], variables))
            }
        }
    }
}

impl PreparedCommand {
    /// Returns the command as one could type it in a shell. Not yet escaped for a terminal.
    pub fn shown(&self) -> String {
        let variable = |(name, value): &(&str, Option<String>)| Some(format!("{name}={}", quoted(value.as_deref()?)));
        let variables = self.variables.iter().filter_map(variable);
        let words = [&self.program].into_iter().chain(&self.arguments).map(|word| quoted(word));
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Quotes a word for a shell, where it needs that.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@%+=:,./-{}".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
