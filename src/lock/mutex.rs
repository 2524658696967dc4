//! The mutex: one node that is the lock.

use zookeeper_client::{Error, Stat};

use super::attempt::{Attempt, HeldLock, MAX_PARENT_CREATES};
use super::error::{NotAcquired, lock_error};
use super::retrying_client::{CreatePlace, LastSeen, OneShotWatch, OwnNode, Retries};
use super::{Algorithm, LockError};
use lockscope_terms::znode::{ZnodePath, Zxid};

/// Creates the node, or waits for its end and tries again.
pub async fn contend(attempt: &Attempt) -> Result<HeldLock, NotAcquired> {
    let parent_watched = attempt.spec.algorithm == Algorithm::MutexParent;
    let path = if parent_watched { attempt.spec.path.child("lock") } else { attempt.spec.path.clone() };
    let creator = attempt.creator();
    let data = creator.data(false);
    let node = creator.ephemeral(&path, &data);
    let (mut retries, mut parents_created) = (Retries::default(), 0);
    let mut superseded: Option<OneShotWatch> = None;
    loop {
        let created = attempt.client.create(&node).await;
        if let Some(mut watch) = superseded.take() {
            // This create, or the one that was faster, has fired it before the reply.
            watch.check_fired();
        }
        match created {
            Ok(created) => {
                attempt.client.meter.made(&path);
                return Ok(HeldLock::new(in_session(attempt, &path, &created.stat).await?));
            }
            Err(Error::NodeExists) => match taken(attempt, &path, parent_watched).await? {
                TakenNode::Own(own) => {
                    attempt.client.meter.made(&path);
                    return Ok(HeldLock::new(own));
                }
                TakenNode::Free(watch) => superseded = watch,
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
            Err(error) if retries.may_help(&error) => {
                attempt.client.unanswered.record_lost(CreatePlace::Node(path.clone()));
                retries.wait().await;
            }
            Err(error) => return Err(lock_error(error, &attempt.spec.path, "create", &path).into()),
        }
        if attempt.client.cancel.is_cancelled() {
            return withdraw(attempt, &path, retries.failures > 0).await;
        }
    }
}

/// Returns the lock's node as the own one.
pub fn single_node(path: ZnodePath, stat: &Stat) -> OwnNode {
    OwnNode { path, sequence: None, created: Zxid(stat.czxid), path_returns: true }
}

/// Returns the node that this attempt created. Deletes it if it belongs to a new session.
async fn in_session(attempt: &Attempt, path: &ZnodePath, stat: &Stat) -> Result<OwnNode, LockError> {
    attempt.creator().in_session(single_node(path.clone(), stat), stat).await
}

/// The result of looking at the existing node.
enum TakenNode {
    /// The own one, created by a request whose reply was lost.
    Own(OwnNode),
    /// Gone by now. A watch on the parent may still be set.
    Free(Option<OneShotWatch>),
}

/// Reads the existing node. Unless it is the own one, waits for its deletion.
async fn taken(attempt: &Attempt, path: &ZnodePath, parent_watched: bool) -> Result<TakenNode, NotAcquired> {
    let creator = attempt.creator();
    let (client, parent) = (&attempt.client, &attempt.spec.path);
    let mut states = client.states();
    if !attempt.waits || parent_watched {
        // Set before the read: an end after the read is an event.
        let watch =
            if attempt.waits { client.list(parent, true).await?.and_then(|listing| listing.watch) } else { None };
        match client.read(path).await {
            Ok(Some((data, stat))) if creator.is_marked(&data) => {
                return Ok(TakenNode::Own(in_session(attempt, path, &stat).await?));
            }
            Ok(None) => return Ok(TakenNode::Free(watch)),
            Ok(Some(_)) | Err(LockError::NotPermitted { .. }) if !attempt.waits => return Err(NotAcquired::NotFree),
            Ok(Some(_)) | Err(LockError::NotPermitted { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(mut watch) = watch {
            client.wait_for_children(&mut watch, &mut *states).await?;
        }
        return Ok(TakenNode::Free(None));
    }
    let Some(mut node) = client.watch(path).await? else { return Ok(TakenNode::Free(None)) };
    if node.data.is_some_and(|data| creator.is_marked(&data)) {
        return Ok(TakenNode::Own(in_session(attempt, path, &node.stat).await?));
    }
    client.wait(&mut node.watch).await?;
    Ok(TakenNode::Free(None))
}

/// Deletes the node of a cancelled attempt, when one of its requests may have made it.
async fn withdraw(attempt: &Attempt, path: &ZnodePath, in_doubt: bool) -> Result<HeldLock, NotAcquired> {
    if in_doubt
        && let Some((data, stat)) = attempt.client.read(path).await?
        && attempt.creator().is_marked(&data)
    {
        let own = in_session(attempt, path, &stat).await?;
        attempt.client.delete(&own, LastSeen::OnThisConnection).await?;
    }
    Err(NotAcquired::Cancelled)
}
