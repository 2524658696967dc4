//! Reads one node: its stat, its ACL, its data.

use zookeeper_client::{Acl, Client, Error, Permission};

use super::stat_of;
use lockscope_base::znode::{ZnodePath, ZnodeStat};

/// The most data that [`NodeReading`] keeps, in bytes.
pub const MAX_READ_DATA: usize = 16 * 1024;
/// The most entries of an ACL that [`NodeReading`] keeps.
pub const MAX_ACL_ENTRIES: usize = 200;

/// One entry of an ACL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclEntry {
    /// `world`, `digest`, `ip`, `x509`, `sasl`, ...
    pub scheme: String,
    /// The identity, in the syntax of the scheme.
    pub id: String,
    /// The letters of the permissions as in ZooKeeper's shell: `cdrwa`.
    pub permissions: String,
}

impl From<&Acl> for AclEntry {
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
    pub acl: Result<(Vec<AclEntry>, usize), String>,
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
        Ok((entries, _)) => Ok((entries.iter().take(MAX_ACL_ENTRIES).map(AclEntry::from).collect(), entries.len())),
        Err(Error::NoNode) => return Ok(None),
        Err(Error::NoAuth) => Err("this console may not see it: it lacks the permissions READ and ADMIN".to_owned()),
        Err(error) => return Err(error),
    };
    Ok(Some(NodeReading { stat: stat_of(&stat), data, acl }))
}
