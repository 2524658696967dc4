//! The sections of the config file that are no options.
//!
//! - `[[recipe]]`: the user's own recipes.
//! - `[[expect]]` and `[flapping]`: what the user expects of elections and of holds.
//! - `[[client]]`: names of clients, by their addresses.
//! - `[[mute]]`: findings of planned work, which nobody needs to be told of.
//! - `[keys]`: the user's own key bindings.
//! - `[screen.NAME]`: the initial columns, order and filter of the lists.
//! - `[[command]]`: the user's own commands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entries::{Mistakes, Wrong, field, is_known};
use crate::cli::options;
use crate::tui::{Bindings, CommandOutput, OwnCommand, OwnProgram, Screen, ScreenChoices, ScreensChosen, WantedKeys};
use lockscope_base::recipe::{BadRecipe, Definition, LockKind, NameRole, OwnRecipe, PathPattern, Recipe};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::diagnose::{Code, FlappingLimit};
use lockscope_model::queue::{Expectation, MAX_NOTE_CHARS, Mute, MuteScope, NamedAddress};

/// A list of tables, in the words of its mistakes.
struct TableList {
    key: &'static str,
    /// One of them, and many of them.
    one: &'static str,
    many: &'static str,
    /// What each table needs.
    needs: &'static str,
    /// The most in one file.
    max: usize,
}

const RECIPES: TableList =
    TableList { key: "recipe", one: "a recipe", many: "recipes", needs: "its name and pattern", max: 200 };

const EXPECTATIONS: TableList =
    TableList { key: "expect", one: "an expectation", many: "expectations", needs: "a path", max: 200 };

const CLIENTS: TableList =
    TableList { key: "client", one: "a client", many: "clients", needs: "its address and name", max: 200 };

const MUTES: TableList =
    TableList { key: "mute", one: "a mute", many: "mutes", needs: "its path, from, until and reason", max: 200 };

const COMMANDS: TableList =
    TableList { key: "command", one: "a command", many: "commands", needs: "its key and name", max: 100 };

