//! The memory of the commands that read a crafted recording, whatever the recording unpacks to.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::COUNTING;
use super::crafted::{self, Content};

/// The maximum memory of a command, in bytes.
const MOST: u64 = 300_000_000;

/// The time limit of a command.
const PATIENCE: Duration = Duration::from_secs(120);

const INTERVAL: Duration = Duration::from_millis(1);

/// Returns the peak memory of the process since the program started in it, in bytes; `None` before
/// the program starts and after it ends.
fn peak(id: u32) -> Option<u64> {
    // Until the exec, the process is a copy of this one.
    let program = std::fs::read_link(format!("/proc/{id}/exe")).ok()?;
    if program != Path::new(env!("CARGO_BIN_EXE_lockscope")) {
        return None;
    }
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Returns a command's peak memory in bytes, and its stderr.
pub fn run(arguments: &[&str]) -> (u64, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockscope"));
    command.args(arguments).env("TZ", "UTC").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut errors = child.stderr.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let mut said = String::new();
        errors.read_to_string(&mut said).map(|_| said)
    });
    let most = watch(&mut child);
    let said = reader.join().expect("a thread").expect("text");
    (most, said)
}

fn watch(child: &mut Child) -> u64 {
    let (deadline, mut most) = (Instant::now() + PATIENCE, 0);
    while child.try_wait().expect("a process").is_none() {
        most = most.max(peak(child.id()).unwrap_or(0));
        if most > MOST * 2 || Instant::now() > deadline {
            child.kill().expect("a process");
        }
        thread::sleep(INTERVAL);
    }
    most
}

/// Returns the peak memory and the stderr of every command that reads a recording.
fn all_commands(folder: &Path, recording: &Path) -> Vec<(&'static str, u64, String)> {
    let recording = recording.to_str().expect("text");
    let file = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (page, trace, excerpt) = (file("page.html"), file("trace.json"), file("excerpt.db"));
    let commands: [(&str, Vec<&str>); 7] = [
        ("snapshot", vec!["snapshot", "--store", recording]),
        ("watch", vec!["watch", "--store", recording]),
        ("check", vec!["check", "--store", recording]),
        ("history", vec!["history", "--store", recording]),
        ("report", vec!["report", "--store", recording, "--output", &page]),
        ("report as a trace", vec!["report", "--store", recording, "--output", &trace]),
        ("cut", vec!["cut", "--store", recording, "--output", &excerpt]),
    ];
    let run = |(name, arguments): (&'static str, Vec<&str>)| {
        let (most, said) = run(&arguments);
        (name, most, said)
    };
    commands.into_iter().map(run).collect()
}

/// Returns the excessive costs of a recording with this content, as sentences.
fn measure(content: &Content) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = crafted::recording(folder.path(), content);
    let measured = all_commands(folder.path(), &recording);
    let size = std::fs::metadata(&recording).expect("a file").len();
    for (command, most, said) in &measured {
        println!("{}, {size} bytes: {command}: {} MB; {}", content.name, most / 1_000_000, said.trim());
    }
    let is_wrong = |(_, most, said): &&(&str, u64, String)| *most >= MOST || said.contains("panicked");
    let wrong = measured.iter().filter(is_wrong);
    wrong.map(|(command, most, said)| format!("{}: {command}: {most} bytes; {said}", content.name)).collect()
}

#[test]
fn no_crafted_recording_takes_300_mb_of_any_command() {
    let _beside_others = COUNTING.read();
    let wrong: Vec<String> = crafted::contents().iter().flat_map(measure).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// One row of the table of locks has a path of the maximum size, and the lock has very many
/// contenders.
#[test]
fn a_text_that_very_many_rows_share_does_not_take_300_mb_of_any_command() {
    let _beside_others = COUNTING.read();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("crafted.db");
    crafted::sound(&recording);
    let connection = Connection::open(&recording).expect("a file");
    connection
        .execute_batch(
            "UPDATE lock SET path = '/' || printf('%.*c', 40000000, 'a');
             INSERT INTO contender (lock_id, first_seen_at, ending, mode, node)
             WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1000)
             SELECT (SELECT id FROM lock), 1777601400000, 'open', 'exclusive', n FROM number",
        )
        .expect("it is written");
    drop(connection);
    for (command, most, said) in all_commands(folder.path(), &recording) {
        println!("a shared text: {command}: {} MB; {}", most / 1_000_000, said.trim());
        assert!(most < MOST, "{command}: {most} bytes; {said}");
    }
}

#[test]
fn a_sound_recording_of_100_000_locks_or_contenders_is_read_in_300_mb() {
    let _beside_others = COUNTING.read();
    for content in [crafted::state("100,000 locks", 100_000, 1, 0), crafted::state("100,000 contenders", 1, 100_000, 0)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = crafted::recording(folder.path(), &content);
        let measured = all_commands(folder.path(), &recording);
        for (command, most, said) in &measured {
            println!("{}: {command}: {} MB; {}", content.name, most / 1_000_000, said.trim());
        }
        for (command, most, said) in &measured {
            assert!(!said.contains("damaged"), "{}: {command}: {said}", content.name);
            assert!(*most < MOST, "{}: {command}: {most} bytes", content.name);
        }
    }
}
