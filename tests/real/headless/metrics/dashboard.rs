//! Every panel of the dashboard and every alert, evaluated against scrapes of one context and of
//! several, with the variables replaced as Grafana replaces them.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::fs;

use serde_json::Value;
use zookeeper_client::{Client, CreateMode, OneshotWatcher};

use super::fixture::{STUCK_AFTER, comes, comes_as, goes, waits};
use crate::harness::prometheus::{Prometheus, asset};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope};

/// The alerts whose expressions have results while the servers run. Three others have them at the
/// end. The rest is tested by `alerts.test.yml` alone: `LockHolderGone`, `LockWaitLong` (minutes),
/// `ElectionWithTwoLeaders`, `LockscopeFileGone`.
const STAGED: [&str; 7] = [
    "LockStuck",
    "LockDeadlock",
    "LockOrphan",
    "LockHeldLong",
    "LockTreeUnsound",
    "ElectionWithoutLeader",
    "ElectionUnsteady",
];

const LOCKS: [&str; 9] = [
    "/locks/a",
    "/locks/b",
    "/locks/busy",
    "/locks/elect",
    "/locks/foreign",
    "/locks/held",
    "/locks/leaderless",
    "/locks/own",
    "/locks/stuck",
];

/// What `/locks/held` and the elections do not keep.
const EXPECTED: &str = "
[[expect]]
path = '/locks/held'
held-at-most = '1s'
[[expect]]
path = '/locks/elect'
candidates = 3
[[expect]]
path = '/locks/leaderless'
leader-within = '1s'
";

/// An ensemble with trouble, and with a lock that is handed on.
struct Trouble {
    server: Server,
    clients: Vec<Client>,
    /// The contenders of the lock that is handed on: client and node.
    busy: VecDeque<(usize, String)>,
    _watches: Vec<OneshotWatcher>,
}

impl Trouble {
    async fn start() -> Self {
        let server = Server::start();
        let mut clients = Vec::new();
        for _ in 0..4 {
            clients.push(zk::connect(&server.connect_string()).await);
        }
        zk::make(&clients[0], LOCKS.map(str::to_owned)).await;
        let [one, two] = [&clients[0], &clients[1]];
        comes(one, "/locks/held").await;
        comes(one, "/locks/elect").await;
        goes(one, &comes(one, "/locks/leaderless").await).await;
        comes(one, "/locks/foreign").await;
        let mode = CreateMode::EphemeralSequential;
        one.create("/locks/foreign/member-", b"", &zk::open(mode)).await.expect("it is created");
        comes_as(one, "/locks/own", CreateMode::PersistentSequential).await;
        let (a, b) = (comes(one, "/locks/a").await, comes(two, "/locks/b").await);
        let stuck = comes(&clients[2], "/locks/stuck").await;
        let watches = vec![
            waits(one, "/locks/b", &b).await,
            waits(two, "/locks/a", &a).await,
            waits(&clients[3], "/locks/stuck", &stuck).await,
        ];
        let mut busy = VecDeque::new();
        for client in [2, 3] {
            busy.push_back((client, comes(&clients[client], "/locks/busy").await));
        }
        Self { server, clients, busy, _watches: watches }
    }

    /// The holder releases, and queues again.
    async fn hand_on(&mut self) {
        let (client, node) = self.busy.pop_front().expect("two contenders");
        goes(&self.clients[client], &node).await;
        self.busy.push_back((client, comes(&self.clients[client], "/locks/busy").await));
    }
}

/// A Prometheus that scrapes a recorder of these ensembles.
struct Scraped {
    troubles: Vec<Trouble>,
    prometheus: Prometheus,
    recorder: Running,
    _folder: tempfile::TempDir,
}

