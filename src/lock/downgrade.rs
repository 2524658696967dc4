//! From writing to reading without letting a writer in between.

use zookeeper_client::Error;

use super::attempt::{Attempt, HeldLock};
use super::error::{is_transient, lock_error};
use super::naming::RequestMode;
use super::retrying_client::Retries;
use super::{Access, LockError};
use crate::znode::ZnodePath;

/// Puts a reader's node with the writer's number in the writer's place, in one transaction.
pub(super) async fn downgrade(attempt: &Attempt, held: &mut HeldLock) -> Result<ZnodePath, LockError> {
    let (spec, wire) = (&attempt.spec, &attempt.client);
    let sequence = held.own.sequence.filter(|_| spec.algorithm.access() == Some(Access::Write));
    let Some(sequence) = sequence else { return Err(LockError::NoDowngrade { path: spec.path.clone() }) };
    let maker = attempt.creator();
    let name = spec.names.prefix(RequestMode::Read, attempt.id, wire.session()) + &sequence.to_string();
    let reader = spec.path.child(&name);
    let data = maker.data(spec.names.carry_id());
    let wrong = |error, act| lock_error(error, &spec.path, act, &reader);
    let mut pause = Retries::default();
    loop {
        let mut writes = wire.raw.new_multi_writer();
        writes.add_create(reader.as_str(), &data, &maker.ephemeral()).map_err(|error| wrong(error, "create"))?;
        writes.add_delete(held.own.path.as_str(), None).map_err(|error| wrong(error, "delete"))?;
        wire.meter.request();
        match writes.commit().await.map_err(Error::from) {
            Ok(_) => break,
            Err(Error::NodeExists) if pause.failures > 0 => break,
            Err(Error::NodeExists) => return Err(LockError::NoDowngrade { path: spec.path.clone() }),
            Err(Error::NoNode) => return Err(LockError::NodeDeleted { node: held.own.path.clone() }),
            Err(error) if is_transient(&error) => pause.wait().await,
            Err(error) => return Err(wrong(error, "step down to")),
        }
    }
    wire.meter.gone(&held.own.path);
    wire.meter.made(&reader);
    held.own.path = reader.clone();
    Ok(reader)
}
