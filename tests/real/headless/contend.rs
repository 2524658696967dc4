//! `lockscope contend` and `lockscope compare`: figures, endings, and that nothing remains.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Stdio};

use lockscope_base::znode::Sequence;
use lockscope_lock::{Algorithm, Lock};
use serde_json::Value;

use super::program::{Ended, Running, lockscope, run};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The fields that the contract promises, and those added since.
const FIELDS: [&str; 27] = [
    "schema",
    "recipe",
    "path",
    "clients",
    "rounds",
    "seed",
    "acquisitions",
    "elapsed_ms",
    "acquisitions_per_second",
    "violations",
    "outlived",
    "expired_sessions",
    "watch_events",
    "requests",
    "bytes",
    "wait_ms",
    "hold_ms",
    "server",
    "server_silence",
    "left_behind",
    "left_behind_nodes",
    "servers_lost",
    "interrupted",
    "overlaps",
    "troubles",
    "accepted_writes",
    "rejected_writes",
];

fn command(connect: &str, arguments: &[&str]) -> Command {
    lockscope(&[arguments, &["--connect", connect]].concat())
}

/// Asserts that nothing remains below the root, parents included.
async fn is_clean(connect: &str) {
    let client = zk::connect(connect).await;
    let nodes: Vec<String> = zk::tree(&client, "/").await.into_iter().map(|node| node.path).collect();
    assert_eq!(nodes, [""; 0], "left behind");
}