/// Reads each table of a list with `read`, which returns how many were accepted up to now. Returns
/// whether it is a list.
fn each_table<'a, 'de>(
    all: &'a Spanned<DeValue<'de>>,
    TableList { key, one, many, needs, max }: &TableList,
    mistakes: &mut Mistakes<'_>,
    mut read: impl FnMut(&'a DeTable<'de>, &'a Spanned<DeValue<'de>>, &mut Mistakes<'_>) -> usize,
) -> bool {
    let Some(tables) = all.get_ref().as_array() else {
        mistakes.record(all.span(), &format!("{key} holds a list of tables: write [[{key}]], and {needs} below"));
        return false;
    };
    let mut accepted = 0;
    for value in tables {
        if accepted == *max {
            mistakes.record(value.span(), &format!("{max} {many} are allowed"));
            break;
        }
        match value.get_ref().as_table() {
            Some(table) => accepted = read(table, value, mistakes),
            None => mistakes.record(value.span(), &format!("{one} is a table: write [[{key}]], and {needs} below")),
        }
    }
    true
}

/// Returns the text of an entry that the table must have.
fn needed(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    (one, key, example): (&str, &str, &str),
    mistakes: &mut Mistakes<'_>,
) -> Result<String, Wrong> {
    field(table, key, mistakes)?.ok_or_else(|| {
        mistakes.record(all.span(), &format!("{one} needs a {key}, as in {key} = {example}"));
        Wrong
    })
}

const RECIPE_KEYS: [&str; 9] =
    ["name_from", "name", "pattern", "kind", "roles", "leases", "lock", "persistent", "below"];

/// Reads all `[[recipe]]` tables, in order.
pub fn read_recipes(all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Vec<OwnRecipe> {
    let mut recipes: Vec<OwnRecipe> = Vec::new();
    each_table(all, &RECIPES, mistakes, |table, value, mistakes| {
        let Some(recipe) = read_recipe(table, value, mistakes) else { return recipes.len() };
        if recipes.iter().any(|known| known.definition().name == recipe.definition().name) {
            let at = table.get("name").map_or_else(|| value.span(), Spanned::span);
            mistakes.record(at, &format!("name: there are two recipes {:?}", recipe.definition().name));
        } else {
            recipes.push(recipe);
        }
        recipes.len()
    });
    recipes
}

/// Reads one recipe. Returns `None` when any part is wrong: half a recipe would match other names.
fn read_recipe(table: &DeTable<'_>, all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Option<OwnRecipe> {
    if !is_known(table, &RECIPE_KEYS, "a recipe", mistakes) {
        return None;
    }
    let lock = field::<bool>(table, "lock", mistakes).ok()?.unwrap_or(true);
    let roles = field::<BTreeMap<String, NameRole>>(table, "roles", mistakes).ok()?.unwrap_or_default();
    let (name, pattern, kind) = (
        field::<String>(table, "name", mistakes).ok()?,
        field::<String>(table, "pattern", mistakes).ok()?,
        field::<LockKind>(table, "kind", mistakes).ok()?,
    );
    let missing = |what: &str| format!("a recipe needs a {what}, as in {what} = {}", example_of(what));
    let mut needed = |value: Option<String>, what: &str| {
        if value.is_none() {
            mistakes.record(all.span(), &missing(what));
        }
        value
    };
    let (name, pattern) = (needed(name, "name")?, needed(pattern, "pattern")?);
    if kind.is_none() && lock {
        mistakes.record(all.span(), &missing("kind"));
        return None;
    }
    let definition = Definition {
        name,
        pattern,
        kind: kind.unwrap_or(LockKind::Exclusive),
        roles: roles.into_iter().collect(),
        lock,
        persistent: field(table, "persistent", mistakes).ok()?.unwrap_or(false),
        below: field::<ZnodePath>(table, "below", mistakes).ok()?,
        leases: field::<u32>(table, "leases", mistakes).ok()?,
        name_from: field::<String>(table, "name_from", mistakes).ok()?,
    };
    match Recipe::define(definition) {
        Ok(recipe) => Some(recipe),
        Err(error) => {
            let at = table.get(field_of(&error)).unwrap_or(all);
            mistakes.record(at.span(), &error.to_string());
            None
        }
    }
}

fn example_of(key: &str) -> &'static str {
    match key {
        "name" => "\"my-lock\"",
        "kind" => "\"exclusive\"",
        _ => "\"my-{uuid}-{sequence}\"",
    }
}

/// Returns the key of the wrong entry.
fn field_of(error: &BadRecipe) -> &'static str {
    match error {
        BadRecipe::Name | BadRecipe::Taken(_) | BadRecipe::TooMany => "name",
        BadRecipe::NotNumbered | BadRecipe::Numbered => "kind",
        BadRecipe::Pattern(_) | BadRecipe::AnyName | BadRecipe::LockName => "pattern",
        BadRecipe::Roles | BadRecipe::TooManyRoles | BadRecipe::WrongRole(_) => "roles",
        BadRecipe::Leases | BadRecipe::LeasesOfOther | BadRecipe::LeasesAndRoles => "leases",
        BadRecipe::NameFrom => "name_from",
        BadRecipe::LongPath => "below",
    }
}

/// The longest time in which changes of leader are counted.
const MAX_WITHIN: Duration = Duration::from_secs(24 * 3_600);

