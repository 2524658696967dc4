//! The mutex: one node that is the lock.

use zookeeper_client::Error;

use super::activity::RequestKind;
use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::error::{is_transient, lock_error};
use super::node::{MAX_PARENT_CREATES, OwnNode};
use super::retrying_client::{OneShotWatch, Retries, RetryingClient};
use super::unanswered::CreatePlace;
use super::{Algorithm, LockError};
use crate::znode::{ZnodePath, Zxid};

/// Creates the node, or waits for its end and tries again.
pub(super) async fn contend(attempt: &Attempt) -> Result<HeldLock, NotAcquired> {
    let parent_watched = attempt.spec.algorithm == Algorithm::MutexParent;
    let path = if parent_watched { attempt.spec.path.child("lock") } else { attempt.spec.path.clone() };
    let creator = attempt.creator();
    let (data, options) = (creator.data(false), creator.ephemeral());
    let (mut retries, mut parents_created) = (Retries::default(), 0);
    let mut superseded: Option<OneShotWatch> = None;
    loop {
        let created = attempt.client.create(path.as_str(), &data, &options).await;
        if let Some(mut watch) = superseded.take() {
            // This create, or the one that was faster, has fired it before the reply.
            watch.settle();
        }
        match created {
            Ok((stat, _)) => {
                attempt.client.meter.made(&path);
                return Ok(held(path, stat.czxid));
            }
            Err(Error::NodeExists) => match taken(attempt, &path, parent_watched).await? {
                Taken::Own(held) => {
                    attempt.client.meter.made(&path);
                    return Ok(held);
                }
                Taken::Free(watch) => superseded = watch,
            },
            Err(Error::NoNode) => {
                let parent = path.parent().unwrap_or_else(ZnodePath::root);
                if parents_created >= MAX_PARENT_CREATES {
                    return Err(LockError::NoParent { path: parent }.into());
                }
                parents_created += 1;
                creator.create_parents(&parent).await?;
            }
            // Whether the node was created is seen when it is created again.
            Err(error) if is_transient(&error) => {
                attempt.client.unanswered.note(CreatePlace::Node(path.clone()));
                retries.wait().await;
            }
            Err(error) => return Err(lock_error(error, &attempt.spec.path, "create", &path).into()),
        }
        if attempt.client.cancel.is_cancelled() {
            return withdraw(attempt, &path, retries.failures > 0).await;
        }
    }
}

fn held(path: ZnodePath, czxid: i64) -> HeldLock {
    let own = OwnNode { path, sequence: None, created: Zxid(czxid) };
    HeldLock { name_is_reused: true, ..HeldLock::new(own) }
}

/// What the existing node turned out to be.
enum Taken {
    /// The own one, created by a request whose reply was lost.
    Own(HeldLock),
    /// Gone by now. A watch on the parent may still be set.
    Free(Option<OneShotWatch>),
}

/// Looks at the existing node. Unless it is the own one, waits for its end.
async fn taken(attempt: &Attempt, path: &ZnodePath, parent_watched: bool) -> Result<Taken, NotAcquired> {
    let creator = attempt.creator();
    let (client, parent) = (&attempt.client, &attempt.spec.path);
    if !attempt.waits || parent_watched {
        // Set before the read: an end after the read is an event.
        let listing = if attempt.waits { client.list(parent, true).await? } else { None };
        match client.read(path).await {
            Ok(Some((data, stat))) if creator.is_own(&data) => return Ok(Taken::Own(held(path.clone(), stat.czxid))),
            Ok(None) => return Ok(Taken::Free(listing.and_then(|(_, watch)| watch))),
            Ok(Some(_)) | Err(LockError::NotPermitted { .. }) if !attempt.waits => return Err(NotAcquired::NotFree),
            Ok(Some(_)) | Err(LockError::NotPermitted { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some((_, Some(mut watch))) = listing {
            client.wait(&mut watch).await?;
        }
        return Ok(Taken::Free(None));
    }
    let Some((data, mut watch)) = client.watch(path).await? else { return Ok(Taken::Free(None)) };
    if data.is_some_and(|data| creator.is_own(&data)) {
        let stat = client.read(path).await?.map(|(_, stat)| stat);
        return Ok(stat.map_or(Taken::Free(None), |stat| Taken::Own(held(path.clone(), stat.czxid))));
    }
    client.wait(&mut watch).await?;
    Ok(Taken::Free(None))
}

/// Deletes the node of a cancelled attempt, when one of its requests may have made it.
async fn withdraw(attempt: &Attempt, path: &ZnodePath, in_doubt: bool) -> Result<HeldLock, NotAcquired> {
    if in_doubt
        && let Some((data, stat)) = attempt.client.read(path).await?
        && attempt.creator().is_own(&data)
    {
        delete(&attempt.client, path, Zxid(stat.czxid), false).await?;
    }
    Err(NotAcquired::Cancelled)
}

/// Deletes the own node, which that transaction created. `false` when it was gone before. A node of somebody else with the same path
/// stays: after a lost connection the node is read before the deletion is sent, or sent again, and by a server that has caught up:
/// one that lags behind would still show the own node, which a deletion without a reply has removed, and the next holder's would go.
pub(super) async fn delete(
    client: &RetryingClient,
    path: &ZnodePath,
    created: Zxid,
    after_disconnect: bool,
) -> Result<bool, LockError> {
    let mut retries = Retries::default();
    loop {
        if after_disconnect || retries.failures > 0 {
            match client.read_in_sync(path).await? {
                Some((_, stat)) if Zxid(stat.czxid) == created => {}
                _ => {
                    client.meter.gone(path);
                    return Ok(retries.failures > 0);
                }
            }
        }
        client.meter.request(RequestKind::Delete);
        match client.raw.delete(path.as_str(), None).await {
            Ok(()) => {
                client.meter.gone(path);
                return Ok(true);
            }
            Err(Error::NoNode) => {
                client.meter.gone(path);
                return Ok(retries.failures > 0);
            }
            Err(error) if is_transient(&error) => retries.wait().await,
            Err(error) => return Err(lock_error(error, &client.lock, "delete", path)),
        }
    }
}
