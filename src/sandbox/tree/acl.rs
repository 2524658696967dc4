//! Access control lists.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1_smol::Sha1;

use lockscope_base::wire::ErrorCode;

/// The maximum number of ACLs of a node. An event checks each of them for each watcher. A real
/// server has no such bound.
pub const MAX_ACLS: usize = 128;

/// The approximate bytes that an ACL takes besides its scheme and its id.
const ACL_MEMORY: usize = 64;

/// An identity: a scheme, and the id within it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    pub scheme: Box<str>,
    pub id: Box<str>,
}

impl Id {
    pub fn new(scheme: &str, id: &str) -> Self {
        Self { scheme: scheme.into(), id: id.into() }
    }

    /// Returns the identity of a user from `USER:PASSWORD`.
    pub fn of_digest(credentials: &str) -> Self {
        let user = credentials.split(':').next().unwrap_or_default();
        let hash = STANDARD.encode(Sha1::from(credentials).digest().bytes());
        Self::new("digest", &format!("{user}:{hash}"))
    }

    /// Returns the part that may be shown: a digest's user, or the id itself.
    pub fn user(&self) -> &str {
        if &*self.scheme == "digest" { self.id.split(':').next().unwrap_or_default() } else { &self.id }
    }

    /// Returns whether an ACL may contain this id.
    fn is_valid(&self) -> bool {
        match &*self.scheme {
            "digest" => self.id.trim_end_matches(':').split(':').count() == 2,
            "ip" => network(&self.id).is_some(),
            _ => false,
        }
    }

    /// Returns whether this id in an ACL matches `who`.
    fn covers(&self, who: &Id) -> bool {
        if self.scheme != who.scheme {
            return false;
        }
        match &*self.scheme {
            "ip" => network(&self.id)
                .zip(who.id.parse::<Ipv4Addr>().ok())
                .is_some_and(|((net, mask), address)| u32::from(address) & mask == net & mask),
            _ => self.id == who.id,
        }
    }
}

/// Parses an id of the scheme `ip`, such as `10.0.0.0/8` or a single address, into network and
/// mask.
fn network(text: &str) -> Option<(u32, u32)> {
    let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
    let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32)?;
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    Some((address.parse::<Ipv4Addr>().ok()?.into(), mask))
}

/// An identity and its permissions on a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeAcl {
    pub permissions: i32,
    pub id: Id,
}

/// A node's ACLs. Nodes that were created with the same ones share them.
pub type Acls = Arc<[NodeAcl]>;

/// The permission bits of an ACL.
pub mod permission {
    pub const READ: i32 = 1;
    pub const WRITE: i32 = 2;
    pub const CREATE: i32 = 4;
    pub const DELETE: i32 = 8;
    pub const ADMIN: i32 = 16;
    pub const ALL: i32 = 31;
}

/// Returns the approximate bytes that a node's ACLs take.
pub fn acl_bytes(acls: &[NodeAcl]) -> usize {
    acls.iter().map(|acl| ACL_MEMORY + acl.id.scheme.len() + acl.id.id.len()).sum()
}

/// Returns ACLs that grant these permissions to everybody.
pub fn anyone(permissions: i32) -> Acls {
    Arc::new([NodeAcl { permissions, id: Id::new("world", "anyone") }])
}

/// Returns the ACLs that a node keeps: without duplicates, and with `auth` replaced by the
/// connection's proven identities.
pub fn effective_acls(wanted: &[NodeAcl], who: &[Id]) -> Result<Acls, ErrorCode> {
    let mut settled = Vec::new();
    let mut seen = HashSet::new();
    for acl in wanted {
        if !seen.insert(acl) {
            continue;
        }
        if settled.len() > MAX_ACLS {
            break;
        }
        match (&*acl.id.scheme, &*acl.id.id) {
            ("world", "anyone") => settled.push(acl.clone()),
            ("auth", _) => {
                // Every connection has an address; it proves nothing.
                let proved = who.iter().filter(|id| &*id.scheme != "ip");
                let before = settled.len();
                settled.extend(proved.map(|id| NodeAcl { permissions: acl.permissions, id: id.clone() }));
                if settled.len() == before {
                    return Err(ErrorCode::InvalidAcl);
                }
            }
            _ if acl.id.is_valid() => settled.push(acl.clone()),
            _ => return Err(ErrorCode::InvalidAcl),
        }
    }
    match settled.len() {
        0 => Err(ErrorCode::InvalidAcl),
        1..=MAX_ACLS => Ok(settled.into()),
        _ => Err(ErrorCode::QuotaExceeded),
    }
}

