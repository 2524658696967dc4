use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::Deserialize;

use super::contend::{CompareOptions, ContendOptions};
use super::delete::DeleteOptions;
use super::span;
use crate::diagnose::Severity;
use crate::tui::ThemeName;
use crate::zk::admin::AdminUrl;
use crate::zk::survey::ViewBy;
use crate::znode::ZnodePath;

/// Where settings come from.
pub(super) const ORDER: &str = "\
Options may stand before or after the command. They come before the environment, the environment before the config \
file. That is $XDG_CONFIG_HOME/lockscope/config.toml (~/.config when that is not set); it takes the same names without \
the dashes.";

/// What the environment says.
pub(super) const ENVIRONMENT: [(&str, &str); 5] = [
    ("ZOOKEEPER_CONNECT", "as --connect"),
    ("LOCKSCOPE_AUTH_FILE", "as --auth-file"),
    ("LOCKSCOPE_AUTH", "the lines of an auth file themselves; comes before LOCKSCOPE_AUTH_FILE"),
    ("LOCKSCOPE_LOG", "filter for --log-file, as debug or lockscope=trace; info when not set"),
    ("NO_COLOR", "when it is set, the screen has no colours"),
];

/// What the program's end says.
pub(super) const EXIT_CODES: [(&str, &str); 4] = [
    ("0", "done"),
    ("1", "done, and the answer is no"),
    ("2", "could not do it: usage, connection, permission"),
    ("128+N", "a second signal N came while contend or compare was ending: 130 for ^C"),
];

fn closing() -> String {
    let list = |items: &[(&str, &str)]| {
        let lines: Vec<String> = items.iter().map(|(name, says)| format!("  {name:<19}  {says}")).collect();
        lines.join("\n")
    };
    format!("{ORDER}\n\nEnvironment:\n{}\n\nExit codes:\n{}", list(&ENVIRONMENT), list(&EXIT_CODES))
}

