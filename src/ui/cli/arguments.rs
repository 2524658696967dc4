//! The command line: the single definition behind the help, the completions and the manual pages,
//! and the completions.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, ColorChoice, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use super::check::CheckOptions;
use super::contend::{CompareOptions, ContendOptions};
use super::delete::DeleteOptions;
use super::demo::{DemoOptions, SandboxOptions};
use super::find::FindOptions;
use super::history::{HistoryOptions, ReportCommand};
use super::import::ImportCommand;
use super::options::{
    ChangeOptions, ConfigFileOptions, DisplayOptions, EnsembleOptions, Format, PastOptions, ReadOptions, SharedOptions,
    WhichLocks,
};
use super::output::{ExitAnswer, print};
use super::print_config::RecipesOptions;
use super::record::RecordCommand;
use super::recorded::{CutCommand, ReplayCommand};
use super::snapshot::{MembersOptions, SnapshotOptions};
use super::store_check::StoreCommand;
use super::tree::TreeOptions;
use super::watch::WatchOptions;
use lockscope_live::FEATURES;

#[cfg(test)]
mod tests;

/// The sources of settings, and their precedence.
pub(super) const PRECEDENCE: &str = "\
The options of the screen may also precede a command that takes them. Options override the environment, the \
environment overrides the config file, and a context in that file overrides the settings at its top. The file is \
$XDG_CONFIG_HOME/lockscope/config.toml, or ~/.config/lockscope/config.toml when that variable is not set. Its keys are \
the names of the options without the dashes.";

/// The environment variables, their meanings, and an option of the commands that read them.
pub(super) const ENVIRONMENT: [(&str, &str, &str); 9] = [
    ("LOCKSCOPE_CONTEXT", "same as --context", "context"),
    ("ZOOKEEPER_CONNECT", "same as --connect", "connect"),
    ("LOCKSCOPE_AUTH_FILE", "same as --auth-file", "auth_file"),
    ("LOCKSCOPE_AUTH", "the lines of an auth file themselves; overrides LOCKSCOPE_AUTH_FILE", "auth_file"),
    ("LOCKSCOPE_LOG", "filter for --log-file, such as debug or lockscope=trace; info when not set", "log_file"),
    (
        "LOCKSCOPE_READ_MEMORY",
        "the most memory for reading a recording, as in 2GiB; 256MiB when not set, and at least that",
        "store",
    ),
    ("NO_COLOR", "when set, neither the screen nor what is printed has colours", "color"),
    ("CLICOLOR_FORCE", "when set and not 0, what is printed has colours without a terminal, too", "color"),
    ("PAGER", "what shows help that is longer than the terminal; less when not set, nothing when empty", "help"),
];

/// The exit codes and their meanings.
pub(super) const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "done"),
    ("1", "done, and the answer is no"),
    ("2", "failed: usage, connection, permission"),
    ("75", "record had to end, and may work when started again: the ensemble refuses it, or the disk is full"),
    ("128+N", "a second signal N came while contend or compare was ending: 130 for ^C"),
];

/// The version, and each feature with the sign + where it is in.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let features = FEATURES.map(|(name, is_in)| format!(" {}{name}", if is_in { '+' } else { '-' }));
    format!("{}\nfeatures:{}", env!("CARGO_PKG_VERSION"), features.concat())
});

/// Returns the end of the long help.
fn epilogue() -> String {
    let list = |items: &[(&str, &str)]| {
        let lines: Vec<String> = items.iter().map(|(name, meaning)| format!("  {name:<21}  {meaning}")).collect();
        lines.join("\n")
    };
    let environment = ENVIRONMENT.map(|(name, meaning, _)| (name, meaning));
    format!("{PRECEDENCE}\n\nEnvironment:\n{}\n\nExit codes:\n{}", list(&environment), list(&EXIT_CODES))
}

