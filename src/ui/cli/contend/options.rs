//! The options of `contend` and `compare`, the scenario that they ask for, and the files of
//! `compare --plot`: their format, and how they are written.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};

use super::super::options;
use super::super::options::{DisplayOptions, EnsembleOptions, OutputOptions, SharedOptions};
use super::super::resolved::once_each;
use lockscope_base::znode::ZnodePath;
use lockscope_files as files;
use lockscope_lab::contend::{DEFAULT_SESSION_TIMEOUT, MAX_CLIENTS, Scenario, ScenarioError};
use lockscope_lab::plot;
use lockscope_lab::plot::PlotPage;
use lockscope_lock::{Access, Algorithm, Naming};

const DEFAULT_ROUNDS: u32 = 100;

const DEFAULT_LEASES: NonZeroU32 = NonZeroU32::new(2).expect("two is not zero");

/// The options of `lockscope contend`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Test clients")]
pub struct ContendOptions {
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
    #[arg(long = "for", value_name = "DURATION", value_parser = options::parse_duration)]
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
pub struct CompareOptions {
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
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = options::parse_duration_or_none)]
    pub hold: Duration,
    /// Random variation of each hold, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    pub spread: u8,
    /// Delay of each client's connection, in each direction
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = options::parse_duration_or_none)]
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
    PossibleValuesParser::new(Algorithm::NAMES.iter().map(|name| PossibleValue::new(*name).help(help(name))))
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

const DEFAULT_READS: u8 = 80;

/// Why the options form no valid scenario. Each message is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum BadScenario {
    #[error(
        "--reads is for the recipes shared-herd and shared-chain: leave it out, or choose one of them with --recipe"
    )]
    Reads,
    #[error("--leases is for the recipe semaphore: leave it out, or choose that one with --recipe")]
    Leases,
    /// No session survives a connection with this delay in each direction.
    #[error(
        "a connection that delays by {} each way keeps no session of {} alive: give a shorter --link-delay or a longer \
         --session-timeout",
        humantime::format_duration(*delay), humantime::format_duration(*timeout)
    )]
    Delay { delay: Duration, timeout: Duration },
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl ContendOptions {
    /// Returns the scenario; `session_timeout` is the timeout requested by the settings.
    pub(super) fn scenario(&self, session_timeout: Option<Duration>) -> Result<Scenario, BadScenario> {
        let is_shared = self.recipe.access().is_some();
        if self.reads.is_some() && !is_shared {
            return Err(BadScenario::Reads);
        }
        let algorithm = match (self.recipe, self.leases) {
            (Algorithm::Semaphore(_), Some(leases)) => Algorithm::Semaphore(leases),
            (_, Some(_)) => return Err(BadScenario::Leases),
            (recipe, None) => recipe,
        };
        let default = Scenario::new(algorithm, self.path.clone(), self.clients);
        self.run.apply(
            Scenario {
                naming: self.naming.clone(),
                rounds: (!self.endless).then_some(self.rounds),
                reads: if is_shared { self.reads.unwrap_or(DEFAULT_READS) } else { 0 },
                ..default
            },
            session_timeout,
        )
    }
}

impl CompareOptions {
    /// Returns the part of the scenario shared by herds and chains.
    pub(super) fn scenario(&self, session_timeout: Option<Duration>) -> Result<Scenario, BadScenario> {
        let default = Scenario::new(Algorithm::Herd, self.path.clone(), self.clients.first().copied().unwrap_or(0));
        self.run.apply(Scenario { rounds: self.rounds, ..default }, session_timeout)
    }

    /// Returns the distinct sizes, in the order given.
    pub(super) fn sizes(&self) -> Vec<u32> {
        once_each(self.clients.clone())
    }
}

