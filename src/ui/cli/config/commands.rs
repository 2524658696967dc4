//! The user's own commands: `[[command]]`.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{field, is_known};
use super::keys::texts;
use super::mistake::Mistakes;
use crate::cli::duration;
use crate::tui::{Bindings, CommandOutput, OwnCommand, OwnProgram};

/// The most commands in one file.
const MAX_COMMANDS: usize = 100;

/// How long a program may run in a pane unless the file says otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

const KEYS: [&str; 8] = ["key", "name", "screens", "run", "confirm", "output", "shell", "timeout"];

/// Reads all `[[command]]` tables, in order. A wrong one is left out, or stays as it is in
/// `earlier`.
pub(super) fn read(
    all: &Spanned<DeValue<'_>>,
    bindings: &Bindings,
    earlier: &[OwnCommand],
    mistakes: &mut Mistakes<'_>,
) -> Vec<OwnCommand> {
    let Some(tables) = all.get_ref().as_array() else {
        mistakes.record(all.span(), "command holds a list of tables: write [[command]], and its key and name below");
        return earlier.to_vec();
    };
    let mut commands: Vec<OwnCommand> = Vec::new();
    let mut kept: Vec<&OwnCommand> = Vec::new();
    for value in tables {
        if commands.len() == MAX_COMMANDS {
            mistakes.record(value.span(), &format!("{MAX_COMMANDS} commands are allowed"));
            break;
        }
        let Some(table) = value.get_ref().as_table() else {
            mistakes.record(value.span(), "a command is a table: write [[command]], and its key and name below");
            continue;
        };
        let command = read_one(table, value, mistakes);
        if let Some(command) = command.filter(|command| accept(command, &commands, table, bindings, mistakes)) {
            commands.push(command);
        } else {
            let name = table.get("name").and_then(|name| name.get_ref().as_str());
            kept.extend(earlier.iter().filter(|command| Some(&*command.name) == name));
        }
    }
    for command in kept {
        let is_taken = commands.iter().any(|other| other.name == command.name);
        if !is_taken && command.clash(bindings, &commands).is_none() {
            commands.push(command.clone());
        }
    }
    commands
}

/// Returns whether a command can stand beside the others; records why it cannot.
fn accept(
    command: &OwnCommand,
    before: &[OwnCommand],
    table: &DeTable<'_>,
    bindings: &Bindings,
    mistakes: &mut Mistakes<'_>,
) -> bool {
    let is_twice = before.iter().any(|other| other.name == command.name);
    let (key, problem) = if is_twice {
        ("name", format!("there are two commands {:?}", command.name))
    } else if let Some(why) = command.clash(bindings, before) {
        ("key", why)
    } else {
        return true;
    };
    mistakes.record(table.get(key).map_or(0..0, Spanned::span), &problem);
    false
}

