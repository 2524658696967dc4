//! The page above the prompt for the number of test clients, and the sentences about those that
//! thought to hold the same lock at once, and how to tell them apart.

use std::time::Duration;

use super::{Columns, Line, Page, PageWriter, Sign, Tone};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{ClientState, FleetStatus, LinkState, Overlap};
use lockscope_lock::{Algorithm, Naming};
use lockscope_model::text::Charset;
use lockscope_model::text::human::{count, plural};

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
pub fn pair(mut page: PageWriter, parent: &ZnodePath, default: u32) -> Page {
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
pub fn queue(mut page: PageWriter, clients: QueueClients<'_>, stop: &str) -> Page {
    let QueueClients { algorithm, path, naming, reads, in_own_queue, foreign, default } = clients;
    let names = match naming {
        _ if matches!(algorithm, Algorithm::Mutex | Algorithm::MutexParent) => String::new(),
        Naming::Curator => " with Curator's names".to_owned(),
        Naming::Kazoo => " with kazoo's names".to_owned(),
        Naming::WriteLock => " with WriteLock's names".to_owned(),
        Naming::Session => " with names by session".to_owned(),
        Naming::Named(name) => format!(" under the name {name}"),
        _ => String::new(),
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
pub fn refused(mut page: PageWriter, reason: &str) -> Page {
    page.sentence(reason, Tone::Text);
    Page::new("Cannot join", Columns::SIGNS, page.lines())
}

/// How long the page still mentions a client that outlived its session, after it has stopped.
const MENTIONED_FOR: Duration = Duration::from_secs(20);

/// Maximum lines of one fleet.
const MAX_LINES: usize = 3;

/// Returns the last notable overlap of each fleet, in lines of `width` columns.
pub fn lines<'a>(
    fleets: impl Iterator<Item = (&'static str, &'a FleetStatus)>,
    width: u16,
    charset: Charset,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (algorithm, status) in fleets {
        let Some((text, violated)) = sentence(status) else { continue };
        let (sign, tone) = if violated { (Sign::Bad, Tone::Bad) } else { (Sign::Warning, Tone::Careful) };
        let mut page = PageWriter::new(Columns::SIGNS, width, charset);
        page.add(Some(sign), None, &format!("{algorithm}: {text}"), tone);
        lines.extend(page.lines().into_iter().take(MAX_LINES));
    }
    lines
}

/// Returns the last notable overlap as a sentence, and whether it is a violation.
fn sentence(status: &FleetStatus) -> Option<(String, bool)> {
    if let Some(overlap) = status.overlaps.iter().rev().find(|overlap| !overlap.outlived) {
        return Some((violation(overlap), true));
    }
    let recent = |overlap: &&Overlap| still_holds(status, overlap) || status.age < overlap.after + MENTIONED_FOR;
    status.overlaps.iter().rev().find(recent).map(|overlap| (outlived(status, overlap), false))
}

fn violation(overlap: &Overlap) -> String {
    let Overlap { first, first_token, second, second_token, .. } = overlap;
    format!(
        "the lock was violated: client-{first} with token {first_token} and client-{second} with token \
         {second_token} held it at the same time, and neither was cut off"
    )
}

fn outlived(status: &FleetStatus, overlap: &Overlap) -> String {
    let Overlap { first, first_token, second, second_token, .. } = overlap;
    let client = status.clients.iter().find(|client| client.id == *first);
    let how = match client {
        Some(client) if client.frozen => "froze",
        Some(client) if matches!(client.link, LinkState::Cut | LinkState::Paused) => "was cut off",
        _ => "was frozen or cut off",
    };
    let (believes, holds) = if still_holds(status, overlap) {
        ("thinks that it holds", "has got the lock")
    } else {
        ("thought that it held", "had got the lock")
    };
    format!(
        "client-{first} {how} and outlived its session: it {believes} with token {first_token}, while \
         client-{second} {holds} with {second_token}: the tokens tell them apart"
    )
}

/// Returns whether the client whose session is gone still thinks that it holds.
fn still_holds(status: &FleetStatus, overlap: &Overlap) -> bool {
    let client = status.clients.iter().find(|client| client.id == overlap.first);
    client.is_some_and(|client| client.state == ClientState::Holding && client.token == Some(overlap.first_token))
}

/// Returns the number of overlaps, for the box of a fleet, and whether the lock was violated;
/// `None` without overlaps.
pub fn summary(status: &FleetStatus) -> Option<(String, bool)> {
    let violations = plural(status.totals.violations, "violation", "violations");
    // Each of these acquired while a client whose session was gone did not yet know about its end.
    let both = match status.totals.outlived {
        1 => "2 clients think they hold it".to_owned(),
        times => format!("2 clients think they hold it ({}x)", count(times)),
    };
    match (status.totals.violations, status.totals.outlived) {
        (0, 0) => None,
        (0, _) => Some((both, false)),
        (_, 0) => Some((violations, true)),
        (..) => Some((format!("{violations}; {both}"), true)),
    }
}