/// Watch the locks that applications keep in Apache ZooKeeper
///
/// Finds every lock below the given roots, shows who holds it and who waits for whom, and follows it live.
/// `lockscope demo` shows all of it on a ZooKeeper of its own. Without a command it opens the screen; snapshot and watch print the same facts. These change nothing in the
/// ensemble, unless --write permits it to the screen. contend and compare let test clients make and delete nodes
/// of their own, below the path they are given; delete deletes one node.
#[derive(Debug, Parser)]
#[command(name = "lockscope", version, after_long_help = closing(), disable_help_subcommand = true)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) options: Options,
    #[command(flatten)]
    pub(super) screen: ScreenOptions,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// What to do without a screen.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every lock once and stop
    ///
    /// Reads everything below the roots, prints it and exits: a table for people, or one JSON object.
    Snapshot {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        headless: HeadlessOptions,
    },
    /// Print what happens to the locks, line by line
    ///
    /// First a line for each lock that is found, then one for each change: enqueued, acquired, released, left, expired.
    /// It goes on through a cut connection, and says so, until it is interrupted or --for has passed. What cannot be read
    /// is said on stderr; a root that cannot be read as a whole ends it with 2.
    Watch {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        headless: HeadlessOptions,
        /// Stop after this time, as in 90s, 5m or 1h30m
        #[arg(long = "for", value_name = "DURATION", value_parser = span::parse)]
        during: Option<Duration>,
    },
    /// Print why locks are stuck, for monitoring
    ///
    /// Looks at the locks and asks the servers for some seconds, since most findings must last to be told from a sound
    /// hand-over. Then prints what was found, the worst first, and exits with 1 when something is as bad as --fail-on or a
    /// part could not be read, and with 2 when a whole root could not.
    Check {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        headless: HeadlessOptions,
        /// Exit with 1 on findings that are at least so bad
        #[arg(long, value_name = "SEVERITY", default_value = "warning")]
        fail_on: FailOn,
        /// Look for this long
        #[arg(long = "for", value_name = "DURATION", default_value = "6s", value_parser = span::parse)]
        during: Duration,
    },
    /// Let test clients contend for a lock, and print what it cost
    ///
    /// Each client has a session and a connection of its own. ^C, SIGTERM, SIGHUP and a closed pipe end the run with
    /// the figures so far, when the clients and their nodes are gone; a second signal ends the program at once, and
    /// what is left goes when the sessions expire. On a terminal the progress is shown on stderr. Exits with 1 when the
    /// lock was violated or nodes were left behind, and with 2 when the servers were lost for longer than --timeout.
    #[command(mut_arg("root", |arg| arg.hide(true)), mut_arg("lock", |arg| arg.hide(true)))]
    Contend {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        contend: ContendOptions,
        #[command(flatten)]
        headless: HeadlessOptions,
    },
    /// Let a herd and a chain contend in several sizes, and print them side by side
    ///
    /// One fleet of test clients after the other, at each number of clients a herd (every waiter watches the parent) and
    /// a chain (each watches its predecessor): a table with a plot, or one JSON object. It ends as contend does.
    #[command(mut_arg("root", |arg| arg.hide(true)), mut_arg("lock", |arg| arg.hide(true)))]
    Compare {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        compare: CompareOptions,
        #[command(flatten)]
        headless: HeadlessOptions,
    },
    /// Show what lockscope can do: a guided tour, with nothing to install
    ///
    /// Opens the screen on a ZooKeeper in memory, lets test clients contend there, and tells in six scenes what is
    /// seen: n steps on, b back, P lets it play by itself, and all other keys work as ever. With --connect the tour runs on
    /// that ensemble, below a node of its own, /lockscope-demo-..., which is removed when the tour ends.
    #[command(
        mut_arg("root", |arg| arg.hide(true)),
        mut_arg("lock", |arg| arg.hide(true)),
        mut_arg("write", |arg| arg.hide(true)),
        mut_arg("connect", |arg| arg.help("Run the tour on this ensemble instead of in memory"))
    )]
    Demo {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        screen: ScreenOptions,
        /// Let the tour step on by itself from the start
        #[arg(long)]
        play: bool,
    },
    /// Delete a contender or an empty lock parent, if it is still the one that was seen
    ///
    /// Shows what exactly, who owns it, whether that lives, who acquires next, what may go wrong, how it is made sure of
    /// and who sees that; then asks, or takes --yes. Right before the deletion it looks again: if the node changed hands
    /// or acquired meanwhile, or its owner came back, nothing is deleted. Intent and outcome go into the audit log;
    /// without it nothing is deleted. Exits with 0 when the node was deleted, with 1 when nothing was, and with 2 when it
    /// could not be done or is not known.
    #[command(mut_arg("root", |arg| arg.hide(true)))]
    Delete {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        delete: DeleteOptions,
        #[command(flatten)]
        headless: HeadlessOptions,
    },
    /// Serve a ZooKeeper of one server from memory, for demos and tests
    ///
    /// Any ZooKeeper client of this machine can connect. The first line of output is a JSON object with the address. It
    /// serves until it is interrupted, and then forgets everything: it never stands in for a real ensemble.
    Sandbox {
        #[command(flatten)]
        sandbox: SandboxOptions,
        /// Write a log of lockscope's own work to this file
        #[arg(long, value_name = "FILE")]
        log_file: Option<PathBuf>,
    },
    /// Print the completions for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page
    ///
    /// As roff, which `man -l FILE` shows.
    Man {
        /// Write a page for each command into this directory instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// What the screen and every command that asks an ensemble have in common.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Connection")]
pub(super) struct Options {
    #[arg(
        long,
        value_name = "HOST:PORT[,...][/CHROOT]",
        help = "Servers of the ensemble, and the node that stands as / [env: ZOOKEEPER_CONNECT] [default: localhost:2181]"
    )]
    pub connect: Option<String>,
    /// Session timeout to ask for; the server has bounds of its own [default: 30s, of test clients 10s]
    #[arg(long, value_name = "DURATION", value_parser = span::session_timeout)]
    pub session_timeout: Option<Duration>,
    #[arg(
        long,
        value_name = "FILE",
        help = "File that only its owner can read with identities, one a line, as digest:USER:PASSWORD [env: LOCKSCOPE_AUTH_FILE]"
    )]
    pub auth_file: Option<PathBuf>,
    /// Use TLS, and trust the authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Certificate to show to the servers, PEM
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Key of that certificate, PEM, in a file that only its owner can read
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Look for locks below this node; can be given several times [default: /]
    #[arg(long, value_name = "PATH", help_heading = "Locks")]
    pub root: Option<Vec<ZnodePath>>,
    /// Take this node for a single-node lock though its name does not tell; can be given several times
    #[arg(long, value_name = "PATH", help_heading = "Locks")]
    pub lock: Option<Vec<ZnodePath>>,
    /// How to ask the servers about their connections, sessions and watches [default: auto]
    #[arg(long, value_name = "HOW", help_heading = "Servers")]
    pub server_view: Option<ServerViewBy>,
    #[arg(
        long,
        value_name = "URL",
        help_heading = "Servers",
        help = "Where AdminServer is; HOST stands for each server's own host [default: http://HOST:8080/commands]"
    )]
    pub admin_url: Option<AdminUrl>,
    /// Call a lock stuck when it was not handed on for this long though others wait [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = span::parse, help_heading = "Locks")]
    pub stuck_after: Option<Duration>,
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "General",
        help = "Config file to read instead of $XDG_CONFIG_HOME/lockscope/config.toml"
    )]
    pub config: Option<PathBuf>,
    /// Write a log of lockscope's own work to this file
    #[arg(long, value_name = "FILE", help_heading = "General")]
    pub log_file: Option<PathBuf>,
    /// Show times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

