//! Creates a node and its missing ancestors as containers.

use zookeeper_client::{Acls, Client, CreateMode, Error};

use lockscope_base::znode::ZnodePath;

/// The most times that a parent may vanish before its child is created, not counting the ancestors
/// missing from the start. Each time needs a deletion by another client in between: a program that
/// cleans up after itself, or the server, which deletes empty containers.
const MAX_LOST_PARENTS: usize = 32;

/// Creates a node and its missing ancestors as containers, which the servers delete some time after
/// their last child is gone. The nodes are open to everyone. Servers before 3.5 have no containers,
/// and answer with [`Unimplemented`](Error::Unimplemented).
///
/// The created nodes are added to `created`, the topmost first, even on failure. The error names
/// the node that could not be created. Existing nodes stay as they are, even where we may not
/// create nodes.
///
/// Costs one request when the node exists, and two requests for each missing node. Creating nodes
/// fires the watches on their parents. Not cancel safe: after a drop it is unknown whether the node
/// under way was created.
pub async fn create_containers(
    session: &Client,
    path: &ZnodePath,
    created: &mut Vec<ZnodePath>,
) -> Result<(), (ZnodePath, Error)> {
    if path.is_root() {
        return Ok(());
    }
    let mut climbs_left = path.as_str().matches('/').count() + MAX_LOST_PARENTS;
    let mut missing = vec![path.clone()];
    while let Some(next) = missing.last().cloned() {
        match session.create(next.as_str(), &[], &CreateMode::Container.with_acls(Acls::anyone_all())).await {
            Ok(_) => created.extend(missing.pop()),
            Err(Error::NodeExists) => drop(missing.pop()),
            Err(Error::NoNode) if climbs_left > 0 => {
                climbs_left -= 1;
                // Without such a parent the chroot is missing, which cannot be created from within.
                let parent = next.parent().filter(|parent| !parent.is_root());
                missing.push(parent.ok_or((next, Error::NoNode))?);
            }
            // The node may exist and be unwritable for us; only its children matter here.
            Err(Error::NoAuth) if matches!(session.check_stat(next.as_str()).await, Ok(Some(_))) => drop(missing.pop()),
            Err(error) => return Err((next, error)),
        }
    }
    Ok(())
}
