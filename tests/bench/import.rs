//! The speed of the import of transaction logs, and its memory.
//!
//! `cargo bench --package lockscope-past --bench import` prints how many transactions are read and
//! imported in a second of CPU time: all of them, and those of one application in a hundred. The
//! logs are made by `server_logs`, and deleted at the end.
//!
//! `-- at-size PROGRAM GIB APPLICATIONS CONTENDERS` writes logs of so many GiB and runs a build of
//! lockscope (`cargo build --profile dist`) on them. It prints the time and the greatest memory of
//! `import`, with the root of one application and without, and of `report --from-logs`. `-- logs
//! FOLDER GIB APPLICATIONS CONTENDERS` only writes logs.

#![expect(clippy::cast_precision_loss, reason = "figures are printed with one decimal place")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use lockscope_base::disk::{LogItem, LogReader};
use lockscope_base::znode::ZnodePath;
use lockscope_past::import::{ImportOptions, Imported, ServerFiles, import};
use rustix::time::{ClockId, clock_gettime};
use server_logs::Load;

mod server_logs;

/// As in the program, whose options it takes from `_RJEM_MALLOC_CONF`: see `CONTRIBUTING.md`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A hundred applications with 20 locks each and 5 contenders for each lock.
const LOAD: Load = Load { applications: 100, contenders: 5 };

/// The size of the logs.
const BYTES: u64 = 256 << 20;

/// The pause between two looks at a program's memory.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("a process has spent no negative time")
}

/// Prints how many transactions are done in a second.
fn figure(what: &str, transactions: u64, bytes: u64, spent: Duration) {
    let each = |count: u64| count as f64 / spent.as_secs_f64();
    println!("{what:32} {:9.0} transactions/s, {:5.0} MiB/s, {spent:.1?}", each(transactions), each(bytes >> 20));
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

/// Decodes all transactions, and does nothing with them.
fn read(folder: &Path) -> u64 {
    let mut count = 0;
    for path in logs(folder) {
        let mut log = LogReader::open(File::open(path).expect("a log")).expect("a log");
        while let LogItem::Record(_) = log.read().expect("it can be read") {
            count += 1;
        }
    }
    count
}

fn imported(folder: &Path, roots: Vec<ZnodePath>) -> Imported {
    let options = ImportOptions { roots, ..ImportOptions::default() };
    let target = tempfile::tempdir().expect("a folder");
    let files = ServerFiles::find(&[folder.to_owned()]).expect("logs");
    import(files, &target.path().join("history.db"), &options, &mut |_| true).expect("it is imported")
}

fn speed() {
    let folder = tempfile::tempdir().expect("a folder");
    let transactions = LOAD.write(folder.path(), BYTES).expect("it can be written");
    println!("{transactions} transactions, {} bytes each", BYTES / transactions);
    let timed = |what: &str, act: &dyn Fn() -> u64| {
        let began = cpu_time();
        assert_eq!(act(), transactions);
        figure(what, transactions, BYTES, cpu_time().saturating_sub(began));
    };
    timed("read", &|| read(folder.path()));
    let root = ZnodePath::new(&Load::root(7)).expect("a path");
    for (what, roots) in [("imported, one application", vec![root]), ("imported, everything", Vec::new())] {
        timed(what, &|| {
            let imported = imported(folder.path(), roots.clone());
            println!("{} holds, {} waits, {} changes", imported.holds, imported.waits, imported.changes);
            imported.transactions
        });
    }
}

/// Runs a command. Prints its time and its greatest memory.
fn run(what: &str, transactions: u64, bytes: u64, command: &mut Command) {
    let began = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let most = |status: String| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        peak = fs::read_to_string(&status).ok().and_then(most).unwrap_or(peak);
        match child.try_wait().expect("a child") {
            Some(ended) => break ended,
            None => thread::sleep(LOOK_INTERVAL),
        }
    };
    assert!(ended.success(), "{what}: {ended}");
    figure(what, transactions, bytes, began.elapsed());
    println!("{:32} {} MiB of memory at most", "", peak >> 10);
}

fn at_size(program: &str, bytes: u64, load: Load) {
    let folder = tempfile::tempdir().expect("a folder");
    let (logs, output) = (folder.path().join("version-2"), folder.path().join("output"));
    fs::create_dir(&logs).expect("a folder");
    let transactions = load.write(&logs, bytes).expect("it can be written");
    println!("{transactions} transactions, {} bytes each, {load:?}", bytes / transactions);
    let root = Load::root(load.applications / 2);
    let (store, page) = (output.join("history.db"), output.join("incident.html"));
    let commands: [(&str, Vec<&str>); 3] = [
        ("import --root", vec!["import", "--root", &root, "--store", text(&store), text(&logs)]),
        ("import", vec!["import", "--store", text(&store), text(&logs)]),
        ("report", vec!["report", "--output", text(&page), "--from-logs", text(&logs)]),
    ];
    for (what, arguments) in commands {
        fs::create_dir(&output).expect("a folder");
        run(what, transactions, bytes, Command::new(program).args(arguments));
        for file in [&store, &page] {
            if let Ok(file) = fs::metadata(file) {
                println!("{:32} {} MiB are written", "", file.len() >> 20);
            }
        }
        fs::remove_dir_all(&output).expect("a folder");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let count = |text: &str| text.parse::<usize>().expect("a number");
    let load = |applications, contenders| Load { applications: count(applications), contenders: count(contenders) };
    let bytes = |gib| (count(gib) as u64) << 30;
    match arguments[..] {
        [] => speed(),
        ["logs", folder, gib, applications, contenders] => {
            let transactions = load(applications, contenders).write(Path::new(folder), bytes(gib));
            println!("{} transactions", transactions.expect("they can be written"));
        }
        ["at-size", program, gib, applications, contenders] => {
            at_size(program, bytes(gib), load(applications, contenders));
        }
        _ => eprintln!(
            "usage: at-size PROGRAM GIB APPLICATIONS CONTENDERS, logs FOLDER GIB APPLICATIONS CONTENDERS, or nothing"
        ),
    }
}
