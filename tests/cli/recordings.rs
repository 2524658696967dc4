//! The commands that read a recording, given files that they cannot read and contradictory options.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::endings::{ended, started};
use super::{DEADLINE, UNUSED_ADDRESS, home, lockscope, ran, refused};

/// Every command that reads a recording, with its required arguments. `FILE` stands for the
/// recording, and `OUT` for a folder.
const READERS: [&[&str]; 8] = [
    &["snapshot", "--store", "FILE"],
    &["check", "--store", "FILE"],
    &["watch", "--store", "FILE"],
    &["history", "--store", "FILE"],
    &["report", "--store", "FILE", "-o", "OUT/page.html"],
    &["report", "--store", "FILE", "-o", "OUT/trace.json"],
    &["cut", "--store", "FILE", "-o", "OUT/small.db"],
    &["replay", "FILE"],
];

fn arguments(reader: &[&str], store: &Path, out: &Path) -> Vec<String> {
    let word =
        |word: &&str| word.replace("FILE", store.to_str().expect("text")).replace("OUT", out.to_str().expect("text"));
    reader.iter().map(word).collect()
}

fn refusal(home: &Path, arguments: &[String]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(lockscope(home, &arguments))
}

/// Records servers that never answer. Returns the path.
fn recording(home: &Path) -> PathBuf {
    let store = home.join("locks.db");
    let mut child = started(home, &["record", "--store", store.to_str().expect("text"), "--connect", UNUSED_ADDRESS]);
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    assert!(first.starts_with("{\"recording\":"), "{first}");
    let deadline = Instant::now() + DEADLINE;
    while ran(lockscope(home, &["history", "--store", store.to_str().expect("text")])).0 != 0 {
        assert!(Instant::now() < deadline, "nothing is recorded");
    }
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(process, Signal::TERM).expect("the signal is delivered");
    assert_eq!(ended(child).0, Some(0));
    store
}

