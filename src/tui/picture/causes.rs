//! Whose node came or went when a watch fired, as far as the trace tells. Pure.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use crate::contend::{ClientId, RequestKind, TraceEntry, TraceStep, WatchPlace};
use crate::znode::ZnodePath;

/// Changes that are remembered: more than can be under way at a time.
const MAX_CHANGES: usize = 256;
/// Paths of nodes whose owners are remembered: of so many, those that are gone are forgotten.
const MAX_OWNERS: usize = 20_000;

/// A node was created or deleted.
#[derive(Clone, Debug)]
struct NodeChange {
    client: ClientId,
    path: ZnodePath,
    is_deletion: bool,
    /// The entry with which its request was sent, and the one with which it was answered, as places in the trace.
    sent: u64,
    answered: u64,
}

/// A request for a change that is not known to be carried out.
#[derive(Clone, Copy, Debug)]
struct PendingChange {
    kind: RequestKind,
    /// Its entry, as a place in the trace.
    sent: u64,
    /// Whether its client goes on as after a failure. The answer to a listing that was sent with it may be noticed before its own.
    has_failed: bool,
}

impl NodeChange {
    fn fires(&self, place: &WatchPlace) -> bool {
        fires(&self.path, self.is_deletion, place)
    }
}

/// Whether a change of a node fires a watch.
fn fires(path: &ZnodePath, is_deletion: bool, place: &WatchPlace) -> bool {
    match place {
        WatchPlace::Children(parent) => path.parent_str() == Some(parent.as_str()),
        WatchPlace::Node(node) => is_deletion && path == node,
    }
}

/// What is known of nodes, their owners, and changes of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    /// Entries that were noted.
    noted: u64,
    changes: VecDeque<NodeChange>,
    /// Requests that may still change something.
    pending: FxHashMap<ClientId, PendingChange>,
    /// Since which entry each client has each watch.
    watches: FxHashMap<ClientId, Vec<(WatchPlace, u64)>>,
    /// The first event of the last change that fired the watches on a place, as a place in the trace, and whose change that was.
    last_fired: BTreeMap<WatchPlace, (u64, Option<ClientId>)>,
    owners: FxHashMap<ZnodePath, ClientId>,
    /// The newest node of each client.
    nodes: FxHashMap<ClientId, ZnodePath>,
    /// Those whose sessions may end without a word from them.
    silent: Vec<ClientId>,
}

impl Causes {
    /// This client has this node.
    pub fn know(&mut self, client: ClientId, node: &ZnodePath) {
        if self.nodes.get(&client) == Some(node) && self.owners.get(node) == Some(&client) {
            return;
        }
        if self.owners.len() > MAX_OWNERS {
            self.owners.clear();
        }
        self.owners.insert(node.clone(), client);
        self.nodes.insert(client, node.clone());
    }

    /// Takes the next entry of the trace in.
    pub fn note(&mut self, entry: &TraceEntry) {
        self.noted += 1;
        let (client, at) = (entry.client, self.noted);
        match &entry.step {
            TraceStep::Sent(kind @ (RequestKind::Create | RequestKind::Delete)) => {
                self.pending.insert(client, PendingChange { kind: *kind, sent: at, has_failed: false });
            }
            TraceStep::Created(path) => {
                self.change(client, path, false);
                self.know(client, path);
            }
            TraceStep::Deleted(path) => self.change(client, path, true),
            TraceStep::Watches(place) => {
                if let Some(pending) = self.pending.get_mut(&client) {
                    pending.has_failed = true;
                }
                self.watches.entry(client).or_default().push((place.clone(), at));
            }
            TraceStep::Unwatches(place) | TraceStep::Woken(place) => self.forget_watch(client, place),
            TraceStep::Asks(_) | TraceStep::Acquires(_) | TraceStep::Releases => {
                self.pending.remove(&client);
            }
            TraceStep::Freezes | TraceStep::Crashes => {
                self.silent.retain(|other| *other != client);
                self.silent.push(client);
                if entry.step == TraceStep::Crashes {
                    self.pending.remove(&client);
                }
            }
            TraceStep::Thaws | TraceStep::Expires => {
                self.silent.retain(|other| *other != client);
                if entry.step == TraceStep::Expires {
                    self.pending.remove(&client);
                    self.watches.remove(&client);
                }
            }
            TraceStep::Sent(_) | TraceStep::Writes(_) => {}
        }
    }

    fn change(&mut self, client: ClientId, path: &ZnodePath, is_deletion: bool) {
        let sent = self.pending.remove(&client).map_or(self.noted, |pending| pending.sent);
        self.changes.push_back(NodeChange { client, path: path.clone(), is_deletion, sent, answered: self.noted });
        if self.changes.len() > MAX_CHANGES {
            self.changes.pop_front();
        }
    }

