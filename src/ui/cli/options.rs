//! The options shared by several commands, in groups, and the values that they take.
//!
//! A command flattens a group into its own options and passes the values on as [`SharedOptions`];
//! the config file sets the same options. [`Override`] merges the values of several sources, where
//! one source overrides another.
//!
//! Two kinds of values are read alike on the command line and in the config file: those that are
//! variants of a type from another crate ([`Choice`]), and durations as people write them: `500ms`,
//! `90s`, `1h30m`.

use std::fmt::Display;
use std::io;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::tui::PastPlace;
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::ServerPrincipal;
use lockscope_live::zk::admin::AdminUrl;
use lockscope_live::zk::survey::ViewBy;

/// Merges a struct field by field; a missing field is a compile error.
macro_rules! merge_fields {
    ($group:ident: $($field:ident),+) => {
        impl Override for $group {
            fn merge(self, below: Self) -> Self {
                Self { $($field: self.$field.merge(below.$field)),+ }
            }
        }
    };
}

/// The servers where none is named.
pub(super) const DEFAULT_CONNECT: &str = "localhost:2181";

/// The options that the screen or several commands take and that the config file can set, from one
/// source.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(super) struct SharedOptions {
    #[command(flatten)]
    pub locks: WhichLocks,
    #[command(flatten)]
    pub display: DisplayOptions,
    #[command(flatten)]
    pub changes: ChangeOptions,
    #[command(flatten)]
    pub past: PastOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

merge_fields!(SharedOptions: locks, display, changes, past, output, ensemble);

/// The locks to look at, and the time after which one of them counts as stuck.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Locks")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct WhichLocks {
    /// Look for locks below this node; can be given several times [default: /]
    #[arg(long, value_name = "PATH")]
    pub root: Option<Vec<ZnodePath>>,
    /// Treat this node as a single-node lock although its name does not show it; can be given
    /// several times
    #[arg(long, value_name = "PATH")]
    pub lock: Option<Vec<ZnodePath>>,
    /// Call a lock stuck when it has not changed hands for this long while others wait [default:
    /// 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    #[serde(deserialize_with = "deserialize_duration")]
    pub stuck_after: Option<Duration>,
}

merge_fields!(WhichLocks: root, lock, stuck_after);

/// The look of the screen.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Screen")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct DisplayOptions {
    /// Draw with ASCII characters only [default: where the locale has no UTF-8]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub ascii: Option<bool>,
    /// Colours of the screen: terminal, dark, light, colour-blind, contrast, mono, or the name of a
    /// file in the folder themes beside the config file [default: terminal]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Use the mouse; selecting text in the terminal then needs its modifier key
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub mouse: Option<bool>,
}

merge_fields!(DisplayOptions: ascii, theme, mouse);

/// The permission to change the ensemble from the screen.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Screen")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct ChangeOptions {
    /// Allow the screen to change the ensemble: start test clients and delete nodes. Without it the
    /// screen only reads
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub write: Option<bool>,
    /// Record changes to other people's locks in this file [default:
    /// $XDG_STATE_HOME/lockscope/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
}

merge_fields!(ChangeOptions: write, audit_log);

/// The output format of a headless command, and the time that it waits.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Output")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct OutputOptions {
    #[command(flatten)]
    #[serde(deserialize_with = "format_by_name")]
    pub format: FormatOptions,
    /// Give up when the ensemble does not answer for this long [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    #[serde(deserialize_with = "deserialize_duration")]
    pub timeout: Option<Duration>,
}

merge_fields!(OutputOptions: format, timeout);

/// The format of printed facts; the config file sets it by its name alone.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq)]
#[command(next_help_heading = "Output")]
pub(super) struct FormatOptions {
    /// How to print [default: table on a terminal, json elsewhere]
    #[arg(long)]
    pub format: Option<Format>,
    /// Print JSON, as --format json does
    #[arg(long)]
    pub json: bool,
}

impl FormatOptions {
    /// Returns the format that was chosen, or the one that suits standard output.
    pub(super) fn resolve(self) -> Format {
        if self.json { Format::Json } else { self.format.unwrap_or_else(Format::of_stdout) }
    }
}

impl Override for FormatOptions {
    fn merge(self, below: Self) -> Self {
        if self == Self::default() { below } else { self }
    }
}

