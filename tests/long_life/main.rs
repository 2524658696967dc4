//! The soak test: runs the console, `watch` and `record` beside an ensemble whose members,
//! connections and clients fail, for any length of time. Compares the locks that each program shows
//! with those that the servers list. See `tests/soak --help`.

#[path = "../harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "this program uses only a part of it")]
mod harness;

mod arguments;
mod built_in;
mod clients;
mod clock;
mod collector_soak;
mod console;
mod elections;
mod faults;
mod figures;
mod holds;
mod knowledge;
mod listing;
mod locks;
mod quiet;
mod recorder;
mod soak;
mod usage;
mod watcher;

use std::process::ExitCode;

use arguments::Arguments;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::soak::Soak;

/// The exit code that a shell reports after ^C.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("client", rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        built_in::run(rest);
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::read(&words) {
        Ok(arguments) => arguments,
        Err((text, true)) => {
            eprint!("{text}");
            return ExitCode::from(2);
        }
        Err((text, false)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
    };
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.spawn(end_when_interrupted());
    println!("seed {}", arguments.seed);
    let passed = if arguments.otlp {
        collector_soak::run(&runtime, arguments.time)
    } else if arguments.elections {
        elections::run(&runtime, arguments.time, &mut fastrand::Rng::with_seed(arguments.seed))
    } else {
        Soak::start(&runtime, &arguments).run(&runtime, arguments.time)
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Exits at once on a signal. All child processes end with this process, and remove their folders.
async fn end_when_interrupted() {
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
        .map(|kind| signal(kind).expect("signals can be waited for"));
    let [interrupt, terminate, hangup] = &mut signals;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    // This folder belongs to no child process.
    if let Some(folder) = soak::folder() {
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(INTERRUPTED);
}
