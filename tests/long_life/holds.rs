//! The holds of all locks as the clients logged them, and the check whether two clients held at
//! once.

use std::collections::{BTreeMap, HashMap};

use crate::clock::seconds;
use crate::locks::{LEASES, Rule, SoakLock, holds_together};

/// The number of violations that are printed in full.
const MAX_LINES: usize = 20;

/// An action that a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Want,
    Held { token: Option<i64> },
    Done,
    Unsure,
    Gone,
}

/// One record of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    at: u64,
    client: String,
    said: Said,
}

impl Record {
    /// Reads a line; `None` if it is no record.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("record ")?.split(' ');
        let (at, client) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let said = match words.next()? {
            "want" => Said::Want,
            "held" => Said::Held { token: words.nth(1)?.parse().ok() },
            "done" => Said::Done,
            "unsure" => Said::Unsure,
            "gone" => Said::Gone,
            _ => return None,
        };
        Some(Self { at, client, said })
    }
}

/// A client, and its reported state.
#[derive(Debug)]
struct Contending {
    lock: &'static SoakLock,
    together: bool,
    wants_since: u64,
    held: Option<(u64, Option<i64>)>,
}

/// One hold of a lock.
#[derive(Clone, Debug)]
struct Hold {
    client: String,
    lock: &'static SoakLock,
    together: bool,
    wanted: u64,
    from: u64,
    until: u64,
    token: Option<i64>,
}

/// All reported holds.
#[derive(Debug, Default)]
pub struct Holds {
    clients: HashMap<String, Contending>,
    ended: Vec<Hold>,
    /// The times at which each process was frozen, by the prefix of its clients' names.
    frozen: Vec<(String, u64, u64)>,
    last_token: HashMap<String, i64>,
    pub acquisitions: u64,
    /// Overlaps without a frozen client, and tokens that fell.
    pub violations: u64,
    /// Overlaps in which one client was frozen past the end of its session. The tokens tell which
    /// client may write.
    pub outlived: u64,
}

impl Holds {
    /// Registers a client that will print records.
    pub fn expect(&mut self, client: String, recipe: &str, path: &str) {
        let (lock, together) = (SoakLock::of_client(recipe, path), holds_together(recipe));
        self.clients.insert(client, Contending { lock, together, wants_since: 0, held: None });
    }

    /// Takes in the output of a process.
    pub fn take_all(&mut self, lines: &[String]) {
        for record in lines.iter().filter_map(|line| Record::read(line)) {
            self.take(&record);
        }
    }

    fn take(&mut self, record: &Record) {
        let Some(client) = self.clients.get_mut(&record.client) else { return };
        match record.said {
            Said::Want => client.wants_since = record.at,
            Said::Held { token } => {
                client.held = Some((record.at, token));
                self.acquisitions += 1;
            }
            Said::Done | Said::Unsure | Said::Gone => self.end(&record.client, record.at),
        }
    }

    /// Ends the holds of all clients of a process that was killed.
    pub fn killed(&mut self, process: &str, at: u64) {
        let names: Vec<String> = self.clients.keys().filter(|name| name.starts_with(process)).cloned().collect();
        for name in &names {
            self.end(name, at);
        }
    }

    /// Notes that all clients of a process were frozen for a time.
    pub fn frozen(&mut self, process: &str, from: u64, until: u64) {
        self.frozen.push((process.to_owned(), from, until));
    }

    fn end(&mut self, name: &str, at: u64) {
        if let Some(client) = self.clients.get_mut(name)
            && let Some((from, token)) = client.held.take()
        {
            let Contending { lock, together, wants_since, .. } = *client;
            let wanted = wants_since.min(from);
            self.ended.push(Hold { client: name.to_owned(), lock, together, wanted, from, until: at, token });
        }
    }

    /// Checks the holds that ended since the last call and those that go on. Returns a line for
    /// each violation, [`MAX_LINES`] at most.
    pub fn judge(&mut self, now: u64) -> Vec<String> {
        let mut locks: BTreeMap<String, Vec<Hold>> = BTreeMap::new();
        let open = self.clients.iter().filter_map(|(name, client)| {
            let (from, token) = client.held?;
            let Contending { lock, together, wants_since, .. } = *client;
            Some(Hold { client: name.clone(), lock, together, wanted: wants_since.min(from), from, until: now, token })
        });
        let open: Vec<Hold> = open.collect();
        for hold in std::mem::take(&mut self.ended).into_iter().chain(open) {
            locks.entry(hold.lock.key()).or_default().push(hold);
        }
        let mut lines = Vec::new();
        for (lock, mut holds) in locks {
            holds.sort_by_key(|hold| hold.from);
            let found = self.overlaps(&holds).into_iter().chain(self.fallen_tokens(&lock, &holds));
            lines.extend(found.map(|what| format!("{lock}: {what}")));
        }
        self.violations += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        lines.truncate(MAX_LINES);
        // A freeze matters only while a hold goes on that began before the freeze ended.
        let oldest = self.clients.values().filter_map(|client| client.held.map(|_| client.wants_since)).min();
        let oldest = oldest.unwrap_or(now).min(now);
        self.frozen.retain(|(_, _, until)| *until >= oldest);
        lines
    }

    fn was_frozen(&self, hold: &Hold) -> bool {
        let meets = |(process, from, until): &(String, u64, u64)| {
            hold.client.starts_with(process) && *from <= hold.until && hold.wanted <= *until
        };
        self.frozen.iter().any(meets)
    }

    fn overlaps(&mut self, holds: &[Hold]) -> Vec<String> {
        let mut found = Vec::new();
        for (place, later) in holds.iter().enumerate() {
            let leases = matches!(later.lock.rule, Rule::CuratorLeases | Rule::KazooLeases);
            let beside: Vec<&Hold> = holds[..place]
                .iter()
                .filter(|hold| hold.until > later.from && (leases || !(hold.together && later.together)))
                .collect();
            let allowed = if leases { LEASES - 1 } else { 0 };
            let sound = beside.iter().filter(|hold| !self.was_frozen(hold)).count();
            if beside.len() <= allowed {
                continue;
            }
            if sound <= allowed || self.was_frozen(later) {
                self.outlived += 1;
                continue;
            }
            let names: Vec<String> = beside.iter().map(|hold| describe(hold, later.from)).collect();
            found.push(format!("{} beside {}", describe(later, later.from), names.join(" and ")));
        }
        found
    }

    fn fallen_tokens(&mut self, lock: &str, holds: &[Hold]) -> Vec<String> {
        let mut found = Vec::new();
        let mut last = self.last_token.get(lock).copied().unwrap_or(i64::MIN);
        for hold in holds.iter().filter(|hold| !self.was_frozen(hold)) {
            let Some(token) = hold.token else { continue };
            // A hold that went on at the last check is seen again, with an equal token.
            if token < last {
                found.push(format!("the token {token:#x} of {} after {last:#x}", hold.client));
            }
            last = last.max(token);
        }
        self.last_token.insert(lock.to_owned(), last);
        found
    }
}

fn describe(hold: &Hold, at: u64) -> String {
    let (before, after) = (seconds(hold.from, at), seconds(at, hold.until));
    format!("{} (token {:?}, since {before:.3}s, for {after:.3}s more)", hold.client, hold.token)
}
