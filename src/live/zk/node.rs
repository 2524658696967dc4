//! Single nodes: reads stat, ACL and data of one, and creates one with its missing ancestors as
//! containers.

use zookeeper_client::{Acl, Acls, Client, CreateMode, Error, Permission, Stat};

use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The most data that [`NodeReading`] keeps, in bytes.
pub const MAX_READ_DATA: usize = 16 * 1024;

/// The most entries of an ACL that [`NodeReading`] keeps.
pub const MAX_ACL_ENTRIES: usize = 200;

/// One entry of an ACL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownAclEntry {
    /// `world`, `digest`, `ip`, `x509`, `sasl`, ...
    pub scheme: String,
    /// The identity, in the syntax of the scheme.
    pub id: String,
    /// The letters of the permissions as in ZooKeeper's shell: `cdrwa`.
    pub permissions: String,
}

impl From<&Acl> for ShownAclEntry {
    fn from(acl: &Acl) -> Self {
        let letters = [
            (Permission::CREATE, 'c'),
            (Permission::DELETE, 'd'),
            (Permission::READ, 'r'),
            (Permission::WRITE, 'w'),
            (Permission::ADMIN, 'a'),
        ];
        let allowed = letters.into_iter().filter(|(permission, _)| acl.permission().has(*permission));
        let permissions = allowed.map(|(_, letter)| letter).collect();
        Self { scheme: acl.scheme().to_owned(), id: acl.id().to_owned(), permissions }
    }
}

/// A node as it was read. Unreadable parts hold the reason as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReading {
    /// The node's stat, which needs no permission.
    pub stat: ZnodeStat,
    /// The first [`MAX_READ_DATA`] bytes of the node's data.
    pub data: Result<Vec<u8>, String>,
    /// The first [`MAX_ACL_ENTRIES`] entries of the node's ACL, and the number of all entries.
    pub acl: Result<(Vec<ShownAclEntry>, usize), String>,
}

/// Reads a node in three requests; `None` when it does not exist. Leaves no watch. Cancel safe.
///
/// The server sends all data regardless of length; only the first part is kept.
///
/// # Errors
///
/// Returns the errors of the client library, except missing permissions, which are part of the
/// result.
pub async fn read_node(client: &Client, path: &ZnodePath) -> Result<Option<NodeReading>, Error> {
    let path = path.as_str();
    // All requests are sent before the first is awaited: they cost one round trip and show the node
    // in one state of the server.
    let requests = (client.check_stat(path), client.get_data(path), client.get_acl(path));
    let (stat, data, acl) = tokio::join!(requests.0, requests.1, requests.2);
    let Some(stat) = stat? else { return Ok(None) };
    let data = match data {
        Ok((data, _)) => Ok(data.get(..MAX_READ_DATA).map_or_else(|| data.clone(), <[u8]>::to_vec)),
        Err(Error::NoNode) => return Ok(None),
        Err(Error::NoAuth) => Err("this console may not read it: it lacks the permission READ".to_owned()),
        Err(error) => return Err(error),
    };
    let acl = match acl {
        Ok((entries, _)) => {
            Ok((entries.iter().take(MAX_ACL_ENTRIES).map(ShownAclEntry::from).collect(), entries.len()))
        }
        Err(Error::NoNode) => return Ok(None),
        Err(Error::NoAuth) => Err("this console may not see it: it lacks the permissions READ and ADMIN".to_owned()),
        Err(error) => return Err(error),
    };
    Ok(Some(NodeReading { stat: stat_of(&stat), data, acl }))
}

/// Converts a stat of the client library to the type of this crate.
pub fn stat_of(stat: &Stat) -> ZnodeStat {
    ZnodeStat {
        czxid: Zxid(stat.czxid),
        mzxid: Zxid(stat.mzxid),
        pzxid: Zxid(stat.pzxid),
        ctime: Timestamp(stat.ctime),
        mtime: Timestamp(stat.mtime),
        version: stat.version,
        cversion: stat.cversion,
        aversion: stat.aversion,
        ephemeral_owner: (stat.ephemeral_owner != 0).then_some(SessionId(stat.ephemeral_owner)),
        data_length: stat.data_length,
        num_children: stat.num_children,
    }
}

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