impl Scraped {
    /// Records one ensemble, or for several the contexts `one`, `other` and so on.
    async fn start(contexts: &[&str]) -> Self {
        let mut troubles = vec![Trouble::start().await];
        for _ in contexts.iter().skip(1) {
            troubles.push(Trouble::start().await);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut text = EXPECTED.to_owned();
        for (context, trouble) in contexts.iter().zip(&troubles) {
            let _ = write!(text, "[context.\"{context}\"]\nconnect = '{}'\n", trouble.server.connect_string());
        }
        fs::write(path("config.toml"), text).expect("written");
        let connect = troubles[0].server.connect_string();
        let (config, store) = (path("config.toml"), path("store"));
        let mut arguments = vec!["record", "--config", &config, "--metrics", "0", "--stuck-after", STUCK_AFTER];
        match contexts {
            [] => arguments.extend(["--connect", &connect, "--store", &store]),
            _ => arguments.extend(["--all-contexts", "--store", &store]),
        }
        let mut recorder = Running::start(lockscope(&arguments));
        let address = loop {
            let line: Value = serde_json::from_str(&recorder.line().await.expect("a line")).expect("JSON");
            if let Some(address) = line["metrics"].as_str() {
                break address.to_owned();
            }
        };
        let config = format!(
            "rule_files: ['{}']\nscrape_configs: [{{job_name: lockscope, static_configs: [{{targets: ['{address}']}}]}}]\n",
            asset("alerts.yml")
        );
        let prometheus = Prometheus::start(&config).await;
        let scraped = Self { troubles, prometheus, recorder, _folder: folder };
        scraped.count("lockscope_up == 1", scraped.troubles.len()).await;
        scraped
    }

    /// Stops the servers and then the recorder. Waits for the results of the alerts about them.
    async fn ends(mut self) {
        let rules = self.prometheus.api("rules");
        let query = |name: &str| {
            let rules = rules["groups"][0]["rules"].as_array().expect("rules").iter();
            let query = rules.clone().find(|rule| rule["name"] == name).and_then(|rule| rule["query"].as_str());
            query.unwrap_or_else(|| panic!("no alert {name}")).to_owned()
        };
        for trouble in &mut self.troubles {
            trouble.server.stop();
        }
        for name in ["EnsembleServerMissing", "LockscopeBlind"] {
            self.count(&query(name), self.troubles.len()).await;
        }
        self.recorder.signal("TERM");
        self.count(&query("LockscopeDown"), 1).await;
    }

    /// Waits until an expression has as many results.
    async fn count(&self, expression: &str, count: usize) {
        eventually(expression, async || {
            let found = self.prometheus.query(expression);
            if found.len() == count { Ok(()) } else { Err(found) }
        })
        .await;
    }

    /// Waits until an expression has a result that can be drawn, while locks are handed on.
    async fn shows(&mut self, what: &str, expression: &str) -> Vec<(Value, String)> {
        let Self { troubles, prometheus, .. } = self;
        eventually(&format!("{what}: {expression}"), async || {
            for trouble in &mut *troubles {
                trouble.hand_on().await;
            }
            let found = prometheus.query(expression);
            let is_shown = found.iter().any(|(_, value)| value.parse().is_ok_and(f64::is_finite));
            if is_shown { Ok(found) } else { Err(found) }
        })
        .await
    }
}

/// Writes the chosen values of a variable with several values, as Grafana does within `=~"…"`.
fn chosen(values: &[&str]) -> String {
    let escaped = |value: &&str| {
        let special = |char: char| "\\^$*+?.()|[]{}'".contains(char);
        value.chars().map(|char| if special(char) { format!("\\\\{char}") } else { char.to_string() }).collect()
    };
    let all: Vec<String> = values.iter().map(escaped).collect();
    if let [only] = &all[..] { only.clone() } else { format!("({})", all.join("|")) }
}

fn filled(expression: &str, context: &str, ensemble: &str) -> String {
    let filled = expression.replace("$context", context).replace("$ensemble", ensemble);
    filled.replace("$lock", "/locks/busy").replace("$__rate_interval", "1m")
}

fn dashboard() -> Value {
    serde_json::from_str(&fs::read_to_string(asset("grafana.json")).expect("it is there")).expect("JSON")
}

/// Returns the panels' expressions, each with the title of its panel.
fn panels() -> Vec<(String, String)> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let expressions = panels.flat_map(|panel| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        targets.map(move |target| (text(&panel["title"]), text(&target["expr"])))
    });
    expressions.collect()
}