/// The options of everything that contacts an ensemble: the connection, the questions to the
/// servers, and general options.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Connection")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct EnsembleOptions {
    /// The context of the config file that is in force.
    #[arg(
        long,
        value_name = "NAME[,...]",
        help = "Use the options of this context of the config file; the screen, snapshot, find, watch, check and record take several, as in a,b [env: LOCKSCOPE_CONTEXT]"
    )]
    #[serde(skip)]
    pub context: Option<String>,
    /// Use every context of the config file, as --context with all their names
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, conflicts_with = "context")]
    #[serde(skip)]
    pub all_contexts: Option<bool>,
    /// Servers of the ensemble, and the node that stands for / [env: ZOOKEEPER_CONNECT] [default:
    /// localhost:2181]
    #[arg(long, value_name = "HOST:PORT[,...][/CHROOT]")]
    pub connect: Option<String>,
    /// Session timeout to ask for, to which consoles add up to a second, by which others know them;
    /// the servers may bound it [default: 30s; 15s for test clients]
    #[arg(long, value_name = "DURATION", value_parser = parse_session_timeout)]
    #[serde(deserialize_with = "deserialize_session_timeout")]
    pub session_timeout: Option<Duration>,
    /// File with identities, one per line, as digest:USER:PASSWORD; only its owner may be able to
    /// read it [env: LOCKSCOPE_AUTH_FILE]
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Whether a password may go to the servers in plain text.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true,
        help = "Do not warn when a digest password goes over a network in plain text"
    )]
    pub allow_plain_auth: Option<bool>,
    /// Use TLS, and trust the certificate authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Client certificate to show to the servers, PEM
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of that certificate, PEM; only its owner may be able to read the file
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Whether to log in by Kerberos.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true,
        help = "Log in by Kerberos, with the tickets of kinit or the keytab that KRB5_CLIENT_KTNAME names; needs a build with the feature gssapi"
    )]
    pub kerberos: Option<bool>,
    /// Kerberos principal of the servers, SERVICE/HOST[@REALM]; _HOST stands for each server's own
    /// host [default: zookeeper/_HOST]
    #[arg(long, value_name = "PRINCIPAL")]
    #[serde(deserialize_with = "text")]
    pub kerberos_server: Option<ServerPrincipal>,
    /// Our own Kerberos principal, where there are several [default: that of the credential cache
    /// or the keytab]
    #[arg(long, value_name = "PRINCIPAL")]
    pub kerberos_principal: Option<String>,
    /// How to ask the servers about their connections, sessions and watches [default: auto]
    #[arg(long, value_name = "HOW", help_heading = "Servers", value_parser = choice_parser::<ViewBy>())]
    #[serde(deserialize_with = "deserialize_choice")]
    pub server_view: Option<ViewBy>,
    /// Address of AdminServer; HOST stands for each server's own host, and https:// for TLS
    /// [default: http://HOST:8080/commands]
    #[arg(long, value_name = "URL", help_heading = "Servers")]
    #[serde(deserialize_with = "text")]
    pub admin_url: Option<AdminUrl>,
    /// Config file to read instead of $XDG_CONFIG_HOME/lockscope/config.toml
    #[arg(long, value_name = "FILE", help_heading = "General")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Write a log of lockscope's own work to this file
    #[arg(long, value_name = "FILE", help_heading = "General")]
    pub log_file: Option<PathBuf>,
    /// File with what is muted and which findings were seen [default:
    /// $XDG_STATE_HOME/lockscope/notes.json]
    #[arg(long, value_name = "FILE", help_heading = "General")]
    pub notes_file: Option<PathBuf>,
    /// Show times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

merge_fields!(EnsembleOptions: context, all_contexts, connect, session_timeout, auth_file, allow_plain_auth, tls_ca, tls_cert, tls_key, kerberos, kerberos_server, kerberos_principal, server_view, admin_url, config, log_file, notes_file, utc);

/// The options of the commands that print parts of the config file: contexts and recipes.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct ConfigFileOptions {
    #[command(flatten)]
    pub format: FormatOptions,
    /// Config file to read instead of $XDG_CONFIG_HOME/lockscope/config.toml
    #[arg(long, value_name = "FILE", help_heading = "General")]
    pub config: Option<std::path::PathBuf>,
}

impl ConfigFileOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let ensemble = EnsembleOptions { config: self.config.clone(), ..EnsembleOptions::default() };
        SharedOptions { ensemble, ..SharedOptions::default() }
    }
}

