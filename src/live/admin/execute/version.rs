//! The part of a deletion that raises versions, and repairs another node that such a write hit.

use zookeeper_client::{Error, Stat};

use super::super::Action;
use super::Examine;
use super::deleter::NodeDeleter;
use super::raise::{Raise, Raised, counts, is_answer};

impl<E: Examine> NodeDeleter<'_, E> {
    /// Raises a version in as many requests as the data need.
    pub(super) async fn raise(
        &mut self,
        path: &str,
        data: &[u8],
        stat: &Stat,
        check: Option<i32>,
    ) -> Result<Raised, Error> {
        let (mut left, at_once) = counts(data);
        let mut version = stat.version;
        loop {
            let times = left.min(at_once);
            let raise =
                Raise { path: path.to_owned(), czxid: stat.czxid, data: data.to_owned(), version, times, read: None };
            let raised = self.raise_once(raise, check).await?;
            left -= times;
            match raised {
                Raised::At { version: reached, .. } if left > 0 => version = reached,
                raised => return Ok(raised),
            }
        }
    }

    pub(super) async fn raise_once(&mut self, raise: Raise, check: Option<i32>) -> Result<Raised, Error> {
        self.ready()?;
        let (path, node) = (raise.path.clone(), self.path().to_owned());
        let has_come_late = |late: &Raise| late.has_come_before(&raise);
        if self.sent.late_raise.take_if(|late| has_come_late(late)).is_some() {
            self.note_raised(&path);
        }
        // All requests are sent at once: if the name passes to another node before them, the read
        // returns the data that the write destroys.
        let read = self.client.data(&path);
        let write = raise.write(self.client, check.map(|version| (node.as_str(), version)));
        let behind = check.map(|_| self.client.stat(&node));
        let behind = async { if let Some(behind) = behind { behind.await } else { Ok(None) } };
        self.sent.raise = Some(raise.clone());
        let (read, written, behind) = tokio::join!(read, write, behind);
        let raise = Raise { read: read.ok(), ..raise };
        let error = match written {
            Ok(stat) => {
                self.sent.raise = None;
                if stat.czxid == raise.czxid {
                    self.note_raised(&path);
                    return Ok(Raised::At { version: stat.version, behind });
                }
                self.put_back(&raise, &stat).await;
                return Ok(Raised::Other(stat));
            }
            Err(error) => Error::from(error),
        };
        self.sent.raise = Some(raise);
        if !is_answer(&error) {
            return Err(error);
        }
        self.sent.raise = None;
        match error {
            Error::NoNode | Error::BadVersion => Ok(Raised::Again),
            _ => Ok(Raised::NotPermitted),
        }
    }

    fn note_raised(&mut self, path: &str) {
        if self.action == Action::Delete {
            self.sent.raised = lockscope_base::znode::ZnodePath::new(path).ok();
        }
    }

    /// Restores the data of another node that got the write, if they were read and nobody has
    /// changed them since. That node's version stays raised.
    async fn put_back(&mut self, raise: &Raise, other: &Stat) {
        let Some(own) = raise.data_of(other) else {
            self.sent.overwritten = true;
            return;
        };
        if own == raise.data {
            self.note_raised(&raise.path);
            return;
        }
        // Assumed until there is an answer.
        let before = std::mem::replace(&mut self.sent.overwritten, true);
        let restored = self.client.set_data(&raise.path, own, Some(other.version)).await;
        // A write or deletion by somebody else has undone ours.
        if matches!(restored, Ok(_) | Err(Error::BadVersion | Error::NoNode)) {
            self.sent.overwritten = before;
        }
        if matches!(restored, Ok(_) | Err(Error::BadVersion)) {
            self.note_raised(&raise.path);
        }
    }

    /// Finds out whether a raise or a revocation whose reply was lost hit another node.
    pub(super) async fn settle_raise(&mut self) -> Result<(), Error> {
        let Some(raise) = self.sent.raise.clone() else { return Ok(()) };
        let Some((data, stat)) = self.read_node(&raise.path).await? else {
            self.sent.raise = None;
            return Ok(());
        };
        self.sent.raise = None;
        if stat.czxid != raise.czxid {
            if raise.may_have_hit(data.as_deref().unwrap_or(&raise.data), &stat) {
                self.put_back(&raise, &stat).await;
            }
        } else if stat.version == raise.version {
            self.sent.late_raise = Some(raise);
        } else {
            self.note_raised(&raise.path);
        }
        Ok(())
    }
}