/// Reads one command. Returns `None` when any part is wrong: half a command would do something
/// else.
fn read_one(table: &DeTable<'_>, all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Option<OwnCommand> {
    if !is_known(table, &KEYS, "a command", mistakes) {
        return None;
    }
    let name = text(table, all, "name", "\"jstack\"", mistakes)?;
    checked(table, all, "name", OwnCommand::refuse_name(&name).map_or(Ok(()), Err), mistakes)?;
    let key = text(table, all, "key", "\"ctrl-j\"", mistakes)?;
    let key = checked(table, all, "key", OwnCommand::read_key(&key), mistakes)?;
    let shell = field::<bool>(table, "shell", mistakes).ok()?.unwrap_or(false);
    let confirm = field::<bool>(table, "confirm", mistakes).ok()?.unwrap_or(false);
    let Some(words) = table.get("run") else {
        mistakes.record(all.span(), "a command needs run, as in run = [\"ssh\", \"--\", \"{client_host}\"]");
        return None;
    };
    let Some(words) = texts(words) else {
        mistakes.record(words.span(), "run is a list of texts: a program and its arguments");
        return None;
    };
    let run = checked(table, all, "run", OwnProgram::read(&words, shell), mistakes)?;
    let screens = match table.get("screens") {
        None => OwnCommand::usual_screens(&run),
        Some(named) => {
            let Some(named) = texts(named) else {
                mistakes.record(named.span(), "screens is a list of names, as in [\"locks\", \"queue\"]");
                return None;
            };
            let found = named.iter().map(|name| OwnCommand::read_screen(name)).collect::<Result<Vec<_>, _>>();
            checked(table, all, "screens", found, mistakes)?
        }
    };
    let output = match field::<String>(table, "output", mistakes).ok()?.as_deref() {
        None | Some("pane") => Ok(CommandOutput::Pane),
        Some("terminal") => Ok(CommandOutput::Terminal),
        Some(other) => Err(format!("{other:?} is not known: \"pane\" and \"terminal\" are")),
    };
    let output = checked(table, all, "output", output, mistakes)?;
    let timeout = field::<String>(table, "timeout", mistakes).ok()?;
    let timeout = timeout.map_or(Ok(USUAL_TIMEOUT), |timeout| duration::parse(&timeout));
    let timeout = checked(table, all, "timeout", timeout, mistakes)?;
    Some(OwnCommand { name, key, screens, run, confirm, output, timeout })
}

/// Returns a text that the table must have.
fn text(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    key: &str,
    example: &str,
    mistakes: &mut Mistakes<'_>,
) -> Option<String> {
    let found = field::<String>(table, key, mistakes).ok()?;
    if found.is_none() {
        mistakes.record(all.span(), &format!("a command needs a {key}, as in {key} = {example}"));
    }
    found
}

