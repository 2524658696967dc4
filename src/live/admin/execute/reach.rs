//! The checks that every step of a deletion needs: where the node is, whether it is still the same
//! node, and whether there is a connection.

use tokio::time::{Duration, Instant};
use zookeeper_client::{Error, SessionState, Stat};

use super::deleter::NodeDeleter;
use super::{Ending, Examine, Reexamined, reexamine};
use lockscope_base::znode::Zxid;

/// The maximum age of an examination. An older one is repeated before anything is sent.
const MAX_EXAMINATION_AGE: Duration = Duration::from_secs(1);

impl<'a, E: Examine> NodeDeleter<'a, E> {
    /// Reads a node, with its data if that is permitted; `None` if it is gone.
    pub(super) async fn read_node(&self, path: &str) -> Result<Option<(Option<Vec<u8>>, Stat)>, Error> {
        match self.client.data(path).await {
            Ok((data, stat)) => Ok(Some((Some(data), stat))),
            Err(Error::NoNode) => Ok(None),
            Err(Error::NoAuth) => Ok(self.client.stat(path).await?.map(|stat| (None, stat))),
            Err(error) => Err(error),
        }
    }

    /// Examines the confirmed facts again if the last examination is too old.
    pub(super) async fn examine_again(&mut self) -> Option<Ending> {
        if self.examined.elapsed() < MAX_EXAMINATION_AGE {
            return None;
        }
        let found = reexamine(self.examine, self.action, self.node).await;
        self.examined = Instant::now();
        match found {
            Reexamined::Same => None,
            // The callers have settled earlier requests without an answer, so this result holds.
            Reexamined::Ended(ending) => Some(ending),
        }
    }

    /// Fails without a connection. The client library would keep a request and send it later.
    pub(super) fn ready(&self) -> Result<(), Error> {
        if self.client.state() == SessionState::SyncConnected { Ok(()) } else { Err(Error::ConnectionLoss) }
    }

    pub(super) fn path(&self) -> &'a str {
        self.node.path.as_str()
    }

    pub(super) fn is_ours(&self, stat: &Stat) -> bool {
        Zxid(stat.czxid) == self.node.czxid
    }

    pub(super) fn parent(&self) -> &'a str {
        self.node.path.parent_str().unwrap_or("/")
    }
}
