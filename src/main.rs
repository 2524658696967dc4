//! The program: parses, makes a runtime, and hands over.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use lockscope::cli::{self, Arguments, Verdict};

/// Could not do it: usage, connection, permission.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(told) if !told.use_stderr() => {
            // Help and version; a reader that is gone does not miss them.
            let _ = told.print();
            return ExitCode::SUCCESS;
        }
        Err(mistake) => return fail(&cli::usage_sentence(&mistake)),
    };
    match run(arguments) {
        Ok(verdict) => ExitCode::from(verdict.code()),
        Err(error) => fail(&format!("{error:#}")),
    }
}

fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime's threads")?;
    let outcome = runtime.block_on(cli::run(arguments));
    // A write to a pipe that nobody empties must not keep the program.
    runtime.shutdown_timeout(Duration::from_millis(200));
    Ok(outcome?)
}

/// One sentence on stderr, where a closed stderr is no reason to panic.
fn fail(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "lockscope: {}", lockscope::znode::escaped(sentence));
    ExitCode::from(FAILED)
}
