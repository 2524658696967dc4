//! The options of the command line as entries of the config file.

use std::collections::BTreeMap;

use clap::{Args, Command};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer};

use super::mistake::{Mistakes, nearest};
use crate::cli::options::SharedOptions;
use lockscope_live::zk;

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
const NOT_IN_A_FILE: [&str; 3] = ["all-contexts", "config", "context"];

/// Returns whether a key is one of these options, or probably means one.
pub(super) fn is_steering(key: &str) -> bool {
    let known = keys();
    let meant = if known.iter().any(|known| known == key) { Some(key) } else { nearest(key, STEERING) };
    meant.is_some_and(|meant| STEERING.contains(&meant))
}

/// The valid entries as they stand in the file: names, and values as TOML.
pub(super) type SoundEntries = BTreeMap<String, String>;

/// Options, and the entries that they come from.
pub(super) struct OptionEntries {
    pub options: SharedOptions,
    pub sound: SoundEntries,
}

/// Reads the options among the entries of a table; `others` are names with another meaning there. A
/// wrong entry keeps its value from `earlier`.
pub(super) fn read(
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
            Some((key.span(), unknown(key.get_ref(), &known, others)))
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

fn unknown(key: &str, known: &[String], others: &[&str]) -> String {
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
        &mut options.changes.audit_log,
        &mut options.past.store,
    ];
    if let Some(folder) = folder {
        files.into_iter().flatten().for_each(|file| *file = folder.join(&*file));
    }
}

/// Returns the names of the options allowed in a config file.
pub(super) fn keys() -> Vec<String> {
    let options = SharedOptions::augment_args(Command::new("config"));
    let names = options.get_arguments().filter_map(|option| option.get_long());
    names.filter(|name| !NOT_IN_A_FILE.contains(name)).map(str::to_owned).collect()
}