/// Asserts that Grafana finds values for the variables, and what it takes for All.
fn has_variables(prometheus: &Prometheus, contexts: &[&str]) {
    let dashboard = dashboard();
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        let Some(query) = variable["query"]["query"].as_str() else { continue };
        let (series, label) =
            query.trim_start_matches("label_values(").trim_end_matches(')').rsplit_once(", ").expect("a label");
        let found = prometheus.query(&filled(series, ".*", ".*"));
        let values: BTreeSet<&str> = found.iter().filter_map(|(labels, _)| labels[label].as_str()).collect();
        match variable["name"].as_str() {
            Some("context") => assert_eq!(values, contexts.iter().copied().collect()),
            Some("ensemble") => assert_eq!(values.len(), contexts.len().max(1), "{values:?}"),
            _ => assert_eq!(values, LOCKS.into()),
        }
        if variable["multi"] == true {
            assert_eq!((&variable["includeAll"], &variable["allValue"]), (&true.into(), &".*".into()), "{variable}");
        }
    }
}

/// Asserts that Prometheus evaluates each alert, that each of its families has series, and that
/// those that are staged have results.
async fn has_alerts(scraped: &mut Scraped) {
    let rules = scraped.prometheus.api("rules");
    let rules = rules["groups"][0]["rules"].as_array().expect("rules").clone();
    assert!(rules.len() > 10, "{rules:?}");
    for rule in &rules {
        let (name, query) = (rule["name"].as_str().expect("a name"), rule["query"].as_str().expect("a query"));
        assert_ne!(rule["health"], "err", "{rule}");
        let words = query.split(|char: char| !(char.is_alphanumeric() || char == '_'));
        for family in words.filter(|word| word.starts_with("lockscope_")) {
            scraped.shows(name, family).await;
        }
        if STAGED.contains(&name) {
            scraped.shows(name, query).await;
        }
    }
    assert!(STAGED.iter().all(|name| rules.iter().any(|rule| rule["name"] == *name)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_and_alert_has_data_from_a_recorder_of_one_ensemble() {
    let mut scraped = Scraped::start(&[]).await;
    has_alerts(&mut scraped).await;
    let own = scraped.troubles[0].server.connect_string();
    for (title, expression) in panels() {
        // No series has the label `context`.
        for ensemble in [".*", &chosen(&[&own])] {
            scraped.shows(&title, &filled(&expression, ".*", ensemble)).await;
        }
    }
    has_variables(&scraped.prometheus, &[]);
    scraped.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_panel_and_alert_has_data_from_a_recorder_of_several_contexts_and_of_the_chosen_ones() {
    let mut scraped = Scraped::start(&["one", "other-2.eu"]).await;
    has_alerts(&mut scraped).await;
    for (title, expression) in panels() {
        let selected = "{context=~\"$context\",ensemble=~\"$ensemble\"";
        assert_eq!(expression.matches("lockscope_").count(), expression.matches(selected).count(), "{expression}");
        for contexts in [".*", &chosen(&["one", "other-2.eu"]), &chosen(&["other-2.eu"])] {
            let found = scraped.shows(&title, &filled(&expression, contexts, ".*")).await;
            let of = found.iter().filter_map(|(labels, _)| labels["context"].as_str()).collect::<BTreeSet<_>>();
            assert!(of.is_empty() || contexts.contains("one") || contexts == ".*" || of == ["other-2.eu"].into());
        }
    }
    has_variables(&scraped.prometheus, &["one", "other-2.eu"]);
    let (_, locks) = panels().into_iter().find(|(title, _)| title == "Locks").expect("a panel");
    let locks = |contexts: &str| {
        let found = scraped.prometheus.query(&filled(&locks, contexts, ".*"));
        found.first().map(|(_, count)| count.parse::<usize>().expect("a count"))
    };
    let of_one = locks("one").expect("a count");
    assert!(of_one >= LOCKS.len(), "{of_one}");
    assert_eq!([locks(".*"), locks("none")], [Some(2 * of_one), None]);
    scraped.ends().await;
}