/// Watch the locks that applications keep in Apache ZooKeeper
///
/// Finds every lock below the given roots, shows its holder and the chain of its waiters, and
/// follows it live. Without a command it opens the screen; snapshot, watch and check print the same
/// facts. None of these changes anything in the ensemble, except that --write allows the screen to.
/// contend and compare run test clients, which create and delete their own nodes below a given
/// path; delete deletes one node, or empty lock parents. `lockscope demo` shows everything on its own ZooKeeper.
#[derive(Debug, Parser)]
#[command(name = "lockscope", version, long_version = LONG_VERSION.as_str(), after_long_help = epilogue(), disable_help_subcommand = true)]
pub struct Arguments {
    #[command(flatten)]
    locks: WhichLocks,
    #[command(flatten)]
    display: DisplayOptions,
    #[command(flatten)]
    changes: ChangeOptions,
    #[command(flatten)]
    past: PastOptions,
    #[command(flatten)]
    pub(super) ensemble: EnsembleOptions,
    /// Print every mistake in the config file and exit: with 2 when there is one, with 0 when there
    /// is none
    #[arg(long, help_heading = "General")]
    pub(super) config_check: bool,
    /// When to print colours; never also takes them from the screen [default: auto]
    #[arg(long, value_name = "WHEN", global = true, help_heading = "General")]
    color: Option<ColorChoice>,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

/// The command that runs instead of the screen.
#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// Print every lock once and exit
    ///
    /// Reads everything below the roots and prints it: a table for people, or one JSON object for
    /// programs.
    Snapshot(SnapshotOptions),
    /// Find locks, holders and waiters by any part of them, in one ensemble or all
    ///
    /// Reads everything below the roots once and prints each lock whose path contains the text, and each contender
    /// whose node, session, name, address or data does, in upper or lower case: at most 10,000. With --all-contexts,
    /// searches every ensemble of the config file; with --store, recordings. Exits with 1 when nothing was found, and
    /// with 2 when an ensemble could not be reached.
    Find(FindOptions),
    /// Compare the members of the ensemble
    ///
    /// Asks every member about itself, and reads the parents of the locks below the roots on each member of --connect,
    /// after a sync: nodes that one member has and the others have not are named once a second and a third reading show
    /// them again. Sets no watch. Exits with 1 when the members differ or one does not answer.
    Members(MembersOptions),
    /// Find out what a console may see here, and what to add for the rest
    ///
    /// Opens a session and reads everything below the roots once, as the screen does, and asks each member every question by
    /// four-letter words and by AdminServer. Prints what is seen, and for each thing that is not the line to add: to zoo.cfg,
    /// in ZooKeeper's shell, on the command line. In a setAcl line ENTRIES stands for what getAcl prints, and HASH for the
    /// hash of your password. Changes nothing. Exits with 0 when nothing is lacking, with 1 when something is not seen, and
    /// with 2 when there is no session.
    Doctor(ReadOptions),
    /// Print one node and its children, whether it is a lock or not
    ///
    /// Lists all children with one request and reads their stats little by little, at most 640 a second, so that a busy
    /// server hardly notices. Says how many were left out beyond --limit. Sets no watch and changes nothing.
    Tree(TreeOptions),
    /// Print what happens to the locks, line by line
    ///
    /// First prints a line for each lock, then a line for each change: enqueued, acquired, gone
    /// (released by its client or deleted by another, because ZooKeeper does not say which; in JSON
    /// released or left), expired. Reports a lost connection and continues, until it is interrupted
    /// or --for has passed. Names unreadable nodes on stderr. Exits with 2 when a whole root cannot
    /// be read.
    Watch(WatchOptions),
    /// Print which locks are stuck and why, for monitoring
    ///
    /// Reads the locks and asks the servers for a few seconds, because only time tells most findings from a normal
    /// hand-over. Then prints the findings, the worst first. Exits with 1 when a finding is at least as severe as
    /// --fail-on or a part of the tree could not be read, and with 2 when a whole root could not be read. With --nagios,
    /// prints one line with performance data and exits with the codes of a monitoring plugin.
    Check(CheckOptions),
    /// Record what happens to the locks, to look at it afterwards; serve metrics, send traces
    ///
    /// With --store, records every change and every report of the servers until it is interrupted. Continues an existing
    /// recording. Records a gap for the time in which it saw nothing. snapshot, watch and check read the file with
    /// --store, even while it is recorded. With or without a file, serves metrics for Prometheus with --metrics, and sends
    /// waits and holds as spans to an OpenTelemetry collector with --otlp. On SIGHUP, reads the config file again. The
    /// first line of output is a JSON object with the name of the file, the address of the metrics and the collector. Where
    /// the file is moved, removed or written by others, says so and goes on in a new one; exits with 1 when a part of the
    /// recording is lost by that, and with 2 when another program records into the file.
    Record(RecordCommand),
    /// Show a recording on the screen, at any moment of it
    ///
    /// Shows the same screens as for an ensemble, but sends no request. A bar at the bottom shows
    /// when how much happened, the findings, and the gaps of the recording. ] and [ go to the next
    /// and the previous event, } and { a minute forward and back, ) and ( to the next and the
    /// previous finding; P plays, > and < change the speed, :at 02:13 goes to a time.
    Replay(ReplayCommand),
    /// Let test clients contend for a lock, and print what it cost
    ///
    /// Each client has its own session and connection. ^C, SIGTERM, SIGHUP and a closed pipe end
    /// the run early: the clients leave, their nodes are deleted, and the figures so far are
    /// printed. A second signal ends the program at once; nodes that are left then go when their
    /// sessions expire. On a terminal, progress is shown on stderr. Exits with 1 when the lock was
    /// violated or nodes were left behind, and with 2 when no client acquired it or the servers
    /// were lost for longer than --timeout.
    Contend(ContendOptions),
    /// Compare a herd with a chain at several numbers of clients
    ///
    /// Runs one fleet of test clients after the other: at each number of clients a herd (every
    /// waiter watches the parent) and a chain (each waiter watches its predecessor). Prints a table
    /// and two plots, or one JSON object. It ends early as contend does.
    Compare(CompareOptions),
    /// Show what lockscope can do: a guided tour, with nothing to install
    ///
    /// Opens the screen on a ZooKeeper in memory, lets test clients contend there, and explains in
    /// eight scenes what you see: n goes to the next step, b back, P plays the whole tour, and all
    /// other keys work as usual. With --connect, the tour runs on that ensemble below its own node,
    /// /lockscope-demo-..., which it removes at its end.
    Demo(DemoOptions),
    /// Delete a contender or an empty lock parent, if it is still the one that was seen
    ///
    /// Shows the node, its owner and whether the owner is alive, the next holder, the risks, and
    /// the guard of the deletion; then asks, unless --yes is given. Checks again right before the
    /// deletion: if the node changed hands or acquired the lock meanwhile, or its owner came back,
    /// nothing is deleted. Writes intent and outcome to the audit log; without it nothing is
    /// deleted. Exits with 0 when the node was deleted, with 1 when nothing was deleted, and with 2
    /// when the deletion failed or its outcome is unknown.
    ///
    /// With --empty-parents, finds the lock parents below a node that have been empty for longer than --older-than, and
    /// deletes one after the other in the same way, at most 10,000. Prints how many are left and why.
    Delete(DeleteOptions),
    /// Print the holds and waits of a recording: whose, when, how long, and how they ended
    ///
    /// Lists the holds and waits of a file that `lockscope record` wrote, with percentiles of their
    /// lengths; --top ranks locks and clients. An end is called gone when the client released the
    /// lock or another deleted the node: ZooKeeper does not say which. For an event that was not
    /// seen, prints the times between which it happened, and when and why nothing was seen.
    History(HistoryOptions),
    /// Write an incident of a recording as one page to hand over, or as a trace
    ///
    /// The page names the stuck locks with their causes, and draws holders and waiters over time.
    /// It needs no other file and no scripts. The trace is for Perfetto (ui.perfetto.dev) and
    /// Chrome. With very many contenders, both show those that held or waited longest, and say how
    /// many are left out.
    Report(ReportCommand),
    /// Make a recording of the transaction logs of servers, for a time that nobody recorded
    ///
    /// Reads the transaction logs and snapshots that a server keeps below its dataDir, also from a
    /// copy, also while the server writes them. Writes a new recording, which replay, history,
    /// report and every command with --store can read. It has the leader's times, and says for
    /// certain how each contender ended: its client released it, its session expired or was closed,
    /// or another session deleted its node. Missing transactions and damaged parts are named, and
    /// missing ones become gaps. The file must not exist yet, and is written as a whole or not at
    /// all.
    Import(ImportCommand),
    /// Cut a part out of a recording, as a file to hand to somebody
    ///
    /// Writes a new recording, which replay, history, report and every command with --store can
    /// read. It holds only what was known between --from and --to: the queues, since when each
    /// contender was there, and what happened. Gaps stay gaps; damaged parts are named and become
    /// gaps. The file must not exist yet, and is written as a whole or not at all. The source may
    /// be recorded meanwhile.
    Cut(CutCommand),
    /// Look after the file of a recording
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Serve a ZooKeeper of one server from memory, for demos and tests
    ///
    /// Any ZooKeeper client on this machine can connect. The first line of output is a JSON object
    /// with the address. Serves until it is interrupted, and keeps nothing: never use it in place
    /// of a real ensemble.
    Sandbox(SandboxOptions),
    /// Print the contexts of the config file: its named ensembles
    Contexts(ConfigFileOptions),
    /// Print the recipes that classify nodes by their names, in the format of the config file
    ///
    /// With --try, prints how one node is classified, and why. Sends no request, so the nodes
    /// around it do not count. Exits with 1 when that node is no contender.
    Recipes(RecipesOptions),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    ///
    /// The page is roff, which `man -l FILE` shows.
    Man {
        /// Write a page for each command into this directory instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

impl Arguments {
    /// Splits the arguments into the options of the screen, which may also precede a command that
    /// takes them, and the command.
    pub(super) fn split(self) -> (SharedOptions, Option<CliCommand>) {
        let Self { locks, display, changes, past, ensemble, command, config_check: _, color: _ } = self;
        (SharedOptions { locks, display, changes, past, ensemble, ..SharedOptions::default() }, command)
    }

    /// Parses the words of a command line, the program's name first. Options may precede a command;
    /// they are refused there as they would be behind it when the command does not take them.
    pub fn from_words<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let mut definition = Self::command();
        let parsed = definition.try_get_matches_from_mut(&words).and_then(|matches| {
            if let Some(refusal) = foreign_option(&definition, &matches)
                .or_else(|| conflicting_option(&definition, &matches))
                .or_else(|| conflicting_formats(&definition, &matches))
            {
                return Err(refusal);
            }
            Self::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
        });
        parsed.map_err(|mut error| {
            // Some refusals contain no usage, and so do not name the command.
            let command = words.iter().skip(1).find_map(|word| definition.find_subcommand(word));
            let name =
                command.map_or_else(|| "lockscope".to_owned(), |command| format!("lockscope {}", command.get_name()));
            error.insert(ContextKind::Custom, ContextValue::String(name));
            error
        })
    }
}

/// Returns the command that is given, and what stands behind it.
fn innermost<'a>(
    definition: &'a clap::Command,
    matches: &'a ArgMatches,
) -> Option<(&'a clap::Command, &'a ArgMatches)> {
    let (name, behind) = matches.subcommand()?;
    let command = definition.find_subcommand(name)?;
    innermost(command, behind).or(Some((command, behind)))
}

