//! The page shown above the prompt for the number of test clients.

use super::{Columns, Page, Sign, Tone, Writer};
use lockscope_base::znode::ZnodePath;
use lockscope_lock::{Algorithm, Naming};
use lockscope_model::text::human::plural;

/// Test clients that are to join an existing queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueClients<'a> {
    pub algorithm: Algorithm,
    pub path: &'a ZnodePath,
    pub naming: &'a Naming,
    /// The percentage of requests that are for reading.
    pub reads: u8,
    /// Whether the console lists the clients as a queue of their own, since their nodes carry the
    /// names of another library.
    pub in_own_queue: bool,
    /// Whether applications may use the lock.
    pub foreign: bool,
    /// The number of clients unless one is typed.
    pub default: u32,
}

/// Describes the start of a herd and a chain, or of a chain and a look-ahead chain, below `parent`.
pub fn pair(mut page: Writer, parent: &ZnodePath, default: u32) -> Page {
    let (herd, chain) = (parent.child(Algorithm::Herd.name()), parent.child(Algorithm::Chain.name()));
    page.sentence(
        &format!(
            "Test clients contend for two locks: a herd at {herd} and a chain at {chain}. Each has a session and a connection \
             of its own."
        ),
        Tone::Text,
    );
    page.sentence(
        "They share the servers and this machine, so the herd slows the chain as well: `lockscope compare` lets one run after \
         the other.",
        Tone::Text,
    );
    page.sentence(
        &format!(
            "Type the number of clients on each side ({default} by default) and the hold time (0 by default): 20 50ms"
        ),
        Tone::Text,
    );
    page.sentence(
        "Add `ahead` to run a chain beside another chain that looks ahead and hands over in one round trip, as in: 20 50ms ahead",
        Tone::Text,
    );
    Page::new("Two fleets side by side", Columns::SIGNS, page.lines())
}

/// Returns the page shown before test clients join an existing queue. `stop` is the key that stops
/// them.
pub fn queue(mut page: Writer, clients: QueueClients<'_>, stop: &str) -> Page {
    let QueueClients { algorithm, path, naming, reads, in_own_queue, foreign, default } = clients;
    let names = match naming {
        _ if matches!(algorithm, Algorithm::Mutex | Algorithm::MutexParent) => String::new(),
        Naming::Curator => " with Curator's names".to_owned(),
        Naming::Kazoo => " with kazoo's names".to_owned(),
        Naming::WriteLock => " with WriteLock's names".to_owned(),
        Naming::Session => " with names by session".to_owned(),
        Naming::Named(name) => format!(" under the name {name}"),
    };
    let kind = match algorithm {
        Algorithm::Semaphore(leases) => format!("a semaphore of {}", plural(leases.get(), "lease", "leases")),
        Algorithm::SharedHerd(_) | Algorithm::SharedChain(_) => format!("a shared lock, {reads} % reading"),
        other => format!("a {}", other.name()),
    };
    page.sentence(
        &format!("Test clients join the queue of {path}, as {kind}{names}, and take turns until they are stopped."),
        Tone::Text,
    );
    if in_own_queue {
        page.sentence("Their names are not this library's: the console lists them as a separate queue.", Tone::Text);
    }
    page.sentence(
        &format!("Type how many ({default} by default) and how long each holds: 20 50ms. {stop} stops them."),
        Tone::Text,
    );
    if algorithm == Algorithm::Chain {
        page.sentence("Add `ahead` and they look ahead, and hand over in one round trip: 20 50ms ahead", Tone::Text);
    }
    if foreign {
        let warning = "Applications use this lock: each of them waits in the queue while a test client holds it.";
        page.add(Some(Sign::Warning), None, warning, Tone::Careful);
    }
    Page::new("Join this queue", Columns::SIGNS, page.lines())
}

/// Explains why test clients cannot join the queue.
pub fn refused(mut page: Writer, reason: &str) -> Page {
    page.sentence(reason, Tone::Text);
    Page::new("Cannot join", Columns::SIGNS, page.lines())
}
