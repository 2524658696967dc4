//! The client of `zookeeper-client`.

use std::time::Duration;

use futures::future::{BoxFuture, ready};
use futures::stream::{self, StreamExt};
use lockscope_base::znode::SessionId;
use zookeeper_client::{
    AddWatchMode, Client, CreateMode, Error, EventType, MultiReadResult, MultiWriteError, MultiWriteResult,
    OneshotWatcher, PersistentWatcher, SessionState, Stat, StateWatcher,
};

use super::{Created, Events, NewNode, Read, Reply, Requests, SessionStates, Watch, Write};

impl Requests for Client {
    fn session(&self) -> SessionId {
        SessionId(self.session_id().0)
    }

    fn session_timeout(&self) -> Duration {
        Client::session_timeout(self)
    }

    fn chroot(&self) -> &str {
        self.path()
    }

    fn state(&self) -> SessionState {
        Client::state(self)
    }

    fn states(&self) -> Box<dyn SessionStates> {
        Box::new(self.state_watcher())
    }

    fn create<'a>(&'a self, node: NewNode<'a>) -> Reply<'a, Created> {
        let reply = Client::create(self, node.path, node.data, &node.mode.with_acls(node.acls));
        let is_sequential = matches!(node.mode, CreateMode::EphemeralSequential | CreateMode::PersistentSequential);
        Box::pin(async move {
            let (stat, number) = reply.await?;
            Ok(Created { stat, number: if is_sequential { number.to_string() } else { String::new() } })
        })
    }

    fn delete<'a>(&'a self, path: &'a str, version: Option<i32>) -> Reply<'a, ()> {
        Box::pin(Client::delete(self, path, version))
    }

    fn data(&self, path: &str) -> Reply<'_, (Vec<u8>, Stat)> {
        Box::pin(self.get_data(path))
    }

    fn watch_data<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<u8>, Stat, Watch)> {
        let reply = self.get_and_watch_data(path);
        Box::pin(async move { reply.await.map(|(data, stat, watcher)| (data, stat, watch(watcher))) })
    }

    fn stat(&self, path: &str) -> Reply<'_, Option<Stat>> {
        Box::pin(self.check_stat(path))
    }

    fn children(&self, path: &str) -> Reply<'_, (Vec<String>, Stat)> {
        Box::pin(self.get_children(path))
    }

    fn watch_children<'a>(&'a self, path: &'a str) -> Reply<'a, (Vec<String>, Stat, Watch)> {
        let reply = self.get_and_watch_children(path);
        Box::pin(async move { reply.await.map(|(names, stat, watcher)| (names, stat, watch(watcher))) })
    }

    fn sync<'a>(&'a self, path: &'a str) -> Reply<'a, ()> {
        Box::pin(Client::sync(self, path))
    }

    fn write<'a>(&'a self, writes: &[Write<'_>]) -> Reply<'a, Vec<MultiWriteResult>, MultiWriteError> {
        let mut transaction = self.new_multi_writer();
        for write in writes {
            let added = match write {
                Write::Create(node) => transaction.add_create(node.path, node.data, &node.mode.with_acls(node.acls)),
                Write::Delete(path, version) => transaction.add_delete(path, *version),
                Write::SetData(path, data, version) => transaction.add_set_data(path, data, *version),
                Write::Check(path, version) => transaction.add_check_version(path, *version),
            };
            if let Err(error) = added {
                return Box::pin(ready(Err(error.into())));
            }
        }
        Box::pin(transaction.commit())
    }

    fn set_data<'a>(&'a self, path: &'a str, data: &'a [u8], version: Option<i32>) -> Reply<'a, Stat> {
        Box::pin(Client::set_data(self, path, data, version))
    }

    fn read<'a>(&'a self, reads: &[Read<'_>]) -> Reply<'a, Vec<MultiReadResult>> {
        let mut reader = self.new_multi_reader();
        let mut add = |read: &Read<'_>| match read {
            Read::Data(path) => reader.add_get_data(path),
            Read::Children(path) => reader.add_get_children(path),
        };
        let not_sent: Vec<Option<Error>> = reads.iter().map(|read| add(read).err()).collect();
        let reply = reader.commit();
        Box::pin(async move { Ok(results_of_all(not_sent, reply.await?)) })
    }

    fn count_descendants(&self, path: &str) -> Reply<'_, usize> {
        Box::pin(self.count_descendants_number(path))
    }

    fn watch_stat<'a>(&'a self, path: &'a str) -> Reply<'a, (Option<Stat>, Watch)> {
        let reply = self.check_and_watch_stat(path);
        Box::pin(async move { reply.await.map(|(stat, watcher)| (stat, watch(watcher))) })
    }

    fn watch_recursively<'a>(&'a self, path: &'a str) -> Reply<'a, Events> {
        let reply = self.watch(path, AddWatchMode::PersistentRecursive);
        Box::pin(async move { reply.await.map(events) })
    }
}

/// Returns the events of a watcher, up to the end of its session: after that it would panic.
fn events(watcher: PersistentWatcher) -> Events {
    let next = |watcher: Option<PersistentWatcher>| async {
        let mut watcher = watcher?;
        let event = watcher.changed().await;
        let is_last = event.event_type == EventType::Session && event.session_state.is_terminated();
        Some((event, (!is_last).then_some(watcher)))
    };
    stream::unfold(Some(watcher), next).boxed()
}

/// Adds the errors of the reads that were not sent to the results of the others.
fn results_of_all(not_sent: Vec<Option<Error>>, sent: Vec<MultiReadResult>) -> Vec<MultiReadResult> {
    let mut sent = sent.into_iter();
    let next = |not_sent| match not_sent {
        Some(err) => Some(MultiReadResult::Error { err }),
        None => sent.next(),
    };
    let mut results: Vec<MultiReadResult> = not_sent.into_iter().map_while(next).collect();
    // A server that gives too many results is noticed by their number.
    results.extend(sent);
    results
}

fn watch(watcher: OneshotWatcher) -> Watch {
    Box::pin(watcher.changed())
}

impl SessionStates for StateWatcher {
    fn state(&mut self) -> SessionState {
        StateWatcher::state(self)
    }

    fn peek(&self) -> SessionState {
        self.peek_state()
    }

    fn changed(&mut self) -> BoxFuture<'_, SessionState> {
        Box::pin(StateWatcher::changed(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_cannot_be_sent_fails_at_its_place() {
        let children = |name: &str| MultiReadResult::Children { children: vec![name.to_owned()] };
        let bad = || Some(Error::BadArguments(&"unsupported characters in path"));
        let results = results_of_all(vec![bad(), None, bad(), None], vec![children("a"), children("b"), children("c")]);
        let shown = |result: &MultiReadResult| match result {
            MultiReadResult::Children { children } => children.concat(),
            _ => "failed".to_owned(),
        };
        assert_eq!(results.iter().map(shown).collect::<Vec<_>>(), ["failed", "a", "failed", "b", "c"]);
        assert!(results_of_all(vec![None, bad()], Vec::new()).is_empty(), "the server gave no result");
    }
}
