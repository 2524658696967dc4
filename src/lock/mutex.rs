//! One node that is the lock.

use zookeeper_client::Error;

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::error::{is_transient, lock_error};
use super::node::OwnNode;
use super::retrying_client::{OneShotWatch, Retries};
use super::{Algorithm, LockError};
use crate::znode::{ZnodePath, Zxid};

/// How often a parent that vanishes again and again is made before the attempt gives up.
const MAX_PARENT_CREATES: u32 = 20;

/// Creates the node, or waits for its end and competes again.
pub(super) async fn contend(attempt: &Attempt) -> Result<HeldLock, NotAcquired> {
    let parent_watched = attempt.spec.algorithm == Algorithm::MutexParent;
    let path = if parent_watched { attempt.spec.path.child("lock") } else { attempt.spec.path.clone() };
    let maker = attempt.creator();
    let (data, options) = (maker.data(false), maker.ephemeral());
    let (mut pause, mut parents_made) = (Retries::default(), 0);
    let mut superseded: Option<OneShotWatch> = None;
    loop {
        let created = attempt.client.create(path.as_str(), &data, &options).await;
        if let Some(mut watch) = superseded.take() {
            // The create that this reply is about, or the one that it came too late for, has fired it before.
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
                if parents_made >= MAX_PARENT_CREATES {
                    return Err(LockError::NoParent { path: parent }.into());
                }
                parents_made += 1;
                maker.create_parents(&parent).await?;
            }
            // Whether the node was made shows when it is created again.
            Err(error) if is_transient(&error) => pause.wait().await,
            Err(error) => return Err(lock_error(error, &attempt.spec.path, "create", &path).into()),
        }
        if attempt.client.cancel.is_cancelled() {
            return withdraw(attempt, &path, pause.failures > 0).await;
        }
    }
}

fn held(path: ZnodePath, czxid: i64) -> HeldLock {
    let own = OwnNode { path, sequence: None, created: Zxid(czxid) };
    HeldLock { name_is_reused: true, ..HeldLock::new(own) }
}

/// What became of a node that was there.
enum Taken {
    /// It is the own one, made by a request whose reply was lost.
    Own(HeldLock),
    /// It is gone. A watch on the parent may still be set.
    Free(Option<OneShotWatch>),
}

/// The node is there. It may be the own one; else its end is awaited.
async fn taken(attempt: &Attempt, path: &ZnodePath, parent_watched: bool) -> Result<Taken, NotAcquired> {
    let maker = attempt.creator();
    let (wire, parent) = (&attempt.client, &attempt.spec.path);
    if !attempt.waits || parent_watched {
        // Set before the read: an end after the read is an event.
        let listing = if attempt.waits { wire.list(parent, true).await? } else { None };
        match wire.read(path).await {
            Ok(Some((data, stat))) if maker.is_own(&data) => return Ok(Taken::Own(held(path.clone(), stat.czxid))),
            Ok(None) => return Ok(Taken::Free(listing.and_then(|(_, watch)| watch))),
            Ok(Some(_)) | Err(LockError::NotPermitted { .. }) if !attempt.waits => return Err(NotAcquired::NotFree),
            Ok(Some(_)) | Err(LockError::NotPermitted { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some((_, Some(mut watch))) = listing {
            wire.wait(&mut watch).await?;
        }
        return Ok(Taken::Free(None));
    }
    let Some((data, mut watch)) = wire.watch(path).await? else { return Ok(Taken::Free(None)) };
    if data.is_some_and(|data| maker.is_own(&data)) {
        let stat = wire.read(path).await?.map(|(_, stat)| stat);
        return Ok(stat.map_or(Taken::Free(None), |stat| Taken::Own(held(path.clone(), stat.czxid))));
    }
    wire.wait(&mut watch).await?;
    Ok(Taken::Free(None))
}

/// Deletes the node of a cancelled attempt, when one of its requests may have made it.
async fn withdraw(attempt: &Attempt, path: &ZnodePath, in_doubt: bool) -> Result<HeldLock, NotAcquired> {
    if in_doubt
        && let Some((data, _)) = attempt.client.read(path).await?
        && attempt.creator().is_own(&data)
    {
        attempt.client.delete(path).await?;
    }
    Err(NotAcquired::Cancelled)
}

/// Deletes the own node; `false` when it was gone before. Another's node of the same path stays: where there was no
/// connection for a while, the node is looked at before the deletion is sent, or sent again.
pub(super) async fn delete(attempt: &Attempt, own: &OwnNode, after_a_cut: bool) -> Result<bool, LockError> {
    let mut pause = Retries::default();
    loop {
        if after_a_cut || pause.failures > 0 {
            match attempt.client.read(&own.path).await? {
                Some((_, stat)) if Zxid(stat.czxid) == own.created => {}
                _ => return Ok(pause.failures > 0),
            }
        }
        attempt.client.meter.request();
        match attempt.client.raw.delete(own.path.as_str(), None).await {
            Ok(()) => return Ok(true),
            Err(Error::NoNode) => return Ok(pause.failures > 0),
            Err(error) if is_transient(&error) => pause.wait().await,
            Err(error) => return Err(lock_error(error, &attempt.spec.path, "delete", &own.path)),
        }
    }
}
