//! A process with one client: a runtime of its own, whose tasks run only when the explorer says so.
//!
//! The runtime's clock is paused. After each input all tasks run until they wait for a message or
//! for time, which moves the clock by one millisecond.
//!
//! # Known behaviours
//!
//! A process is a function of its inputs. So what it has done once need not be run again: an
//! explorer that comes to the same inputs on another way finds the outputs in `Behaviours`. Only
//! new inputs run the real futures.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, advance, sleep, sleep_until};

use crate::ensemble::{Request, SimulatedMessage};
use crate::library::{Library, SharedLibrary, lock};
use crate::program::{Board, Program, ProgramState};

/// A process that runs.
pub struct SimulatedProcess {
    runtime: Runtime,
    started: Instant,
    library: SharedLibrary,
    board: Board,
    /// The seed of the random numbers after the next input.
    seed: Cell<u64>,
}

impl SimulatedProcess {
    /// Starts the process with this number, connected, and runs it until it waits.
    pub fn start(index: usize, program: &Program, rounds: u32) -> (Self, ProcessOutput) {
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
    pub fn step(&self, input: &ProcessInput) -> ProcessOutput {
        fastrand::seed(self.seed.replace(self.seed.get() + 1));
        match input {
            ProcessInput::Message(message) => lock(&self.library).receive(message),
            ProcessInput::Broken => lock(&self.library).disconnect(),
            ProcessInput::Silent => lock(&self.library).notice_silence(),
            ProcessInput::Connected => lock(&self.library).connect(),
            ProcessInput::Expired => lock(&self.library).end(zookeeper_client::SessionState::Expired),
            ProcessInput::Second(second) => {
                lock(&self.library).pass();
                let due = self.due(*second);
                self.runtime.block_on(async { sleep_until(due).await });
            }
            ProcessInput::Resumed { second, messages } => {
                let due = self.due(*second);
                self.runtime.block_on(async { advance(due.saturating_duration_since(Instant::now())).await });
                let mut library = lock(&self.library);
                for message in messages {
                    library.receive(message);
                }
            }
            ProcessInput::Continue => self.board.proceed(),
            ProcessInput::GiveUp => self.board.give_up(),
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

    fn output(&self) -> ProcessOutput {
        // Before the library is locked: a program may ask its client for the state.
        let facts = self.board.facts();
        let mut library = lock(&self.library);
        ProcessOutput {
            requests: library.take_sent(),
            facts,
            connected: library.connected,
            session_over: library.is_over(),
            is_done: self.runtime.metrics().num_alive_tasks() == 0,
        }
    }
}

impl std::fmt::Debug for SimulatedProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("library", &self.library).finish_non_exhaustive()
    }
}

/// What reaches a process. A process is a function of its inputs: the same inputs in the same order
/// give the same outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProcessInput {
    /// A message of its member.
    Message(SimulatedMessage),
    /// Its connection breaks.
    Broken,
    /// Its connection was silent for so long that its library breaks it.
    Silent,
    /// It has a new connection.
    Connected,
    /// The servers answer a new connection with the end of the session.
    Expired,
    /// A second of the run begins. Each timer of the second before fires at its time.
    Second(u32),
    /// It was stopped and goes on in this second of the run, with the messages that have come
    /// meanwhile. It learns of the passed time and of all messages at once.
    Resumed { second: u32, messages: Vec<SimulatedMessage> },
    /// Its program goes on to the next step, such as a release.
    Continue,
    /// Its program drops the future or the guard that it has, and ends.
    GiveUp,
}

/// What a process has done with an input.
#[derive(Clone, Debug)]
pub struct ProcessOutput {
    /// The requests that it sends.
    pub requests: Vec<(u32, Request)>,
    /// What its program has come to.
    pub facts: ProgramState,
    /// Whether it has a connection.
    pub connected: bool,
    /// Whether its library takes the session for ended.
    pub session_over: bool,
    /// Whether none of its tasks is left.
    pub is_done: bool,
}

/// A sequence of inputs, by its place in [`Behaviours`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BehaviourId(u32);

/// The known behaviours of one process, as a tree of inputs.
#[derive(Debug)]
pub struct Behaviours {
    index: usize,
    program: Program,
    rounds: u32,
    known: Vec<ProcessBehaviour>,
    next: HashMap<(BehaviourId, Rc<ProcessInput>), BehaviourId>,
    /// The process that runs, and the inputs that it has had.
    live: Option<(BehaviourId, SimulatedProcess)>,
    /// The number of processes that were started.
    pub started: u64,
}

#[derive(Debug)]
struct ProcessBehaviour {
    before: Option<(BehaviourId, Rc<ProcessInput>)>,
    output: Rc<ProcessOutput>,
}

impl Behaviours {
    /// Starts the process with this number.
    pub fn new(index: usize, program: Program, rounds: u32) -> Self {
        let (process, output) = SimulatedProcess::start(index, &program, rounds);
        let first = ProcessBehaviour { before: None, output: Rc::new(output) };
        let live = Some((BehaviourId(0), process));
        Self { index, program, rounds, known: vec![first], next: HashMap::new(), live, started: 1 }
    }

    /// Returns the behaviour without any input.
    pub fn first(&self) -> BehaviourId {
        BehaviourId(0)
    }

    /// Returns the number of known behaviours.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Forgets all behaviours but the first.
    pub fn forget(&mut self) {
        self.known.truncate(1);
        self.next.clear();
        self.live = None;
    }

    /// Returns the output of the last input.
    pub fn output(&self, id: BehaviourId) -> &Rc<ProcessOutput> {
        &self.known[id.0 as usize].output
    }

    /// Gives one more input.
    pub fn step(&mut self, id: BehaviourId, input: ProcessInput) -> BehaviourId {
        let input = Rc::new(input);
        let key = (id, input);
        if let Some(next) = self.next.get(&key) {
            return *next;
        }
        let process = self.process_at(id);
        let output = Rc::new(process.step(&key.1));
        let next = BehaviourId(u32::try_from(self.known.len()).expect("fewer than 2^32 behaviours fit into memory"));
        self.known.push(ProcessBehaviour { before: Some(key.clone()), output });
        self.next.insert(key, next);
        self.live = Some((next, process));
        next
    }

    /// Returns a process that has had these inputs.
    fn process_at(&mut self, id: BehaviourId) -> SimulatedProcess {
        if let Some((_, process)) = self.live.take_if(|(at, _)| *at == id) {
            return process;
        }
        let mut inputs = Vec::new();
        let mut at = id;
        while let Some((before, input)) = &self.known[at.0 as usize].before {
            inputs.push(Rc::clone(input));
            at = *before;
        }
        self.started += 1;
        let (process, _) = SimulatedProcess::start(self.index, &self.program, self.rounds);
        for input in inputs.iter().rev() {
            process.step(input);
        }
        process
    }
}
