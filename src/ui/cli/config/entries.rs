//! Reads a config file entry by entry, and collects its mistakes: one sentence for each wrong
//! entry, with its line.
//!
//! First the lines that are not TOML are left out. Then the options of the command line are read,
//! each entry alone. The last part reads the entries of tables that are no options.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer};

use crate::cli::options::SharedOptions;
use lockscope_live::zk;

/// The most mistakes reported for one file.
const MAX_MISTAKES: usize = 1000;

/// What a wrong entry prevents.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hinders {
    /// Nothing: the program ignores the entry.
    Nothing,
    /// The start: without the entry the program would use another ensemble, or act with less care.
    Start,
    /// The start, while this context is in force.
    Context(String),
}

/// A wrong entry of a config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    path: PathBuf,
    /// The line, counted from 1.
    line: usize,
    /// The mistake, and the allowed values.
    problem: String,
    hinders: Hinders,
}

impl Mistake {
    /// Returns whether the mistake prevents the start with this context in force.
    pub(in crate::cli) fn hinders_start(&self, context: Option<&str>) -> bool {
        match &self.hinders {
            Hinders::Nothing => false,
            Hinders::Start => true,
            Hinders::Context(name) => context == Some(name),
        }
    }

    /// Returns the sentence for a running program, which keeps the earlier value.
    pub(in crate::cli) fn as_kept(&self) -> String {
        let Self { path, line, problem, .. } = self;
        format!("the config file {} is wrong in line {line}: {problem}; the value of before stays", path.display())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, problem, hinders } = self;
        write!(f, "the config file {} is wrong in line {line}: {problem}; ", path.display())?;
        match hinders {
            Hinders::Nothing => f.write_str("this entry is left out"),
            Hinders::Start => f.write_str("correct it, or name another file with --config"),
            Hinders::Context(name) => write!(f, "correct it: the context {name} cannot be used before"),
        }
    }
}

/// Collects the mistakes of one file.
#[derive(Debug)]
pub struct Mistakes<'t> {
    text: &'t str,
    path: &'t Path,
    found: Vec<(usize, Mistake)>,
    /// The context of the entry being read.
    context: Option<String>,
    /// The keys of the lines that are not TOML, with their contexts.
    left_out: Vec<(Option<String>, String)>,
}

impl<'t> Mistakes<'t> {
    /// Starts an empty list for the file at `path` with this text.
    pub fn of(text: &'t str, path: &'t Path) -> Self {
        Self { text, path, found: Vec::new(), context: None, left_out: Vec::new() }
    }

    /// Returns the path of the file; relative paths in it start at its folder.
    fn path(&self) -> &'t Path {
        self.path
    }

    /// Returns the text of a span of the file.
    fn source(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    /// Records that a line that sets this key is not TOML.
    fn leave_out(&mut self, key: &str) {
        self.left_out.push((self.context.clone(), key.to_owned()));
    }

    /// Returns whether a line that sets this key in the current context is not TOML.
    fn left_out_line(&self, key: &str) -> bool {
        self.left_out.iter().any(|(context, left_out)| *context == self.context && left_out == key)
    }

    /// Records a wrong entry that is ignored. The span covers the entry, or the wrong part of it.
    pub fn record(&mut self, span: Range<usize>, problem: &str) {
        self.add(span, problem, Hinders::Nothing);
    }

    /// Records a wrong entry that the program cannot ignore.
    pub fn refuse(&mut self, span: Range<usize>, problem: &str) {
        let hinders = self.context.clone().map_or(Hinders::Start, Hinders::Context);
        self.add(span, problem, hinders);
    }

    /// Sets the context of the following entries, or none.
    pub fn enter(&mut self, context: Option<&str>) {
        self.context = context.map(str::to_owned);
    }

    fn add(&mut self, span: Range<usize>, problem: &str, hinders: Hinders) {
        let line = line_of(self.text, span.start);
        // Parsers break messages into lines; a sentence must stand on one line.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        let mistake = Mistake { path: self.path.to_owned(), line, problem, hinders };
        if self.found.len() < MAX_MISTAKES || mistake.hinders != Hinders::Nothing {
            self.found.push((span.start, mistake));
        }
    }

    /// Returns all mistakes in the order of the file.
    pub fn in_order(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|(at, _)| *at);
        self.found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}

/// Returns the line of a byte offset, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the most similar name; `None` if no name is similar.
fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // From 0 (nothing alike) to 1 (the same).
    const ALIKE: f64 = 0.8;
    let given = given.to_lowercase().replace('_', "-");
    let likeness = |name: &str| strsim::jaro_winkler(&given, name);
    let best = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) >= ALIKE).then_some(best)
}

/// The most lines left out of one file; each costs another parse.
const MAX_LEFT_OUT: usize = 100;

