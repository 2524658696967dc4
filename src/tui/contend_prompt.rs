//! What is said before test clients are sent, and before one leaves them. Pure.

use super::app::{App, DEFAULT_CLIENTS, Destination, PromptPurpose};
use crate::lock::{Algorithm, Naming};
use crate::text::human::plural;

/// What stands above the line in which a number is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The title of the box.
    pub title: &'static str,
    /// Sentences. May contain text from znodes.
    pub says: Vec<String>,
    /// A sentence to be careful about.
    pub warning: Option<String>,
}

impl Asked {
    /// What is said about the number that is being typed; `None` when none is.
    pub fn of(app: &App) -> Option<Self> {
        match app.prompt()?.purpose {
            PromptPurpose::Clients => Some(pair(app)),
            PromptPurpose::ClientsIntoQueue => match app.destination()? {
                Ok(destination) => Some(queue(app, &destination)),
                Err(why) => Some(Self { title: "No place", says: vec![why.to_string()], warning: None }),
            },
            PromptPurpose::Filter | PromptPurpose::Command | PromptPurpose::Confirmation => None,
        }
    }
}

fn pair(app: &App) -> Asked {
    let ground = app.own_node();
    Asked {
        title: "A herd beside a chain",
        says: vec![
            format!(
                "Test clients contend for two locks: a herd at {} and a chain at {}. Each has a session and a connection \
                 of its own.",
                ground.child(Algorithm::Herd.name()),
                ground.child(Algorithm::Chain.name())
            ),
            "They share the servers and this machine, so the herd slows the chain as well: `lockscope compare` lets one \
             run after the other."
                .to_owned(),
            format!("How many each gets ({DEFAULT_CLIENTS} unless typed), and how long each holds (no time): 20 50ms"),
        ],
        warning: None,
    }
}

fn queue(app: &App, destination: &Destination) -> Asked {
    let Destination { algorithm, path, naming, reads, in_own_queue: apart } = destination;
    let names = match naming {
        _ if matches!(algorithm, Algorithm::Mutex | Algorithm::MutexParent) => String::new(),
        Naming::Curator => " with Curator's names".to_owned(),
        Naming::Kazoo => " with kazoo's names".to_owned(),
        Naming::WriteLock => " with WriteLock's names".to_owned(),
        Naming::Session => " with names by session".to_owned(),
        Naming::Named(name) => format!(" under the name {name}"),
    };
    let how = match algorithm {
        Algorithm::Semaphore(leases) => format!("a semaphore of {}", plural(leases.get() as usize, "lease", "leases")),
        Algorithm::SharedHerd(_) | Algorithm::SharedChain(_) => format!("a shared lock, {reads} % reading"),
        other => format!("a {}", other.name()),
    };
    let foreign = !path.is_within(&app.own_node());
    let mut says = vec![format!(
        "Test clients stand in the queue of {path}, as {how}{names}, and take it in their turn again and again."
    )];
    if *apart {
        says.push("Their names are not this library's: the console lists them as a queue beside it.".to_owned());
    }
    says.push(format!("How many ({DEFAULT_CLIENTS} unless typed), and how long each holds: 20 50ms. X stops them."));
    Asked {
        title: "Into this very queue",
        says,
        warning: foreign.then(|| {
            "They will take turns in a lock that applications use: those wait while a test client holds it.".to_owned()
        }),
    }
}

/// The question before the program leaves clients that run; `None` when it is not open.
pub fn question(app: &App) -> Option<String> {
    app.asks_to_quit().then(|| {
        let run = if app.living_clients() == 1 { "runs: stop it" } else { "run: stop them" };
        format!("{} {run} and quit? y/n", plural(app.living_clients(), "test client", "test clients"))
    })
}