/// Waits until the lock has contenders, and so many have come that some must have held it.
pub(super) async fn is_contended(connect: &str, path: &str) {
    let client = zk::connect(connect).await;
    let has_moved_on = |children: &[String]| {
        children.iter().filter_map(|child| Sequence::split(child)).any(|(_, Sequence(number))| number > 30)
    };
    eventually("contenders", async || match client.list_children(path).await {
        Ok(children) if children.len() > 1 && has_moved_on(&children) => Ok(()),
        seen => Err(format!("{seen:?}")),
    })
    .await;
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recipe_does_all_rounds_and_fills_every_field() {
    let connect = zk::own_root("contend-recipes").await;
    for recipe in Algorithm::NAMES {
        let arguments = ["contend", "--path", "/a/lock", "--recipe", recipe, "--clients", "4", "--rounds", "5"];
        let reported =
            run(command(&connect, &[&arguments[..], &["--hold", "1ms", "--seed", "7"]].concat())).await.json();
        let fields: BTreeSet<&str> = reported.as_object().expect("an object").keys().map(String::as_str).collect();
        let promised: BTreeSet<&str> = FIELDS.into_iter().collect();
        assert_eq!(fields, promised);
        for (field, expected) in [
            ("recipe", Value::from(*recipe)),
            ("clients", 4.into()),
            ("rounds", 5.into()),
            ("seed", 7.into()),
            ("acquisitions", 20.into()),
            ("violations", 0.into()),
            ("left_behind", 0.into()),
            ("interrupted", false.into()),
        ] {
            assert_eq!(reported[field], expected, "{field} of {reported}");
        }
        assert!(
            number(&reported["acquisitions_per_second"]) > 0.0
                && number(&reported["requests"]["per_acquisition"]) >= 3.0
        );
        let waits = &reported["wait_ms"];
        assert!(number(&waits["p50"]) <= number(&waits["p90"]) && number(&waits["p99"]) <= number(&waits["max"]));
        assert!(number(&reported["hold_ms"]["p50"]) >= 1.0, "{reported}");
        assert!(reported["server"]["deleted_watch_events"].is_u64(), "{reported}");
        let (in_vain, delivered) = (&reported["watch_events"]["woken_in_vain"], &reported["watch_events"]["delivered"]);
        assert!(number(in_vain) <= number(delivered), "{reported}");
        let writes = match *recipe {
            "semaphore" => 0.0..=0.0,
            // Readers do not write.
            shared if shared.starts_with("shared") => 0.0..=40.0,
            _ => 40.0..=40.0,
        };
        assert!(writes.contains(&number(&reported["accepted_writes"])), "{reported}");
        assert_eq!(reported["rejected_writes"], 0, "{reported}");
        is_clean(&connect).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_a_run_with_its_figures_and_without_nodes_left() {
    let connect = zk::own_root("contend-signals").await;
    for signal in ["INT", "TERM", "HUP"] {
        let running = Running::start(command(&connect, &["contend", "--path", "/lock", "--endless"]));
        is_contended(&connect, "/lock").await;
        running.signal(signal);
        let reported = running.ended().await.json();
        assert_eq!(reported["interrupted"], true, "{reported}");
        assert!(
            number(&reported["acquisitions"]) > 0.0 && reported["violations"] == 0 && reported["left_behind"] == 0,
            "{reported}"
        );
        is_clean(&connect).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_a_run_even_if_the_server_hangs() {
    let server = Server::in_own_process();
    let connect = server.connect_string();
    let running = Running::start(command(&connect, &["contend", "--path", "/lock", "--endless"]));
    is_contended(&connect, "/lock").await;
    server.pause();
    running.signal("INT");
    running.signal("TERM");
    let Ended { code, out, stderr } = running.ended().await;
    server.resume();
    // Either of the two signals may be handled first.
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    assert_eq!((out.as_str(), stderr.as_str()), ("", ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_after_its_time() {
    let connect = zk::own_root("contend-for").await;
    let arguments = ["contend", "--path", "/lock", "--clients", "2", "--endless", "--for", "200ms"];
    let reported = run(command(&connect, &arguments)).await.json();
    assert!(reported["rounds"].is_null() && number(&reported["elapsed_ms"]) >= 200.0, "{reported}");
    is_clean(&connect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_pipe_ends_a_run_quietly_and_removes_its_nodes() {
    let connect = zk::own_root("contend-pipe").await;
    let mut command = command(&connect, &["contend", "--path", "/lock", "--endless"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    is_contended(&connect, "/lock").await;
    drop(child.stdout.take());
    let status = eventually("its end", async || child.try_wait().ok().flatten().ok_or("it still runs")).await;
    let mut reported = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut reported).expect("text");
    assert_eq!((status.code(), reported.as_str()), (Some(0), ""));
    is_clean(&connect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_at_its_connection_limit_is_reported_in_a_sentence() {
    let server = Settings::default().line("maxClientCnxns=3").start();
    let connect = server.connect_string();
    // The program's own session takes the last free connection. When several connections open in
    // one burst, the server accepts more than its limit, since it counts them later.
    let _sessions = [zk::connect(&connect).await, zk::connect(&connect).await];
    let arguments = ["contend", "--path", "/lock", "--clients", "10", "--timeout", "1m"];
    let reported = run(command(&connect, &arguments)).await.refused();
    assert!(reported.contains("10 of 10 test clients got no session"), "{reported}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herd_costs_more_events_than_a_chain_and_both_are_shown_side_by_side() {
    let connect = zk::own_root("compare").await;
    let arguments = ["compare", "--path", "/c", "--clients", "4,12", "--rounds", "10"];
    let reported = run(command(&connect, &arguments)).await.json();
    assert_eq!((&reported["schema"], &reported["interrupted"]), (&1.into(), &false.into()));
    let runs = reported["runs"].as_array().expect("runs");
    let sizes: Vec<&Value> = runs.iter().map(|run| &run["clients"]).collect();
    assert_eq!(sizes, [4, 12]);
    for run in runs {
        assert!(number(&run["watch_event_ratio"]) > 1.0 && number(&run["throughput_ratio"]) > 0.0, "{run}");
        assert!(number(&run["look_ahead_ratio"]) > 0.0, "{run}");
        for (recipe, field) in [("herd", "herd"), ("chain", "chain"), ("chain-ahead", "chain_ahead")] {
            let outcome = &run[field];
            assert_eq!(outcome["path"], format!("/c/{recipe}"));
            assert_eq!(outcome["acquisitions"].as_u64(), run["clients"].as_u64().map(|clients| clients * 10));
            assert_eq!((&outcome["violations"], &outcome["left_behind"]), (&0.into(), &0.into()), "{outcome}");
        }
    }
    is_clean(&connect).await;

    let out = run(command(&connect, &[&arguments[..], &["--format", "table"]].concat())).await.done();
    for part in [
        "CLIENTS",
        "REQUESTS AN ACQUISITION",
        "EVENTS AN ACQUISITION",
        "■ herd",
        "Watch events an acquisition",
        "herd costs more|Up to 12",
    ] {
        assert!(part.split('|').any(|part| out.contains(part)), "{part} is not in {out}");
    }
    let out = run(command(&connect, &[&arguments[..], &["--format", "table", "--ascii"]].concat())).await.done();
    assert!(out.is_ascii() && out.contains("H herd"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_comparison_shows_the_finished_sizes() {
    let connect = zk::own_root("compare-signal").await;
    let arguments = ["compare", "--path", "/c", "--clients", "1,2", "--rounds", "3", "--hold", "1ms"];
    let whole = run(command(&connect, &arguments)).await.json();
    assert_eq!(whole["runs"].as_array().map(Vec::len), Some(2));
    let endless = ["compare", "--path", "/c", "--clients", "3,2", "--rounds", "1000000"];
    let running = Running::start(command(&connect, &endless));
    is_contended(&connect, "/c/herd").await;
    running.signal("INT");
    let reported = running.ended().await.json();
    assert_eq!((&reported["interrupted"], &reported["runs"]), (&true.into(), &Value::Array(Vec::new())));
    is_clean(&connect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_terminal_the_progress_is_shown_and_erased_before_the_table() {
    let connect = zk::own_root("contend-terminal").await;
    let arguments = ["contend", "--connect", &connect, "--path", "/lock", "--endless"];
    let mut terminal = Terminal::lockscope(&arguments, 100, 40);
    terminal.shows_all(&["chain: 10 clients, ", " acquisitions, "]);
    // A run that acquires nothing is a failure.
    terminal.hides(" 0 acquisitions, ");
    // The terminal's driver turns this into a signal.
    terminal.press("\x03");
    let is_success = terminal.ends().success();
    let left = terminal.text();
    assert!(is_success, "{left}");
    assert!(left.contains("chain at /lock: 10 clients, endless") && left.contains("left behind"), "{left}");
    assert!(!left.contains("the clients leave") && !left.contains("chain: 10"), "{left}");
    is_clean(&connect).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_use_less_than_400_mb() {
    let connect = zk::own_root("contend-many").await;
    let arguments = ["contend", "--path", "/lock", "--clients", "1000", "--rounds", "1"];
    let mut running = Running::start(command(&connect, &arguments));
    let mut peak = 0;
    let line = eventually("its figures", async || {
        peak = peak.max(running.peak_memory().unwrap_or_default());
        running.lines_now().pop().ok_or(peak)
    })
    .await;
    let reported: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&reported["acquisitions"], &reported["violations"], &reported["left_behind"]),
        (&1000.into(), &0.into(), &0.into())
    );
    assert!(peak > 0 && peak < 400_000, "{peak} KiB");
    println!("{peak} KiB at most with 1,000 test clients");
}

/// Asserts that the JSON, stderr and the exit code report the loss of the servers, and that
/// possible leftovers are named.
fn assert_reports_the_loss(ended: &Ended, outcome: &Value, at: &str) {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let why = outcome["troubles"][0].as_str().expect("a reason");
    assert!(why.starts_with("the servers were lost: ") && why.contains(at), "{why}");
    assert!(ended.stderr.starts_with(&format!("lockscope: {why}")), "{ended:?}");
    assert_eq!((&outcome["servers_lost"], &outcome["left_behind"]), (&true.into(), &Value::Null), "{outcome}");
    let nodes = outcome["left_behind_nodes"].as_array().expect("a list");
    assert!(!nodes.is_empty() && nodes.len() <= 100, "{outcome}");
    let path = outcome["path"].as_str().expect("a path");
    for node in nodes {
        assert!(node.as_str().is_some_and(|node| node.starts_with(&format!("{path}/"))), "{outcome}");
    }
    let first = nodes[0].as_str().expect("a path");
    assert!(ended.stderr.contains(first) && ended.stderr.contains("may be left behind"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_server_was_killed_ends_with_its_figures_and_says_so() {
    for arguments in [&["--rounds", "100000"][..], &["--endless", "--for", "8s"], &["--recipe", "mutex", "--endless"]] {
        let mut server = Server::start();
        let at = server.connect_string();
        let basic = ["contend", "--path", "/lock", "--clients", "5", "--hold", "20ms", "--timeout", "3s"];
        let running = Running::start(command(&at, &[&basic[..], arguments].concat()));
        let client = zk::connect(&at).await;
        eventually("acquisitions", async || {
            // Either the children of the lock's parent come and go, or the node of a single-node
            // lock is created again.
            let stat = client.check_stat("/zookeeper").await.map_err(|error| error.to_string())?;
            let found = client.check_stat("/lock").await.map_err(|error| error.to_string())?;
            let moved = found.is_some_and(|found| found.cversion > 10 || found.czxid > 40);
            if moved { Ok(()) } else { Err(format!("{stat:?} {found:?}")) }
        })
        .await;
        server.stop();
        let ended = running.ended().await;
        let outcome: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
        if arguments.contains(&"mutex") {
            assert_eq!((ended.code, &outcome["servers_lost"]), (Some(2), &true.into()), "{ended:?}");
        } else {
            assert_reports_the_loss(&ended, &outcome, &at);
        }
        assert!(number(&outcome["acquisitions"]) > 0.0 && outcome["interrupted"] == true, "{outcome}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_whose_server_was_killed_ends_with_its_figures_and_says_so() {
    let mut server = Server::start();
    let at = server.connect_string();
    let arguments = ["compare", "--clients", "5", "--rounds", "100000", "--hold", "20ms", "--timeout", "3s"];
    let running = Running::start(command(&at, &[&arguments[..], &["--path", "/compared"]].concat()));
    is_contended(&at, "/compared/herd").await;
    server.stop();
    let ended = running.ended().await;
    let comparison: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
    assert_eq!((&comparison["interrupted"], &comparison["runs"]), (&true.into(), &Value::Array(Vec::new())));
    assert_reports_the_loss(&ended, &comparison["unpaired"], &at);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_survives_a_restart_of_the_server() {
    let mut server = Server::start();
    let at = server.connect_string();
    let arguments = ["contend", "--path", "/lock", "--clients", "5", "--rounds", "60", "--hold", "20ms"];
    let running = Running::start(command(&at, &arguments));
    is_contended(&at, "/lock").await;
    server.restart();
    let reported = running.ended().await.json();
    assert_eq!((&reported["acquisitions"], &reported["left_behind"]), (&300.into(), &0.into()), "{reported}");
    assert_eq!(
        (&reported["servers_lost"], &reported["left_behind_nodes"]),
        (&false.into(), &Value::Array(Vec::new())),
        "{reported}"
    );
}

/// Asserts that a run acquired nothing, and says so in one sentence that contains `why`.
async fn acquires_nothing(arguments: &[&str], at: &str, why: &str) {
    let ended = run(command(at, arguments)).await;
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 1), "{ended:?}");
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_acquires_nothing_fails_and_says_why() {
    let connect = zk::own_root("contend-idle").await;
    let client = zk::connect(&connect).await;
    let guard = Lock::new(&client, "/held", Algorithm::Chain).expect("a good path").acquire().await.expect("the lock");
    let arguments = ["contend", "--path", "/held", "--endless", "--for", "300ms"];
    acquires_nothing(&arguments, &connect, "no test client acquired /held: others held it").await;
    guard.release().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_on_a_server_of_3_4_ends_and_names_the_version_that_is_needed() {
    let relay = Relay::start(&Server::shared().connect_string()).await;
    relay.rewrite_op(op::CREATE_WITH_STAT, op::UNKNOWN);
    relay.rewrite_op(op::CREATE_CONTAINER, op::UNKNOWN);
    let at = relay.connect_string();
    for length in [&["--rounds", "3"][..], &["--endless"]] {
        for (recipe, path) in [("mutex", "/on-3-4"), ("mutex", "/on-3-4/below"), ("chain", "/on-3-4/below")] {
            let arguments = [&["contend", "--recipe", recipe, "--path", path], length].concat();
            acquires_nothing(&arguments, &at, "older than ZooKeeper 3.5").await;
        }
    }
}
