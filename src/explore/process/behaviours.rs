//! What one process does with each sequence of inputs that it was given so far.
//!
//! A process is a function of its inputs. So what it has done once need not be run again: an
//! explorer that comes to the same inputs on another way finds the outputs here. Only new inputs
//! run the real futures.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Input, Output, Process};
use crate::program::Program;

/// A sequence of inputs, by its place in [`Behaviours`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BehaviourId(u32);

/// The known behaviours of one process, as a tree of inputs.
#[derive(Debug)]
pub struct Behaviours {
    index: usize,
    program: Program,
    rounds: u32,
    known: Vec<Behaviour>,
    next: HashMap<(BehaviourId, Rc<Input>), BehaviourId>,
    /// The process that runs, and the inputs that it has had.
    live: Option<(BehaviourId, Process)>,
    /// The number of processes that were started.
    pub started: u64,
}

#[derive(Debug)]
struct Behaviour {
    before: Option<(BehaviourId, Rc<Input>)>,
    output: Rc<Output>,
}

impl Behaviours {
    /// Starts the process with this number.
    pub fn new(index: usize, program: Program, rounds: u32) -> Self {
        let (process, output) = Process::start(index, &program, rounds);
        let first = Behaviour { before: None, output: Rc::new(output) };
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
    pub fn output(&self, id: BehaviourId) -> &Rc<Output> {
        &self.known[id.0 as usize].output
    }

    /// Gives one more input.
    pub fn step(&mut self, id: BehaviourId, input: Input) -> BehaviourId {
        let input = Rc::new(input);
        let key = (id, input);
        if let Some(next) = self.next.get(&key) {
            return *next;
        }
        let process = self.process_at(id);
        let output = Rc::new(process.step(&key.1));
        let next = BehaviourId(u32::try_from(self.known.len()).expect("fewer than 2^32 behaviours fit into memory"));
        self.known.push(Behaviour { before: Some(key.clone()), output });
        self.next.insert(key, next);
        self.live = Some((next, process));
        next
    }

    /// Returns a process that has had these inputs.
    fn process_at(&mut self, id: BehaviourId) -> Process {
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
        let (process, _) = Process::start(self.index, &self.program, self.rounds);
        for input in inputs.iter().rev() {
            process.step(input);
        }
        process
    }
}
