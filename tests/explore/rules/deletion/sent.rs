//! The requests of a deletion: what each may be, when it may be sent, and whether it was answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockscope_sandbox::parts::parent;

use crate::ensemble::{LinkId, ReadOp, Refusal, Request, SimulatedEnsemble, SimulatedMessage, WriteOp};
use crate::program::{DeletionFact, Doomed, ExaminationResult};
use crate::rules::limits::REVOKE;

/// The version that the search for guards asks for, which no node has.
const IMPOSSIBLE_VERSION: i32 = i32::MAX;

/// The seconds for which an examination is good: the next request but one looks again. Two seconds
/// of the run may be one of the process.
const EXAMINATION_LASTS: u32 = 2;

/// The smallest number of writes that pin a node.
const MIN_RAISES: u32 = 9;

/// What has become of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fate {
    UnderWay,
    Lost,
}

/// A write that is not known to be answered.
#[derive(Clone, Debug, Hash)]
struct Unanswered {
    link: LinkId,
    node: usize,
    /// Whether it is the action itself: the deletion, or the request to release.
    is_action: bool,
    fate: Fate,
}

/// The requests of a deletion.
#[derive(Clone, Debug, Default, Hash)]
pub struct SentRequests {
    /// The number of the last request that was seen.
    last: u32,
    /// The numbers from which on requests belong to each node that was worked on, in this order.
    begins: Vec<(u32, usize)>,
    /// The number of looks at each node with which a try begins.
    tries: BTreeMap<usize, u32>,
    /// Whether the last request was such a look.
    begins_try: bool,
    /// Whether the last request was a read of data. Without a guard, another look follows it.
    has_read: bool,
    /// The number of the last write, if it was sent in the last step: a look right behind it begins
    /// no try.
    written: Option<u32>,
    /// The number of raises since the last try began, by path.
    raises: BTreeMap<Arc<str>, u32>,
    /// When the last examination of each node was known to be over, and how many there were.
    examined: BTreeMap<usize, (usize, u32)>,
    unanswered: BTreeMap<u32, Unanswered>,
    /// The nodes whose outcome was told before the last step.
    told: Vec<usize>,
}

impl SentRequests {
    /// Returns the node that a request is for.
    pub fn node_of(&self, number: u32) -> usize {
        self.begins.iter().rev().find(|(from, _)| *from <= number).map_or(0, |(_, node)| *node)
    }

    /// Returns the number of tries for a node.
    pub fn tries(&self, node: usize) -> u32 {
        self.tries.get(&node).copied().unwrap_or_default()
    }

    /// Returns whether a write for a node may have been carried out without an answer; if `action`,
    /// the deletion itself.
    pub fn is_uncertain(&self, node: usize, action: bool) -> bool {
        self.unanswered.values().any(|write| write.node == node && (!action || write.is_action))
    }

    /// Checks the requests that were sent since the last call.
    pub fn check(
        &mut self,
        client: usize,
        deletion: &DeletionFact,
        ensemble: &SimulatedEnsemble,
        second: u32,
    ) -> Option<String> {
        self.follow(ensemble);
        for (index, node) in deletion.nodes.iter().enumerate() {
            if let Some(from) = node.intended.filter(|_| self.begins.iter().all(|(_, known)| *known != index)) {
                self.begins.push((from, index));
            }
            let looks = node.looks.iter().filter(|look| look.to.is_some()).count();
            let known = self.examined.entry(index).or_default();
            if known.0 < looks {
                *known = (looks, second);
            }
        }
        let mut wrong = None;
        self.written = None;
        let links = ensemble.links().filter(|(id, _)| id.client == client);
        for (id, (number, request)) in links.flat_map(|(id, link)| link.requests.iter().map(move |sent| (id, sent))) {
            if *number > self.last {
                self.last = *number;
                wrong = wrong.or_else(|| self.sends(id, *number, request, deletion, second));
            }
        }
        self.told = (0..deletion.nodes.len()).filter(|index| deletion.nodes[*index].logged.is_some()).collect();
        wrong
    }

    /// Finds out which writes were answered or lost.
    fn follow(&mut self, ensemble: &SimulatedEnsemble) {
        self.unanswered.retain(|number, write| {
            if write.fate == Fate::Lost {
                return true;
            }
            let Some(link) = ensemble.link(write.link).filter(|link| !link.broken) else {
                write.fate = Fate::Lost;
                return true;
            };
            let of_reply = |message: &SimulatedMessage| match message {
                SimulatedMessage::Reply { xid, .. } if xid == number => Some(true),
                SimulatedMessage::Refused { xid, why } if xid == number => Some(*why != Refusal::Garbled),
                _ => None,
            };
            let reply = link.messages.iter().find_map(|(_, message)| of_reply(message));
            let is_waiting = reply.is_some() || link.requests.iter().any(|(waiting, _)| waiting == number);
            // A reply that cannot be read tells nothing.
            if reply == Some(false) {
                write.fate = Fate::Lost;
            }
            // A server that closes a connection forgets what it has not carried out.
            if !is_waiting && link.messages.back().is_some_and(|(_, message)| *message == SimulatedMessage::Closed) {
                write.fate = Fate::Lost;
            }
            is_waiting || write.fate == Fate::Lost
        });
    }

