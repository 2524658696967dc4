//! Observes over a client that somebody else has connected, such as that of a simulated ensemble.

use std::sync::Arc;

use lockscope_requests::Requests;
use tokio::sync::{mpsc, watch};
use zookeeper_client::SessionState;

use super::Observed;
use super::outbox::{Outbox, UntakenChanges};
use super::session_observer::SessionObserver;
use crate::zk::TransportStatus;
use lockscope_base::znode::ZnodePath;
use lockscope_model::follow::Follower;

/// Observes what is below the roots, at least one, on one session over all its connections. Sends
/// the changes in batches. Holds at most `max_backlog` changes that the consumer has not taken, as
/// [`ObserveOptions::max_backlog`](super::ObserveOptions::max_backlog).
///
/// Returns the final state of the session, or `None` when the consumer has gone. This is what an
/// [`Observer`](super::Observer) does between connecting and the end of its session.
#[doc(hidden)]
pub async fn observe_over(
    client: Arc<dyn Requests>,
    roots: Vec<ZnodePath>,
    max_backlog: usize,
    sender: mpsc::Sender<Vec<Observed>>,
) -> Option<SessionState> {
    // No queue is open, and nobody compares the members.
    let (_, open_queue) = watch::channel(None);
    let (_, views) = watch::channel(Arc::default());
    let mut observer = SessionObserver {
        follower: Follower::new(&roots, &[]),
        outbox: Outbox::new(sender, max_backlog, UntakenChanges::default()),
        open_queue,
        views,
    };
    let state = observer.session(&*client, &TransportStatus::of_no_transport()).await.ok()?;
    observer.outbox.send_all().await.ok()?;
    Some(state)
}
