//! The programs that processes run. Each has a text, such as `chain`, `shared-chain:read`,
//! `semaphore:2`, `chain+writes`, `herd@kazoo`, `curator`,
//! `delete` or `observe`.

mod board;
mod deletion;
mod facts;
mod foreign;
mod locks;
mod observer;
mod paths;
mod round_end;

use std::fmt;
use std::str::FromStr;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::library::SharedLibrary;

pub use board::Board;
pub use deletion::Deleting;
pub use facts::{
    Deletion, DeletionOutcome, Doomed, Facts, Failure, Hold, HoldKind, Look, Outcome, Patience, ShownQueue, Stage,
    Told, Verdict, View,
};
pub use foreign::ForeignNames;
pub use locks::{LockProgram, Use};
pub use observer::Observation;
pub use paths::{LOCK, RESOURCE};

/// The program of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Acquires and releases a lock of the library.
    Lock(LockProgram),
    /// Acquires and releases a lock as another library does.
    Foreign(ForeignNames),
    /// Deletes the nodes of other clients.
    Delete(Deleting),
    /// Observes the locks.
    Observe(Observation),
}

impl Program {
    /// Runs the program.
    pub fn run(&self, rounds: u32, library: SharedLibrary, board: Board) -> BoxFuture<'static, ()> {
        match self.clone() {
            Self::Lock(program) => program.run(rounds, library, board).boxed(),
            Self::Foreign(names) => foreign::run(names, rounds, library, board).boxed(),
            Self::Delete(deleting) => deletion::run(deleting, rounds, library, board).boxed(),
            Self::Observe(observation) => observer::run(observation, library, board).boxed(),
        }
    }

    /// Returns whether the program reads no more of a stat than the lock library does, and no zxid
    /// of an event.
    pub fn reads_little(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Foreign(_))
    }

    /// Returns whether the program leaves nothing when it is told to give up.
    pub fn may_give_up(&self) -> bool {
        matches!(self, Self::Lock(_))
    }

    /// Returns the time in which its attempts must end.
    pub fn patience(&self) -> Option<Patience> {
        match self {
            Self::Lock(program) => program.patience(),
            _ => None,
        }
    }

    /// Returns whether the lock's path is the parent of its nodes.
    pub fn has_parent(&self) -> bool {
        !matches!(self, Self::Lock(program) if program.algorithm == lockscope_lock::Algorithm::Mutex)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(program) => program.fmt(f),
            Self::Foreign(names) => names.fmt(f),
            Self::Delete(deleting) => f.write_str(deleting.name()),
            Self::Observe(observation) => f.write_str(observation.name()),
        }
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "curator" => Ok(Self::Foreign(ForeignNames::Curator)),
            "kazoo" => Ok(Self::Foreign(ForeignNames::Kazoo)),
            _ => {
                let deleting = Deleting::ALL.iter().find(|deleting| deleting.name() == text);
                let observation = Observation::ALL.iter().find(|observation| observation.name() == text);
                match (deleting, observation) {
                    (Some(deleting), _) => Ok(Self::Delete(*deleting)),
                    (_, Some(observation)) => Ok(Self::Observe(*observation)),
                    _ => text.parse().map(Self::Lock),
                }
            }
        }
    }
}