    fn sends(
        &mut self,
        link: LinkId,
        number: u32,
        request: &Request,
        deletion: &DeletionFact,
        second: u32,
    ) -> Option<String> {
        if number < deletion.began || matches!(request, Request::SetWatches { .. }) {
            return None;
        }
        let writes: Vec<&WriteOp> = request.writes().iter().filter(|write| changes(write)).collect();
        let index = self.node_of(number);
        let node = deletion.nodes.get(index)?;
        let is_look = |from: u32, to: Option<u32>| from <= number && to.is_none_or(|to| number < to);
        if node.looks.iter().any(|look| is_look(look.from, look.to)) {
            return (!writes.is_empty()).then(|| "writes while it examines the node".to_owned());
        }
        if let Some(what) = self.wrong_time(index, number, node, !writes.is_empty()) {
            return Some(what);
        }
        let is_start = match request {
            Request::Read { read: ReadOp::Stat(path), .. } => {
                let is_behind = self.written.is_some_and(|written| written + 1 == number);
                let is_second = node.guard == "none" && self.has_read;
                !deletion.asks && *path == node.path && !is_behind && !is_second
            }
            Request::Read { read: ReadOp::Data(path), .. } => deletion.asks && *path == node.path,
            _ => false,
        };
        self.has_read = matches!(request, Request::Read { read: ReadOp::Data(_), .. });
        let was_start = std::mem::replace(&mut self.begins_try, is_start);
        let age = second.saturating_sub(self.examined.get(&index).map_or(0, |(_, at)| *at));
        if was_start && !is_start && (self.has_read || !writes.is_empty()) && age > EXAMINATION_LASTS {
            return Some(format!("goes on with {} by an examination that is {age} seconds old", node.path));
        }
        if is_start {
            *self.tries.entry(index).or_default() += 1;
            self.raises.clear();
        }
        if writes.is_empty() {
            return None;
        }
        self.written = Some(number);
        if let Some(what) = self.wrong_writes(&writes, node, deletion.asks) {
            return Some(what);
        }
        let is_action = writes.iter().any(|write| is_action(write, deletion.asks));
        self.unanswered.insert(number, Unanswered { link, node: index, is_action, fate: Fate::UnderWay });
        None
    }

    /// Returns why this is not the time for a request.
    fn wrong_time(&self, index: usize, number: u32, node: &Doomed, writes: bool) -> Option<String> {
        let is_told = node.logged.as_ref().is_some_and(|(told, _)| *told <= number);
        let look = node.looks.iter().rev().find(|look| look.to.is_some_and(|to| to <= number));
        if !writes {
            return None;
        }
        if node.intended.is_none_or(|intended| intended > number) {
            return Some(format!("writes for {}, and the log has no intent", node.path));
        }
        if is_told || self.told.contains(&index) {
            return Some(format!("writes for {} after its outcome was told", node.path));
        }
        match look.map(|look| look.verdict) {
            None => Some(format!("writes for {} before it was examined", node.path)),
            Some(ExaminationResult::Same) => None,
            Some(ExaminationResult::Changed) => Some(format!("writes for {}, which has changed", node.path)),
            Some(ExaminationResult::Unknown) => Some(format!("writes for {}, of which nothing is known", node.path)),
        }
    }

    /// Returns what is wrong about the writes of one request.
    fn wrong_writes(&mut self, writes: &[&WriteOp], node: &Doomed, asks: bool) -> Option<String> {
        let parent = parent(&node.path).unwrap_or_default();
        for write in writes {
            let (path, version) = match write {
                WriteOp::Create(create) => return Some(format!("creates {}", create.path)),
                WriteOp::Delete { path, version } | WriteOp::SetData { path, version, .. } => (path, *version),
                WriteOp::Check { .. } => continue,
            };
            if *path != node.path && **path != *parent {
                return Some(format!("writes to {path} for {}", node.path));
            }
            if version.is_none_or(|version| version == -1) {
                return Some(format!("writes to {path} at any version"));
            }
            let deletes = matches!(write, WriteOp::Delete { .. });
            if deletes && (asks || *path != node.path) {
                return Some(format!("deletes {path} for {}", node.path));
            }
            if asks && **path == *parent {
                return Some(format!("writes to {path}, and shall ask the owner of {}", node.path));
            }
        }
        if writes.iter().any(|write| matches!(write, WriteOp::Delete { .. })) {
            return self.wrong_guard(writes, node);
        }
        for write in writes {
            if let WriteOp::SetData { path, .. } = write {
                *self.raises.entry(Arc::clone(path)).or_default() += 1;
            }
        }
        None
    }

    /// Returns what is wrong about a deletion: a guard must have been raised, and must share its
    /// transaction.
    fn wrong_guard(&self, writes: &[&WriteOp], node: &Doomed) -> Option<String> {
        let needs = matches!(node.guard, "parent" | "node");
        match writes {
            [WriteOp::Delete { .. }] if needs => Some(format!("deletes {} without its guard", node.path)),
            [WriteOp::Delete { .. }] => None,
            [WriteOp::SetData { path, .. }, WriteOp::Delete { .. }] => {
                let raises = self.raises.get(path).copied().unwrap_or_default();
                if node.guard == "node" && *path != node.path {
                    Some(format!("guards {} by {path}, which may not be written", node.path))
                } else if raises < MIN_RAISES {
                    Some(format!("deletes {} after {raises} writes to its guard", node.path))
                } else {
                    None
                }
            }
            _ => Some(format!("deletes {} together with something else", node.path)),
        }
    }
}

/// Returns whether a write can change anything.
fn changes(write: &WriteOp) -> bool {
    let version = match write {
        WriteOp::Create(_) => None,
        WriteOp::Delete { version, .. } | WriteOp::SetData { version, .. } => *version,
        WriteOp::Check { .. } => return false,
    };
    version != Some(IMPOSSIBLE_VERSION)
}

fn is_action(write: &WriteOp, asks: bool) -> bool {
    match write {
        WriteOp::Delete { .. } => true,
        WriteOp::SetData { data, .. } => asks && **data == *REVOKE,
        _ => false,
    }
}
