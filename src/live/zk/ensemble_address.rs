//! Compares the ensembles that connect strings lead to.

use std::collections::BTreeSet;

use super::connect_string::servers;

/// Identifies an ensemble as far as a connect string tells. Two connect strings lead to the same
/// ensemble when they share a server below the same chroot, because a server belongs to one
/// ensemble. The order and the number of the servers do not matter.
#[derive(Debug)]
pub struct EnsembleAddress {
    /// The servers as `HOST:PORT` in lower case; the whole text when the connect string cannot be
    /// read.
    servers: BTreeSet<String>,
    /// The node that stands for `/`, unless that is `/` itself.
    chroot: Option<String>,
}

impl EnsembleAddress {
    /// Reads a connect string without identities.
    pub fn of(connect: &str) -> Self {
        let Ok((servers, chroot)) = servers(connect) else {
            return Self { servers: BTreeSet::from([connect.to_owned()]), chroot: None };
        };
        Self { servers: servers.iter().map(|server| server.to_lowercase()).collect(), chroot }
    }

    /// Returns whether both lead to the same ensemble. Different names of the same server are not
    /// recognized.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        self.chroot == other.chroot && !self.servers.is_disjoint(&other.servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_server_below_the_same_chroot_means_the_same_ensemble() {
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
