//! `lockscope record` beside a real server: killed, stopped, told to reload its settings, and the
//! content of its file.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;
use zookeeper_client::{Acls, Client, CreateMode};

use super::program::{Ended, Running, lockscope, run};
use crate::harness::recording;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::curator;

/// A recorder of a server, and its file.
struct RecordFixture {
    server: Server,
    client: Client,
    folder: TempDir,
    arguments: Vec<String>,
    running: Running,
}

fn word(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

fn text_now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl RecordFixture {
    async fn start(more: &[&str]) -> Self {
        Self::of(Server::start(), more).await
    }

    async fn of(server: Server, more: &[&str]) -> Self {
        let client = zk::connect(&server.connect_string()).await;
        zk::make(&client, ["/locks", "/locks/billing", "/other", "/other/lock"].map(str::to_owned)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let store = word(&folder.path().join("locks.db"));
        let connect = server.connect_string();
        let audit = word(&folder.path().join("audit.jsonl"));
        let own =
            ["record", "--store", &store, "--connect", &connect, "--session-timeout", "10s", "--audit-log", &audit];
        let arguments: Vec<String> = own.iter().chain(more).map(ToString::to_string).collect();
        let running = record(&arguments).await;
        Self { server, client, folder, arguments, running }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("locks.db")
    }

    /// Creates a contender.
    async fn contender(&self, lock: &str, data: &[u8]) -> String {
        let prefix = format!("{lock}/{}", curator());
        let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let (_, number) = self.client.create(&prefix, data, &options).await.expect("it is created");
        format!("{prefix}{:010}", number.into_i64())
    }

    /// Waits until the recording shows exactly these nodes.
    async fn until_recorded(&self, nodes: &[&String]) {
        eventually("a recording that is up to date", async || {
            let shown = self.nodes(None).await;
            if shown.iter().collect::<Vec<_>>() == nodes { Ok(()) } else { Err(shown) }
        })
        .await;
    }

    /// Returns the contenders in the recording, at its end or at another time.
    async fn nodes(&self, at: Option<&str>) -> Vec<String> {
        let store = word(&self.store());
        let mut arguments = vec!["snapshot", "--store", &store, "--format", "json"];
        arguments.extend(at.into_iter().flat_map(|at| ["--at", at]));
        let ended = run(lockscope(&arguments)).await;
        if ended.code != Some(0) {
            return vec![ended.stderr];
        }
        let shot: Value = serde_json::from_str(&ended.out).expect("JSON");
        let locks = shot["locks"].as_array().expect("locks").iter();
        let nodes = locks.flat_map(|lock| {
            let path = lock["path"].as_str().expect("a path").to_owned();
            let contenders = lock["contenders"].as_array().expect("contenders").clone();
            contenders.into_iter().map(move |one| format!("{path}/{}", one["node"].as_str().expect("a node")))
        });
        nodes.collect()
    }

    /// Returns the time up to which all events are in the file, in milliseconds since 1970.
    fn recorded_until(&self) -> i64 {
        let connection = Connection::open(self.store()).expect("a recording");
        connection.query_row("SELECT max(until_ms) FROM segment", [], |row| row.get(0)).expect("an answer")
    }

    /// Returns the recorded events.
    async fn events(&self) -> Vec<Value> {
        let store = word(&self.store());
        let lines = run(lockscope(&["watch", "--store", &store, "--format", "json"])).await.done();
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

async fn record(arguments: &[String]) -> Running {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut running = Running::start(lockscope(&arguments));
    let first: Value = serde_json::from_str(&running.line().await.expect("a line")).expect("JSON");
    assert!(first["recording"].as_str().is_some_and(|path| path.ends_with("locks.db")), "{first}");
    running
}

/// Many servers refuse `cons` and have an unreachable AdminServer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lists_no_connections_is_recorded_too() {
    let server = Settings::default().line("4lw.commands.whitelist=srvr,conf").start();
    let fixture = RecordFixture::of(server, &[]).await;
    let node = fixture.contender("/locks/billing", b"").await;
    fixture.until_recorded(&[&node]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_recorder_leaves_a_gap_and_a_stopped_one_has_written_everything() {
    let mut fixture = RecordFixture::start(&[]).await;
    let first = fixture.contender("/locks/billing", b"").await;
    fixture.until_recorded(&[&first]).await;
    let before = text_now();

    let seen = fixture.recorded_until();
    fixture.running.signal("KILL");
    let (arguments, missed) = (fixture.arguments.clone(), fixture.contender("/locks/billing", b"").await);
    eventually("its end", async || if fixture.running.has_ended() { Ok(()) } else { Err("it runs") }).await;
    let left = fixture.recorded_until();
    assert!(left >= seen, "what anybody could read before it was killed is still there: {left} after {seen}");
    fixture.running = record(&arguments).await;
    fixture.until_recorded(&[&first, &missed]).await;
    let last = text_now();
    fixture.running.signal("TERM");
    let running = std::mem::replace(&mut fixture.running, Running::start(lockscope(&["--version"])));
    let ended = running.ended().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    assert_eq!(fixture.nodes(Some(&last)).await, [first.clone(), missed.clone()], "everything was written at the end");
    let events = fixture.events().await;
    let gaps: Vec<&Value> = events.iter().filter(|event| event["event"] == "gap").collect();
    assert_eq!(gaps.len(), 1, "{events:?}");
    let (from, until) = (gaps[0]["at"].as_str().expect("a time"), gaps[0]["until"].as_str().expect("a time"));
    let milliseconds = |time: &str| chrono::DateTime::parse_from_rfc3339(time).expect("a time").timestamp_millis();
    assert_eq!(milliseconds(from), left, "the gap begins with the first moment that is lost");
    // The recorder writes once a second; a busy machine may delay that.
    assert!(milliseconds(&before) - milliseconds(from) < 3_000, "{from}, killed after {before}");
    assert!(milliseconds(until) > milliseconds(from) && milliseconds(until) <= milliseconds(&last));
    let of =
        |node: &String| events.iter().filter(|event| node.ends_with(event["node"].as_str().unwrap_or("-"))).count();
    assert!(of(&first) >= 2 && of(&missed) >= 1, "{events:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_recorder_is_refused_while_the_first_runs() {
    let fixture = RecordFixture::start(&[]).await;
    let arguments: Vec<&str> = fixture.arguments.iter().map(String::as_str).collect();
    let refused = run(lockscope(&arguments)).await.refused();
    assert!(refused.contains("is being recorded by another program"), "{refused}");
    let node = fixture.contender("/locks/billing", b"").await;
    fixture.until_recorded(&[&node]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_reloaded_and_bad_ones_are_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let log = word(&folder.path().join("log"));
    let write = |root: &str| fs::write(&config, format!("root = [{root}]\nlog-file = '{log}'\n")).expect("written");
    write("'/locks'");
    let mut fixture = RecordFixture::start(&["--config", &word(&config)]).await;
    let here = fixture.contender("/locks/billing", b"").await;
    let there = fixture.contender("/other/lock", b"").await;
    fixture.until_recorded(&[&here]).await;
    write("no text");
    fixture.running.signal("HUP");
    let more = fixture.contender("/locks/billing", b"").await;
    fixture.until_recorded(&[&here, &more]).await;
    assert!(fixture.events().await.iter().all(|event| event["event"] != "gap"), "bad settings make no gap");
    write("'/other'");
    fixture.running.signal("HUP");
    fixture.until_recorded(&[&there]).await;
    fixture.running.signal("TERM");
    let running = std::mem::replace(&mut fixture.running, Running::start(lockscope(&["--version"])));
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("recording goes on with the settings as they were")
            && ended.stderr.contains("config.toml")
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_data_no_secret_is_in_the_file() {
    const SECRET: &str = "7f3a-secret-of-a-contender";
    const PASSWORD: &str = "9c1e-password";
    let folder = tempfile::tempdir().expect("a folder");
    let auth = folder.path().join("auth");
    fs::write(&auth, format!("digest:ann:{PASSWORD}\n")).expect("written");
    fs::set_permissions(&auth, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its owner's");
    let auth = word(&auth);
    for (more, has_secret) in [(&["--no-data"][..], false), (&[], true)] {
        let arguments = [more, &["--auth-file", &auth]].concat();
        let fixture = RecordFixture::start(&arguments).await;
        let first = fixture.contender("/locks/billing", SECRET.as_bytes()).await;
        let second = fixture.contender("/locks/billing", SECRET.as_bytes()).await;
        fixture.until_recorded(&[&first, &second]).await;
        fixture.client.delete(&first, None).await.expect("it is deleted");
        fixture.client.set_data(&second, format!("{SECRET} again").as_bytes(), None).await.expect("it is written");
        fixture.until_recorded(&[&second]).await;
        fixture.running.signal("TERM");
        let store = fixture.store();
        let mut running = fixture.running;
        eventually("its end", async || if running.has_ended() { Ok(()) } else { Err("it runs") }).await;
        let everything = unpacked(&store);
        let has = |text: &str| everything.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has("billing"));
        assert_eq!(has(SECRET), has_secret, "{more:?}");
        assert!(!has(PASSWORD));
    }
}

/// Returns all bytes of a recording: those on the disk, and the compressed ones unpacked.
fn unpacked(store: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for end in ["", "-wal"] {
        bytes.extend(fs::read(format!("{}{end}", store.display())).unwrap_or_default());
    }
    let connection = Connection::open(store).expect("a recording");
    let mut query =
        connection.prepare("SELECT state FROM keyframe UNION ALL SELECT entries FROM chunk").expect("a query");
    let packed = query.query_map([], |row| row.get::<_, Vec<u8>>(0)).expect("rows");
    for packed in packed {
        bytes.extend(zstd::decode_all(&*packed.expect("a row")).expect("a frame"));
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manual_deletion_is_recorded_with_its_author() {
    let fixture = RecordFixture::start(&[]).await;
    let node = fixture.contender("/locks/billing", b"").await;
    fixture.until_recorded(&[&node]).await;
    let audit = word(&fixture.folder.path().join("audit.jsonl"));
    let connect = fixture.server.connect_string();
    let delete = ["delete", &node, "--connect", &connect, "--audit-log", &audit, "--yes", "--even-if-live"];
    let ended = run(lockscope(&delete)).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.stderr);
    let rows = eventually("its row", async || {
        let connection = Connection::open(fixture.store()).expect("a recording");
        let row = connection.query_row("SELECT path, result, by FROM deletion", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
        });
        row.map_err(|error| error.to_string())
    })
    .await;
    assert_eq!((rows.0, rows.1.as_str()), (node, "deleted"));
    assert!(rows.2.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waiting_cost_is_told_of_the_lock_and_of_the_client_that_held_it() {
    let fixture = RecordFixture::start(&[]).await;
    let mut nodes = Vec::new();
    for name in [b"worker-1", b"worker-2", b"worker-3"] {
        nodes.push(fixture.contender("/locks/billing", name).await);
    }
    fixture.until_recorded(&nodes.iter().collect::<Vec<_>>()).await;
    let store = word(&fixture.store());
    let top = eventually("a cost of two seconds", async || {
        let history = run(lockscope(&["history", "--store", &store, "--top", "cost", "--format", "json"])).await.json();
        let top = history["top"].clone();
        if top["locks"][0]["waiter_seconds"].as_f64() >= Some(2.0) { Ok(top) } else { Err(top) }
    })
    .await;
    let [lock, client, holder] = ["locks", "clients", "holders"].map(|list| &top[list][0]);
    assert_eq!((&lock["lock"], &client["client_name"]), (&"/locks/billing".into(), &"worker-1".into()), "{top}");
    assert_eq!((&holder["waiters"], &holder["client_name"]), (&2.into(), &client["client_name"]), "{top}");
    let seconds = |row: &Value| row["waiter_seconds"].as_f64().expect("seconds");
    let held = seconds(lock) - lock["waiter_seconds_unheld"].as_f64().expect("seconds");
    assert!((seconds(client) - held).abs() < 0.001 && (seconds(holder) - held).abs() < 0.001, "{top}");
    let elapsed = top["counted_seconds"].as_f64().expect("seconds");
    assert!(seconds(lock) <= 2.0 * elapsed, "two wait for {elapsed} s: {top}");
}

/// The commands that read a recording; `FILE` stands for it.
const READERS: [&[&str]; 10] = [
    &["history", "--store", "FILE"],
    &["history", "--store", "FILE", "--top", "cost"],
    &["history", "--store", "FILE", "--from", "2026-05-01T02:11:30Z", "--to", "2026-05-01T02:13:30Z", "--top", "hold"],
    &["history", "--store", "FILE", "--end", "expired,unknown", "--min-hold", "1s", "--format", "table", "--utc"],
    &["snapshot", "--store", "FILE"],
    &["snapshot", "--store", "FILE", "--at", "2026-05-01T02:11:59Z"],
    &["check", "--store", "FILE", "--at", "2026-05-01T02:14:30Z"],
    &["watch", "--store", "FILE"],
    &["watch", "--store", "FILE", "--from", "2026-05-01T02:12:55Z", "--to", "2026-05-01T02:13:05Z"],
    &["history", "--store", "FOLDER"],
];

#[tokio::test]
async fn every_command_reads_the_files_of_a_recording_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = folder.path().join("one/locks.db");
    let parts = folder.path().join("parts/locks.db");
    for store in [&one, &parts] {
        fs::create_dir(store.parent().expect("a folder")).expect("a folder");
    }
    recording::incident(&one);
    recording::incident_in_parts(&parts);
    let files = fs::read_dir(parts.parent().expect("a folder")).expect("a folder").count();
    assert!(files >= 5 && !parts.exists(), "{files} files");
    let read = async |reader: &[&str], store: &Path| {
        let (file, folder) = (store.to_str().expect("text"), store.parent().and_then(Path::to_str).expect("text"));
        let arguments: Vec<String> =
            reader.iter().map(|word| word.replace("FILE", file).replace("FOLDER", folder)).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(lockscope(&arguments)).await
    };
    for reader in READERS {
        let (expected, found) = (read(reader, &one).await, read(reader, &parts).await);
        assert!(!expected.out.is_empty(), "{reader:?}: {}", expected.stderr);
        // The looks for findings are counted from the last stored state on.
        let lines = |ended: &Ended| {
            ended.out.split(',').filter(|fact| !fact.starts_with("\"looks\":")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!((found.code, lines(&found)), (expected.code, lines(&expected)), "{reader:?}: {}", found.stderr);
    }
    let page = |store: &Path, name: &str| store.with_file_name(name).to_str().expect("text").to_owned();
    for store in [&one, &parts] {
        for name in ["page.html", "page.json"] {
            read(&["report", "--store", "FILE", "--utc", "-o", &page(store, name)], store).await.done();
        }
        let cut = ["cut", "--store", "FILE", "--from", "2026-05-01T02:12:30Z", "-o", &page(store, "cut.bin")];
        read(&cut, store).await.done();
    }
    for name in ["page.html", "page.json"] {
        let [one, parts] = [&one, &parts].map(|store| fs::read_to_string(page(store, name)).expect("a report"));
        assert!(one == parts, "{name} differs");
    }
    let cut = ["history", "--store", "FILE"];
    let [one_cut, parts_cut] = [&one, &parts].map(|store| store.with_file_name("cut.bin"));
    assert_eq!(read(&cut, &parts_cut).await.out, read(&cut, &one_cut).await.out);
    let checked = read(&["store", "check", "FILE"], &parts).await;
    assert_eq!(checked.out.lines().filter(|line| line.contains("\"whole\":true")).count(), files, "{}", checked.out);
    checked.done();
}
