//! Why a login by Kerberos failed.

/// Why a login by Kerberos failed, and what to do about it. Its text continues a sentence that says that there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KerberosFault {
    /// The program was built without it.
    #[error("this program was built without it; build it again with the Cargo feature gssapi")]
    NotBuilt,
    /// Nobody is logged in here.
    #[error("there is no ticket ({0}); get one with kinit, or name a keytab in KRB5_CLIENT_KTNAME")]
    NoTicket(String),
    /// The ticket is too old.
    #[error("the ticket has expired; get a new one with kinit, or name a keytab in KRB5_CLIENT_KTNAME")]
    Expired,
    /// The KDC does not know the server by that name.
    #[error("the KDC knows no server {0}; say what the servers' principal is (--kerberos-server)")]
    UnknownServer(String),
    /// The clocks differ by more than Kerberos allows.
    #[error("the clocks of this machine and of the KDC differ too much; set them")]
    ClockSkew,
    /// No KDC answered.
    #[error("no KDC answers ({0}); check the realm in krb5.conf, and that its KDC can be reached")]
    NoKdc(String),
    /// The server does not take our ticket.
    #[error(
        "it does not accept our ticket for {0}; check that it logs in with the key of that principal, its clock, and its log"
    )]
    Refused(String),
    /// The server does without a login.
    #[error("it does not take logins by Kerberos; check authProvider and the JAAS file of the server")]
    NotOffered,
    /// The login went through, and yet the server knows nobody.
    #[error("it refused the login and goes on with us as nobody; its log says why")]
    Nobody,
    /// What Kerberos says itself.
    #[error("{0}; check krb5.conf, and that kinit and kvno work here")]
    Other(String),
}

impl KerberosFault {
    /// Whether it stays until somebody changes an option, the program or a server.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::NotBuilt | Self::UnknownServer(_) | Self::Refused(_) | Self::NotOffered | Self::Nobody => true,
            // A new ticket mends it while a program waits.
            Self::NoTicket(_) | Self::Expired | Self::ClockSkew | Self::NoKdc(_) | Self::Other(_) => false,
        }
    }

    /// Whether a command should end and not wait, since somebody must do something first.
    pub(in crate::zk) fn ends_a_command(&self) -> bool {
        self.is_permanent() || matches!(self, Self::NoTicket(_) | Self::Expired | Self::ClockSkew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lacks_a_ticket_is_told_at_once_and_a_screen_waits_for_one() {
        for fault in [KerberosFault::NoTicket("none".to_owned()), KerberosFault::Expired, KerberosFault::ClockSkew] {
            assert!(fault.ends_a_command() && !fault.is_permanent(), "{fault}");
        }
        assert!(!KerberosFault::NoKdc("down".to_owned()).ends_a_command(), "it may come back");
        assert!(KerberosFault::NotBuilt.is_permanent());
    }
}