/// Reads all `[[expect]]` tables, in order. The first one that matches a path applies.
pub fn read_expected(all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Vec<Expectation> {
    let mut expected = Vec::new();
    each_table(all, &EXPECTATIONS, mistakes, |table, value, mistakes| {
        expected.extend(read_expectation(table, value, mistakes).ok());
        expected.len()
    });
    expected
}

fn read_expectation(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    mistakes: &mut Mistakes<'_>,
) -> Result<Expectation, Wrong> {
    if !is_known(table, &["path", "candidates", "leader-within", "held-at-most"], "an expectation", mistakes) {
        return Err(Wrong);
    }
    let candidates = field(table, "candidates", mistakes)?;
    let leader_within = time(table, "leader-within", mistakes)?;
    let held_at_most = time(table, "held-at-most", mistakes)?;
    let path = needed(table, all, (EXPECTATIONS.one, "path", "\"/app/leader\""), mistakes)?;
    let path = PathPattern::new(&path).map_err(|error| {
        mistakes.record(table.get("path").unwrap_or(all).span(), &format!("path: {error}"));
        Wrong
    })?;
    Ok(Expectation { path, candidates, leader_within, held_at_most })
}

/// Reads all `[[client]]` tables, in order. The first one that matches an address applies.
pub fn read_clients(all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Vec<NamedAddress> {
    let mut clients = Vec::new();
    each_table(all, &CLIENTS, mistakes, |table, value, mistakes| {
        clients.extend(read_client(table, value, mistakes).ok());
        clients.len()
    });
    clients
}

fn read_client(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    mistakes: &mut Mistakes<'_>,
) -> Result<NamedAddress, Wrong> {
    if !is_known(table, &["address", "name"], CLIENTS.one, mistakes) {
        return Err(Wrong);
    }
    let address = needed(table, all, (CLIENTS.one, "address", "\"10.0.3.17\""), mistakes)?;
    let name = needed(table, all, (CLIENTS.one, "name", "\"billing\""), mistakes)?;
    NamedAddress::new(&address, &name).ok_or_else(|| {
        let at = table.get("name").unwrap_or(all).span();
        mistakes.record(at, "name: it is empty, or has characters that cannot be seen");
        Wrong
    })
}

/// A mute of planned work, in one context or in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredMute {
    /// The context; `None` for all.
    pub context: Option<String>,
    pub mute: Mute,
}

/// Reads all `[[mute]]` tables, in order. A wrong one mutes nothing.
pub fn read_mutes(all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Vec<ConfiguredMute> {
    let mut mutes = Vec::new();
    each_table(all, &MUTES, mistakes, |table, value, mistakes| {
        mutes.extend(read_mute(table, value, mistakes).ok());
        mutes.len()
    });
    mutes
}

fn read_mute(
    table: &DeTable<'_>,
    all: &Spanned<DeValue<'_>>,
    mistakes: &mut Mistakes<'_>,
) -> Result<ConfiguredMute, Wrong> {
    if !is_known(table, &["path", "findings", "context", "from", "until", "reason"], MUTES.one, mistakes) {
        return Err(Wrong);
    }
    let place = |key: &str| table.get(key).unwrap_or(all).span();
    let path = needed(table, all, (MUTES.one, "path", "\"/app/billing/*\""), mistakes)?;
    let path = PathPattern::new(&path).map_err(|error| {
        mistakes.record(place("path"), &format!("path: {error}"));
        Wrong
    })?;
    let codes = field::<Vec<String>>(table, "findings", mistakes)?.unwrap_or_default();
    if let Some(unknown) = codes.iter().find(|code| Code::from_id(code).is_none()) {
        mistakes.record(place("findings"), &format!("findings: there is no kind of finding {unknown:?}"));
        return Err(Wrong);
    }
    let mut moment = |key| {
        let text = needed(table, all, (MUTES.one, key, "\"2026-12-01T22:00:00Z\""), mistakes)?;
        DateTime::parse_from_rfc3339(&text).map(|at| Timestamp(at.timestamp_millis())).map_err(|_| {
            mistakes.record(place(key), &format!("{key}: write a time as in \"2026-12-01T22:00:00Z\""));
            Wrong
        })
    };
    let (since, until) = (moment("from")?, moment("until")?);
    if until <= since {
        mistakes.record(place("until"), "until: it is not after from");
        return Err(Wrong);
    }
    let note: String = needed(table, all, (MUTES.one, "reason", "\"release 42\""), mistakes)?;
    let note = note.chars().take(MAX_NOTE_CHARS).collect::<String>().into();
    let scope = MuteScope::Locks { path, codes: codes.into_iter().map(Arc::from).collect() };
    let mute = Mute { scope, since, until: Some(until), note, by: "the config file".into() };
    Ok(ConfiguredMute { context: field(table, "context", mistakes)?, mute })
}

/// Reads the `[flapping]` table. A value that is wrong or missing is that of `otherwise`.
pub fn read_flapping(
    all: &Spanned<DeValue<'_>>,
    otherwise: FlappingLimit,
    mistakes: &mut Mistakes<'_>,
) -> FlappingLimit {
    let Some(table) = all.get_ref().as_table() else {
        mistakes.record(all.span(), "flapping is a table: write [flapping], and changes and within below");
        return otherwise;
    };
    if !is_known(table, &["changes", "within"], "flapping", mistakes) {
        return otherwise;
    }
    let changes = field::<std::num::NonZeroU32>(table, "changes", mistakes).ok().flatten();
    let within = time(table, "within", mistakes).ok().flatten();
    if within.is_some_and(|within| within > MAX_WITHIN) {
        mistakes.record(all.span(), "within: changes of leader are counted for a day at most");
    }
    FlappingLimit {
        changes: changes.map_or(otherwise.changes, std::num::NonZeroU32::get),
        within: within.filter(|within| *within <= MAX_WITHIN).unwrap_or(otherwise.within),
    }
}

fn time(table: &DeTable<'_>, key: &str, mistakes: &mut Mistakes<'_>) -> Result<Option<Duration>, Wrong> {
    let Some(text) = field::<String>(table, key, mistakes)? else { return Ok(None) };
    options::parse_duration(&text).map(Some).map_err(|error| {
        if let Some(value) = table.get(key) {
            mistakes.record(value.span(), &format!("{key}: {error}"));
        }
        Wrong
    })
}

/// Reads `[keys]`: each entry is the name of a command with a key or a list of keys. A command with
/// invalid keys keeps those of `earlier`; `note` receives the place and the reason.
pub fn read_keys(all: &Spanned<DeValue<'_>>, earlier: &Bindings, note: &mut dyn FnMut(Range<usize>, &str)) -> Bindings {
    let Some(table) = all.get_ref().as_table() else {
        note(all.span(), "keys is a table: write [keys], and below it lines like sort = \"o\"");
        return earlier.clone();
    };
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(command, _)| command.span().start);
    let (mut wanted, mut kept) = (Vec::new(), Vec::new());
    for (command, value) in entries {
        if let Some(keys) = texts(value) {
            wanted.push(WantedKeys { place: command.span(), command: command.get_ref().to_string(), keys });
        } else {
            let problem = format!("`{}` takes a key or a list of keys, such as [\"x\", \"ctrl-d\"]", command.get_ref());
            note(value.span(), &problem);
            kept.push(command.get_ref());
        }
    }
    let (mut bindings, refused) = Bindings::read(wanted, earlier);
    for (span, why) in refused {
        note(span, &why);
    }
    for command in kept {
        bindings.keep(command, earlier);
    }
    bindings
}

/// Returns the texts of a string or of a list of strings.
fn texts(value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    match value.get_ref() {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Array(values) => values.iter().map(|value| value.get_ref().as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// Reads all `[screen.NAME]` tables. Invalid settings stay as in `earlier`; `note` receives the
/// place and the reason.
pub fn read_screens(
    all: &Spanned<DeValue<'_>>,
    earlier: &ScreensChosen,
    note: &mut dyn FnMut(Range<usize>, &str),
) -> ScreensChosen {
    let mut chosen = ScreensChosen::default();
    let Some(tables) = all.get_ref().as_table() else {
        note(all.span(), "screen holds tables: write [screen.locks], and columns, sort and filter below it");
        return earlier.clone();
    };
    for (name, value) in tables {
        let screen = ScreensChosen::screen(name.get_ref());
        let before = screen.and_then(|screen| earlier.of(screen)).cloned().unwrap_or_default();
        match (screen, value.get_ref().as_table()) {
            (Some(screen), Some(table)) => chosen.choose(screen, read_screen(screen, table, &before, note)),
            (Some(screen), None) => {
                chosen.choose(screen, before);
                let problem = format!("write [screen.{}], and columns, sort and filter below it", name.get_ref());
                note(value.span(), &problem);
            }
            (None, _) => {
                let known = ScreensChosen::names().collect::<Vec<_>>().join(", ");
                note(name.span(), &format!("there is no list `{}`: there are {known}", name.get_ref()));
            }
        }
    }
    chosen
}

fn read_screen(
    screen: Screen,
    table: &DeTable<'_>,
    before: &ScreenChoices,
    note: &mut dyn FnMut(Range<usize>, &str),
) -> ScreenChoices {
    let mut choices = ScreenChoices::default();
    for (name, value) in table {
        let text = value.get_ref().as_str();
        let refused = match (&**name.get_ref(), text) {
            ("columns", _) => match texts(value) {
                Some(columns) => ScreenChoices::refuse_columns(screen, &columns).or_else(|| {
                    choices.columns = Some(columns);
                    None
                }),
                None => Some("columns takes a list of names".to_owned()),
            },
            ("sort", Some(sort)) => ScreenChoices::refuse_sort(screen, sort).or_else(|| {
                choices.sort = Some(sort.to_owned());
                None
            }),
            ("filter", Some(filter)) => ScreenChoices::refuse_filter(screen, filter).or_else(|| {
                choices.filter = Some(filter.to_owned());
                None
            }),
            ("sort" | "filter", None) => Some(format!("{} takes a text", name.get_ref())),
            (other, _) => Some(format!("a list has no `{other}`: it has columns, sort and filter")),
        };
        if let Some(problem) = refused {
            note(value.span(), problem.trim_end_matches('.'));
            match &**name.get_ref() {
                "columns" => choices.columns.clone_from(&before.columns),
                "sort" => choices.sort.clone_from(&before.sort),
                "filter" => choices.filter.clone_from(&before.filter),
                _ => {}
            }
        }
    }
    choices
}

/// How long a program may run in a pane unless the file says otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

const COMMAND_KEYS: [&str; 9] =
    ["key", "name", "screens", "run", "confirm", "output", "shell", "timeout", "names-client"];

/// Reads all `[[command]]` tables, in order. A wrong one is left out, or stays as it is in
/// `earlier`.
pub fn read_commands(
    all: &Spanned<DeValue<'_>>,
    bindings: &Bindings,
    earlier: &[OwnCommand],
    mistakes: &mut Mistakes<'_>,
) -> Vec<OwnCommand> {
    let mut commands: Vec<OwnCommand> = Vec::new();
    let mut kept: Vec<&OwnCommand> = Vec::new();
    let is_list = each_table(all, &COMMANDS, mistakes, |table, value, mistakes| {
        let command = read_command(table, value, mistakes);
        if let Some(command) = command.filter(|command| accept(command, &commands, table, bindings, mistakes)) {
            commands.push(command);
        } else {
            let name = table.get("name").and_then(|name| name.get_ref().as_str());
            kept.extend(earlier.iter().filter(|command| Some(&*command.name) == name));
        }
        commands.len()
    });
    if !is_list {
        return earlier.to_vec();
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
fn read_command(table: &DeTable<'_>, all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Option<OwnCommand> {
    if !is_known(table, &COMMAND_KEYS, "a command", mistakes) {
        return None;
    }
    let name = needed(table, all, (COMMANDS.one, "name", "\"jstack\""), mistakes).ok()?;
    checked(table, all, "name", OwnCommand::refuse_name(&name).map_or(Ok(()), Err), mistakes)?;
    let key = needed(table, all, (COMMANDS.one, "key", "\"ctrl-j\""), mistakes).ok()?;
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
    let names_client = field::<bool>(table, "names-client", mistakes).ok()?.unwrap_or(false);
    let is_read = if names_client && output == CommandOutput::Terminal {
        Err("names-client needs the output in a pane: the terminal keeps it".to_owned())
    } else {
        Ok(())
    };
    checked(table, all, "names-client", is_read, mistakes)?;
    let timeout = field::<String>(table, "timeout", mistakes).ok()?;
    let timeout = timeout.map_or(Ok(USUAL_TIMEOUT), |timeout| options::parse_duration(&timeout));
    let timeout = checked(table, all, "timeout", timeout, mistakes)?;
    Some(OwnCommand { name, key, screens, run, confirm, output, timeout, names_client })
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
        assert!(!command.names_client && parsed(&format!("{GOOD}names-client = true")).commands[0].names_client);
        assert_eq!(command.screens.len(), 8, "those with sessions: {:?}", command.screens);
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
            (with("names-client", "1"), 5, "expected a boolean"),
            (with("names-client", "true\noutput = 'terminal'"), 5, "needs the output in a pane"),
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
        assert_eq!(
            config.commands.iter().map(|command| &*command.name).collect::<Vec<_>>(),
            ["jstack", "login", "pod", "sockets", "process", "threads"]
        );
    }

    #[test]
    fn a_wrong_command_stays_as_it_was_before() {
        let path = Path::new("/c.toml");
        let earlier = parsed(GOOD);
        let wrong = GOOD.replace("{client_host}", "{host}");
        assert_eq!(parse_over(&wrong, path, &earlier).commands, earlier.commands);
        assert_eq!(parse_over("utc = true", path, &earlier).commands, [], "it was taken out");
    }
}
