//! The program `lockscope`: reads the command line, starts the runtime and runs the command.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use lockscope::cli::{self, Arguments, ExitAnswer, MayPass};
use tikv_jemallocator::Jemalloc;

/// The system's allocator has a pool for each thread, and memory that is free in one pool is of no
/// use to another: with 100,000 locks this takes a quarter more memory. jemalloc has a single pool
/// here, as set in `src/build.rs`.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Exit code for a failure of usage, connection or permission.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    cli::choose_colours(&words);
    let fail = if cli::is_plugin(&words) { fail_as_plugin } else { fail };
    let arguments = match Arguments::from_words(words) {
        Ok(arguments) => arguments,
        Err(help) if !help.use_stderr() => {
            cli::print_help(&help);
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&cli::usage_sentence(&error), FAILED),
    };
    match run(arguments) {
        Ok(answer) => ExitCode::from(answer.code()),
        Err(error) => fail(&format!("{error:#}"), if error.is::<MayPass>() { MayPass::CODE } else { FAILED }),
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitAnswer> {
    cli::claim()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime's threads")?;
    let outcome = runtime.block_on(cli::run(arguments));
    // A blocked write to a pipe that nobody reads must not keep the program alive.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

/// Prints on stderr why the command failed.
fn fail(sentence: &str, code: u8) -> ExitCode {
    cli::note(sentence);
    ExitCode::from(code)
}

/// Prints the reason as the one line that monitoring plugins read.
fn fail_as_plugin(sentence: &str, _code: u8) -> ExitCode {
    ExitCode::from(cli::unknown_service(sentence).code())
}