impl RunOptions {
    fn apply(&self, scenario: Scenario, session_timeout: Option<Duration>) -> Result<Scenario, BadScenario> {
        let (timeout, delay) = (session_timeout.unwrap_or(DEFAULT_SESSION_TIMEOUT), self.link_delay);
        // A heartbeat and its answer each pass the link once.
        if delay >= timeout / 2 {
            return Err(BadScenario::Delay { delay, timeout });
        }
        let scenario = Scenario {
            hold: self.hold,
            spread: self.spread,
            session_timeout: timeout,
            link_delay: delay,
            // Short enough to type again.
            seed: self.seed.unwrap_or_else(|| fastrand::u32(..).into()),
            ..scenario
        };
        scenario.check()?;
        Ok(scenario)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct PlotFile {
    path: PathBuf,
    format: PlotFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlotFormat {
    Svg,
    Html,
}

impl PlotFile {
    /// Returns a parser of paths whose extension names a format.
    fn parser() -> impl TypedValueParser<Value = Self> {
        PathBufValueParser::new().try_map(|path| {
            let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            let format = match extension.as_deref() {
                Some("svg") => PlotFormat::Svg,
                Some("html") => PlotFormat::Html,
                _ => return Err("name a file that ends in .svg or in .html"),
            };
            Ok(Self { path, format })
        })
    }

    /// Checks that the file can be written; leaves nothing behind.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        files::can_replace(&self.path).map_err(|error| self.refusal(&error))
    }

    /// Writes the file, or leaves the old one.
    pub(super) fn write(&self, page: &PlotPage) -> anyhow::Result<()> {
        let text = match self.format {
            PlotFormat::Svg => plot::svg(page),
            PlotFormat::Html => plot::html(page),
        };
        files::replace(&self.path, text.as_bytes()).map_err(|error| self.refusal(&error))
    }

    fn refusal(&self, error: &files::FileError) -> anyhow::Error {
        anyhow!("cannot write the plot to {}: {error}; name another file with --plot", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use lockscope_base::znode::ZnodePath;
    use lockscope_lock::{Access, Naming};

    /// A parser for the options alone.
    #[derive(Debug, Parser)]
    struct Contend {
        #[command(flatten)]
        options: ContendOptions,
    }

    #[derive(Debug, Parser)]
    struct Compare {
        #[command(flatten)]
        options: CompareOptions,
    }

    fn contend(arguments: &str) -> Result<Scenario, String> {
        let arguments = format!("contend --path /lock {arguments}");
        let parsed = Contend::try_parse_from(arguments.split_whitespace()).map_err(|error| error.to_string())?;
        parsed.options.scenario(None).map_err(|error| error.to_string())
    }

    fn compare(arguments: &str) -> CompareOptions {
        Compare::try_parse_from(format!("compare {arguments}").split_whitespace()).expect("valid options").options
    }

    #[test]
    fn every_built_in_lock_can_be_chosen_by_its_name() {
        for name in Algorithm::NAMES {
            assert_eq!(contend(&format!("--recipe {name}")).expect("valid options").algorithm.name(), *name);
        }
    }

    #[test]
    fn defaults_are_those_that_the_help_names() {
        let plain = contend("").expect("valid options");
        let path = ZnodePath::new("/lock").expect("a path");
        let expected = Scenario { rounds: Some(100), seed: plain.seed, ..Scenario::new(Algorithm::Chain, path, 10) };
        assert_eq!(plain, expected);
        assert_eq!(contend("--endless").expect("valid options").rounds, None);
        assert_eq!(contend("--recipe shared-chain").expect("valid options").reads, 80);
        let semaphore = contend("--recipe semaphore").expect("valid options").algorithm;
        assert_eq!(semaphore, Algorithm::Semaphore(DEFAULT_LEASES));
        assert_eq!(compare("").sizes(), [2, 5, 10, 25, 50]);
        assert_eq!(compare("").path.as_str(), "/lockscope");
    }

    #[test]
    fn every_option_goes_into_the_scenario() {
        let given = contend(
            "--recipe shared-herd --clients 3 --rounds 7 --hold 20ms --spread 50% --reads 10 --naming kazoo \
             --link-delay 5ms --seed 18446744073709551615",
        )
        .expect("valid options");
        let path = ZnodePath::new("/lock").expect("a path");
        let expected = Scenario {
            naming: Naming::Kazoo,
            rounds: Some(7),
            hold: Duration::from_millis(20),
            spread: 50,
            reads: 10,
            link_delay: Duration::from_millis(5),
            seed: u64::MAX,
            ..Scenario::new(Algorithm::SharedHerd(Access::Write), path, 3)
        };
        assert_eq!(given, expected);
        assert_eq!(compare("--clients 9,3,9,1").sizes(), [9, 3, 1]);
        let other = compare("--path /x --rounds 5").scenario(Some(Duration::from_secs(3))).expect("valid options");
        assert_eq!((other.rounds, other.session_timeout), (Some(5), Duration::from_secs(3)));
    }

    #[test]
    fn options_that_do_not_go_together_are_refused_with_ones_that_do() {
        for (wrong, part) in [
            ("--reads 50", "shared-herd"),
            ("--leases 3", "recipe semaphore"),
            ("--recipe semaphore --leases 0", "from 1 on"),
            ("--rounds 0", "--endless"),
            ("--rounds 5 --endless", "--endless"),
            ("--clients 0", "1 to 5000"),
            ("--clients 5001", "1 to 5000"),
            ("--spread 101", "0 to 100"),
            ("--recipe shared-herd --reads 300", "0 to 100"),
            ("--naming go", "write-lock"),
            ("--naming named:", "named:NAME"),
            ("--naming kazoo --recipe semaphore", "Curator"),
            ("--link-delay 8s", "--session-timeout"),
            ("--hold soon", "90s"),
            ("--recipe spin", "mutex-parent"),
            ("--path /", "root"),
        ] {
            let wrong = if wrong.starts_with("--path") {
                Contend::try_parse_from(["contend", "--path", "/"])
                    .expect("a path")
                    .options
                    .scenario(None)
                    .map_err(|error| error.to_string())
            } else {
                contend(wrong)
            };
            let sentence = wrong.expect_err("it is wrong");
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}
