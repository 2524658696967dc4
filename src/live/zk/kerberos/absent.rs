//! Replaces the login in builds without the feature `gssapi`.

use tokio::time::Instant;

use super::KerberosFault;
use crate::zk::fault::ServerFault;
use crate::zk::options::KerberosLogin;
use crate::zk::stream::Stream;

/// A login that cannot exist.
#[derive(Debug)]
pub(in crate::zk) enum KerberosSession {}

/// Checks whether a login is possible: in this build it never is.
pub(in crate::zk) async fn check(_: &KerberosLogin) -> Result<(), KerberosFault> {
    Err(KerberosFault::NotBuilt)
}

#[expect(clippy::unused_async, reason = "asks a KDC where the program was built with Kerberos")]
impl KerberosSession {
    pub(in crate::zk) async fn begin(_: &KerberosLogin, _: &str, _: Instant) -> Result<Self, KerberosFault> {
        Err(KerberosFault::NotBuilt)
    }

    pub(in crate::zk) async fn finish(self, _: &mut dyn Stream, _: Instant) -> Result<(), ServerFault> {
        match self {}
    }
}
