//! A process with one client: a runtime of its own, whose tasks run only when the explorer says so.
//!
//! The runtime's clock is paused. After each input all tasks run until they wait for a message or
//! for time, which moves the clock by one millisecond.

mod behaviours;
mod input;

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, advance, sleep, sleep_until};

use crate::library::{Library, SharedLibrary, lock};
use crate::program::{Board, Program};

pub use behaviours::{BehaviourId, Behaviours};
pub use input::{Input, Output};

/// A process that runs.
pub struct Process {
    runtime: Runtime,
    started: Instant,
    library: SharedLibrary,
    board: Board,
    /// The seed of the random numbers after the next input.
    seed: Cell<u64>,
}

impl Process {
    /// Starts the process with this number, connected, and runs it until it waits.
    pub fn start(index: usize, program: &Program, rounds: u32) -> (Self, Output) {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without sockets always starts");
        let library: SharedLibrary = Arc::new(Mutex::new(Library::new(index)));
        let board = Board::default();
        let seed = (index as u64) << 32;
        fastrand::seed(seed);
        let started = runtime.block_on(async {
            tokio::spawn(program.run(rounds, Arc::clone(&library), board.clone()));
            Instant::now()
        });
        let process = Self { runtime, started, library, board, seed: Cell::new(seed + 1) };
        process.run();
        let output = process.output();
        (process, output)
    }

    /// Gives an input to the process, and runs it until it waits.
    pub fn step(&self, input: &Input) -> Output {
        fastrand::seed(self.seed.replace(self.seed.get() + 1));
        match input {
            Input::Message(message) => lock(&self.library).receive(message),
            Input::Broken => lock(&self.library).disconnect(),
            Input::Silent => lock(&self.library).notice_silence(),
            Input::Connected => lock(&self.library).connect(),
            Input::Expired => lock(&self.library).end(zookeeper_client::SessionState::Expired),
            Input::Second(second) => {
                lock(&self.library).pass();
                let due = self.due(*second);
                self.runtime.block_on(async { sleep_until(due).await });
            }
            Input::Resumed { second, messages } => {
                let due = self.due(*second);
                self.runtime.block_on(async { advance(due.saturating_duration_since(Instant::now())).await });
                let mut library = lock(&self.library);
                for message in messages {
                    library.receive(message);
                }
            }
            Input::Continue => self.board.proceed(),
            Input::GiveUp => self.board.give_up(),
        }
        self.run();
        self.output()
    }

    /// Runs the process until each of its tasks waits.
    fn run(&self) {
        // A paused clock moves when nothing else is left to do.
        self.runtime.block_on(async { sleep(Duration::from_millis(1)).await });
    }

    /// Returns the time of a second of the run.
    ///
    /// Whole seconds make the timers' state a function of the steps: what happens between two
    /// seconds takes less than a second of the process's time.
    fn due(&self, second: u32) -> Instant {
        self.started + Duration::from_secs(second.into())
    }

    fn output(&self) -> Output {
        // Before the library is locked: a program may ask its client for the state.
        let facts = self.board.facts();
        let mut library = lock(&self.library);
        Output {
            requests: library.take_sent(),
            facts,
            connected: library.connected,
            session_over: library.is_over(),
            is_done: self.runtime.metrics().num_alive_tasks() == 0,
        }
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("library", &self.library).finish_non_exhaustive()
    }
}
