//! What every step of a deletion needs of the node: where it is, whether it is still the one, and whether it may be written to.

use std::time::{Duration, Instant};

use zookeeper_client::{Error, SessionState, Stat};

use super::deleter::NodeDeleter;
use super::{Ending, Examine, Reexamined, reexamine};
use lockscope_base::znode::Zxid;

/// How long what was found out about a node stays good: then it is examined again before anything is sent.
const MAX_EXAMINATION_AGE: Duration = Duration::from_secs(1);

impl<'a, E: Examine> NodeDeleter<'a, E> {
    /// A node, with its data where those may be read; `None` when it is gone.
    pub(super) async fn look(&self, path: &str) -> Result<Option<(Option<Vec<u8>>, Stat)>, Error> {
        match self.client.get_data(path).await {
            Ok((data, stat)) => Ok(Some((Some(data), stat))),
            Err(Error::NoNode) => Ok(None),
            Err(Error::NoAuth) => Ok(self.client.check_stat(path).await?.map(|stat| (None, stat))),
            Err(error) => Err(error),
        }
    }

    /// Looks again at what was confirmed, when that was some time ago.
    pub(super) async fn examine_again(&mut self) -> Option<Ending> {
        if self.examined.elapsed() < MAX_EXAMINATION_AGE {
            return None;
        }
        let found = reexamine(self.examine, self.action, self.node).await;
        self.examined = Instant::now();
        match found {
            Reexamined::Same => None,
            // With what was sent before, it may be said to be done only by what had an answer.
            Reexamined::Ended(ending) => Some(ending),
        }
    }

    /// Nothing that changes anything is handed over without a connection: the client library would keep it and send it later.
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