#[test]
fn a_file_that_is_no_recording_is_named_and_nothing_is_written() {
    let home = home();
    let out = home.path().join("out");
    fs::create_dir(&out).unwrap();
    let (empty, text, folder, fifo) =
        (home.path().join("empty"), home.path().join("text"), home.path().join("folder"), home.path().join("fifo"));
    fs::write(&empty, "").unwrap();
    fs::write(&text, "no recording\n".repeat(1_000)).unwrap();
    fs::create_dir(&folder).unwrap();
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    for reader in READERS {
        for (store, part) in [
            (home.path().join("none"), "No such file"),
            (text.join("below"), "Not a directory"),
            (empty.clone(), "is not a recording"),
            (text.clone(), "is not a recording"),
            (folder.clone(), "is not a recording"),
            (fifo.clone(), "is not a recording"),
        ] {
            let sentence = refusal(home.path(), &arguments(reader, &store, &out));
            assert!(sentence.contains(part) && sentence.contains(store.to_str().unwrap()), "{reader:?}: {sentence}");
        }
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    assert_eq!(fs::read(&empty).unwrap(), b"", "what is read stays as it is");
}

#[test]
fn an_unreadable_recording_is_named_with_the_reason() {
    let home = home();
    let store = recording(home.path());
    fs::set_permissions(&store, Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&store).is_ok() {
        assert!(rustix::process::geteuid().is_root(), "only root reads what nobody may");
        return;
    }
    for reader in READERS {
        let sentence = refusal(home.path(), &arguments(reader, &store, home.path()));
        assert!(sentence.contains("locks.db"), "{reader:?}: {sentence}");
    }
}

#[test]
fn an_invalid_or_unrecorded_time_is_named_with_the_recorded_span() {
    let home = home();
    let store = recording(home.path());
    for (index, reader) in READERS.iter().enumerate() {
        let given = arguments(reader, &store, home.path());
        let options: &[&str] = if [0, 1, 7].contains(&index) { &["--at"] } else { &["--from", "--to"] };
        for option in options {
            for time in ["25:00", "soon", "10m", "", "2026-13-01T00:00:00Z", "-10"] {
                let sentence = refusal(home.path(), &[&given[..], &[format!("{option}={time}")]].concat());
                assert!(sentence.contains("write ") && sentence.contains(option), "{reader:?} {time}: {sentence}");
            }
        }
        if options.len() == 2 {
            let backwards = ["--from=2026-05-01T02:13:01Z", "--to=2026-05-01T02:13:00Z"].map(str::to_owned);
            let sentence = refusal(home.path(), &[&given[..], &backwards].concat());
            assert!(sentence.contains("--from is later than --to"), "{reader:?}: {sentence}");
        }
    }
    for reader in &READERS[..2] {
        let early = [&arguments(reader, &store, home.path())[..], &["--at=2020-01-01T00:00:00Z".to_owned()]].concat();
        let sentence = refusal(home.path(), &early);
        assert!(sentence.contains("nothing was recorded at") && sentence.contains("begins at"), "{sentence}");
    }
    let (early, late) = ("2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z");
    for reader in &READERS[2..7] {
        for outside in [
            &[format!("--from={early}"), format!("--to={early}")][..],
            &[format!("--to={early}")],
            &[format!("--from={late}")],
        ] {
            let sentence = refusal(home.path(), &[&arguments(reader, &store, home.path())[..], outside].concat());
            let says = ["nothing was recorded from 20", "the recording begins at", "and ends at"];
            assert!(says.iter().all(|part| sentence.contains(part)), "{reader:?}: {sentence}");
        }
    }
}

#[test]
fn without_answers_of_the_servers_the_state_of_the_locks_is_unknown() {
    let home = home();
    let store = recording(home.path());
    let given = ["check", "--store", store.to_str().expect("text"), "--nagios"];
    let (code, line, _) = ran(lockscope(home.path(), &given));
    assert_eq!((code, line.lines().count()), (3, 1), "{line}");
    assert!(line.starts_with("LOCKSCOPE UNKNOWN - ") && line.contains("nothing is known of the locks at"), "{line}");
    let sentence = refused(lockscope(home.path(), &given[..3]));
    assert!(sentence.contains("nothing is known of the locks at"), "{sentence}");
}

#[test]
fn the_part_of_a_span_outside_of_the_recording_is_a_gap() {
    let home = home();
    let store = recording(home.path());
    let within = ["--from=2020-01-01T00:00:00Z", "--to=2099-01-01T00:00:00Z"].map(str::to_owned);
    let printed = |reader: &[&str]| {
        let given = [&arguments(reader, &store, home.path())[..], &within].concat();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let (code, out, said) = ran(lockscope(home.path(), &given));
        assert_eq!(code, 0, "{said}");
        out
    };
    let history: Value = serde_json::from_str(&printed(READERS[3])).expect("JSON");
    let gaps = history["gaps"].as_array().expect("gaps");
    assert_eq!(gaps[0]["from"], "2020-01-01T00:00:00.000Z", "{gaps:?}");
    assert_eq!(gaps[0]["reason"], "the recording begins later", "{gaps:?}");
    assert_eq!(gaps[gaps.len() - 1]["to"], "2099-01-01T00:00:00.000Z", "{gaps:?}");
    assert_eq!(gaps[gaps.len() - 1]["reason"], "the recording ends earlier", "{gaps:?}");

    let watched: Vec<Value> =
        printed(READERS[2]).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ends = [&watched[0], &watched[watched.len() - 1]];
    assert!(ends.iter().all(|event| event["event"] == "gap"), "{watched:?}");
}

#[test]
fn contradictory_options_are_refused_in_any_order() {
    let home = home();
    for (given, parts) in [
        (&["snapshot", "--store", "a.db", "--connect", "b"][..], ["--store", "--connect"]),
        (&["snapshot", "--store", "a.db", "--root", "/b"], ["--store", "--root"]),
        (&["snapshot", "--store", "a.db", "--lock", "/b"], ["--store", "--lock"]),
        (&["snapshot", "--store", "a.db", "--timeout", "1s"], ["--store", "--timeout"]),
        (&["check", "--store", "a.db", "--connect", "b", "--at", "02:13"], ["--at", "--connect"]),
        (&["check", "--store", "a.db", "--for", "1s"], ["--for", "name the ensemble"]),
        (&["check", "--store", "a.db", "--root", "/b"], ["--root", "name the ensemble"]),
        (&["watch", "--store", "a.db", "--connect", "b"], ["--store", "--connect"]),
        (&["watch", "--store", "a.db", "--for", "1s"], ["--store", "--for"]),
        (&["snapshot", "--at", "02:13"], ["--store", "required"]),
        (&["check", "--at", "02:13"], ["--store", "required"]),
        (&["watch", "--from", "02:13"], ["--store", "required"]),
        (&["watch", "--to", "02:13"], ["--store", "required"]),
        (&["history"], ["--store", "required"]),
        (&["report", "--store", "a.db"], ["--output", "required"]),
        (&["report", "-o", "a.html"], ["--store", "required"]),
        (&["report", "--store", "a.db", "-o", "a.pdf"], [".html", ".json"]),
        (&["cut", "--store", "a.db"], ["--output", "required"]),
        (&["cut", "-o", "b.db"], ["--store", "required"]),
        (&["cut", "--store", "a.db", "-o", "b.db", "--at", "02:13"], ["--at", "unexpected"]),
        (&["replay"], ["FILE", "required"]),
        (&["history", "--store", "a.db", "--connect", "b"], ["--connect", "unexpected"]),
        (&["history", "--store", "a.db", "--session", "17"], ["--session", "hexadecimal"]),
        (&["history", "--store", "a.db", "--top", "luck"], ["hand-overs", "wait"]),
        (&["history", "--store", "a.db", "--end", "expired,vanished"], ["vanished", "gone"]),
        (&["history", "--store", "a.db", "--min-hold", "long"], ["--min-hold", "number and its unit"]),
        (&["history", "--store", "a.db", "--sort", "luck"], ["worst", "time"]),
        (&["record", "--store", "a.db", "--keep", "long"], ["--keep", "number and its unit"]),
        (&["record", "--store", "a.db", "--max-size", "1MB"], ["--max-size", "16MiB"]),
        (&["--connect", "b", "snapshot", "--store", "a.db"], ["--store", "--connect"]),
        (&["--root", "/b", "watch", "--store", "a.db"], ["--store", "--root"]),
    ] {
        let sentence = refused(lockscope(home.path(), given));
        assert!(parts.iter().all(|part| sentence.contains(part)), "{given:?}: {sentence}");
    }
}

#[test]
fn cut_never_replaces_a_file_and_names_a_missing_folder() {
    let home = home();
    let store = recording(home.path());
    let store = store.to_str().unwrap();
    let small = home.path().join("small.db");
    let words = ["cut", "--store", store, "-o", small.to_str().unwrap()];
    assert_eq!(ran(lockscope(home.path(), &words)), (0, String::new(), String::new()));
    let before = fs::read(&small).unwrap();
    let sentence = refused(lockscope(home.path(), &words));
    assert!(sentence.contains("small.db exists already") && sentence.contains("--output"), "{sentence}");
    assert_eq!(fs::read(&small).unwrap(), before);
    let sentence = refused(lockscope(home.path(), &["cut", "--store", store, "-o", "/nonexistent/small.db"]));
    assert!(sentence.contains("/nonexistent/small.db") && sentence.contains("No such file"), "{sentence}");
    let sentence = refused(lockscope(home.path(), &["cut", "--store", store, "-o", store]));
    assert!(sentence.contains("exists already"), "it is not cut into itself: {sentence}");
    let (code, out, _) = ran(lockscope(home.path(), &["history", "--store", small.to_str().unwrap()]));
    assert_eq!(code, 0, "{out}");
}

#[test]
fn a_check_says_what_a_recording_covers_and_exits_with_1_when_it_is_not_whole() {
    let home = home();
    let store = recording(home.path());
    let path = store.to_str().expect("text");
    let checked = |format: &str| ran(lockscope(home.path(), &["store", "check", path, "--format", format]));
    let (code, text, said) = checked("table");
    assert_eq!((code, said.as_str()), (0, ""), "{text}");
    assert!(
        text.contains("It covers ")
            && text.contains(UNUSED_ADDRESS)
            && text.contains("It is whole: everything can be read"),
        "{text}"
    );
    let facts: Value = serde_json::from_str(&checked("json").1).expect("JSON");
    assert_eq!((&facts["whole"], &facts["runs"][0]["connect"]), (&true.into(), &UNUSED_ADDRESS.into()), "{facts}");
    assert!(facts["checked"]["entries"].as_u64() > Some(0) && facts["gaps"][0]["reason"].is_string(), "{facts}");

    rusqlite::Connection::open(&store).and_then(|sql| sql.execute_batch("DELETE FROM chunk")).expect("damaged");
    let (code, text, said) = checked("table");
    assert_eq!((code, said.as_str()), (1, ""), "{text}");
    assert!(text.contains("Wrong: ") && text.ends_with("It is not whole.\n"), "{text}");
    let facts: Value = serde_json::from_str(&checked("json").1).expect("JSON");
    assert_eq!(facts["whole"], false);
    assert!(facts["defects"][0]["what"].as_str().is_some_and(|what| what.contains("entries")), "{facts}");

    let none = home.path().join("none.db");
    assert!(
        refusal(home.path(), &["store", "check", none.to_str().expect("text")].map(str::to_owned)).contains("none.db")
    );
}
