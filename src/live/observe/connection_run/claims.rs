//! Checks the events that name a watched root.

use std::future::Future;
use std::pin::pin;

use futures::future::FutureExt;
use zookeeper_client::{Error, Stat};

use super::super::connection_end::ConnectionEnd;
use super::super::server_trust::{Distrust, RootClaim};
use super::super::wire;
use super::ConnectionRun;
use lockscope_base::znode::ZnodePath;
use lockscope_model::follow::NodeEvent;

impl ConnectionRun<'_> {
    /// Checks an event of a recursive watch that names the watched root, by one read: all others
    /// name what no server would make up. A root that is written to often must not delay the events
    /// behind, so one check stands for all events of its time. Only the deletion of a root, which
    /// would take all of its locks away, waits for its check.
    pub(super) async fn check(&mut self, event: NodeEvent, root: &ZnodePath) -> Result<(), ConnectionEnd> {
        if event != NodeEvent::Deleted && !self.claimed.insert(root.clone()) {
            return Ok(());
        }
        let (client, claim) = (self.client, self.trust.claim(event, root));
        let check = async move {
            let now = client.stat(claim.root.as_str()).await;
            (claim, now)
        };
        if event == NodeEvent::Deleted {
            let (claim, now) = self.answered(check).await?;
            return self.judge(&claim, now);
        }
        self.claims.push(check.boxed());
        Ok(())
    }

    /// Waits for an answer before anything else is handled, and notices a silence meanwhile.
    async fn answered<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, ConnectionEnd> {
        let mut answer = pin!(answer);
        loop {
            let beat = tokio::select! {
                biased;
                answer = self.outbox.send_while(&mut answer) => {
                    self.heard();
                    return Ok(answer?);
                }
                beat = self.heartbeat.next() => beat,
            };
            self.beat(beat)?;
        }
    }

    pub(super) fn judge(&mut self, claim: &RootClaim, now: Result<Option<Stat>, Error>) -> Result<(), ConnectionEnd> {
        match now {
            Ok(now) if claim.is_true(now.as_ref()) => {}
            Ok(_) => self.lose_trust(Distrust::WrongEvent),
            Err(error) if wire::ends_connection(&error) => return Err(error.into()),
            Err(_) => {}
        }
        Ok(())
    }
}
