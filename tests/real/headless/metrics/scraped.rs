//! The metrics equal the output of the other commands at the same time.

use serde_json::Value;

use super::fixture::{MetricsFixture, comes, goes, sum, waits};
use crate::harness::prometheus::{get, promtool};
use crate::harness::wait::eventually;
use crate::headless::program::{lockscope, run};

const LOCK: &str = "lock=\"/locks/billing\"";

/// Returns the locks of a snapshot: path, holders, waiters, and the minimum time of the first hold.
fn locks(snapshot: &Value) -> Vec<(String, f64, f64, f64)> {
    let count = |lock: &Value, state: &str| {
        let states = lock["contenders"].as_array().expect("contenders").iter();
        f64::from(u32::try_from(states.filter(|one| one["state"] == state).count()).expect("few"))
    };
    let one = |lock: &Value| {
        let held = lock["contenders"][0]["held_at_least_ms"].as_f64().unwrap_or_default() / 1000.0;
        (lock["path"].as_str().expect("a path").to_owned(), count(lock, "holds"), count(lock, "waits"), held)
    };
    snapshot["locks"].as_array().expect("locks").iter().map(one).collect()
}

fn is_near(one: f64, other: f64, by: f64) -> bool {
    (one - other).abs() <= by
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_equal_snapshot_check_and_history_at_the_same_time() {
    let fixture = MetricsFixture::start(&[]).await;
    fixture.until_healthy().await;
    let [one, two, three] = [fixture.client().await, fixture.client().await, fixture.client().await];
    let first = comes(&one, "/locks/billing").await;
    let second = comes(&two, "/locks/billing").await;
    goes(&one, &first).await;
    let _watch = waits(&three, "/locks/billing", &second).await;
    comes(&one, "/locks/a").await;
    let scraped = eventually("a stuck lock", async || {
        let samples = fixture.samples();
        // The finding is `stuck` or, once the cause is known, `idle-holder`.
        let stuck = ["stuck", "idle-holder"]
            .map(|code| sum(&samples, "lockscope_findings", &[LOCK, &format!("code=\"{code}\"")]));
        if stuck.contains(&Some(1.0)) { Ok(samples) } else { Err(samples) }
    })
    .await;
    promtool(&["check", "metrics"], &fixture.text());

    let snapshot = fixture.ask(&["snapshot"]).await.json();
    let shown = locks(&snapshot);
    assert_eq!(shown.iter().filter(|(_, holders, ..)| *holders > 0.0).count(), 2, "{shown:?}");
    for (path, holders, waiters, held) in &shown {
        let label = format!("lock=\"{path}\"");
        let of = |family: &str| sum(&scraped, family, &[&label, "recipe=\"curator-mutex\""]);
        assert_eq!((of("lockscope_lock_holders"), of("lockscope_lock_waiters")), (Some(*holders), Some(*waiters)));
        // The snapshot was taken by another session, a moment later.
        let shown = of("lockscope_lock_held_seconds").expect("a value");
        assert!(is_near(shown, *held, 10.0) && (*holders == 0.0 || shown > 0.0), "{path}: {shown} {held}");
    }
    assert_eq!(sum(&scraped, "lockscope_contenders", &[]), Some(3.0));
    assert_eq!(sum(&scraped, "lockscope_up", &[]), Some(1.0));
    assert_eq!(sum(&scraped, "lockscope_store_up", &[]), Some(1.0));

    // Recorder and check each ask the servers on their own, at different times.
    eventually("the same findings", async || {
        let check = fixture.ask(&["check", "--for", "4s"]).await;
        let check: Value = serde_json::from_str(&check.out).expect("JSON");
        has_the_findings(&fixture.samples(), check["findings"].as_array().expect("findings"))
    })
    .await;
    equals_history(&fixture, &scraped).await;
}

/// Checks that the metrics count exactly these findings.
fn has_the_findings(samples: &super::fixture::Samples, findings: &[Value]) -> Result<(), String> {
    for finding in findings {
        let word = |field: &str| finding[field].as_str().expect("a word").to_owned();
        let labels = [format!("code=\"{}\"", word("code")), format!("severity=\"{}\"", word("severity"))];
        let lock = format!("lock=\"{}\"", word("lock"));
        let count = sum(samples, "lockscope_findings", &[&labels[0], &labels[1], &lock]);
        if count.is_none_or(|count| count < 1.0) {
            return Err(format!("{finding} is not in {samples:#?}"));
        }
    }
    let all = f64::from(u32::try_from(findings.len()).expect("few"));
    let is_same = !findings.is_empty() && sum(samples, "lockscope_findings", &[]) == Some(all);
    if is_same { Ok(()) } else { Err(format!("{findings:#?} {samples:#?}")) }
}

/// Asserts that the counters equal the recording.
async fn equals_history(fixture: &MetricsFixture, scraped: &super::fixture::Samples) {
    let history = eventually("a history that is up to date", async || {
        let asked = run(lockscope(&["history", "/locks/billing", "--store", &fixture.store()])).await.json();
        let is_whole = asked["hold_count"] == 2 && asked["waits"].as_array().is_some_and(|waits| waits.len() == 1);
        if is_whole { Ok(asked) } else { Err(asked) }
    })
    .await;
    let holds = history["holds"].as_array().expect("holds");
    let counted = |family: &str| sum(scraped, family, &[LOCK]).unwrap_or_default();
    let seconds = |field: &str, ended: bool| -> Vec<f64> {
        let of = holds.iter().filter(|hold| !ended || hold["end"] != "open");
        of.filter_map(|hold| Some(hold[field].as_f64()? / 1000.0)).collect()
    };
    for (family, times) in [
        ("lockscope_wait_seconds", seconds("waited_ms", false)),
        ("lockscope_hold_seconds", seconds("held_at_least_ms", true)),
    ] {
        let (count, total) = (counted(&format!("{family}_count")), counted(&format!("{family}_sum")));
        assert!(is_near(count, f64::from(u32::try_from(times.len()).expect("few")), 0.0), "{family}: {history:#}");
        assert!(is_near(total, times.iter().sum(), 0.000_5), "{family}: {total} of {times:?}");
    }
    assert!(is_near(counted("lockscope_acquisitions_total"), 2.0, 0.0));
    assert!(is_near(counted("lockscope_expiries_total"), 0.0, 0.0));
    // Before the first full reading the locks were not yet in sight.
    let gaps =
        history["gaps"].as_array().expect("gaps").iter().filter(|gap| gap["reason"] != "not everything was read yet");
    assert_eq!((gaps.count(), sum(scraped, "lockscope_gaps_total", &[])), (0, Some(0.0)), "{history:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_the_recorder_is_unhealthy_with_a_reason_and_no_live_locks() {
    let mut fixture = MetricsFixture::start(&["--session-timeout", "4s"]).await;
    fixture.until_healthy().await;
    let client = fixture.client().await;
    comes(&client, "/locks/billing").await;
    eventually("a holder", async || {
        let samples = fixture.samples();
        if sum(&samples, "lockscope_lock_holders", &[LOCK]) == Some(1.0) { Ok(()) } else { Err(samples) }
    })
    .await;
    fixture.server.stop();
    let sentence = eventually("bad health", async || match get(fixture.port, "/healthz", &[]) {
        Ok((503, sentence)) => Ok(sentence),
        other => Err(format!("{other:?}")),
    })
    .await;
    assert!(sentence.contains("connection to the ensemble") && sentence.lines().count() == 1, "{sentence}");
    // A supervisor that restarts it would only add a gap.
    assert_eq!(get(fixture.port, "/livez", &[]).map(|(status, _)| status).expect("an answer"), 200);
    let samples = fixture.samples();
    assert_eq!(
        (sum(&samples, "lockscope_up", &[]), sum(&samples, "lockscope_gaps_total", &[])),
        (Some(0.0), Some(1.0))
    );
    assert_eq!(sum(&samples, "lockscope_lock_holders", &[]), None);
    assert_eq!(sum(&samples, "lockscope_acquisitions_total", &[LOCK]), Some(1.0));
    assert_eq!(get(fixture.port, "/other", &[]).map(|(status, _)| status).expect("an answer"), 404);
    fixture.running.signal("TERM");
    let port = fixture.port;
    eventually("its end", async || if fixture.running.has_ended() { Ok(()) } else { Err("it runs") }).await;
    assert!(get(port, "/healthz", &[]).is_err(), "nobody listens any more");
}
