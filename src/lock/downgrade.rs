//! From a lock held for writing to one held for reading, without letting a writer in between.

use zookeeper_client::Error;

use super::activity::RequestKind;
use super::attempt::{Attempt, HeldLock};
use super::error::{is_transient, lock_error};
use super::naming::NodeMode;
use super::retrying_client::Retries;
use super::{Access, LockError};
use crate::znode::ZnodePath;

/// Replaces the writer's node by a reader's node with the same number, in one transaction. Gives the path of the new node.
pub(super) async fn downgrade(attempt: &Attempt, held: &mut HeldLock) -> Result<ZnodePath, LockError> {
    let (spec, client) = (&attempt.spec, &attempt.client);
    let sequence = held.own.sequence.filter(|_| spec.algorithm.access() == Some(Access::Write));
    let Some(sequence) = sequence else { return Err(LockError::NoDowngrade { path: spec.path.clone() }) };
    let creator = attempt.creator();
    let name = spec.names.prefix(NodeMode::Read, attempt.id, client.session()) + &sequence.to_string();
    let reader = spec.path.child(&name);
    let data = creator.data(spec.names.carry_id());
    let refused = |error, act| lock_error(error, &spec.path, act, &reader);
    let mut retries = Retries::default();
    loop {
        let mut writes = client.raw.new_multi_writer();
        writes.add_create(reader.as_str(), &data, &creator.ephemeral()).map_err(|error| refused(error, "create"))?;
        writes.add_delete(held.own.path.as_str(), None).map_err(|error| refused(error, "delete"))?;
        client.meter.request(RequestKind::Create);
        match writes.commit().await.map_err(Error::from) {
            Ok(_) => break,
            Err(Error::NodeExists) if retries.failures > 0 => break,
            Err(Error::NodeExists) => return Err(LockError::NoDowngrade { path: spec.path.clone() }),
            Err(Error::NoNode) => return Err(LockError::NodeDeleted { node: held.own.path.clone() }),
            Err(error) if is_transient(&error) => retries.wait().await,
            Err(error) => return Err(refused(error, "replace the node by")),
        }
    }
    client.meter.gone(&held.own.path);
    client.meter.made(&reader);
    held.own.path = reader.clone();
    Ok(reader)
}