/// What only the screen knows.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Screen")]
pub(super) struct ScreenOptions {
    /// Draw with ASCII characters only
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub ascii: Option<bool>,
    /// Colours of the screen [default: terminal]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<ThemeName>,
    /// Take the mouse; the terminal's own selection of text then needs its modifier key
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub mouse: Option<bool>,
    /// Let the screen change the ensemble: start test clients and delete nodes; without it the screen only reads
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub write: Option<bool>,
    #[arg(
        long,
        value_name = "FILE",
        help = "Write what is changed in other people's locks to this file [default: $XDG_STATE_HOME/lockscope/audit.jsonl]"
    )]
    pub audit_log: Option<PathBuf>,
}

/// What only the commands without a screen know.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Output")]
pub(super) struct HeadlessOptions {
    /// How to print [default: table on a terminal, json elsewhere]
    #[arg(long)]
    pub format: Option<Format>,
    /// Give up when the ensemble gives no answer for this long [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = span::parse)]
    pub timeout: Option<Duration>,
}

/// From which severity on the answer is no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// On any finding
    Info,
    /// On what somebody should look at
    Warning,
    /// On locks that will not be granted again by themselves
    Critical,
}

impl From<FailOn> for Severity {
    fn from(severity: FailOn) -> Self {
        match severity {
            FailOn::Info => Self::Info,
            FailOn::Warning => Self::Warning,
            FailOn::Critical => Self::Critical,
        }
    }
}

/// How the servers are asked about themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum ServerViewBy {
    /// By four-letter words, and by AdminServer where those do not tell everything
    #[default]
    Auto,
    /// By four-letter words only
    Words,
    /// By AdminServer only
    Http,
    /// Not at all: what only the servers know stays unknown
    Off,
}

impl From<ServerViewBy> for ViewBy {
    fn from(by: ServerViewBy) -> Self {
        match by {
            ServerViewBy::Auto => Self::Auto,
            ServerViewBy::Words => Self::FourLetter,
            ServerViewBy::Http => Self::Http,
            ServerViewBy::Off => Self::Off,
        }
    }
}

/// What only the sandbox knows.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Server")]
pub(super) struct SandboxOptions {
    /// Port of 127.0.0.1 to listen on; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 2181)]
    pub port: u16,
    /// The shortest session timeout that clients get
    #[arg(long, value_name = "DURATION", value_parser = span::session_timeout, default_value = "200ms")]
    pub min_session_timeout: Duration,
    /// The longest session timeout that clients get
    #[arg(long, value_name = "DURATION", value_parser = span::session_timeout, default_value = "1m")]
    pub max_session_timeout: Duration,
}

/// How facts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}
