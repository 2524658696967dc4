//! Finds a node again and deletes it, or asks its owner to release.

use tokio::time::{Duration, sleep};
use zookeeper_client::{Client, Error, MultiWriteResult, SessionState, Stat};

use super::super::{PlannedNode, What};
use super::Ending;
use crate::znode::Zxid;

/// What Curator's owners take for the question whether they release.
const REVOKE: &[u8] = b"__REVOKE__";

/// How often a node is made sure of anew when others change it meanwhile.
const TRIES: usize = 10;

/// By how much the version of a node is raised to make sure of it, unless its data are large: whoever takes its name and writes
/// this often before the deletion comes would be hit.
const RAISES: i32 = 16;

/// How many bytes are sent to raise it.
const RAISED_BYTES: usize = 64 * 1024;

/// How long it is waited after a failed try, at first; longer after each.
const PAUSE: Duration = Duration::from_millis(10);

/// How a node was found.
enum Found {
    /// There is none.
    None,
    /// Another one has its name.
    Other(Stat),
    /// It is still there; without its data where we may not read them.
    Same(Option<Vec<u8>>, Stat),
}

/// What a step leads to.
enum Step {
    /// This is the end.
    End(Ending),
    /// It has to be tried again: something changed, or the connection was lost.
    Again,
}

/// One node in work.
pub(super) struct Hand<'a> {
    client: &'a Client,
    node: &'a PlannedNode,
    /// A deletion is under way, or its reply was lost.
    sent: bool,
    /// A deletion's reply was lost.
    lost: bool,
}

impl<'a> Hand<'a> {
    pub(super) fn new(client: &'a Client, node: &'a PlannedNode) -> Self {
        Self { client, node, sent: false, lost: false }
    }

    /// What is to be said when the work is cut off now.
    pub(super) fn cut_off(&self) -> Ending {
        self.failed("the servers gave no answer in time")
    }

    fn failed(&self, why: &str) -> Ending {
        let why = why.to_owned();
        if self.sent { Ending::NotKnown { why } } else { Ending::NotDone { why } }
    }

    pub(super) async fn delete(&mut self) -> Ending {
        for tried in 0..TRIES {
            match self.try_delete().await {
                Ok(Step::End(ending)) => return ending,
                Ok(Step::Again) => self.pause(tried).await,
                Err(error) => match self.recover(error, tried).await {
                    Ok(()) => {}
                    Err(ending) => return ending,
                },
            }
        }
        Ending::Busy
    }

    pub(super) async fn revoke(&mut self) -> Ending {
        for tried in 0..TRIES {
            match self.try_revoke().await {
                Ok(Step::End(ending)) => return ending,
                Ok(Step::Again) => self.pause(tried).await,
                Err(error) => match self.recover(error, tried).await {
                    Ok(()) => {}
                    Err(ending) => return ending,
                },
            }
        }
        Ending::Busy
    }

    async fn try_delete(&mut self) -> Result<Step, Error> {
        let (data, stat) = match self.look().await? {
            // Where another one has the name, the node is gone too.
            Found::None | Found::Other(_) if self.lost => return Ok(Step::End(Ending::GoneUnseen)),
            Found::None => return Ok(Step::End(Ending::Gone)),
            Found::Other(stat) => return Ok(Step::End(changed_hands(&stat, false))),
            Found::Same(data, stat) => (data, stat),
        };
        // What was sent before did not arrive, and cannot arrive any more: its connection is gone.
        (self.sent, self.lost) = (false, false);
        if self.node.what == What::EmptyParent && stat.num_children > 0 {
            return Ok(Step::End(Ending::NotEmpty));
        }
        if !self.node.is_name_reused() {
            return self.send(stat.version, false).await;
        }
        match data {
            Some(data) => self.pin_and_delete(&data, &stat).await,
            None => self.send(stat.version, true).await,
        }
    }

    /// Makes sure of the node by a write that changes nothing but its version, and deletes what has that version.
    async fn pin_and_delete(&mut self, data: &[u8], stat: &Stat) -> Result<Step, Error> {
        let path = self.node.path.as_str();
        // Both are on their way at once: when the name changes hands before them, this read has what the write destroys.
        let read = self.client.get_data(path);
        let write = self.raise(data, stat.version)?;
        let (read, written) = tokio::join!(read, write);
        match written {
            Ok(stat) if self.is_ours(&stat) => self.send(stat.version, false).await,
            Ok(stat) => Ok(Step::End(self.put_back(data, &stat, read).await)),
            Err(Error::NoNode | Error::BadVersion) => Ok(Step::Again),
            Err(Error::NoAuth) => self.look_and_send().await,
            Err(error) => Err(error),
        }
    }