/// Returns the text without the lines that are not TOML and that the program can ignore; each
/// becomes a mistake. A line that may set an important option, or that cannot be separated from the
/// rest of the file, makes the whole file unusable.
pub fn without_bad_lines<'t>(text: &'t str, mistakes: &mut Mistakes<'_>) -> Option<Cow<'t, str>> {
    let mut kept = Cow::Borrowed(text);
    for _ in 0..MAX_LEFT_OUT {
        let Err(error) = DeTable::parse(&kept) else { return Some(kept) };
        let at = error.span().map_or(0, |span| span.start).min(kept.len());
        let start = kept.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let end = kept.as_bytes()[start..].iter().position(|byte| *byte == b'\n').map_or(kept.len(), |len| start + len);
        if !is_harmless(&kept, start, end) {
            mistakes.refuse(at..at, error.message());
            return None;
        }
        mistakes.record(at..at, error.message());
        let (context, key) = place(&kept, start, end);
        mistakes.enter(context.as_deref());
        mistakes.leave_out(&key);
        mistakes.enter(None);
        // Blanks keep the positions of everything else.
        let blanks = " ".repeat(end - start);
        kept.to_mut().replace_range(start..end, &blanks);
    }
    mistakes.refuse(0..0, "more than 100 of its lines are no TOML");
    None
}

/// Parses a text that [`without_bad_lines`] has accepted.
pub fn table(text: &str) -> DeTable<'_> {
    DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default()
}

/// Returns the context of a line, and the key that it sets.
fn place(text: &str, start: usize, end: usize) -> (Option<String>, String) {
    let key = text[start..end].split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let context = header(text, start).and_then(|header| {
        let name = header.trim_matches(['[', ']', ' ', '\t']).strip_prefix("context.")?;
        Some(name.trim_matches(['"', '\'']).to_owned())
    });
    (context, key.to_owned())
}

/// Returns the header of the table that a line belongs to.
fn header(text: &str, start: usize) -> Option<&str> {
    text[..start].lines().rev().map(str::trim).find(|line| line.starts_with('['))
}

/// Returns whether a line sets one key, on this line alone, that the program can ignore.
fn is_harmless(text: &str, start: usize, end: usize) -> bool {
    let Some((key, value)) = text[start..end].split_once('=') else { return false };
    let key = key.trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    // A value that continues on later lines would include them.
    let may_go_on = ["\"\"\"", "'''", "{", "["].iter().any(|open| value.contains(open));
    let of_screen = header(text, start).is_some_and(|header| {
        let name = header.trim_start_matches('[').trim_start();
        !name.starts_with("context") && !name.starts_with(['"', '\''])
    });
    is_key && !may_go_on && (of_screen || !is_steering(key))
}

/// The options that a mistake must not drop: without them the program would use other nodes,
/// another identity or less security, or would not log its changes. A mistake in one of them
/// prevents the start.
const STEERING: [&str; 14] = [
    "connect",
    "root",
    "lock",
    "auth-file",
    "tls-ca",
    "tls-cert",
    "tls-key",
    "kerberos",
    "kerberos-server",
    "kerberos-principal",
    "server-view",
    "admin-url",
    "audit-log",
    "production",
];

/// Options that choose the file or the part of it that is read, and so cannot be in the file.
const NOT_IN_A_FILE: [&str; 4] = ["all-contexts", "config", "context", "json"];

/// Returns whether a key is one of these options, or probably means one.
fn is_steering(key: &str) -> bool {
    let known = keys();
    let meant = if known.iter().any(|known| known == key) { Some(key) } else { nearest(key, STEERING) };
    meant.is_some_and(|meant| STEERING.contains(&meant))
}

/// The valid entries as they stand in the file: names, and values as TOML.
pub type SoundEntries = BTreeMap<String, String>;

/// Options, and the entries that they come from.
pub struct OptionEntries {
    pub options: SharedOptions,
    pub sound: SoundEntries,
}

/// Reads the options among the entries of a table; `others` are names with another meaning there. A
/// wrong entry keeps its value from `earlier`.
pub fn read_options(
    table: &DeTable<'_>,
    others: &[&str],
    earlier: &SoundEntries,
    mistakes: &mut Mistakes<'_>,
) -> OptionEntries {
    let known = keys();
    let mut sound = DeTable::new();
    let mut entries = SoundEntries::new();
    for (key, value) in table.iter().filter(|(key, _)| !others.contains(&&**key.get_ref())) {
        let problem = if known.iter().any(|known| known == key.get_ref()) {
            problem_of(key, value)
        } else {
            Some((key.span(), unknown_option(key.get_ref(), &known, others)))
        };
        match problem {
            None => {
                entries.insert(key.get_ref().to_string(), mistakes.source(value.span()).to_owned());
                sound.insert(key.clone(), value.clone());
            }
            Some((span, problem)) if is_steering(key.get_ref()) => mistakes.refuse(span, &problem),
            Some((span, problem)) => mistakes.record(span, &problem),
        }
    }
    let wrong = earlier.iter().filter(|(key, _)| {
        let stands_there = table.contains_key(key.as_str()) || mistakes.left_out_line(key);
        stands_there && !entries.contains_key(*key)
    });
    let kept: SoundEntries = wrong.map(|(key, value)| (key.clone(), value.clone())).collect();
    let kept_text: Vec<String> = kept.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let kept_text = kept_text.join("\n");
    sound.extend(DeTable::parse(&kept_text).map(Spanned::into_inner).unwrap_or_default());
    // Each entry was valid alone, so all of them together are.
    let mut options = options(sound).unwrap_or_default();
    start_paths_at(&mut options, mistakes.path().parent());
    entries.extend(kept);
    OptionEntries { options, sound: entries }
}

