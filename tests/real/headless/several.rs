//! Several contexts at once: `snapshot`, `check`, `watch` and `record`, with one that cannot be
//! reached, and a deadlock over two of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use zookeeper_client::{Client, CreateMode};

use super::program::{Ended, Running, lockscope, run};
use crate::harness::foreign::Foreign;
use crate::harness::prometheus::{get, promtool};
use crate::harness::server::Server;
use crate::harness::wait::{eventually, eventually_blocking};
use crate::harness::zk;

/// Writes a config file with the contexts `one`, `other` and `nobody`, where no server listens.
fn config(folder: &Path, one: &str, other: &str) -> PathBuf {
    let path = folder.join("config.toml");
    let text = format!(
        "[context.one]\nconnect = '{one}'\n[context.other]\nconnect = '{other}'\n[context.nobody]\nconnect = \
         '127.0.0.1:1'\n"
    );
    fs::write(&path, text).expect("it is written");
    path
}

/// Two ensembles with a lock each, of which the second is never released.
async fn two(folder: &Path) -> (PathBuf, [Client; 2]) {
    let (one, other) = (zk::own_root("several").await, zk::own_root("several").await);
    let clients = [zk::connect(&one).await, zk::connect(&other).await];
    for (client, mode) in clients.iter().zip([CreateMode::EphemeralSequential, CreateMode::PersistentSequential]) {
        zk::make(client, ["/orders".to_owned()]).await;
        let node = "/orders/_c_00000000-0000-4000-8000-000000000001-lock-".to_owned();
        zk::create_all(client, mode, [(node, b"holder".to_vec())]).await;
    }
    (config(folder, &one, &other), clients)
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn of(command: &[&str], config: &Path, contexts: &str) -> Command {
    let config = config.to_str().expect("a plain path");
    lockscope(&[command, &["--config", config, "--context", contexts, "--format", "json"]].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_has_one_object_for_each_context_and_names_what_it_could_not_reach() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, _clients) = two(folder.path()).await;
    let both = run(of(&["snapshot"], &config, "other,one")).await;
    assert_eq!(both.code, Some(0), "{both:?}");
    let seen: Vec<_> =
        lines(&both).iter().map(|line| (line["context"].clone(), line["locks"][0]["path"].clone())).collect();
    assert_eq!(seen, [("other".into(), "/orders".into()), ("one".into(), "/orders".into())]);
    let all = run(of(&["snapshot"], &config, "one,nobody")).await;
    assert_eq!(all.code, Some(2), "{all:?}");
    let [one, nobody] = &lines(&all)[..] else { panic!("{all:?}") };
    assert_eq!(one["context"], "one");
    assert_eq!((&nobody["context"], nobody["error"].is_string()), (&"nobody".into(), true), "{nobody}");
    assert!(nobody.get("locks").is_none(), "{nobody}");
    assert!(all.stderr.contains("1 of 2 contexts could not be reached: nobody"), "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_ends_with_the_code_of_the_worst_context() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, _clients) = two(folder.path()).await;
    let passed = |ended: &Ended| lines(ended).iter().map(|line| line["passed"].clone()).collect::<Vec<_>>();
    let check = |contexts: &'static str| of(&["check", "--for", "2s"], &config, contexts);
    let sound = run(check("one,one,")).await;
    assert_eq!(sound.code, Some(2), "{sound:?}");
    let sound = run(check("one,one")).await;
    assert_eq!((sound.code, passed(&sound)), (Some(0), vec![true.into()]), "{sound:?}");
    let one_is_bad = run(check("one,other")).await;
    assert_eq!((one_is_bad.code, passed(&one_is_bad)), (Some(1), vec![true.into(), false.into()]), "{one_is_bad:?}");
    let one_is_gone = run(check("nobody,other,one")).await;
    assert_eq!(one_is_gone.code, Some(2), "{one_is_gone:?}");
    assert_eq!(passed(&one_is_gone), [Value::Null, false.into(), true.into()]);

    let plugin = ["check", "--nagios", "--for", "2s", "--all-contexts", "--config"];
    let plugin = run(lockscope(&[&plugin[..], &[config.to_str().expect("a plain path")]].concat())).await;
    assert_eq!(plugin.code, Some(3), "{plugin:?}");
    assert!(plugin.out.starts_with("LOCKSCOPE UNKNOWN - nobody UNKNOWN: "), "{plugin:?}");
    assert!(plugin.out.contains("other WARNING: /orders persistent-contender"), "{plugin:?}");
    assert!(plugin.out.contains("1 of 3 ensembles OK | ") && plugin.out.contains("one/locks=1"), "{plugin:?}");
    assert_eq!(plugin.out.lines().count(), 1, "{plugin:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_tells_of_each_line_which_context_it_is_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, _clients) = two(folder.path()).await;
    let ended = run(of(&["watch", "--for", "3s"], &config, "one,other,nobody")).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let lines = lines(&ended);
    for context in ["one", "other"] {
        let found = lines.iter().filter(|line| line["context"] == context && line["event"] == "lock-found").count();
        assert_eq!(found, 1, "{context}: {ended:?}");
    }
    let raised: Vec<_> = lines.iter().filter(|line| line["event"] == "finding-raised").collect();
    assert!(!raised.is_empty() && raised.iter().all(|line| line["context"] == "other"), "{ended:?}");
    let failed: Vec<_> = lines.iter().filter(|line| line["error"].is_string()).collect();
    assert!(failed.len() == 1 && failed[0]["context"] == "nobody", "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_writes_one_file_for_each_context() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, _clients) = two(folder.path()).await;
    let store = folder.path().join("recordings");
    let [config, store] = [&config, &store].map(|path| path.to_str().expect("a plain path"));
    let arguments = ["record", "--config", config, "--all-contexts", "--store", store];
    let recorder = Running::start(lockscope(&arguments));
    let file = |name: &str| format!("{store}/{name}.db");
    eventually_blocking("both locks in the recordings", || {
        ["one", "other"].iter().try_for_each(|name| {
            let seen = lockscope(&["snapshot", "--store", &file(name)]).output();
            let seen = seen.map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&seen.stdout).into_owned();
            if text.contains("/orders/_c_") { Ok(()) } else { Err(text + &String::from_utf8_lossy(&seen.stderr)) }
        })
    });
    recorder.signal("TERM");
    let ended = recorder.ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let named: Vec<_> = lines(&ended).iter().map(|line| line["context"].clone()).collect();
    assert!(["one", "other", "nobody"].iter().all(|name| named.contains(&(*name).into())), "{ended:?}");
    assert!(fs::metadata(file("nobody")).is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_metrics_of_several_contexts_are_served_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, _clients) = two(folder.path()).await;
    let config = config.to_str().expect("a plain path");
    let audit = folder.path().join("audit.jsonl").display().to_string();
    let arguments = ["record", "--config", config, "--all-contexts", "--metrics", "0", "--audit-log", &audit];
    let mut recorder = Running::start(lockscope(&arguments));
    let first: Value = serde_json::from_str(&recorder.line().await.expect("a line")).expect("JSON");
    let address = first["metrics"].as_str().expect("an address");
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    let text = eventually_blocking("the locks of both", || {
        let (_, text) = get(port, "/metrics", &[]).map_err(|error| error.to_string())?;
        let holds = |context: &str| {
            let has = |line: &str| {
                line.starts_with(&format!("lockscope_lock_holders{{context=\"{context}\",")) && line.ends_with(" 1")
            };
            text.lines().any(has)
        };
        if holds("one") && holds("other") { Ok(text) } else { Err(text) }
    });
    promtool(&["check", "metrics"], &text);
    let up: Vec<&str> = text.lines().filter(|line| line.contains("lockscope_up")).collect();
    let [help, kind, series @ ..] = &up[..] else { panic!("{up:?}") };
    assert!(help.starts_with("# HELP ") && kind.starts_with("# TYPE ") && series.len() == 3, "{up:?}");
    assert!(series.iter().any(|line| line.contains("context=\"nobody\"") && line.ends_with(" 0")), "{up:?}");
    for family in ["resident_memory_bytes", "start_time_seconds", "open_fds", "max_fds", "cpu_seconds_total"] {
        let of_process = text.lines().filter(|line| line.starts_with(&format!("process_{family}")));
        let series: Vec<&str> = of_process.collect();
        assert!(matches!(series[..], [one] if one.starts_with(&format!("process_{family} "))), "{series:?}");
    }
    let (status, sentence) = get(port, "/healthz", &[]).expect("an answer");
    assert!(status == 503 && sentence.starts_with("nobody: "), "{status} {sentence}");
}

/// Records two ensembles for a moment, and one that cannot be reached. Returns the folder of the
/// recordings, below the given one.
async fn recorded(folder: &Path) -> String {
    let (config, clients) = two(folder).await;
    let store = folder.join("recordings").to_str().expect("a plain path").to_owned();
    let config = config.to_str().expect("a plain path");
    let recorder = Running::start(lockscope(&["record", "--config", config, "--all-contexts", "--store", &store]));
    eventually_blocking("both locks in the recordings", || {
        let seen = lockscope(&["snapshot", "--store", &store, "--format", "json"]).output();
        let text = seen.map(|seen| String::from_utf8_lossy(&seen.stdout).into_owned()).unwrap_or_default();
        if text.matches("/orders/_c_").count() == 2 { Ok(()) } else { Err(text) }
    });
    drop(clients);
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0));
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_recordings_is_one_past_in_which_each_line_names_its_ensemble() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = recorded(folder.path()).await;
    let [one, other] = ["one", "other"].map(|name| format!("{store}/{name}.db"));

    let both = run(lockscope(&["history", "--store", &other, "--store", &one, "--format", "json"])).await;
    assert_eq!(both.code, Some(0), "{both:?}");
    let history: Value = serde_json::from_str(&both.out).expect("JSON");
    let holds = history["holds"].as_array().expect("a list");
    let mut named: Vec<_> = holds.iter().map(|hold| (hold["context"].clone(), hold["lock"].clone())).collect();
    named.sort_by_key(|(context, _)| context.to_string());
    assert_eq!(named, [("one".into(), "/orders".into()), ("other".into(), "/orders".into())]);
    assert!(holds.is_sorted_by_key(|hold| hold["enqueued_at"].as_str().map(str::to_owned)), "one time line: {history}");
    assert!(holds.iter().all(|hold| hold["ensemble"].as_str().is_some_and(|connect| connect.contains("several"))));
    let newest = run(lockscope(&["history", "--store", &other, "--store", &one, "--limit", "1"])).await;
    let newest: Value = serde_json::from_str(&newest.out).expect("JSON");
    assert_eq!((&newest["hold_count"], &newest["left_out"]), (&2.into(), &1.into()), "{newest}");

    let table = run(lockscope(&["history", "--store", &store, "--format", "table"])).await;
    assert!(table.out.contains("ENSEMBLE") && table.out.contains("nobody (127.0.0.1:1)"), "{table:?}");
    let check = run(lockscope(&["check", "--store", &store, "--format", "json"])).await;
    assert_eq!(check.code, Some(2), "{check:?}");
    let passed: Vec<_> = lines(&check).iter().map(|line| (line["context"].clone(), line["passed"].clone())).collect();
    assert_eq!(passed, [("one".into(), true.into()), ("other".into(), false.into())]);
    assert!(check.stderr.contains("1 of 3 recordings could not be read: nobody"), "{check:?}");
    let plugin = run(lockscope(&["check", "--store", &store, "--nagios"])).await;
    assert_eq!(plugin.code, Some(3), "{plugin:?}");
    assert!(plugin.out.contains("nobody UNKNOWN: ") && plugin.out.contains("1 of 3 ensembles OK"), "{plugin:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_of_several_recordings_has_an_overview_and_a_page_for_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = recorded(folder.path()).await;
    let file = |name: &str| folder.path().join(name);
    let write = |name: &str| {
        let output = file(name).to_str().expect("a plain path").to_owned();
        lockscope(&["report", "--store", &store, "-o", &output])
    };
    let page = run(write("night.html")).await;
    assert_eq!(page.code, Some(2), "one of them cannot be read: {page:?}");
    let overview = fs::read_to_string(file("night.html")).expect("the overview");
    for name in ["one", "other"] {
        assert!(overview.contains(&format!("href=\"night-{name}.html\"")), "{overview}");
        let own = fs::read_to_string(file(&format!("night-{name}.html"))).expect("a page");
        assert!(own.contains("/orders"), "{own}");
    }
    assert!(overview.contains("nobody: not seen"), "{overview}");
    let _ = run(write("night.json")).await;
    let trace: Value = serde_json::from_str(&fs::read_to_string(file("night.json")).expect("a trace")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let processes: Vec<_> = events.iter().filter(|event| event["name"] == "process_name").collect();
    for name in ["one: /orders", "other: /orders"] {
        assert_eq!(processes.iter().filter(|event| event["args"]["name"] == name).count(), 1, "{processes:?}");
    }
    let ids: std::collections::BTreeSet<_> = processes.iter().map(|event| event["pid"].as_u64()).collect();
    assert_eq!(ids.len(), processes.len(), "each process has an id of its own");
}

/// Two processes of kazoo, each with a session in both ensembles: each holds in one and waits in the
/// other.
async fn cross_deadlock(servers: &[Server; 2]) -> [Foreign; 2] {
    let mut clients = [0, 1].map(|at: usize| Foreign::kazoo(&servers[at].connect_string()));
    for ((client, lock), names) in
        clients.iter_mut().zip(["/a", "/b"]).zip([["worker-1", "worker-2"], ["worker-2", "worker-1"]])
    {
        for name in names {
            client.connect(name).await;
        }
        client.start(names[0], names[0], "lock", lock).await;
        client.held(names[0]).await;
    }
    for (client, (name, lock)) in clients.iter_mut().zip([("worker-2", "/a"), ("worker-1", "/b")]) {
        client.start(name, name, "lock", lock).await;
    }
    clients
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_over_two_ensembles_is_named_in_both_and_ends_with_one_of_the_clients() {
    let folder = tempfile::tempdir().expect("a folder");
    let servers = [Server::start(), Server::start()];
    let [eu, us] = servers.each_ref().map(Server::connect_string);
    let config = config(folder.path(), &eu, &us);
    let mut clients = cross_deadlock(&servers).await;
    let check = || of(&["check", "--for", "2s"], &config, "one,other");
    eventually("a critical finding in both ensembles", async || {
        let ended = run(check()).await;
        let worst: Vec<_> = lines(&ended).iter().map(|line| line["findings"][0].clone()).collect();
        let is_told = |finding: &Value, lock| {
            (&finding["code"], &finding["severity"], &finding["lock"])
                == (&"cross-deadlock".into(), &"critical".into(), &Value::from(lock))
        };
        if worst.len() == 2 && is_told(&worst[0], "/a") && is_told(&worst[1], "/b") && ended.code == Some(1) {
            let said = worst[0]["summary"].as_str().unwrap_or_default().to_owned();
            assert!(said.contains("holds /a in one, waits for /b in other; worker-2"), "{said}");
            assert!(said.ends_with("matched by name and host"), "{said}");
            return Ok(());
        }
        Err(ended)
    })
    .await;
    let plugin = ["check", "--nagios", "--for", "2s", "--context", "one,other", "--config"];
    let plugin = run(lockscope(&[&plugin[..], &[config.to_str().expect("a plain path")]].concat())).await;
    assert!(plugin.out.contains("one CRITICAL: /a cross-deadlock"), "{plugin:?}");
    let store = folder.path().join("recordings").to_str().expect("a plain path").to_owned();
    let config_path = config.to_str().expect("a plain path");
    let arguments = ["record", "--config", config_path, "--context", "one,other", "--store", &store];
    let recorder = Running::start(lockscope(&arguments));
    eventually("the finding in both recordings", async || {
        let ended = run(lockscope(&["check", "--store", &store, "--format", "json"])).await;
        if ended.out.matches("\"cross-deadlock\",\"severity\":\"critical\"").count() == 2 { Ok(()) } else { Err(ended) }
    })
    .await;
    clients[0].abandon("worker-2").await;
    let ended = run(check()).await;
    let codes: Vec<_> =
        lines(&ended).iter().filter_map(|line| line["findings"].as_array().cloned()).flatten().collect();
    assert!(!codes.iter().any(|finding| finding["code"] == "cross-deadlock"), "{ended:?}");
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0));
    let history = run(lockscope(&["report", "--store", &store, "-o", &format!("{store}/night.html")])).await;
    assert_eq!(history.code, Some(0), "{history:?}");
    let page = fs::read_to_string(format!("{store}/night-one.html")).expect("a page");
    assert!(page.contains("waits for /b in other"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn find_names_every_lock_and_contender_with_the_text_in_all_ensembles() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, clients) = two(folder.path()).await;
    zk::make(&clients[0], ["/orders-archive".to_owned()]).await;
    let node = "/orders-archive/_c_00000000-0000-4000-8000-000000000002-lock-".to_owned();
    let data = b"{\"host\":\"Billing-7\"}".to_vec();
    zk::create_all(&clients[0], CreateMode::EphemeralSequential, [(node, data)]).await;
    let find = async |text: &str, contexts: &str| {
        let ended = run(of(&["find", text], &config, contexts)).await;
        let found: Vec<Value> = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{ended:?}"));
        let field = |found: &Value, name: &str| found[name].as_str().unwrap_or("-").to_owned();
        let found: Vec<_> =
            found.iter().map(|found| ["context", "lock", "field"].map(|name| field(found, name)).join(" ")).collect();
        (ended.code, found, ended.stderr)
    };
    let (code, found, _) = find("ORDERS", "one,other").await;
    assert_eq!(
        (code, &found[..]),
        (Some(0), &["one /orders lock", "one /orders-archive lock", "other /orders lock"].map(str::to_owned)[..])
    );
    assert_eq!(find("billing-7", "one,other").await.1, ["one /orders-archive data"]);
    assert_eq!(
        find("holder", "one,other").await.1,
        ["one /orders name", "one /orders-archive name", "other /orders name"],
        "by its session"
    );
    assert_eq!(find("nobody has this", "one,other").await.0, Some(1));
    let (code, found, said) = find("orders-a", "nobody,one").await;
    assert_eq!((code, found), (Some(2), vec!["one /orders-archive lock".to_owned()]));
    assert!(said.contains("1 of 2 contexts could not be reached: nobody"), "{said}");
}
