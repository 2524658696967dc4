//! The options shared by several commands, in groups. A command flattens a group into its own
//! options and passes the values on as [`SharedOptions`]; the config file sets the same options.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::choice::{self, Choice};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::duration;
use super::merge::Merge;
use super::past_options::PastOptions;
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::ServerPrincipal;
use lockscope_live::zk::admin::AdminUrl;
use lockscope_live::zk::survey::ViewBy;

/// Merges a struct field by field; a missing field is a compile error.
macro_rules! merge_fields {
    ($group:ident: $($field:ident),+) => {
        impl Merge for $group {
            fn merge(self, below: Self) -> Self {
                Self { $($field: self.$field.merge(below.$field)),+ }
            }
        }
    };
}

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
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(deserialize_with = "duration::deserialize")]
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
    /// How to print [default: table on a terminal, json elsewhere]
    #[arg(long)]
    #[serde(deserialize_with = "own_choice")]
    pub format: Option<Format>,
    /// Give up when the ensemble does not answer for this long [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(deserialize_with = "duration::deserialize")]
    pub timeout: Option<Duration>,
}

merge_fields!(OutputOptions: format, timeout);

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
        help = "Use the options of this context of the config file; the screen, snapshot, watch, check and record take several, as in a,b [env: LOCKSCOPE_CONTEXT]"
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
    #[arg(long, value_name = "DURATION", value_parser = duration::session_timeout)]
    #[serde(deserialize_with = "duration::deserialize_session_timeout")]
    pub session_timeout: Option<Duration>,
    /// File with identities, one per line, as digest:USER:PASSWORD; only its owner may be able to
    /// read it [env: LOCKSCOPE_AUTH_FILE]
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
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
    #[arg(long, value_name = "HOW", help_heading = "Servers", value_parser = choice::parser::<ViewBy>())]
    #[serde(deserialize_with = "choice::deserialize")]
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
    /// Show times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

merge_fields!(EnsembleOptions: context, all_contexts, connect, session_timeout, auth_file, tls_ca, tls_cert, tls_key, kerberos, kerberos_server, kerberos_principal, server_view, admin_url, config, log_file, utc);

/// The options of the commands that print parts of the config file: contexts and recipes.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct ConfigFileOptions {
    /// How to print [default: table on a terminal, json elsewhere]
    #[arg(long, help_heading = "Output")]
    pub format: Option<Format>,
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

/// Reads a value of the config file by its name on the command line.
fn own_choice<'de, D: Deserializer<'de>, T: ValueEnum>(from: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    T::from_str(&text, false).map(Some).map_err(|_| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        D::Error::custom(choice::unknown(&text, names.iter().map(String::as_str)))
    })
}