    /// Writes the data in one transaction so often that nobody else brings a fresh node to the same version by chance. Watchers
    /// by getData hear it once.
    fn raise(&self, data: &[u8], version: i32) -> Result<impl Future<Output = Result<Stat, Error>>, Error> {
        let times = i32::try_from(RAISED_BYTES / data.len().max(1)).unwrap_or(RAISES).clamp(1, RAISES);
        let mut writer = self.client.new_multi_writer();
        for raised in 0..times {
            // As the servers count on.
            writer.add_set_data(self.node.path.as_str(), data, Some(version.wrapping_add(raised)))?;
        }
        let write = writer.commit();
        Ok(async move {
            match write.await?.pop() {
                Some(MultiWriteResult::SetData { stat }) => Ok(stat),
                _ => Err(Error::UnexpectedError("a write was not answered".to_owned())),
            }
        })
    }

    /// We may not write to the node: looks once more, without its data, and deletes it.
    async fn look_and_send(&mut self) -> Result<Step, Error> {
        match self.client.check_stat(self.node.path.as_str()).await? {
            Some(stat) if self.is_ours(&stat) => self.send(stat.version, true).await,
            _ => Ok(Step::Again),
        }
    }

    /// Another node got our write: gives it its own data back, if they were read, and nobody has changed them since.
    async fn put_back(&self, written: &[u8], stat: &Stat, read: Result<(Vec<u8>, Stat), Error>) -> Ending {
        let own = read.ok().filter(|(_, read)| read.czxid == stat.czxid).map(|(data, _)| data);
        let restored = match own {
            Some(own) if own == written => true,
            Some(own) => {
                let restored = self.client.set_data(self.node.path.as_str(), &own, Some(stat.version)).await;
                // Whoever wrote or deleted it meanwhile has undone ours.
                matches!(restored, Ok(_) | Err(Error::BadVersion | Error::NoNode))
            }
            None => false,
        };
        changed_hands(stat, !restored)
    }

    async fn send(&mut self, version: i32, window: bool) -> Result<Step, Error> {
        self.sent = true;
        let deleted = self.client.delete(self.node.path.as_str(), Some(version)).await;
        let step = match deleted {
            Ok(()) => Step::End(Ending::Deleted { window }),
            Err(Error::NoNode) => Step::End(Ending::Gone),
            Err(Error::BadVersion) => Step::Again,
            Err(Error::NotEmpty) => Step::End(Ending::NotEmpty),
            Err(Error::NoAuth) => Step::End(Ending::Refused { lacks: "the DELETE permission on its parent" }),
            Err(error) => {
                self.lost = true;
                return Err(error);
            }
        };
        self.sent = false;
        Ok(step)
    }

    async fn try_revoke(&mut self) -> Result<Step, Error> {
        let stat = match self.look().await? {
            Found::None => return Ok(Step::End(Ending::Gone)),
            Found::Other(stat) => return Ok(Step::End(changed_hands(&stat, false))),
            Found::Same(_, stat) => stat,
        };
        match self.client.set_data(self.node.path.as_str(), REVOKE, Some(stat.version)).await {
            Ok(stat) if self.is_ours(&stat) => Ok(Step::End(Ending::Asked)),
            Ok(stat) => Ok(Step::End(changed_hands(&stat, true))),
            Err(Error::NoNode | Error::BadVersion) => Ok(Step::Again),
            Err(Error::NoAuth) => Ok(Step::End(Ending::Refused { lacks: "the WRITE permission on it" })),
            Err(error) => Err(error),
        }
    }

    async fn look(&self) -> Result<Found, Error> {
        let path = self.node.path.as_str();
        let (data, stat) = match self.client.get_data(path).await {
            Ok((data, stat)) => (Some(data), stat),
            Err(Error::NoNode) => return Ok(Found::None),
            // To ask for the stat takes no permission.
            Err(Error::NoAuth) => match self.client.check_stat(path).await? {
                Some(stat) => (None, stat),
                None => return Ok(Found::None),
            },
            Err(error) => return Err(error),
        };
        Ok(if self.is_ours(&stat) { Found::Same(data, stat) } else { Found::Other(stat) })
    }

    fn is_ours(&self, stat: &Stat) -> bool {
        Zxid(stat.czxid) == self.node.czxid
    }

    async fn pause(&self, tried: usize) {
        sleep(PAUSE * 2_u32.pow(u32::try_from(tried).unwrap_or(0).min(6))).await;
    }

    /// After an error of the connection: waits for the next one, and for the server behind it to know all that was done before.
    async fn recover(&self, error: Error, tried: usize) -> Result<(), Ending> {
        if error != Error::ConnectionLoss {
            return Err(self.failed(&error.to_string()));
        }
        self.pause(tried).await;
        let mut states = self.client.state_watcher();
        loop {
            match states.peek_state() {
                SessionState::SyncConnected => break,
                state if state.is_terminated() => return Err(self.failed("the session ended")),
                _ => {}
            }
            states.changed().await;
        }
        // Without it, a server that lags behind may still show what is gone. When it fails, the next look does too.
        let _ = self.client.sync(self.node.path.as_str()).await;
        Ok(())
    }
}

fn changed_hands(stat: &Stat, overwritten: bool) -> Ending {
    Ending::ChangedHands { czxid: Zxid(stat.czxid), overwritten }
}