/// Returns the refusal of the first option that precedes a command that does not take it.
fn foreign_option(definition: &clap::Command, matches: &ArgMatches) -> Option<clap::Error> {
    let (command, _) = innermost(definition, matches)?;
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let takes = |id: &clap::Id| command.get_arguments().any(|option| option.get_id() == id);
    let foreign =
        definition.get_arguments().find(|option| is_given(option.get_id().as_str()) && !takes(option.get_id()))?;
    let name = format!("--{}", foreign.get_long()?);
    let mut refusal = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    refusal.insert(ContextKind::InvalidArg, ContextValue::String(name));
    Some(refusal)
}

/// Returns the refusal of the first option before a command that contradicts one behind it.
fn conflicting_option(definition: &clap::Command, matches: &ArgMatches) -> Option<clap::Error> {
    let (command, behind) = innermost(definition, matches)?;
    let is_given = |matches: &ArgMatches, id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let given = command.get_arguments().filter(|option| is_given(behind, option.get_id().as_str()));
    let (option, before) = given
        .flat_map(|option| command.get_arg_conflicts_with(option).into_iter().map(move |other| (option, other)))
        .find(|(_, other)| {
            let id = other.get_id().as_str();
            definition.get_arguments().any(|own| own.get_id() == id) && is_given(matches, id)
        })?;
    Some(conflict(command, &option.to_string(), &before.to_string()))
}

/// Returns the refusal of `--json` beside another format.
fn conflicting_formats(definition: &clap::Command, matches: &ArgMatches) -> Option<clap::Error> {
    let (command, behind) = innermost(definition, matches)?;
    let json = *behind.try_get_one::<bool>("json").ok()??;
    let format = *behind.try_get_one::<Format>("format").ok()??;
    (json && format != Format::Json).then(|| conflict(command, "--json", "--format <FORMAT>"))
}

fn conflict(command: &clap::Command, option: &str, before: &str) -> clap::Error {
    let mut refusal = clap::Error::new(ErrorKind::ArgumentConflict).with_cmd(command);
    refusal.insert(ContextKind::InvalidArg, ContextValue::String(option.to_owned()));
    refusal.insert(ContextKind::PriorArg, ContextValue::String(before.to_owned()));
    refusal
}

/// Prints the completions for a shell.
pub fn completions(shell: Shell, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    // The generator panics when it cannot write, so it must not write to a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), "lockscope", &mut text);
    print(out, |out| out.write_all(&text))?;
    Ok(ExitAnswer::Yes)
}

/// Returns the whole definition, with what commands inherit.
pub(super) fn definition() -> Command {
    let mut command = Arguments::command();
    command.build();
    command
}
