//! Downgrades a lock from writing to reading, without letting a writer in between.

use zookeeper_client::Error;

use super::attempt::{Attempt, HeldLock};
use super::error::lock_error;
use super::naming::NodeMode;
use super::retrying_client::Retries;
use super::{Access, LockError};
use lockscope_base::znode::ZnodePath;

/// Replaces the writer's node by a reader's node with the same number, in one transaction. Returns
/// the path of the new node.
pub(super) async fn downgrade(attempt: &Attempt, held: &mut HeldLock) -> Result<ZnodePath, LockError> {
    let (spec, client) = (&attempt.spec, &attempt.client);
    let sequence = held.own.sequence.filter(|_| spec.algorithm.access() == Some(Access::Write));
    let Some(sequence) = sequence else { return Err(LockError::NoDowngrade { path: spec.path.clone() }) };
    let creator = attempt.creator();
    let name = spec.names.prefix(NodeMode::Read, attempt.id, client.session()) + &sequence.to_string();
    let reader = spec.path.child(&name);
    let data = creator.data(spec.names.carry_id());
    let gone = LockError::NodeDeleted { node: held.own.path.clone() };
    let mut retries = Retries::default();
    loop {
        let must_look = held.own.path_returns || retries.failures > 0;
        let version = if must_look { client.version_of(&held.own, retries.failures > 0).await? } else { None };
        if must_look && version.is_none() {
            if retries.failures == 0 {
                return Err(gone);
            }
            // A transaction whose reply was lost may have replaced it.
            break;
        }
        match client.replace_once(&held.own, version, creator.ephemeral(&reader, &data)).await {
            Ok(()) => break,
            Err(Error::NodeExists) => return Err(LockError::NoDowngrade { path: spec.path.clone() }),
            Err(Error::NoNode) => return Err(gone),
            // Somebody has changed the data since the read, or another node has the path.
            Err(Error::BadVersion) => {}
            Err(error) if retries.may_help(&error) => retries.wait().await,
            Err(error) => return Err(lock_error(error, &spec.path, "replace the node by", &reader)),
        }
    }
    client.meter.gone(&held.own.path);
    // Servers give no valid stat of a node that a transaction of several writes has created
    // (ZOOKEEPER-4667).
    let deleted = if retries.failures == 0 { LockError::NodeDeleted { node: reader.clone() } } else { gone };
    let Some(own) = creator.first_own([reader].into_iter(), &spec.names).await? else { return Err(deleted) };
    client.meter.made(&own.path);
    held.own = own;
    Ok(held.own.path.clone())
}
