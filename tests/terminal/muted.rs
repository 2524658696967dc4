//! A muted finding: on the screen, over a restart, in a check, in a recording and its report.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use zookeeper_client::CreateMode;

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;
use crate::harness::zk;

/// Runs a command on the notes of the test, and returns its exit code and its output.
fn run(notes: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockscope"));
    command.args(arguments).env("XDG_CONFIG_HOME", "/nonexistent");
    if arguments.contains(&"check") {
        command.arg("--notes-file").arg(notes);
    }
    let ended = command.output().expect("it runs");
    (ended.status.code(), String::from_utf8(ended.stdout).expect("text") + &String::from_utf8_lossy(&ended.stderr))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_muted_finding_is_told_to_nobody_again_until_it_is_unmuted() {
    let (server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/orders".to_owned()]).await;
    let node = "/orders/_c_00000000-0000-4000-8000-000000000001-lock-".to_owned();
    zk::create_all(&client, CreateMode::PersistentSequential, [(node, b"worker-7".to_vec())]).await;
    let [notes, audit, store] = ["notes.json", "audit.jsonl", "night.db"].map(|name| folder.path().join(name));
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let (notes_text, audit_text, store_text) = (text(&notes), text(&audit), text(&store));
    let start = || {
        let files = ["--notes-file", &notes_text, "--audit-log", &audit_text, "--store", &store_text, "--utc"];
        Terminal::lockscope(&[&["--connect", &at], &files[..]].concat(), 120, 30)
    };
    let check = || run(&notes, &["check", "--connect", &at, "--nagios"]);

    let mut first = start();
    first.shows_all(&["1 warning", "persistent"]);
    let (code, line) = check();
    assert!(code == Some(1) && line.contains("; 1 warning"), "{code:?} {line}");
    first.press("aknown to the team\r");
    first.shows_all(&["1 finding muted until", "1 muted", "muted "]);
    first.hides("1 warning");
    first.press("q");
    assert!(first.ends().success());

    let (code, line) = check();
    assert!(code == Some(0) && line.contains("; 1 muted"), "{code:?} {line}");
    let (code, json) = run(&notes, &["check", "--connect", &at, "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let mute = &json["findings"][0]["muted"];
    assert_eq!((code, &json["muted"], &mute["note"]), (Some(0), &1.into(), &"known to the team".into()), "{json}");
    assert!(mute["by"].as_str().is_some_and(|by| by.contains('@')) && mute["until"].is_string(), "{json}");

    let (code, line) = run(&folder.path().join("none.json"), &["check", "--store", &store_text, "--nagios"]);
    assert!(code == Some(0) && line.contains("; 1 muted"), "the recording knows: {code:?} {line}");
    let page = folder.path().join("night.html");
    let report = run(&notes, &["report", "--store", &store_text, "-o", &text(&page)]);
    let page = fs::read_to_string(page).unwrap_or_else(|error| panic!("{error}: {report:?}"));
    assert!(page.contains("(muted by ") && page.contains("known to the team"), "{page}");

    let mut second = start();
    second.shows_all(&["1 muted", "muted "]);
    second.press("\r");
    second.shows_all(&["Diagnosis", "persistent", "muted by", "until "]);
    second.press("a\r");
    second.shows("1 finding is counted again");
    second.press("\u{1b}");
    second.shows_all(&["Locks ──", "1 warning"]);
    second.press("q");
    assert!(second.ends().success());
    assert_eq!(check().0, Some(1));
    let log = fs::read_to_string(&audit).expect("an audit log");
    let actions: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let actions: Vec<_> = actions.iter().map(|line| (line["action"].as_str(), line["lock"].as_str())).collect();
    assert_eq!(actions, [(Some("mute"), Some("/orders")), (Some("unmute"), Some("/orders"))], "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_maintenance_covers_a_stopped_server_in_the_list_and_planned_work_its_locks() {
    let (mut server, folder) = (Server::start(), tempfile::tempdir().expect("a folder"));
    let other = Server::start();
    let client = zk::connect(&other.connect_string()).await;
    zk::make(&client, ["/orders".to_owned()]).await;
    let node = "/orders/_c_00000000-0000-4000-8000-000000000001-lock-".to_owned();
    zk::create_all(&client, CreateMode::PersistentSequential, [(node, Vec::new())]).await;
    let (config, notes) = (folder.path().join("config.toml"), folder.path().join("notes.json"));
    let contexts = format!(
        "notes-file = 'notes.json'\n[context.busy]\nconnect = '{}'\n[context.quiet]\nconnect = '{}'\n",
        server.connect_string(),
        other.connect_string()
    );
    fs::write(&config, &contexts).expect("a config file");
    let arguments = ["--config", config.to_str().expect("text"), "--all-contexts"];
    let mut terminal = Terminal::lockscope(&arguments, 120, 30);
    terminal.shows_all(&["2 ensembles", "2 live", "1 warning"]);
    terminal.press("/busy\r:maintenance 30m new disks\r");
    terminal.shows("In maintenance until");
    server.stop();
    terminal.press("\u{1b}");
    terminal.shows_all(&["1 not seen", "1 warning"]);
    let kept = fs::read_to_string(&notes).expect("notes");
    assert!(kept.contains("maintenance") && kept.contains("new disks"), "{kept}");

    let planned =
        "[[mute]]\npath = '/ord*'\nfrom = '2020-01-01T00:00:00Z'\nuntil = '2099-01-01T00:00:00Z'\nreason = 'x'\n";
    fs::write(&config, format!("{contexts}{planned}")).expect("a config file");
    eventually_blocking("the planned mute", || {
        let text = terminal.text();
        if text.contains("(1 muted)") && !text.contains("1 warning") { Ok(()) } else { Err(text) }
    });
    terminal.press("q");
    assert!(terminal.ends().success());
}
