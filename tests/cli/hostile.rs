//! Hostile servers: whatever one sends, and however fast, the program stays small and idle, and says
//! what the server does.
//!
//! `LOCKSCOPE_FLOOD_SECONDS` lets each flood last that long instead of until the sentence is there;
//! the figures are printed.

mod server;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use self::server::{Flood, HostileServer};
use super::home;

/// The most resident memory of the program during a flood, in KiB.
const MAX_MEMORY: u64 = 150 << 10;

/// The most of one core that the program may use during a long flood, in percent.
const MAX_CORE: u64 = 50;

/// The time for the program to say what the server does.
const PATIENCE: Duration = Duration::from_secs(45);

/// The length of a tick of the processor time on Linux, in milliseconds.
const TICK_MILLIS: u64 = 10;

/// How long the program goes on after its sentence, so that the memory of the next connections counts,
/// too.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// How long a flood lasts that the program says nothing of.
const UNTOLD: Duration = Duration::from_secs(5);

/// A running command of the program, which ends with the value.
struct Attacked {
    child: Child,
    said: Arc<Mutex<String>>,
    began: Instant,
    _home: TempDir,
}

/// What a command has used.
#[derive(Clone, Copy, Debug)]
struct Used {
    peak_kib: u64,
    cpu: Duration,
}

impl Attacked {
    fn start(arguments: &[&str]) -> Self {
        let home = home();
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
            .args(arguments)
            .env_clear()
            .env("HOME", home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let said = Arc::new(Mutex::new(String::new()));
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().expect("it is piped")), Box::new(child.stderr.take().expect("it is piped"))];
        for mut output in outputs {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = output.read(&mut piece) {
                    said.lock().expect("no panic").push_str(&String::from_utf8_lossy(&piece[..length]));
                }
            });
        }
        Self { child, said, began: Instant::now(), _home: home }
    }

    fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Returns what the command has used so far; `None` once it has ended.
    fn used(&self) -> Option<Used> {
        let of = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).ok();
        let status = of("status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let stat = of("stat")?;
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        let cpu = Duration::from_millis((ticks(11)? + ticks(12)?) * TICK_MILLIS);
        Some(Used { peak_kib: peak.trim().strip_suffix(" kB")?.parse().ok()?, cpu })
    }
}

impl Drop for Attacked {
    fn drop(&mut self) {
        // Both fail only when the command has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns how long each flood lasts at least.
fn flood_time() -> Option<Duration> {
    let seconds = std::env::var("LOCKSCOPE_FLOOD_SECONDS").ok()?;
    Some(Duration::from_secs(seconds.parse().expect("a number of seconds")))
}

/// Floods a command until it has said one of the sentences, or for [`UNTOLD`] if there is none, and
/// checks what it used. Returns the server.
fn attack(flood: Flood, command: &[&str], sentences: &[&str]) -> HostileServer {
    let server = HostileServer::start(flood);
    let mut attacked = Attacked::start(&[command, &["--connect", &server.address()]].concat());
    let (mut last, mut said_at) = (Used { peak_kib: 0, cpu: Duration::ZERO }, None);
    let lasting = flood_time();
    loop {
        let ended = attacked.used().map(|used| last = used).is_none()
            || attacked.child.try_wait().expect("it is our child").is_some();
        let said = attacked.said();
        if said_at.is_none() && sentences.iter().any(|sentence| said.contains(sentence)) {
            said_at = Some(Instant::now());
        }
        assert!(last.peak_kib < MAX_MEMORY || lasting.is_some(), "{flood:?}: {last:?}\n{said}");
        let is_untold = sentences.is_empty() && attacked.began.elapsed() > UNTOLD;
        let is_over = said_at.map_or(is_untold, |at| at.elapsed() > AFTERWARDS);
        if ended || lasting.map_or(is_over, |time| attacked.began.elapsed() > time) {
            break;
        }
        if lasting.is_none() {
            assert!(attacked.began.elapsed() < PATIENCE, "{flood:?}: {last:?}\n{said}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    let took = attacked.began.elapsed();
    let core = last.cpu.as_millis() * 100 / took.as_millis().max(1);
    let said = attacked.said();
    let head: String = said.chars().take(1_500).collect();
    println!(
        "{flood:?} {command:?}: {} MiB, {core} % of a core in {took:?}, said after {:?}, {server:?}\n{head}",
        last.peak_kib >> 10,
        said_at.map(|at| at - attacked.began)
    );
    // A tree is read as fast as its server answers, however large it is.
    if lasting.is_some() && flood != Flood::EndlessTree {
        assert!(core < u128::from(MAX_CORE) || took < Duration::from_secs(20), "{flood:?}: {core} %");
    }
    assert!(last.peak_kib < MAX_MEMORY, "{flood:?}: {last:?}");
    assert!(said_at.is_some() || sentences.is_empty(), "{flood:?}: none of {sentences:?} is in: {head}");
    server
}

const WATCH: &[&str] = &["watch", "--root", "/locks", "--server-view", "off"];

#[test]
fn events_for_nodes_that_nobody_watches_are_dropped_and_not_answered() {
    // What else it says is right, so that the locks are shown.
    let server = attack(Flood::UnwatchedWithReplies, WATCH, &["/locks/orders"]);
    assert_eq!(server.removals(), 0, "{server:?}");
}

#[test]
fn a_server_that_sends_events_instead_of_answers_is_named_with_that() {
    attack(Flood::EventsAlone, WATCH, &["that nobody watches"]);
}

#[test]
fn events_that_come_too_fast_take_little() {
    // What it says, and when, depends on the machine: the events come before the answers.
    attack(Flood::Watched, WATCH, &[]);
}

#[test]
fn a_listing_beyond_the_bound_is_refused_before_it_takes_memory() {
    attack(Flood::Huge, WATCH, &["more than the bound"]);
}

#[test]
fn a_tree_without_an_end_is_told_as_that() {
    let timeout = format!("{}s", flood_time().map_or(2, |time| time.as_secs().saturating_sub(2)));
    let snapshot = ["snapshot", "--root", "/locks", "--server-view", "off", "--timeout", &timeout];
    attack(Flood::EndlessTree, &snapshot, &["has no end in sight"]);
}

#[test]
fn a_server_that_sends_a_byte_a_second_is_told_as_that() {
    attack(Flood::Drip, WATCH, &["bytes of a reply", "sent only the beginning of a reply"]);
}
