//! What must hold of guarded writes: none is applied once its lock is lost, none is applied twice,
//! and each says what it has come to.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Violation;
use crate::ensemble::{Committed, SimulatedEnsemble, session_of};
use crate::program::{GUARDED, GuardedResult, GuardedWriteFact, ProgramState};

/// The judge of all guarded writes.
#[derive(Clone, Debug, Default)]
pub struct GuardedWrites {
    /// The data of the writes that were applied.
    applied: BTreeSet<Arc<str>>,
    /// The data of the writes that are said not to have been applied.
    refused: BTreeSet<Arc<str>>,
    /// The highest token of an exclusive lock that has written.
    highest: i64,
    /// The transactions whose nodes are gone.
    gone: BTreeSet<i64>,
    /// The number of writes of each client that are judged.
    judged: BTreeMap<usize, usize>,
}

impl GuardedWrites {
    /// Records a change, and returns what is wrong with a guarded write. `created` has the client and
    /// the path of each node by its transaction, and `held` is the highest token that has held the
    /// lock.
    pub fn changed(
        &mut self,
        change: &Committed,
        created: &BTreeMap<i64, (i64, Arc<str>)>,
        held: i64,
    ) -> Option<String> {
        if let Committed::Deleted { czxid, .. } = change {
            self.gone.insert(*czxid);
        }
        let Committed::DataChanged { path, data, .. } = change else { return None };
        if &**path != GUARDED {
            return None;
        }
        let data: Arc<str> = String::from_utf8_lossy(data).into();
        let (token, is_exclusive) = read(&data);
        // A path with the id of its attempt never comes back, so the node alone proves the hold.
        let is_unique = created.get(&token).is_some_and(|(_, path)| path.contains("/_c_") || path.contains("__lock__"));
        if is_unique && self.gone.contains(&token) {
            return Some(format!("the guarded write {data} is applied, although the node of its lock is gone"));
        }
        if is_unique && is_exclusive && token < held {
            return Some(format!("the guarded write {data} is applied after the token {held} has held"));
        }
        if is_exclusive && token < self.highest {
            return Some(format!("the guarded write {data} is applied after one with the token {}", self.highest));
        }
        if self.refused.contains(&data) {
            return Some(format!("the guarded write {data} is applied, although it is said not to be"));
        }
        if is_exclusive {
            self.highest = token;
        }
        let is_new = self.applied.insert(Arc::clone(&data));
        (!is_new).then(|| format!("the guarded write {data} is applied twice"))
    }

    /// Judges the writes that have ended in the last step.
    pub fn check(
        &mut self,
        ensemble: &SimulatedEnsemble,
        facts: &[&ProgramState],
        is_disturbed: impl Fn(usize) -> bool,
    ) -> Option<Violation> {
        for (client, facts) in facts.iter().enumerate() {
            let judged = self.judged.get(&client).copied().unwrap_or(0);
            for write in &facts.writes[judged..] {
                if !self.is_true(write, ensemble.lives(session_of(client)), is_disturbed(client)) {
                    let GuardedWriteFact { data, result } = write;
                    let what =
                        format!("client {client} is told {result:?} of its guarded write {data}, without a reason");
                    return Some(Violation { what, limit: None });
                }
            }
            if facts.writes.len() > judged {
                self.judged.insert(client, facts.writes.len());
            }
        }
        None
    }

    fn is_true(&mut self, write: &GuardedWriteFact, lives: bool, is_disturbed: bool) -> bool {
        let (token, is_applied) = (read(&write.data).0, self.applied.contains(&write.data));
        if !matches!(write.result, GuardedResult::Done | GuardedResult::Unknown) {
            self.refused.insert(Arc::clone(&write.data));
        }
        match write.result {
            GuardedResult::Done => is_applied,
            GuardedResult::Unknown => is_disturbed,
            GuardedResult::NodeGone => !is_applied && self.gone.contains(&token),
            GuardedResult::Expired => !is_applied && (!lives || is_disturbed),
            GuardedResult::Fenced => !is_applied && token < self.highest,
            GuardedResult::Other(_) => !is_applied && is_disturbed,
        }
    }
}

impl Hash for GuardedWrites {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The nodes that are gone follow from the history.
        (&self.applied, &self.refused, self.highest, &self.judged).hash(state);
    }
}

/// Returns the token of a guarded write, and whether its lock is exclusive.
fn read(data: &str) -> (i64, bool) {
    let token = data.split(' ').next().and_then(|token| token.parse().ok()).unwrap_or(0);
    (token, data.ends_with(" exclusive"))
}
