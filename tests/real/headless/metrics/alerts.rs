//! The alerts, with the metrics of real incidents.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use zookeeper_client::CreateMode;

use super::fixture::{MetricsFixture, Samples, comes, comes_as, goes, samples, sum, waits};
use crate::harness::ensemble::Ensemble;
use crate::harness::prometheus::{Prometheus, asset, get, promtool};
use crate::harness::wait::eventually;
use crate::headless::program::{Running, lockscope};

/// The time within which an alert must fire.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Returns the firing alerts, each with its lock.
fn firing(prometheus: &Prometheus) -> BTreeSet<(String, String)> {
    let alerts = prometheus.api("alerts");
    let alerts = alerts["alerts"].as_array().expect("alerts").iter().filter(|alert| alert["state"] == "firing");
    let label = |alert: &Value, name: &str| alert["labels"][name].as_str().unwrap_or_default().to_owned();
    alerts.map(|alert| (label(alert, "alertname"), label(alert, "lock"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_lock_fires_an_alert_within_half_a_minute_until_it_moves_again() {
    let fixture = MetricsFixture::start(&[]).await;
    fixture.until_healthy().await;
    let config = format!(
        "rule_files: ['{}']\nscrape_configs: [{{job_name: lockscope, static_configs: [{{targets: ['127.0.0.1:{}']}}]}}]\n",
        asset("alerts.yml"),
        fixture.port
    );
    let prometheus = Prometheus::start(&config).await;
    eventually("the first scrape", async || {
        let up = prometheus.query("lockscope_up");
        if up.len() == 1 { Ok(()) } else { Err(up) }
    })
    .await;
    let (holder, waiter) = (fixture.client().await, fixture.client().await);
    let held = comes(&holder, "/locks/billing").await;
    let _watch = waits(&waiter, "/locks/billing", &held).await;
    let began = Instant::now();
    let stuck = BTreeSet::from([("LockStuck".to_owned(), "/locks/billing".to_owned())]);
    eventually("the alert", async || {
        let firing = firing(&prometheus);
        if firing == stuck { Ok(()) } else { Err(firing) }
    })
    .await;
    let took = began.elapsed();
    println!(
        "the alert fires {took:?} after the lock was held while somebody waits, of which it is stuck for the last part"
    );
    assert!(took < Duration::from_secs(2) + MAX_DELAY, "{took:?}");
    goes(&holder, &held).await;
    let began = Instant::now();
    eventually("the end of the alert", async || {
        let firing = firing(&prometheus);
        if firing.is_empty() { Ok(()) } else { Err(firing) }
    })
    .await;
    println!("it resolves {:?} after the lock was handed on", began.elapsed());
}

/// The samples of each part of the incident.
struct Parts {
    quiet: Samples,
    trouble: Samples,
    blind: Samples,
}

#[test]
fn each_alert_fires_after_its_time_not_in_health_and_ends_with_the_scrapes() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/headless/metrics/alerts.test.yml");
    promtool(&["test", "rules", &tests.display().to_string()], "");
    let tested = fs::read_to_string(tests).expect("it is there");
    let rules = fs::read_to_string(asset("alerts.yml")).expect("it is there");
    let names: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() >= 14, "{names:?}");
    for name in names {
        assert!(tested.contains(&format!("alertname=\"{name}\"")), "{name} is expected by no test");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_alert_fires_in_its_part_of_an_incident_and_in_no_other() {
    promtool(&["check", "rules", &asset("alerts.yml")], "");
    let mut fixture = MetricsFixture::start(&["--session-timeout", "4s"]).await;
    fixture.until_healthy().await;
    let quiet = fixture.samples();
    let [one, two, three] = [fixture.client().await, fixture.client().await, fixture.client().await];
    let billing = comes(&three, "/locks/billing").await;
    let (a, b) = (comes(&one, "/locks/a").await, comes(&two, "/locks/b").await);
    let _watches = [
        waits(&two, "/locks/billing", &billing).await,
        waits(&one, "/locks/b", &b).await,
        waits(&two, "/locks/a", &a).await,
    ];
    comes_as(&three, "/locks/own", CreateMode::PersistentSequential).await;
    let trouble = eventually("the findings", async || {
        let samples = fixture.samples();
        let found = |code: &str| sum(&samples, "lockscope_findings", &[&format!("code=\"{code}\"")]);
        let is_stuck = [found("stuck"), found("idle-holder")].contains(&Some(1.0));
        let is_all = is_stuck && [found("deadlock"), found("persistent-contender")] == [Some(2.0), Some(1.0)];
        if is_all { Ok(samples) } else { Err(samples) }
    })
    .await;
    fixture.server.stop();
    let blind = eventually("blindness", async || {
        let samples = fixture.samples();
        let seen = ["lockscope_up", "lockscope_servers_answering"].map(|family| sum(&samples, family, &[]));
        if seen == [Some(0.0), Some(0.0)] { Ok(samples) } else { Err(seen) }
    })
    .await;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.yml");
    fs::write(&path, rule_test(&Parts { quiet, trouble, blind })).expect("written");
    promtool(&["test", "rules", &path.display().to_string()], "");
}

/// Returns a test of the rules: each part of the incident lasts for a while, with a sample every 30
/// seconds. At the end the recorder is gone.
fn rule_test(parts: &Parts) -> String {
    let mut text = format!(
        "rule_files: ['{}']\nevaluation_interval: 30s\ntests:\n- interval: 30s\n  input_series:\n",
        asset("alerts.yml")
    );
    let names: BTreeSet<&String> = parts.quiet.keys().chain(parts.trouble.keys()).chain(parts.blind.keys()).collect();
    for name in names {
        // The waiters keep waiting.
        let step =
            if name.starts_with("lockscope_lock_waited") && parts.trouble.get(name) > Some(&0.0) { 30 } else { 0 };
        let lasting = |samples: &Samples, step: i32, times: u32| match samples.get(name) {
            Some(value) => format!("{value}+{step}x{}", times - 1),
            // How Prometheus treats a series that is no longer scraped.
            None => format!("stale _x{}", times - 1),
        };
        let values = [lasting(&parts.quiet, 0, 10), lasting(&parts.trouble, step, 20), lasting(&parts.blind, 0, 10)];
        let _ = writeln!(text, "  - series: '{name}'\n    values: '{}'", values.join(" "));
    }
    text += "  - series: 'up{job=\"lockscope\"}'\n    values: '1x39 0x20'\n  promql_expr_test:\n";
    let stuck = ["LockStuck /locks/billing", "LockDeadlock /locks/a", "LockDeadlock /locks/b", "LockOrphan /locks/own"];
    let waits = ["/locks/a", "/locks/b", "/locks/billing"].map(|lock| format!("LockWaitLong {lock}"));
    let trouble: Vec<&str> = stuck.into_iter().chain(waits.iter().map(String::as_str)).collect();
    for (at, expected) in [
        ("4m", &[][..]),
        ("7m", &stuck),
        ("14m", &trouble),
        ("18m", &["EnsembleServerMissing ", "LockscopeBlind "]),
        ("26m", &["LockscopeDown "]),
    ] {
        let _ = writeln!(
            text,
            "  - expr: 'sum by (alertname, lock) (ALERTS{{alertstate=\"firing\"}})'\n    eval_time: {at}\n    exp_samples:"
        );
        for expected in expected {
            let (name, lock) = expected.split_once(' ').expect("two words");
            let lock = if lock.is_empty() { String::new() } else { format!(",lock=\"{lock}\"") };
            let _ = writeln!(text, "    - {{labels: '{{alertname=\"{name}\"{lock}}}', value: 1}}");
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_three_that_does_not_answer_fires_an_alert_after_a_minute() {
    let mut ensemble = Ensemble::start();
    let at = ensemble.connect_string();
    let mut recorder = Running::start(lockscope(&["record", "--metrics", "0", "--connect", &at]));
    let first: Value = serde_json::from_str(&recorder.line().await.expect("a line")).expect("JSON");
    let address = first["metrics"].as_str().expect("an address");
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    let scraped = async |answering: f64| {
        eventually("the servers", async || {
            let (_, text) = get(port, "/metrics", &[]).map_err(|error| error.to_string())?;
            let of_servers = |series: &String| {
                ["lockscope_servers", "lockscope_server_up"].iter().any(|family| series.starts_with(family))
            };
            let samples: Samples = samples(&text).into_iter().filter(|(series, _)| of_servers(series)).collect();
            let seen = ["lockscope_servers", "lockscope_servers_answering"].map(|family| sum(&samples, family, &[]));
            let is_told = sum(&samples, "lockscope_server_up", &[]) == Some(answering);
            if is_told && seen == [Some(3.0), Some(answering)] { Ok(samples) } else { Err(format!("{seen:?}")) }
        })
        .await
    };
    let all = scraped(3.0).await;
    ensemble.stop(ensemble.follower());
    let some = scraped(2.0).await;
    let mut text = format!(
        "rule_files: ['{}']\nevaluation_interval: 30s\ntests:\n- interval: 30s\n  input_series:\n",
        asset("alerts.yml")
    );
    for (series, value) in &all {
        let _ = writeln!(text, "  - series: '{series}'\n    values: '{value}x9 {}x9'", some[series]);
    }
    text += "  - series: 'up{job=\"lockscope\"}'\n    values: '1x20'\n  promql_expr_test:\n";
    for (at, samples) in
        [("4m", "[]"), ("5m30s", "[]"), ("7m", "[{labels: '{alertname=\"EnsembleServerMissing\"}', value: 1}]")]
    {
        let alerts = "sum by (alertname) (ALERTS{alertstate=\"firing\"})";
        let _ = writeln!(text, "  - expr: '{alerts}'\n    eval_time: {at}\n    exp_samples: {samples}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.yml");
    fs::write(&path, text).expect("written");
    promtool(&["test", "rules", &path.display().to_string()], "");
}
