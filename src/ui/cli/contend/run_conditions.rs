//! The conditions of a comparison, as a plot shows them.

use std::time::Duration;

use tokio::time::timeout;

use super::figures::clients;
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{Comparison, FleetOptions, Scenario};
use lockscope_live::zk::Dialer;
use lockscope_live::zk::four_letter::Word;
use lockscope_model::server_view::four_letter::srvr;
use lockscope_model::text::human::{count, date_and_time, latency};

/// How long to wait for the versions of the servers.
const MAX_VERSION_WAIT: Duration = Duration::from_secs(2);

/// The conditions of a comparison that its result does not contain.
#[derive(Clone, Debug)]
pub(super) struct RunConditions {
    /// The start of the comparison, by this machine's clock.
    pub started: Timestamp,
    /// Whether times are written in UTC.
    pub utc: bool,
    /// The versions of the servers, in their notation; empty when unknown.
    pub versions: Vec<String>,
    /// The settings shared by all fleets.
    pub scenario: Scenario,
    /// The requested numbers of clients.
    pub sizes: Vec<u32>,
}

/// Returns the distinct versions of the servers; empty when they are not asked or do not answer
/// soon.
pub(super) async fn server_versions(fleet: &FleetOptions) -> Vec<String> {
    let asked = async {
        let dialer = Dialer::new(&fleet.connection).await.ok()?;
        Some(dialer.ask_each(Word::Srvr).await)
    };
    let answers = if fleet.asks_servers { timeout(MAX_VERSION_WAIT, asked).await.ok().flatten() } else { None };
    let answers = answers.into_iter().flatten().filter_map(|(_, answer)| answer.ok());
    let mut versions: Vec<String> =
        answers.filter_map(|answer| srvr(&answer.text).version).map(|version| short(&version)).collect();
    versions.sort();
    versions.dedup();
    versions
}

/// Returns `3.9.3` of `3.9.3-c26634f34490bb0ea7a09cc51e05ede3b4e320ee, built on 2024-10-17`.
fn short(version: &str) -> String {
    let end = version.find([',', '-']).unwrap_or(version.len());
    version[..end].to_owned()
}

/// Returns the conditions with their names.
pub(super) fn named(comparison: &Comparison, conditions: &RunConditions) -> Vec<(String, String)> {
    let RunConditions { started, utc, versions, scenario, sizes } = conditions;
    let spread =
        if scenario.spread == 0 { String::new() } else { format!(", {} % longer or shorter", scenario.spread) };
    let time = |time: Duration| humantime::format_duration(time).to_string();
    let servers = match versions.as_slice() {
        [] => "version not known".to_owned(),
        versions => versions.iter().map(|version| format!("ZooKeeper {version}")).collect::<Vec<_>>().join(", "),
    };
    let rounds = scenario.rounds.map_or_else(
        || "each client at least 4, each fleet at least 400".to_owned(),
        |rounds| format!("each client {}", count(rounds)),
    );
    let times = comparison.runs.iter().map(|run| {
        let whole: Duration = run.outcomes().map(|outcome| outcome.elapsed).sum();
        format!("{} in {}", clients(run.clients), latency(whole))
    });
    let times: Vec<String> = times.collect();
    let ended = if comparison.interrupted { "interrupted before all runs were made" } else { "all runs were made" };
    [
        ("Started", date_and_time(*started, *utc)),
        ("Servers", servers),
        ("Parent of the locks", scenario.path.to_string()),
        ("Numbers of clients", list(sizes)),
        ("Acquisitions", rounds),
        ("Hold", time(scenario.hold) + &spread),
        ("Link delay", format!("{} each way", time(scenario.link_delay))),
        ("Session timeout", time(scenario.session_timeout)),
        ("Seed", scenario.seed.to_string()),
        ("Time", if times.is_empty() { "none".to_owned() } else { times.join("; ") }),
        ("End", ended.to_owned()),
        ("Made by", concat!("lockscope ", env!("CARGO_PKG_VERSION"), " compare").to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

pub(super) fn list(sizes: &[u32]) -> String {
    sizes.iter().map(|size| count(*size)).collect::<Vec<_>>().join(", ")
}