/// The options of the commands that read the locks below the roots: snapshot, watch and check.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(super) struct ReadOptions {
    #[command(flatten)]
    pub locks: WhichLocks,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl ReadOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let Self { locks, output, ensemble } = self.clone();
        SharedOptions { locks, output, ensemble, ..SharedOptions::default() }
    }
}

impl Choice for ViewBy {
    const ALL: &'static [Self] = &[Self::Auto, Self::FourLetter, Self::Http, Self::Off];

    fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::Auto => ("auto", "By four-letter words, and by AdminServer where those do not say everything"),
            Self::FourLetter => ("words", "By four-letter words only"),
            Self::Http => ("http", "By AdminServer only"),
            Self::Off => ("off", "Not at all: what only the servers know stays unknown"),
        }
    }
}

/// The format of printed facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

impl Format {
    /// Returns the format that suits standard output.
    pub(super) fn of_stdout() -> Self {
        if io::stdout().is_terminal() { Self::Table } else { Self::Json }
    }
}

/// Reads a value of the config file in the syntax of the command line.
fn text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<Option<T>, D::Error> {
    String::deserialize(from)?.parse().map(Some).map_err(D::Error::custom)
}

/// Reads the format of the config file by its name on the command line.
fn format_by_name<'de, D: Deserializer<'de>>(from: D) -> Result<FormatOptions, D::Error> {
    let text = String::deserialize(from)?;
    let format = Format::from_str(&text, false).map_err(|_| {
        let values = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        D::Error::custom(unknown_choice(&text, names.iter().map(String::as_str)))
    })?;
    Ok(FormatOptions { format: Some(format), json: false })
}

/// The default memory for the screen's past, in bytes.
const DEFAULT_BYTES: u64 = 64 << 20;

/// The smallest useful memory, in bytes: less reaches back hardly any time.
const MIN_BYTES: u64 = 4 << 20;

/// The options of the screen's past.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq)]
#[command(next_help_heading = "Screen")]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct PastOptions {
    /// Keep the past in this much memory, so that the screen can rewind; 0 keeps none [default:
    /// 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(deserialize_with = "deserialize_size")]
    pub past_memory: Option<ByteSize>,
    /// Keep the past in this file instead; the screen can also rewind to what `lockscope record`
    /// writes there
    // An id of its own: `--store` before a command that reads a recording must not be taken for
    // that command's option.
    #[arg(id = "past_store", long = "store", value_name = "FILE")]
    pub store: Option<PathBuf>,
}

impl Override for PastOptions {
    fn merge(self, below: Self) -> Self {
        // A place in one source replaces any place in a lower source.
        let below = if self == Self::default() { below } else { Self::default() };
        Self { past_memory: self.past_memory.merge(below.past_memory), store: self.store.merge(below.store) }
    }
}

impl PastOptions {
    /// Returns the place that the options name.
    pub(super) fn place(self) -> PastPlace {
        match (self.store, self.past_memory.map_or(DEFAULT_BYTES, |size| size.as_u64())) {
            (Some(file), _) => PastPlace::File(file),
            (None, 0) => PastPlace::None,
            (None, bytes) => PastPlace::Memory(bytes),
        }
    }
}

fn size(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Err(_) => Err("write a number and its unit, as in 64MiB, or 0".to_owned()),
        Ok(size) if (1..MIN_BYTES).contains(&size.as_u64()) => Err("it must be 0, or at least 4MiB".to_owned()),
        Ok(size) => Ok(size),
    }
}

