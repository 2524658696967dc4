//! The options of `contend` and `compare`.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::super::duration;
use super::super::options::{DisplayOptions, EnsembleOptions, OutputOptions, SharedOptions};
use super::plot_file::PlotFile;
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::MAX_CLIENTS;
use lockscope_lock::{Access, Algorithm, Naming};

const DEFAULT_ROUNDS: u32 = 100;
pub(super) const DEFAULT_LEASES: NonZeroU32 = NonZeroU32::new(2).expect("two is not zero");

/// The options of `lockscope contend`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Test clients")]
pub(in crate::cli) struct ContendOptions {
    /// Node of the lock; it and its parents are created when they are missing, and deleted at the
    /// end
    #[arg(long, value_name = "PATH")]
    pub path: ZnodePath,
    /// How the lock works
    #[arg(long, value_name = "NAME", default_value = "chain", value_parser = recipe())]
    pub recipe: Algorithm,
    /// Number of clients, 1 to 5000
    #[arg(long, value_name = "N", default_value = "10", value_parser = clients)]
    pub clients: u32,
    /// Acquisitions of each client
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROUNDS, value_parser = rounds_or_endless)]
    pub rounds: u32,
    /// Continue until ^C, or until --for has passed
    #[arg(long, conflicts_with = "rounds")]
    pub endless: bool,
    /// Stop after the clients have contended for this long, as in 90s or 5m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    pub stop_after: Option<Duration>,
    /// Percentage of requests that are for reading, with the shared recipes [default: 80]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub reads: Option<u8>,
    /// How many may hold the semaphore at once [default: 2]
    #[arg(long, value_name = "N", value_parser = leases)]
    pub leases: Option<NonZeroU32>,
    /// How the nodes are named: curator, kazoo, write-lock, session or named:NAME
    #[arg(long, value_name = "NAMING", default_value = "curator", value_parser = naming)]
    pub naming: Naming,
    #[command(flatten)]
    pub run: RunOptions,
}

/// The options of `lockscope compare`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Test clients")]
pub(in crate::cli) struct CompareOptions {
    /// The herd queues at PATH/herd, the chains at PATH/chain and PATH/chain-ahead; missing nodes
    /// are created, and deleted at the end
    #[arg(long, value_name = "PATH", default_value = "/lockscope")]
    pub path: ZnodePath,
    /// Numbers of clients, one run after the other
    #[arg(long, value_name = "N[,N...]", default_value = "2,5,10,25,50", value_delimiter = ',', value_parser = clients)]
    pub clients: Vec<u32>,
    /// Acquisitions of each client [default: 4, or more when that makes fewer than 400 in all]
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub rounds: Option<u32>,
    #[command(flatten)]
    pub run: RunOptions,
    /// Also write the figures as charts to a file that ends in .svg or .html, which is replaced if
    /// it is there; may be given more than once
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = PlotFile::parser())]
    pub plot: Vec<PlotFile>,
    /// Draw the printed charts with ASCII characters only
    #[arg(long, help_heading = "Output", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub ascii: Option<bool>,
}

impl CompareOptions {
    pub(in crate::cli) fn shared(&self) -> SharedOptions {
        let display = DisplayOptions { ascii: self.ascii, ..DisplayOptions::default() };
        SharedOptions { display, ..self.run.shared() }
    }
}

/// The options of both commands: the work of a test client, the output, and the ensemble.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Test clients")]
pub(in crate::cli) struct RunOptions {
    /// How long a client holds the lock
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse_or_none)]
    pub hold: Duration,
    /// Random variation of each hold, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    pub spread: u8,
    /// Delay of each client's connection, in each direction
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse_or_none)]
    pub link_delay: Duration,
    /// Seed of the random choices: the same seed gives the same holds and accesses [default:
    /// random, and printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl RunOptions {
    pub(in crate::cli) fn shared(&self) -> SharedOptions {
        let Self { output, ensemble, .. } = self.clone();
        SharedOptions { output, ensemble, ..SharedOptions::default() }
    }
}

/// Parses the built-in locks by name. For shared locks the access is chosen anew for each request.
fn recipe() -> impl TypedValueParser<Value = Algorithm> {
    let help = |name| match name {
        "mutex" => "One node at the path; the others watch it and try again",
        "mutex-parent" => "The same with a child of the path; the others watch the path's children",
        "herd" => "A queue in which every waiter watches the parent",
        "chain" => "A queue in which every waiter watches its predecessor",
        "chain-ahead" => "The same, and watches the one before it too: hands over in one round trip",
        "shared-herd" => "Readers together or one writer; every waiter watches the parent",
        "shared-chain" => "The same, each watching whom it waits for",
        _ => "Several holders at once, as many as there are leases",
    };
    PossibleValuesParser::new(Algorithm::NAMES.map(|name| PossibleValue::new(name).help(help(name))))
        .try_map(|name| Algorithm::named(&name, Access::Write, DEFAULT_LEASES).ok_or("there is no such lock"))
}

fn clients(text: &str) -> Result<u32, String> {
    let known = text.trim().parse().ok().filter(|clients| (1..=MAX_CLIENTS).contains(clients));
    known.ok_or_else(|| format!("give a number of clients from 1 to {MAX_CLIENTS}"))
}

fn rounds(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|rounds| *rounds > 0).ok_or_else(|| "give a number of rounds from 1 on".to_owned())
}

fn rounds_or_endless(text: &str) -> Result<u32, String> {
    rounds(text).map_err(|wrong| wrong + ", or --endless in its place")
}

fn leases(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "give a number of leases from 1 on".to_owned())
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    number.parse().ok().filter(|percent| *percent <= 100).ok_or_else(|| "give a percentage from 0 to 100".to_owned())
}

fn naming(text: &str) -> Result<Naming, String> {
    let known = Naming::named(text);
    known.ok_or_else(|| format!("there are {}", Naming::NAMES.join(", ")))
}
