//! The ends of nodes as lockscope reports them, and what the log says to that.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::transaction_log::{Fate, TransactionLog};
use crate::headless::program::{Running, lockscope, run};

/// The reported end of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    Expired,
    Released,
    /// Released, unless the session expired.
    Unknown,
}

impl Claim {
    /// Reads a line of `watch`. A later line may settle an end.
    fn of_line(line: &Value) -> Option<Self> {
        match (line["event"].as_str()?, line["may_have_expired"].as_bool()) {
            ("expired", _) => Some(Self::Expired),
            ("settled", _) => line["end"].as_str().filter(|end| *end == "expired").map(|_| Self::Expired),
            ("released" | "left", Some(false)) => Some(Self::Released),
            ("released" | "left", _) => Some(Self::Unknown),
            _ => None,
        }
    }

    /// Reads a contender of `history`.
    fn of_row(row: &Value) -> Option<Self> {
        match row["end"].as_str()? {
            "expired" => Some(Self::Expired),
            "unknown" => Some(Self::Unknown),
            "open" => None,
            _ => Some(Self::Released),
        }
    }

    fn is_false(self, fate: Fate) -> bool {
        match self {
            Self::Expired => fate != Fate::Expired,
            Self::Released => fate == Fate::Expired,
            Self::Unknown => false,
        }
    }
}

/// The ends of nodes that one observer reported.
pub struct Witness {
    name: &'static str,
    running: Option<Running>,
    claims: BTreeMap<String, (Claim, Value)>,
    seen: bool,
}

impl Witness {
    /// Starts `lockscope watch`.
    pub fn start(name: &'static str, arguments: &[&str]) -> Self {
        Self { running: Some(Running::start(lockscope(arguments))), ..Self::without_process(name) }
    }

    fn without_process(name: &'static str) -> Self {
        Self { name, running: None, claims: BTreeMap::new(), seen: false }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns whether any contender was reported.
    pub fn sees(&self) -> bool {
        self.seen
    }

    fn take(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.seen |= line["event"] == "enqueued";
        self.claim(Claim::of_line(&line), line);
    }

    fn claim(&mut self, claim: Option<Claim>, line: Value) {
        if let (Some(claim), Some(lock), Some(node)) = (claim, line["lock"].as_str(), line["node"].as_str()) {
            self.claims.insert(format!("{lock}/{node}"), (claim, line));
        }
    }

    /// Takes the lines that were printed until now.
    pub fn take_now(&mut self) {
        let lines = self.running.as_mut().expect("it runs").lines_now();
        for line in &lines {
            self.take(line);
        }
    }

    /// Returns what was claimed of a node.
    pub fn claim_of(&self, path: &str) -> Option<Claim> {
        self.claims.get(path).map(|(claim, _)| *claim)
    }

    /// Returns how many expiries were called so, and how many there were.
    pub fn named(&self, log: &TransactionLog) -> (usize, usize) {
        let expired =
            log.ended.iter().filter(|(path, ended)| ended.fate == Fate::Expired && path.starts_with("/locks/"));
        let paths: Vec<&String> = expired.map(|(path, _)| path).collect();
        let named = paths.iter().filter(|path| self.claim_of(path) == Some(Claim::Expired)).count();
        (named, paths.len())
    }

    /// Returns the false claims, each with its line, and prints how often each claim was made about
    /// each end.
    ///
    /// A deletion at the very tick of an expiry looks like the expiry from outside; such cases are
    /// counted separately.
    pub fn judge(&self, log: &TransactionLog, tick: Duration) -> Vec<String> {
        let mut counts: BTreeMap<(i32, Fate), [usize; 3]> = BTreeMap::new();
        let (mut wrong, mut at_a_tick) = (Vec::new(), 0);
        for (path, ended) in &log.ended {
            let Some((claim, line)) = self.claims.get(path) else { continue };
            counts.entry((ended.timeout_ms, ended.fate)).or_default()[*claim as usize] += 1;
            if *claim == Claim::Expired && ended.fate != Fate::Expired && log.is_at_a_tick(ended, tick) {
                at_a_tick += 1;
            } else if claim.is_false(ended.fate) {
                wrong.push(format!("{}: {:?} of {} ms, but {line}", self.name, ended.fate, ended.timeout_ms));
            }
        }
        let ends = self.claims.len();
        println!("{}: {ends} ends, {} false, {at_a_tick} deleted right at a tick", self.name, wrong.len());
        println!("  {:>7} {:<18} {:>8} {:>9} {:>8}", "timeout", "in the log", "expired", "released", "unknown");
        for ((timeout, fate), [expired, released, unknown]) in counts {
            println!("  {timeout:>7} {:<18} {expired:>8} {released:>9} {unknown:>8}", format!("{fate:?}"));
        }
        assert!(at_a_tick <= 2 + ends / 1_000, "{at_a_tick} deletions look like an expiry");
        wrong
    }
}

/// Returns the claims of a recording that is played again.
pub async fn replayed(store: &Path) -> Witness {
    let mut witness = Witness::without_process("replay");
    let ended = run(lockscope(&["watch", "--store", store.to_str().expect("a path"), "--format", "json"])).await;
    for line in ended.done().lines() {
        witness.take(line);
    }
    witness
}

/// Returns the claims of a recording's tables.
pub async fn recorded(store: &Path) -> Witness {
    let mut witness = Witness::without_process("history");
    let store = store.to_str().expect("a path");
    let ended = run(lockscope(&["history", "--store", store, "--limit", "1000000", "--format", "json"])).await;
    let history = ended.json();
    for row in ["holds", "waits"].iter().flat_map(|list| history[*list].as_array().expect("a list")) {
        witness.claim(Claim::of_row(row), row.clone());
    }
    witness
}
