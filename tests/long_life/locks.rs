//! The contended locks, and their clients.

use std::fmt;

/// The leases of each semaphore.
pub const LEASES: usize = 2;

/// The rule that decides which contenders hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Exclusive,
    /// Readers hold together; a writer holds alone.
    Shared,
    /// The leases are below `leases`, the queue is below `locks`.
    CuratorLeases,
    /// The leases are below the path, the queue is beside it.
    KazooLeases,
    /// The node at the path belongs to the holder.
    Single,
}

/// One lock.
#[derive(Clone, Copy, Debug)]
pub struct SoakLock {
    pub path: &'static str,
    /// The name of the queue, where one path has several.
    pub name: Option<&'static str>,
    pub rule: Rule,
}

const fn lock(path: &'static str, rule: Rule) -> SoakLock {
    SoakLock { path, name: None, rule }
}

const fn named(name: &'static str) -> SoakLock {
    SoakLock { path: "/soak/named", name: Some(name), rule: Rule::Exclusive }
}

pub const LOCKS: &[SoakLock] = &[
    lock("/soak/curator", Rule::Exclusive),
    lock("/soak/curator-shared", Rule::Shared),
    lock("/soak/curator-leases", Rule::CuratorLeases),
    lock("/soak/curator-mixed", Rule::Exclusive),
    lock("/soak/write-lock", Rule::Exclusive),
    lock("/soak/kazoo", Rule::Exclusive),
    lock("/soak/kazoo-writers", Rule::Shared),
    lock("/soak/kazoo-leases", Rule::KazooLeases),
    lock("/soak/kazoo-mixed", Rule::Exclusive),
    lock("/soak/chain", Rule::Exclusive),
    lock("/soak/herd", Rule::Exclusive),
    lock("/soak/shared", Rule::Shared),
    lock("/soak/leases", Rule::CuratorLeases),
    lock(SINGLE, Rule::Single),
    named("red"),
    named("blue"),
];

/// The single-node lock, which its name does not show.
pub const SINGLE: &str = "/soak/single";

impl SoakLock {
    /// Returns the key by which the lock is printed and compared.
    pub fn key(&self) -> String {
        self.name.map_or_else(|| self.path.to_owned(), |name| format!("{}#{name}", self.path))
    }

    /// Returns the lock of a client with this recipe and path.
    pub fn of_client(recipe: &str, path: &str) -> &'static Self {
        let name = recipe.strip_prefix("named:");
        let found = LOCKS.iter().find(|lock| lock.path == path && lock.name == name);
        found.unwrap_or_else(|| panic!("{recipe} contends at {path}, which is no lock"))
    }
}

/// Returns the key of a node's lock: the path, and the name of the queue where one path has
/// several.
pub fn key_of(path: &str, node: &str) -> String {
    let name = node.split_once("_lock_").map(|(name, _)| name);
    let named = LOCKS.iter().find(|lock| lock.path == path && lock.name.is_some() && lock.name == name);
    named.map_or_else(|| path.to_owned(), SoakLock::key)
}

/// The lock library that the clients of a process use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Curator, and the `WriteLock` of ZooKeeper's own recipes.
    Java,
    Kazoo,
    /// The locks of this crate, as `lockscope contend` uses them.
    BuiltIn,
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Java => "java",
            Self::Kazoo => "kazoo",
            Self::BuiltIn => "built-in",
        })
    }
}

impl Library {
    /// Returns the recipe and the path of each client of one process.
    pub fn clients(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Java => &[
                ("mutex", "/soak/curator"),
                ("mutex", "/soak/curator"),
                ("read", "/soak/curator-shared"),
                ("read", "/soak/curator-shared"),
                ("write", "/soak/curator-shared"),
                ("semaphore", "/soak/curator-leases"),
                ("semaphore", "/soak/curator-leases"),
                ("mutex", "/soak/curator-mixed"),
                ("write-lock", "/soak/write-lock"),
                ("write-lock", "/soak/write-lock"),
            ],
            // No readers from kazoo: its reader that lists the queue while a writer is behind it
            // waits for that writer, which waits for the reader (see tests/real/locks/mixed.rs).
            Self::Kazoo => &[
                ("lock", "/soak/kazoo"),
                ("lock", "/soak/kazoo"),
                ("write", "/soak/kazoo-writers"),
                ("write", "/soak/kazoo-writers"),
                ("semaphore", "/soak/kazoo-leases"),
                ("semaphore", "/soak/kazoo-leases"),
                ("lock", "/soak/kazoo-mixed"),
            ],
            Self::BuiltIn => &[
                ("chain", "/soak/chain"),
                ("chain-ahead", "/soak/chain"),
                ("herd", "/soak/herd"),
                ("herd", "/soak/herd"),
                ("read", "/soak/shared"),
                ("read", "/soak/shared"),
                ("write", "/soak/shared"),
                ("semaphore", "/soak/leases"),
                ("semaphore", "/soak/leases"),
                ("mutex", SINGLE),
                ("mutex", SINGLE),
                ("named:red", "/soak/named"),
                ("named:red", "/soak/named"),
                ("named:blue", "/soak/named"),
                ("as-curators", "/soak/curator-mixed"),
                ("as-kazoos", "/soak/kazoo-mixed"),
                ("as-write-locks", "/soak/write-lock"),
            ],
        }
    }
}

/// Returns whether clients of this recipe may hold together.
pub fn holds_together(recipe: &str) -> bool {
    ["read", "semaphore"].contains(&recipe)
}
