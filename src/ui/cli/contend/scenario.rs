//! Builds the scenario from the options of `contend` and `compare`.

use std::time::Duration;

use super::super::resolved::once_each;
use super::options::{CompareOptions, ContendOptions, RunOptions};
use lockscope_lab::contend::{DEFAULT_SESSION_TIMEOUT, Scenario, ScenarioError};
use lockscope_lock::Algorithm;

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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::options::DEFAULT_LEASES;
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
            assert_eq!(contend(&format!("--recipe {name}")).expect("valid options").algorithm.name(), name);
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
