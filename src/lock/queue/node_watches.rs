//! The watches of a chain's waiter on the nodes before its own.

use std::future::poll_fn;
use std::task::Poll;

use futures::future::join_all;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use zookeeper_client::EventType;

use super::super::LockError;
use super::super::activity::LockActivity;
use super::super::error::NotAcquired;
use super::super::retrying_client::{OneShotWatch, RetryingClient};
use lockscope_base::znode::ZnodePath;

/// The watches that are set, at most one for each node. Dropping this removes them at the server.
#[derive(Debug)]
pub(super) struct NodeWatches<'a> {
    client: &'a RetryingClient,
    set: Vec<(ZnodePath, OneShotWatch)>,
}

/// The first of two results: the event of the watch at that index, or a reply.
enum First<T> {
    Event(usize),
    Reply(T),
}

impl<'a> NodeWatches<'a> {
    pub(super) fn new(client: &'a RetryingClient) -> Self {
        Self { client, set: Vec::new() }
    }

    /// Watches these nodes and no others. A node that is watched already costs no request. A watch
    /// on another node is removed unless its event has come. Returns `false` if one of the nodes is
    /// gone; the others are watched all the same.
    pub(super) async fn watch_only(&mut self, nodes: &[ZnodePath]) -> Result<bool, LockError> {
        self.keep_only(nodes);
        let missing: Vec<&ZnodePath> = nodes.iter().filter(|node| !self.watches(node)).collect();
        // All requests are sent before the first is answered.
        let watched = join_all(missing.iter().map(|node| self.client.watch(node))).await;
        for (node, watched) in missing.into_iter().zip(watched) {
            if let Some(watched) = watched? {
                self.set.push((node.clone(), watched.watch));
            }
        }
        Ok(self.set.len() == nodes.len())
    }

    fn watches(&self, node: &ZnodePath) -> bool {
        self.set.iter().any(|(watched, _)| watched == node)
    }

    /// Removes the watches on other nodes. If the event of one has come already, it is counted and
    /// no request is sent.
    pub(super) fn keep_only(&mut self, nodes: &[ZnodePath]) {
        self.set.retain_mut(|(node, watch)| {
            let kept = nodes.contains(node);
            if !kept {
                watch.check_fired();
            }
            kept
        });
    }

    /// Waits for a reply about the queue. A watch whose event comes before the reply is removed
    /// from the list: if the reply shows a node of that name, it is a newer one.
    pub(super) async fn until_reply<T: Send>(&mut self, reply: impl Future<Output = T> + Send) -> T {
        let (mut fired, reply) = {
            // The futures are polled in the order in which they were woken, which is the order in
            // which the server sent.
            let mut firsts = FuturesUnordered::new();
            for (at, (_, watch)) in self.set.iter_mut().enumerate() {
                firsts.push(
                    async move {
                        watch.fired().await;
                        First::Event(at)
                    }
                    .boxed(),
                );
            }
            firsts.push(async { First::Reply(reply.await) }.boxed());
            let mut fired = Vec::new();
            loop {
                match firsts.next().await {
                    Some(First::Event(at)) => fired.push(at),
                    Some(First::Reply(reply)) => break (fired, reply),
                    None => std::future::pending().await,
                }
            }
        };
        fired.sort_unstable();
        for at in fired.into_iter().rev() {
            self.set.swap_remove(at);
        }
        reply
    }

    /// Waits for the first event and returns it; its node is then no longer watched. Returns an
    /// error when the session ends or the attempt is cancelled. Cancel safe.
    pub(super) async fn event(&mut self) -> Result<EventType, NotAcquired> {
        self.client.meter.record(|| LockActivity::Waits);
        let first = poll_fn(|context| {
            let mut watches = self.set.iter_mut().enumerate();
            let first = watches.find_map(|(at, (_, watch))| match watch.poll_fired(context) {
                Poll::Ready(event) => Some((at, event)),
                Poll::Pending => None,
            });
            first.map_or(Poll::Pending, Poll::Ready)
        });
        let (at, event) = tokio::select! {
            biased;
            first = first => first,
            () = self.client.cancel.cancelled() => return Err(NotAcquired::Cancelled),
        };
        self.set.swap_remove(at);
        self.client.node_event(&event)
    }
}