type Span = std::ops::Range<usize>;

/// Returns what is wrong with one entry, and where.
fn problem_of(key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> Option<(Span, String)> {
    let alone = DeTable::from_iter([(key.clone(), value.clone())]);
    match options(alone) {
        Err(error) => {
            let problem = format!("{}: {}", key.get_ref(), error.message());
            Some((error.span().unwrap_or_else(|| key.span()), problem))
        }
        // Refused here, where the line is known.
        Ok(options) => {
            let error = zk::servers(options.ensemble.connect.as_deref()?).err()?;
            Some((value.span(), format!("connect: {error}")))
        }
    }
}

fn unknown_option(key: &str, known: &[String], others: &[&str]) -> String {
    let names = known.iter().map(String::as_str).chain(others.iter().copied());
    match nearest(key, names) {
        Some(meant) => format!("there is no option {key:?}; perhaps {meant} is meant"),
        None => format!("there is no option {key:?}; those of `lockscope --help` are allowed, without their dashes"),
    }
}

/// Reads a table whose keys are all options.
fn options(table: DeTable<'_>) -> Result<SharedOptions, toml::de::Error> {
    let table = Spanned::new(0..0, table);
    Ok(SharedOptions {
        locks: group(&table)?,
        display: group(&table)?,
        changes: group(&table)?,
        past: group(&table)?,
        output: group(&table)?,
        ensemble: group(&table)?,
    })
}

/// Reads the options of one group; keys of the other groups are skipped.
fn group<T: DeserializeOwned>(table: &Spanned<DeTable<'_>>) -> Result<T, toml::de::Error> {
    T::deserialize(Deserializer::from(table.clone()))
}

/// Resolves relative paths against the folder of the file.
fn start_paths_at(options: &mut SharedOptions, folder: Option<&std::path::Path>) {
    let ensemble = &mut options.ensemble;
    let files = [
        &mut ensemble.auth_file,
        &mut ensemble.tls_ca,
        &mut ensemble.tls_cert,
        &mut ensemble.tls_key,
        &mut ensemble.log_file,
        &mut ensemble.notes_file,
        &mut options.changes.audit_log,
        &mut options.past.store,
    ];
    if let Some(folder) = folder {
        files.into_iter().flatten().for_each(|file| *file = folder.join(&*file));
    }
}

/// Returns the names of the options allowed in a config file.
pub fn keys() -> Vec<String> {
    let options = SharedOptions::augment_args(Command::new("config"));
    let names = options.get_arguments().filter_map(|option| option.get_long());
    names.filter(|name| !NOT_IN_A_FILE.contains(name)).map(str::to_owned).collect()
}

/// Returns whether a table has these keys only. Records the first other key as a mistake; `what`
/// names the table.
pub fn is_known(table: &DeTable<'_>, keys: &[&str], what: &str, mistakes: &mut Mistakes<'_>) -> bool {
    let Some(key) = table.keys().find(|key| !keys.contains(&&**key.get_ref())) else { return true };
    let meant = nearest(key.get_ref(), keys.iter().copied())
        .map_or_else(|| format!("{} are allowed", keys.join(", ")), |meant| format!("perhaps {meant} is meant"));
    mistakes.record(key.span(), &format!("{what} has no {:?}; {meant}", key.get_ref()));
    false
}

/// A table with one value: the names of variants are only read within a table.
#[derive(Deserialize)]
struct Alone<T> {
    value: T,
}

/// Marks an entry whose mistake was recorded.
pub struct Wrong;

/// Reads the value of one entry; `None` when it is missing.
pub fn field<'de, T: Deserialize<'de>>(
    table: &DeTable<'de>,
    key: &str,
    mistakes: &mut Mistakes<'_>,
) -> Result<Option<T>, Wrong> {
    let Some((name, value)) = table.get_key_value(key) else { return Ok(None) };
    let alone = DeTable::from_iter([(Spanned::new(name.span(), "value".into()), value.clone())]);
    match Alone::<T>::deserialize(Deserializer::from(Spanned::new(0..0, alone))) {
        Ok(alone) => Ok(Some(alone.value)),
        Err(error) => {
            let at = error.span().unwrap_or_else(|| value.span());
            mistakes.record(at, &format!("{key}: {}", error.message()));
            Err(Wrong)
        }
    }
}
