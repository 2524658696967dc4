//! A one-shot watch as an attempt waits for it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use lockscope_requests::{Requests, Watch};
use tokio::time::sleep;
use zookeeper_client::{EventType, WatchedEvent};

use super::super::activity::{LockActivity, RequestKind, WatchPlace};
use super::super::cost::AttemptMeter;
use lockscope_base::znode::{ZnodePath, Zxid};

/// The interval between checks of a node that must not be read.
const UNREADABLE_NODE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A one-shot watch, or the polling that replaces one.
pub(crate) struct OneShotWatch {
    event: Watch,
    meter: AttemptMeter,
    /// Whether the watch is set at the server and its event has not come yet.
    set: bool,
    /// The place of the watch, if a recorder needs it.
    place: Option<WatchPlace>,
}

impl OneShotWatch {
    pub(super) fn new(event: Watch, meter: &AttemptMeter, place: Option<WatchPlace>) -> Self {
        meter.note_watch(place.as_ref(), LockActivity::Watches);
        Self { event, meter: meter.clone(), set: true, place }
    }

    /// Polls the node that the transaction `created` created. A later node with the same path is
    /// another node.
    pub(super) fn polling(client: Arc<dyn Requests>, node: ZnodePath, created: Zxid, meter: &AttemptMeter) -> Self {
        let counted = meter.clone();
        let event = async move {
            loop {
                sleep(UNREADABLE_NODE_POLL_INTERVAL).await;
                counted.request(RequestKind::Read);
                match client.stat(node.as_str()).await {
                    Ok(Some(stat)) if Zxid(stat.czxid) == created => {}
                    Ok(_) => return WatchedEvent::new(EventType::NodeDeleted, node.as_str()),
                    Err(_) if client.state().is_terminated() => return WatchedEvent::new_session(client.state()),
                    Err(_) => {}
                }
            }
        };
        Self { event: Box::pin(event), meter: meter.clone(), set: false, place: None }
    }

    /// Waits for the event. Cancel safe. Must not be called again after it has returned one.
    pub(crate) async fn fired(&mut self) -> WatchedEvent {
        poll_fn(|context| self.poll_fired(context)).await
    }

    /// Polls for the event. Must not be called again after it has returned one.
    pub(crate) fn poll_fired(&mut self, context: &mut Context<'_>) -> Poll<WatchedEvent> {
        let event = self.event.poll_unpin(context);
        if let Poll::Ready(event) = &event {
            self.count_event(event);
        }
        event
    }

    /// Takes the event if it has come already: then the watch need not be removed.
    pub(crate) fn check_fired(&mut self) {
        let _ = self.fired().now_or_never();
    }

    fn count_event(&mut self, event: &WatchedEvent) {
        if self.set && event.event_type != EventType::Session {
            self.meter.event(self.place.as_ref());
        }
        self.set = false;
    }
}

impl std::fmt::Debug for OneShotWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Drop for OneShotWatch {
    fn drop(&mut self) {
        if self.set {
            // The client library removes the watch at the server, with a request.
            self.meter.note_watch(self.place.as_ref(), LockActivity::Unwatches);
            self.meter.request(RequestKind::RemoveWatch);
        }
    }
}
