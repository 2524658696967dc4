//! Commands of the config file: programs that are given values of the selected row. Pure.
//!
//! Architecture invariant: a value comes from znodes and servers, which anybody may have written.
//! It stays inside one argument, it is never the program or the text of a shell, and it never
//! becomes an option.
//!
//! An argument is a `Template` with places for values. Some values are refused.

use std::time::Duration;

use super::keymap::key::Key;
use super::screen::Screen;
use lockscope_base::znode::SessionId;

#[cfg(test)]
mod tests;

/// The most bytes of a program with its arguments as the config file has them.
const MAX_RUN_BYTES: usize = 32 * 1024;

/// The most words of a program with its arguments.
const MAX_WORDS: usize = 100;

/// What a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnProgram(ProgramKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProgramKind {
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
                None => Ok(Self(ProgramKind::Shell(program.clone()))),
            };
        }
        let name = Template::read(program)?;
        if name.values().next().is_some() {
            return Err("the program cannot be a value, only its arguments can: a znode could choose it".to_owned());
        }
        let program = name.fill(&OwnValues::default())?;
        let arguments = arguments.iter().map(|word| Template::read(word)).collect::<Result<_, _>>()?;
        Ok(Self(ProgramKind::Program { program, arguments }))
    }

    /// Returns the program as the config file has it, for Help.
    pub fn shown(&self) -> String {
        match &self.0 {
            ProgramKind::Program { program, arguments } => {
                let words = arguments.iter().map(Template::shown);
                [program.clone()].into_iter().chain(words).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
            }
            ProgramKind::Shell(text) => format!("sh -c {}", quoted(text)),
        }
    }

    fn needs(&self, value: OwnValue) -> bool {
        match &self.0 {
            ProgramKind::Program { arguments, .. } => {
                arguments.iter().flat_map(Template::values).any(|needed| needed == value)
            }
            ProgramKind::Shell(text) => text.contains(value.variable()),
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
    /// Whether the first line of its output names the client.
    pub names_client: bool,
}

/// A command with the values of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedCommand {
    /// The name in messages.
    pub name: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The variables of a shell; `None` removes an inherited one.
    pub variables: Vec<(&'static str, Option<String>)>,
    /// Where its output goes.
    pub output: CommandOutput,
    /// How long it may run, unless it has the terminal.
    pub timeout: Duration,
    /// The session whose client the first line of its output names.
    pub names: Option<SessionId>,
}

impl OwnCommand {
    /// Fills in the values. The error is a sentence that says why nothing is run.
    pub fn prepare(&self, values: &OwnValues) -> Result<PreparedCommand, String> {
        let (program, arguments, variables) =
            self.filled(values).map_err(|why| format!("`{}` was not run: {why}.", self.name))?;
        let (name, output, timeout) = (self.name.clone(), self.output, self.timeout);
        let names = values.of.filter(|_| self.names_client);
        Ok(PreparedCommand { name, program, arguments, variables, output, timeout, names })
    }

    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    fn filled(&self, values: &OwnValues) -> Result<(String, Vec<String>, Vec<(&'static str, Option<String>)>), String> {
        match &self.run.0 {
            ProgramKind::Program { program, arguments } => {
                let filled = arguments.iter().map(|argument| argument.fill(values)).collect::<Result<_, _>>()?;
                Ok((program.clone(), filled, Vec::new()))
            }
            ProgramKind::Shell(text) => {
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

/// The longest value, in bytes: longer ones are refused.
pub const MAX_VALUE_BYTES: usize = 4096;

/// A value that a command can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnValue {
    /// The path of the selected lock or node.
    Path,
    /// The session that owns the selected row, as `0x` and hex digits.
    Session,
    /// The address of that session's client, as the servers report it.
    Client,
    /// That address without its port.
    ClientHost,
    /// The name that a command has given to that client.
    Name,
    /// The name of the context.
    Context,
}

impl OwnValue {
    pub const ALL: [Self; 6] = [Self::Path, Self::Session, Self::Client, Self::ClientHost, Self::Name, Self::Context];

    /// Returns the name in the config file, with its braces.
    pub const fn place(self) -> &'static str {
        match self {
            Self::Path => "{path}",
            Self::Session => "{session}",
            Self::Client => "{client}",
            Self::ClientHost => "{client_host}",
            Self::Name => "{name}",
            Self::Context => "{context}",
        }
    }

    /// Returns the name of the environment variable of a shell.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Path => "LOCKSCOPE_PATH",
            Self::Session => "LOCKSCOPE_SESSION",
            Self::Client => "LOCKSCOPE_CLIENT",
            Self::ClientHost => "LOCKSCOPE_CLIENT_HOST",
            Self::Name => "LOCKSCOPE_NAME",
            Self::Context => "LOCKSCOPE_CONTEXT",
        }
    }

    const fn why_unknown(self) -> &'static str {
        match self {
            Self::Path => "this row has no node",
            Self::Session => "no session belongs to this row",
            Self::Client | Self::ClientHost => "the servers do not report it",
            Self::Name => "no command with names-client has named it",
            Self::Context => "no context of the config file is in force",
        }
    }

    /// Returns whether rows of a screen can have the value.
    pub fn is_on(self, screen: Screen) -> bool {
        let has_sessions = matches!(
            screen,
            Screen::Locks
                | Screen::Queue
                | Screen::Sessions
                | Screen::Session
                | Screen::Waits
                | Screen::Timeline
                | Screen::History
                | Screen::Tree
        );
        match self {
            Self::Path if matches!(screen, Screen::Audit | Screen::Node) => true,
            Self::Path => has_sessions && !matches!(screen, Screen::Sessions | Screen::Waits),
            Self::Session | Self::Client | Self::ClientHost | Self::Name => has_sessions,
            Self::Context => true,
        }
    }
}

/// The values of the selected row; `None` where a value is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnValues {
    pub path: Option<String>,
    pub session: Option<String>,
    pub client: Option<String>,
    pub client_host: Option<String>,
    pub name: Option<String>,
    /// The session itself.
    pub of: Option<SessionId>,
    pub context: Option<String>,
}

