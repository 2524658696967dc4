//! Asks a node's owner to release, in Curator's way.

use zookeeper_client::Error;

use super::deleter::{Attempt, NodeDeleter};
use super::raise::{Raise, Raised};
use super::{Ending, Examine};
use lockscope_base::znode::Zxid;

/// The data that Curator's lock owners take for a request to release.
const REVOKE_DATA: &[u8] = b"__REVOKE__";

impl<E: Examine> NodeDeleter<'_, E> {
    pub(super) async fn try_revoke(&mut self) -> Result<Attempt, Error> {
        let (data, stat) = self.read_node(self.path()).await?.map_or((None, None), |(data, stat)| (data, Some(stat)));
        let Some(stat) = stat.filter(|stat| self.is_ours(stat)) else {
            let ending = match (&self.sent.raise, stat) {
                (Some(_), _) => self.sent.cut_off(self.action, "it is gone, and the reply to the request was lost"),
                (None, None) => Ending::Gone,
                (None, Some(other)) => Ending::ChangedHands { czxid: Zxid(other.czxid) },
            };
            self.settle_raise().await?;
            return Ok(Attempt::End(ending));
        };
        if self.sent.raise.take().is_some() && data.as_deref() == Some(REVOKE_DATA) {
            return Ok(Attempt::End(Ending::Asked));
        }
        if let Some(ending) = self.examine_again().await {
            return Ok(Attempt::End(ending));
        }
        let path = self.path().to_owned();
        let raise =
            Raise { path, czxid: stat.czxid, data: REVOKE_DATA.to_vec(), version: stat.version, times: 1, read: None };
        Ok(match self.raise_once(raise, None).await? {
            Raised::At { .. } => Attempt::End(Ending::Asked),
            Raised::Again => Attempt::Again,
            Raised::Other(stat) => Attempt::End(Ending::ChangedHands { czxid: Zxid(stat.czxid) }),
            Raised::NotPermitted => Attempt::End(Ending::Refused { lacks: "the WRITE permission on it" }),
        })
    }
}
