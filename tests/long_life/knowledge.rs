//! The contenders of all locks according to one source, and the difference of two sources.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::locks::key_of;

/// One contender.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contender {
    /// The name of the contender's node.
    pub node: String,
    /// The name of the contender's queue node, if the contender heads a semaphore's queue and has
    /// already created its lease. A source may use either name.
    pub queued_as: Option<String>,
    /// The session in hex, as ZooKeeper writes it; empty while the source does not know it.
    pub session: String,
    pub holds: bool,
}

/// The contenders of each lock that has any, in the order of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge(pub BTreeMap<String, Vec<Contender>>);

/// The difference between a source and the truth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Contenders that the source lacks.
    pub missed: usize,
    /// Contenders that do not exist.
    pub invented: usize,
    /// Locks with the right contenders but a wrong order, wrong sessions or wrong holders.
    pub wrong: usize,
    /// A line for each lock that differs.
    pub lines: Vec<String>,
}

impl Difference {
    pub fn is_none(&self) -> bool {
        self.missed + self.invented + self.wrong == 0
    }
}

impl Knowledge {
    pub fn contenders(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Returns the same contenders without the order of the queues.
    pub fn unordered(&self) -> Self {
        let mut locks = self.0.clone();
        for contenders in locks.values_mut() {
            contenders.sort();
        }
        Self(locks)
    }

    /// Reads the JSON that `lockscope snapshot` prints and the screen exports. Only locks below
    /// `/soak` count.
    pub fn of_snapshot(json: &Value) -> Result<Self, String> {
        let mut locks: BTreeMap<String, Vec<Contender>> = BTreeMap::new();
        for lock in json["locks"].as_array().ok_or("no locks in it")? {
            let path = lock["path"].as_str().ok_or("a lock without a path")?;
            for json in lock["contenders"].as_array().ok_or("a lock without contenders")? {
                let contender = contender(json).ok_or_else(|| format!("no node, session or state of {json}"))?;
                if path.starts_with("/soak/") {
                    locks.entry(key_of(path, &contender.node)).or_default().push(contender);
                }
            }
        }
        Ok(Self(locks))
    }

    /// Compares another source with this one, which is the truth.
    pub fn compare(&self, account: &Self) -> Difference {
        let mut difference = Difference::default();
        let keys: BTreeSet<&String> = self.0.keys().chain(account.0.keys()).collect();
        let none = Vec::new();
        for key in keys {
            let [truth, said] = [self, account].map(|one| one.0.get(key).unwrap_or(&none));
            let said = &renamed(said, truth);
            let [true_nodes, said_nodes] =
                [truth, said].map(|all| all.iter().map(|one| &one.node).collect::<BTreeSet<_>>());
            let missed = true_nodes.difference(&said_nodes).count();
            let invented = said_nodes.difference(&true_nodes).count();
            difference.missed += missed;
            difference.invented += invented;
            if !agree(truth, said) {
                difference.wrong += usize::from(missed + invented == 0);
                difference.lines.push(format!("{key}: {} in place of {}", short(said), short(truth)));
            }
        }
        difference
    }
}

/// Renames contenders that are named by their queue nodes to the names of their leases.
fn renamed(said: &[Contender], truth: &[Contender]) -> Vec<Contender> {
    let rename = |one: &Contender| {
        let lease = truth.iter().find(|lease| lease.queued_as.as_ref() == Some(&one.node));
        Contender { node: lease.unwrap_or(one).node.clone(), ..one.clone() }
    };
    let mut renamed: Vec<_> = said.iter().map(rename).collect();
    if renamed.iter().zip(said).any(|(new, old)| new.node != old.node) {
        // A source without order was sorted by the queue nodes' names.
        renamed.sort_by_key(|one| truth.iter().position(|other| other.node == one.node));
    }
    renamed
}

fn agree(truth: &[Contender], said: &[Contender]) -> bool {
    let same = |(truth, said): (&Contender, &Contender)| {
        truth.node == said.node
            && truth.holds == said.holds
            && (said.session.is_empty() || truth.session == said.session)
    };
    truth.len() == said.len() && truth.iter().zip(said).all(same)
}

fn contender(json: &Value) -> Option<Contender> {
    let path = json["path"].as_str()?;
    Some(Contender {
        node: path.rsplit_once('/')?.1.to_owned(),
        queued_as: None,
        session: json["session"].as_str()?.to_owned(),
        holds: match json["state"].as_str()? {
            "holds" => true,
            "waits" => false,
            _ => return None,
        },
    })
}

fn short(contenders: &[Contender]) -> String {
    let one = |one: &Contender| format!("{}{} of {}", one.node, if one.holds { " (holds)" } else { "" }, one.session);
    format!("[{}]", contenders.iter().map(one).collect::<Vec<_>>().join(", "))
}