fn deserialize_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ByteSize>, D::Error> {
    size(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

/// Values that can be overridden by those of another source.
pub trait Override {
    /// Returns these values, with absent ones taken from `below`.
    fn merge(self, below: Self) -> Self;
}

impl<T> Override for Option<T> {
    fn merge(self, below: Self) -> Self {
        self.or(below)
    }
}

/// Replaces `ValueEnum` for such types.
pub trait Choice: Copy + Send + Sync + 'static {
    const ALL: &'static [Self];

    /// Returns the name on the command line, and the help.
    fn named(self) -> (&'static str, &'static str);
}

/// Returns a parser of values by name.
pub fn choice_parser<T: Choice>() -> impl TypedValueParser<Value = T> {
    let value = |&choice: &T| {
        let (name, help) = choice.named();
        PossibleValue::new(name).help(help)
    };
    PossibleValuesParser::new(T::ALL.iter().map(value))
        .map(|name| by_name(&name).expect("clap lets only possible values through"))
}

/// Reads a value of the config file by its name on the command line.
fn deserialize_choice<'de, D: Deserializer<'de>, T: Choice>(from: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    let names = || T::ALL.iter().map(|choice| choice.named().0);
    by_name(&text).map(Some).ok_or_else(|| D::Error::custom(unknown_choice(&text, names())))
}

/// Returns the sentence that a value is none of the possible ones.
fn unknown_choice<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> String {
    format!("{text:?} is none of {}", names.collect::<Vec<_>>().join(", "))
}

fn by_name<T: Choice>(name: &str) -> Option<T> {
    T::ALL.iter().copied().find(|choice| choice.named().0 == name)
}

/// The longest accepted duration: a year. Longer ones are mistakes, and would overflow a clock.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 3600);

/// The accepted session timeouts: at most what the protocol can carry, and at least what a server
/// could grant.
const SESSION_TIMEOUTS: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// Parses a duration above zero and of at most a year.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Err(_) => Err("write a number and its unit, as in 500ms, 90s or 1h30m".to_owned()),
        Ok(Duration::ZERO) => Err("it must be longer than nothing".to_owned()),
        Ok(duration) if duration > MAX_DURATION => Err("it must not be longer than a year".to_owned()),
        Ok(duration) => Ok(duration),
    }
}

/// Parses a duration like [`parse_duration`]; `0` with or without a unit means none.
pub fn parse_duration_or_none(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Ok(Duration::ZERO),
        _ => parse_duration(text),
    }
}

/// Parses a session timeout that a server could grant.
pub fn parse_session_timeout(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if SESSION_TIMEOUTS.contains(&duration) {
        Ok(duration)
    } else {
        Err("a session timeout lies between 100ms and 1h".to_owned())
    }
}

/// Reads a duration like [`parse_duration`] from the config file.
fn deserialize_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parse_duration(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

/// Reads a timeout like [`parse_session_timeout`] from the config file.
fn deserialize_session_timeout<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parse_session_timeout(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(options: &str) -> Result<PastPlace, String> {
        toml::from_str::<PastOptions>(options).map(PastOptions::place).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_size_is_zero_or_at_least_the_minimum() {
        assert_eq!(place(""), Ok(PastPlace::Memory(64 << 20)));
        assert_eq!(place("past-memory = '0'"), Ok(PastPlace::None));
        assert_eq!(place("past-memory = '4MiB'"), Ok(PastPlace::Memory(4 << 20)));
        assert_eq!(place("store = 'x'\npast-memory = '4MiB'"), Ok(PastPlace::File("x".into())));
        for (wrong, part) in [("1MiB", "at least 4MiB"), ("much", "number and its unit"), ("-1", "number")] {
            let why = place(&format!("past-memory = '{wrong}'")).expect_err(wrong);
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn an_option_that_names_a_place_comes_before_another_place_in_the_config_file() {
        let file = PastOptions { store: Some("x".into()), past_memory: None };
        let option = PastOptions { store: None, past_memory: Some(ByteSize::mib(8)) };
        assert_eq!(option.merge(file.clone()).place(), PastPlace::Memory(8 << 20));
        assert_eq!(PastOptions::default().merge(file).place(), PastPlace::File("x".into()));
    }

    #[test]
    fn the_short_form_of_json_overrides_the_config_file() {
        let file = FormatOptions { format: Some(Format::Table), json: false };
        let short = FormatOptions { format: None, json: true };
        assert_eq!(short.merge(file).resolve(), Format::Json);
        assert_eq!(FormatOptions { format: None, json: false }.merge(file).resolve(), Format::Table);
    }

    #[test]
    fn durations_are_read_as_people_write_them_and_senseless_ones_refused() {
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        for text in ["", "10", "0s", "-1s", "2000y", "99999999999999999999s", "soon"] {
            assert!(parse_duration(text).is_err(), "{text:?}");
        }
        for text in ["0", "0s", "0ms"] {
            assert_eq!(parse_duration_or_none(text), Ok(Duration::ZERO));
        }
        assert_eq!(parse_duration_or_none("500ms"), parse_duration("500ms"));
        assert!(parse_duration_or_none("soon").is_err() && parse_duration_or_none("2000y").is_err());
        assert!(parse_session_timeout("10s").is_ok());
        assert!(parse_session_timeout("1ms").is_err());
        assert!(parse_session_timeout("30days").is_err());
    }
}
