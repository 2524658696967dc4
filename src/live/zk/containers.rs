//! A node and what is missing above it, as containers.

use zookeeper_client::{Acls, Client, CreateMode, Error};

use lockscope_base::znode::ZnodePath;

/// How often a parent may be gone again before its child is created, beside those that were missing from the beginning. Each time takes
/// a deletion by somebody else in between: a program that clears up after itself, or the server, which deletes empty containers.
const MAX_LOST_PARENTS: usize = 32;

/// Creates a node, and those above it that are missing, as containers, which the servers delete some time after their last child
/// has gone; servers before 3.5 have none, and there they are persistent. Anyone may do anything with them.
///
/// Those that it created are added to `created`, the uppermost first, also when it fails; the error comes with the node that could
/// not be created. What is there already is left as it is, also where one may not create it. Costs one request where the node is
/// there, and two for each one that is missing, and fires the watches on the parents. Not cancel safe: whoever drops it does not
/// learn whether the node that was on its way was created.
pub async fn create_containers(
    session: &Client,
    path: &ZnodePath,
    created: &mut Vec<ZnodePath>,
) -> Result<(), (ZnodePath, Error)> {
    if path.is_root() {
        return Ok(());
    }
    let mut mode = CreateMode::Container;
    let mut climbs_left = path.as_str().matches('/').count() + MAX_LOST_PARENTS;
    let mut missing = vec![path.clone()];
    while let Some(next) = missing.last().cloned() {
        match session.create(next.as_str(), &[], &mode.with_acls(Acls::anyone_all())).await {
            Ok(_) => created.extend(missing.pop()),
            Err(Error::NodeExists) => drop(missing.pop()),
            Err(Error::Unimplemented) if mode == CreateMode::Container => mode = CreateMode::Persistent,
            Err(Error::NoNode) if climbs_left > 0 => {
                climbs_left -= 1;
                // Without one the chroot is missing, which cannot be created from within.
                let parent = next.parent().filter(|parent| !parent.is_root());
                missing.push(parent.ok_or((next, Error::NoNode))?);
            }
            // It may be there, and be nobody's business but its children's.
            Err(Error::NoAuth) if matches!(session.check_stat(next.as_str()).await, Ok(Some(_))) => drop(missing.pop()),
            Err(error) => return Err((next, error)),
        }
    }
    Ok(())
}
