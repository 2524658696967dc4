//! The program `lockscope`: reads the command line, starts the runtime and runs the command.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use lockscope::cli::{self, Arguments, MayPass, Verdict};
use tikv_jemallocator::Jemalloc;

/// The system's keeps what each thread once needed, and a size that a pool of another thread has freed does not help: with 100,000
/// locks a quarter more memory. How many pools this one has is said when it is built, in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// It could not be done: usage, connection, permission.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::from_words(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(help) if !help.use_stderr() => {
            // Help or version; a reader that is gone does not miss them.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&cli::usage_sentence(&error), FAILED),
    };
    match run(arguments) {
        Ok(verdict) => ExitCode::from(verdict.code()),
        Err(error) => fail(&format!("{error:#}"), if error.is::<MayPass>() { MayPass::CODE } else { FAILED }),
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
    outcome
}

/// Says on stderr why nothing came of it.
fn fail(sentence: &str, code: u8) -> ExitCode {
    cli::note(sentence);
    ExitCode::from(code)
}