/// Checks that one of the identities has one of the permissions.
pub fn check(acls: &[NodeAcl], permissions: i32, who: &[Id]) -> Result<(), ErrorCode> {
    let mut fitting = acls.iter().filter(|acl| acl.permissions & permissions != 0);
    let allowed = fitting.any(|acl| &*acl.id.scheme == "world" || who.iter().any(|id| acl.id.covers(id)));
    if allowed { Ok(()) } else { Err(ErrorCode::NoAuth) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(scheme: &str, id: &str) -> NodeAcl {
        NodeAcl { permissions: permission::READ, id: Id::new(scheme, id) }
    }

    #[test]
    fn a_digest_matches_zookeepers() {
        assert_eq!(Id::of_digest("super:test"), Id::new("digest", "super:D/InIHSb7yEEbrWz8b9l71RjZJU="));
        assert_eq!(Id::of_digest("super:test").user(), "super");
    }

    #[test]
    fn an_address_matches_only_its_network() {
        let me = [Id::new("ip", "127.0.0.1")];
        assert_eq!(check(&[acl("ip", "127.0.0.0/8")], permission::READ, &me), Ok(()));
        assert_eq!(check(&[acl("ip", "0.0.0.0/0")], permission::READ, &me), Ok(()));
        assert_eq!(check(&[acl("ip", "127.0.0.2")], permission::READ, &me), Err(ErrorCode::NoAuth));
        assert_eq!(check(&[acl("ip", "127.0.0.1")], permission::WRITE, &me), Err(ErrorCode::NoAuth));
    }

    #[test]
    fn auth_expands_to_the_identities_that_the_connection_proved() {
        let who = [Id::new("ip", "127.0.0.1"), Id::of_digest("ann:x"), Id::of_digest("bob:y")];
        let settled = effective_acls(&[acl("auth", "")], &who).unwrap();
        assert_eq!(settled.iter().map(|acl| acl.id.user()).collect::<Vec<_>>(), ["ann", "bob"]);
        assert_eq!(effective_acls(&[acl("auth", "")], &who[..1]), Err(ErrorCode::InvalidAcl));
    }

    #[test]
    fn invalid_acls_are_refused() {
        let bad = [
            ("digest", "ann"),
            ("digest", "a:b:c"),
            ("ip", "1.2.3"),
            ("ip", "1.2.3.4/33"),
            ("x", "y"),
            ("world", "all"),
        ];
        for (scheme, id) in bad {
            assert_eq!(effective_acls(&[acl(scheme, id)], &[]), Err(ErrorCode::InvalidAcl), "{scheme}:{id}");
        }
        assert_eq!(effective_acls(&[], &[]), Err(ErrorCode::InvalidAcl));
        let double = [acl("world", "anyone"), acl("world", "anyone")];
        assert_eq!(effective_acls(&double, &[]).unwrap().len(), 1);
    }

    #[test]
    fn the_number_of_acls_is_bounded_also_when_auth_expands() {
        let users = |count: usize| (0..count).map(|n| acl("digest", &format!("u{n}:x"))).collect::<Vec<_>>();
        assert_eq!(effective_acls(&users(MAX_ACLS), &[]).unwrap().len(), MAX_ACLS);
        assert_eq!(effective_acls(&users(MAX_ACLS + 1), &[]), Err(ErrorCode::QuotaExceeded));
        assert_eq!(
            effective_acls(&vec![acl("world", "anyone"); 100_000], &[]).unwrap().len(),
            1,
            "doubles do not count"
        );
        let who: Vec<Id> = (0..64).map(|n| Id::of_digest(&format!("u{n}:x"))).collect();
        let everybody: Vec<NodeAcl> =
            (1..=3).map(|permissions| NodeAcl { permissions, id: Id::new("auth", "") }).collect();
        assert_eq!(effective_acls(&everybody[..2], &who).unwrap().len(), 128);
        assert_eq!(effective_acls(&everybody, &who), Err(ErrorCode::QuotaExceeded));
    }
}