    fn forget_watch(&mut self, client: ClientId, place: &WatchPlace) {
        let Some(watches) = self.watches.get_mut(&client) else { return };
        if let Some(at) = watches.iter().position(|(set, _)| set == place) {
            watches.remove(at);
        }
    }

    /// Whose node came or went when this client's watch fired; `later` are the entries behind that of the event. To be asked before the
    /// event's entry is noted. `None` where the trace does not tell.
    pub fn of<'e>(
        &mut self,
        client: ClientId,
        place: &WatchPlace,
        later: impl Iterator<Item = &'e TraceEntry>,
    ) -> Option<ClientId> {
        let watches = self.watches.get(&client);
        let set = watches.and_then(|watches| watches.iter().find(|(set, _)| set == place)).map_or(0, |(_, at)| *at);
        // One change fires all watches that are set on a place, but not the one that its own client sets right after it.
        if let Some((_, cause)) = self.last_fired.get(place).filter(|(at, cause)| set < *at && *cause != Some(client)) {
            return *cause;
        }
        let later: Vec<&TraceEntry> = later.collect();
        // What was sent after the watch was set came after it at the server too. Of the rest that is not known, but that one's own
        // requests are answered in the order in which they were sent.
        let after = |_: ClientId, sent: u64| sent > set;
        let before = |other: ClientId, sent: u64| sent <= set && other != client;
        let known = self.answered(place, set, after).or_else(|| self.pending(place, after, &later));
        let known = known.or_else(|| self.answered(place, set, before)).or_else(|| self.pending(place, before, &later));
        let cause = known.or_else(|| self.silent(place)).or_else(|| match place {
            WatchPlace::Node(path) => self.owners.get(path).copied(),
            WatchPlace::Children(_) => None,
        });
        if self.last_fired.len() >= MAX_CHANGES {
            self.last_fired.clear();
        }
        self.last_fired.insert(place.clone(), (self.noted + 1, cause));
        cause
    }

    /// By a change that was answered after that: the first of those that count.
    fn answered(&self, place: &WatchPlace, set: u64, counts: impl Fn(ClientId, u64) -> bool) -> Option<ClientId> {
        let mut fired = self.changes.iter().filter(|change| change.answered > set && change.fires(place));
        fired.find(|change| counts(change.client, change.sent)).map(|change| change.client)
    }

    /// By a request that is not answered yet: the only one of those that count, or of several the one that is answered first.
    fn pending(
        &self,
        place: &WatchPlace,
        counts: impl Fn(ClientId, u64) -> bool,
        later: &[&TraceEntry],
    ) -> Option<ClientId> {
        let may_fire = |client: &ClientId, kind: RequestKind| match kind {
            RequestKind::Delete => self.nodes.get(client).is_some_and(|node| fires(node, true, place)),
            _ => matches!(place, WatchPlace::Children(_)),
        };
        let all = self.pending.iter().filter(|(client, change)| {
            !change.has_failed && may_fire(client, change.kind) && counts(**client, change.sent)
        });
        let pending: Vec<ClientId> = all.map(|(client, _)| *client).collect();
        if let [] | [_] = pending[..] {
            return pending.first().copied();
        }
        let mut fired = later.iter().filter(|entry| match &entry.step {
            TraceStep::Created(path) => fires(path, false, place),
            TraceStep::Deleted(path) => fires(path, true, place),
            _ => false,
        });
        fired.find(|entry| pending.contains(&entry.client)).map(|entry| entry.client)
    }

    /// By the end of a session without a word from its client.
    fn silent(&mut self, place: &WatchPlace) -> Option<ClientId> {
        let owns = |other: &&ClientId| self.nodes.get(other).is_some_and(|node| fires(node, true, place));
        let client = self.silent.iter().rfind(owns).copied()?;
        self.nodes.remove(&client);
        Some(client)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text).unwrap()
    }

    fn noted(steps: impl IntoIterator<Item = (u32, TraceStep)>) -> Causes {
        let mut causes = Causes::default();
        for (client, step) in steps {
            causes.note(&TraceEntry { at: Duration::ZERO, client: ClientId(client), step });
        }
        causes
    }

    fn of(causes: &mut Causes, client: u32, place: &WatchPlace) -> Option<u32> {
        causes.of(ClientId(client), place, std::iter::empty()).map(|client| client.0)
    }

    #[test]
    fn the_event_of_a_single_node_comes_from_who_deleted_it_and_not_from_who_has_it_now() {
        use TraceStep::{Created, Deleted, Sent, Watches};
        let node = path("/lock");
        let place = WatchPlace::Node(node.clone());
        let mut steps = vec![
            (1, Created(node.clone())),
            (2, Watches(place.clone())),
            (3, Watches(place.clone())),
            (1, Sent(RequestKind::Delete)),
            (1, Deleted(node.clone())),
        ];
        assert_eq!(of(&mut noted(steps.clone()), 2, &place), Some(1));
        steps.extend([(2, Sent(RequestKind::Create)), (2, Created(node))]);
        assert_eq!(of(&mut noted(steps), 3, &place), Some(1), "also where the next has it already");
    }

    #[test]
    fn a_create_that_failed_wakes_nobody_and_one_that_is_not_answered_yet_may() {
        use TraceStep::{Sent, Watches};
        let place = WatchPlace::Children(path("/l"));
        let asked = vec![(2, Watches(place.clone())), (1, Sent(RequestKind::Create))];
        assert_eq!(of(&mut noted(asked.clone()), 2, &place), Some(1));
        let failed = asked.iter().cloned().chain([(1, Watches(place.clone()))]);
        assert_eq!(of(&mut noted(failed), 2, &place), None);
        let both = asked.into_iter().chain([(3, Sent(RequestKind::Create))]);
        let mut causes = noted(both);
        assert_eq!(of(&mut causes.clone(), 2, &place), None, "nobody knows which of the two");
        let step = TraceStep::Created(path("/l/x"));
        let later = [TraceEntry { at: Duration::ZERO, client: ClientId(3), step }];
        assert_eq!(
            causes.of(ClientId(2), &place, later.iter()),
            Some(ClientId(3)),
            "unless the answer comes behind it"
        );
    }

    #[test]
    fn a_change_before_the_watch_was_set_that_is_answered_late_is_not_the_cause_of_its_event() {
        use TraceStep::{Deleted, Sent, Watches};
        let place = WatchPlace::Children(path("/l"));
        let steps = [
            (1, Sent(RequestKind::Delete)),
            (3, Watches(place.clone())),
            (1, Deleted(path("/l/1"))),
            (2, Sent(RequestKind::Delete)),
            (2, Deleted(path("/l/2"))),
        ];
        assert_eq!(of(&mut noted(steps.clone()), 3, &place), Some(2));
        assert_eq!(of(&mut noted(steps.into_iter().take(3)), 3, &place), Some(1), "where there is no other it is");
    }

    #[test]
    fn the_own_create_that_was_sent_with_the_listing_does_not_wake_its_client_and_a_deletion_under_way_does() {
        use TraceStep::{Created, Sent, Watches};
        let place = WatchPlace::Children(path("/l"));
        let mut causes = noted([
            (1, Created(path("/l/1"))),
            (2, Sent(RequestKind::Create)),
            (2, Sent(RequestKind::List)),
            (2, Watches(place.clone())),
            (2, Created(path("/l/2"))),
            (1, Sent(RequestKind::Delete)),
        ]);
        assert_eq!(of(&mut causes, 2, &place), Some(1));
    }

    #[test]
    fn one_change_wakes_all_who_watch_and_what_the_woken_do_wakes_those_who_watch_again() {
        use TraceStep::{Crashes, Created, Sent, Watches, Woken};
        let place = WatchPlace::Children(path("/l"));
        let mut causes = noted([
            (1, Created(path("/l/lock"))),
            (2, Watches(place.clone())),
            (3, Watches(place.clone())),
            (1, Crashes),
        ]);
        causes.changes.clear();
        let note = |causes: &mut Causes, client: u32, step: TraceStep| {
            causes.note(&TraceEntry { at: Duration::ZERO, client: ClientId(client), step });
        };
        assert_eq!(of(&mut causes, 2, &place), Some(1));
        note(&mut causes, 2, Woken(place.clone()));
        note(&mut causes, 2, Sent(RequestKind::Create));
        assert_eq!(of(&mut causes, 3, &place), Some(1), "its event was under way");
        note(&mut causes, 3, Woken(place.clone()));
        note(&mut causes, 3, Watches(place.clone()));
        note(&mut causes, 2, Created(path("/l/lock")));
        assert_eq!(of(&mut causes, 3, &place), Some(2));
    }

    #[test]
    fn who_is_silent_may_have_lost_its_session_and_its_node() {
        use TraceStep::{Crashes, Created, Freezes, Thaws};
        let place = WatchPlace::Children(path("/l"));
        let both = [(1, Created(path("/l/1"))), (2, Created(path("/m/2")))];
        let with = |more: &[(u32, TraceStep)]| {
            let mut causes = noted(both.iter().cloned().chain(more.iter().cloned()));
            causes.changes.clear();
            of(&mut causes, 3, &place)
        };
        assert_eq!(with(&[(1, Freezes)]), Some(1));
        assert_eq!(with(&[(1, Freezes), (1, Thaws)]), None);
        assert_eq!(with(&[(1, Crashes), (2, Crashes)]), Some(1), "the other's node lies elsewhere");
    }
}