impl OwnValues {
    fn get(&self, value: OwnValue) -> Option<&str> {
        let known = match value {
            OwnValue::Path => &self.path,
            OwnValue::Session => &self.session,
            OwnValue::Client => &self.client,
            OwnValue::ClientHost => &self.client_host,
            OwnValue::Name => &self.name,
            OwnValue::Context => &self.context,
        };
        known.as_deref().filter(|known| !known.is_empty())
    }
}

/// Returns the host of an address such as `10.0.0.7:40312` or `[::1]:40312`.
pub fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Returns a value that may be given to a program; the error says why it may not.
pub fn known(value: OwnValue, values: &OwnValues) -> Result<&str, String> {
    let place = value.place();
    let known = values.get(value).ok_or_else(|| format!("{place} is not known here: {}", value.why_unknown()))?;
    if let Some(letter) = known.chars().find(|letter| letter.is_control()) {
        return Err(format!("{place} has the control character U+{:04X} in it", u32::from(letter)));
    }
    if known.len() > MAX_VALUE_BYTES {
        return Err(format!("{place} is longer than {MAX_VALUE_BYTES} bytes"));
    }
    Ok(known)
}

pub fn like_an_option(value: OwnValue, known: &str) -> String {
    format!("{} is `{known}`, which begins with a dash: the program would take it for an option", value.place())
}

/// One argument with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Value(OwnValue),
}

impl TemplatePart {
    fn shown(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Value(value) => value.place(),
        }
    }
}

impl Template {
    /// Reads an argument. `{{` and `}}` stand for braces.
    pub fn read(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(letter) = rest.chars().next() {
            let brace = ["{{", "}}"].into_iter().find(|brace| rest.starts_with(brace));
            if brace.is_some() {
                plain.push(letter);
                rest = &rest[2..];
            } else if letter == '{' || letter == '}' {
                let found = OwnValue::ALL.into_iter().find(|value| rest.starts_with(value.place()));
                let value = found.ok_or_else(|| {
                    let known = OwnValue::ALL.map(OwnValue::place).join(", ");
                    format!("{text:?} has no value there: there are {known}, and {{{{ and }}}} stand for braces")
                })?;
                if !plain.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                }
                parts.push(TemplatePart::Value(value));
                rest = &rest[value.place().len()..];
            } else {
                plain.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        Ok(Self(parts))
    }

    pub fn values(&self) -> impl Iterator<Item = OwnValue> {
        self.0.iter().filter_map(|part| if let TemplatePart::Value(value) = part { Some(*value) } else { None })
    }

    /// Returns the argument as the config file has it.
    pub fn shown(&self) -> String {
        self.0.iter().map(TemplatePart::shown).collect()
    }

    /// Returns the argument; the error says which value is not allowed there.
    pub fn fill(&self, values: &OwnValues) -> Result<String, String> {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Value(value) => {
                    let known = known(*value, values)?;
                    if filled.is_empty() && known.starts_with('-') {
                        return Err(like_an_option(*value, known));
                    }
                    filled.push_str(known);
                }
            }
        }
        Ok(filled)
    }
}
