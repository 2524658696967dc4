//! Which ensemble a connect string leads to, as far as it says that.

use std::collections::BTreeSet;

use super::connect_string::servers;

/// What a connect string says of which ensemble it is: two are the same where they have a server in common below the same chroot, since a
/// server belongs to one ensemble. In which order the servers stand, and how many of them, says nothing.
#[derive(Debug)]
pub struct EnsembleAddress {
    /// As `HOST:PORT`, in small letters; without a connect string that can be read, its text.
    servers: BTreeSet<String>,
    /// The node that stands for `/`, where it is not `/` itself.
    chroot: Option<String>,
}

impl EnsembleAddress {
    /// Of a connect string without identities.
    pub fn of(connect: &str) -> Self {
        let Ok((servers, chroot)) = servers(connect) else {
            return Self { servers: BTreeSet::from([connect.to_owned()]), chroot: None };
        };
        Self { servers: servers.iter().map(|server| server.to_lowercase()).collect(), chroot }
    }

    /// Whether both lead to the same ensemble. Where names differ that mean the same server, that is not known.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        self.chroot == other.chroot && !self.servers.is_disjoint(&other.servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_common_below_the_same_chroot_makes_it_the_same_ensemble() {
        let is_same = |one: &str, other: &str| {
            let (one, other) = (EnsembleAddress::of(one), EnsembleAddress::of(other));
            assert_eq!(one.is_of_the_same(&other), other.is_of_the_same(&one));
            one.is_of_the_same(&other)
        };
        for other in [
            "zk1:2181,zk2:2181,zk3:2181/prod",
            "zk3:2181,zk1:2181/prod",
            "zk2/prod",
            "ZK2:2181/prod",
            "tcp+tls://zk3,zk9:2181/prod",
        ] {
            assert!(is_same("zk1:2181,zk2:2181,zk3:2181/prod", other), "{other}");
        }
        for other in
            ["zk1:2181,zk2:2181,zk3:2181", "zk1,zk2/test", "zk1:2182/prod", "zk4/prod", "10.0.0.1/prod", "", "a,,b"]
        {
            assert!(!is_same("zk1:2181,zk2:2181,zk3:2181/prod", other), "{other}");
        }
        assert!(is_same("zk1", "zk1:2181/"), "the root is no chroot");
        assert!(is_same("a,,b", "a,,b") && !is_same("a,,b", "a"), "what cannot be read is compared as it is");
    }
}