/// Records the error at the entry with this key.
fn checked<T>(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    key: &str,
    value: Result<T, String>,
    mistakes: &mut Mistakes<'_>,
) -> Option<T> {
    value.inspect_err(|why| mistakes.record(table.get(key).unwrap_or(all).span(), &format!("{key}: {why}"))).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Config, parse, parse_over};

    const GOOD: &str =
        "[[command]]\nkey = 'ctrl-j'\nname = 'jstack'\nrun = ['ssh', '--', '{client_host}', 'jstack-all']\n";

    fn parsed(text: &str) -> Config {
        parse(text, Path::new("/c.toml"))
    }

    #[test]
    fn a_command_is_read_with_its_defaults() {
        let config = parsed(GOOD);
        assert_eq!(config.mistakes, []);
        let [command] = &config.commands[..] else { panic!("{:?}", config.commands) };
        assert_eq!((&*command.name, command.confirm, command.timeout.as_secs()), ("jstack", false, 30));
        assert_eq!(command.screens.len(), 7, "those with sessions: {:?}", command.screens);
        let more = "screens = ['queue']\noutput = 'terminal'\nconfirm = true\ntimeout = '2m'\n";
        let config = parsed(&format!("{GOOD}{more}"));
        assert_eq!(config.mistakes, []);
        assert_eq!((config.commands[0].screens.len(), config.commands[0].timeout.as_secs()), (1, 120));
        let shell =
            parsed("[[command]]\nkey = 'T'\nname = 'dig'\nshell = true\nrun = 'dig -x \"$LOCKSCOPE_CLIENT_HOST\"'\n");
        assert_eq!(shell.mistakes, []);
    }

    #[test]
    fn a_wrong_command_is_left_out_and_named_with_its_line() {
        let with = |key: &str, value: &str| {
            let line = format!("{key} = {value}");
            let known = GOOD.lines().any(|line| line.starts_with(&format!("{key} =")));
            let lines = GOOD
                .lines()
                .map(|old| if old.starts_with(&format!("{key} =")) { line.clone() } else { old.to_owned() });
            let text = lines.collect::<Vec<_>>().join("\n");
            if known { text } else { format!("{text}\n{line}") }
        };
        for (text, line, why) in [
            ("command = 5".to_owned(), 1, "list of tables"),
            ("command = [5]".to_owned(), 1, "a command is a table"),
            (with("colour", "1"), 5, "a command has no \"colour\""),
            (with("key", "'hyper-x'"), 2, "key: `hyper-x` cannot be bound"),
            (with("key", "'ctrl-c'"), 2, "cannot be bound"),
            (with("key", "5"), 2, "expected a string"),
            (with("key", "'o'"), 2, "`o` means `session` in Locks already, so it cannot be `jstack`"),
            (with("key", "'b'"), 2, "`b` means"),
            (with("name", "'two words'"), 3, "no name for a command"),
            (with("name", "'quit'"), 3, "`quit` is a command of lockscope"),
            (with("run", "'{path}'"), 4, "run: the program cannot be a value"),
            (with("run", "['a', '{host}']"), 4, "{client_host}"),
            (with("run", "[]"), 4, "name a program"),
            (with("run", "5"), 4, "run is a list of texts"),
            (with("shell", "true"), 4, "one text"),
            (with("shell", "'yes'"), 5, "expected a boolean"),
            (with("confirm", "1"), 5, "expected a boolean"),
            (with("screens", "['lock']"), 5, "there is no screen `lock`: there are"),
            (with("screens", "5"), 5, "list of names"),
            (with("output", "'file'"), 5, "\"pane\" and \"terminal\" are"),
            (with("timeout", "'soon'"), 5, "number and its unit"),
            ("[[command]]\nname = 'a'\nrun = 'a'".to_owned(), 1, "a command needs a key"),
            ("[[command]]\nkey = 'T'\nrun = 'a'".to_owned(), 1, "a command needs a name"),
            ("[[command]]\nkey = 'T'\nname = 'a'".to_owned(), 1, "a command needs run"),
        ] {
            let config = parsed(&text);
            assert_eq!(config.commands, [], "{text}");
            let [mistake] = &config.mistakes[..] else { panic!("{text}: {:?}", config.mistakes) };
            let mistake = mistake.to_string();
            assert!(mistake.contains(&format!("line {line}: ")) && mistake.contains(why), "{text}: {mistake}");
        }
    }

    #[test]
    fn of_two_commands_with_one_key_or_name_the_later_one_is_left_out() {
        let key = GOOD.replace("'jstack'", "'other'");
        let name = GOOD.replace("ctrl-j", "T");
        for (second, why) in [(key, "`Ctrl-J` means `jstack` already"), (name, "two commands \"jstack\"")] {
            let config = parsed(&format!("{GOOD}{second}"));
            assert_eq!(config.commands.len(), 1);
            assert!(config.mistakes[0].to_string().contains(why), "{:?}", config.mistakes);
        }
        let config = parsed(&format!("[keys]\nsort = 'ctrl-j'\n{GOOD}"));
        assert!(config.mistakes[0].to_string().contains("`Ctrl-J` means `sort`"), "{:?}", config.mistakes);
    }

    #[test]
    fn the_documented_commands_are_valid() {
        let example = include_str!("../../../../assets/config.toml");
        let (_, commands) = example.split_once("# [[command]]").unwrap();
        let lines = commands.lines().filter_map(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join("\n");
        let config = parsed(&format!("[[command]]\n{lines}"));
        assert_eq!(config.mistakes, []);
        assert_eq!(config.commands.iter().map(|command| &*command.name).collect::<Vec<_>>(), ["jstack", "login"]);
    }

    #[test]
    fn a_wrong_command_stays_as_it_was_before() {
        let path = Path::new("/c.toml");
        let earlier = parsed(GOOD);
        let wrong = GOOD.replace("{client_host}", "{client}");
        assert_eq!(parse_over(&wrong, path, &earlier).commands, earlier.commands);
        assert_eq!(parse_over("utc = true", path, &earlier).commands, [], "it was taken out");
    }
}
