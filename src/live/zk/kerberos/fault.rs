//! Errors of a login by Kerberos.

/// Why a login by Kerberos failed, and what to do about it. The text continues a sentence that says
/// that there is no login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KerberosFault {
    /// The program was built without Kerberos.
    #[error("this program was built without it; build it again with the Cargo feature gssapi")]
    NotBuilt,
    /// There is no ticket on this machine.
    #[error("there is no ticket ({0}); get one with kinit, or name a keytab in KRB5_CLIENT_KTNAME")]
    NoTicket(String),
    /// The ticket has expired.
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
    /// The server rejects our ticket.
    #[error(
        "it does not accept our ticket for {0}; check that it logs in with the key of that principal, its clock, and its log"
    )]
    Refused(String),
    /// The server does not use Kerberos logins.
    #[error("it does not take logins by Kerberos; check authProvider and the JAAS file of the server")]
    NotOffered,
    /// The login succeeded, but the server treats us as anonymous.
    #[error("it refused the login and treats us as anonymous; its log says why")]
    Nobody,
    /// Any other error of Kerberos.
    #[error("{0}; check krb5.conf, and that kinit and kvno work here")]
    Other(String),
}

impl KerberosFault {
    /// Returns whether the fault stays until somebody changes an option, the program or a server.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::NotBuilt | Self::UnknownServer(_) | Self::Refused(_) | Self::NotOffered | Self::Nobody => true,
            // A new ticket fixes these while the program waits.
            Self::NoTicket(_) | Self::Expired | Self::ClockSkew | Self::NoKdc(_) | Self::Other(_) => false,
        }
    }

    /// Returns whether a command should end instead of waiting, because somebody must act first.
    pub(in crate::zk) fn ends_a_command(&self) -> bool {
        self.is_permanent() || matches!(self, Self::NoTicket(_) | Self::Expired | Self::ClockSkew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_ticket_a_command_ends_and_a_screen_waits() {
        for fault in [KerberosFault::NoTicket("none".to_owned()), KerberosFault::Expired, KerberosFault::ClockSkew] {
            assert!(fault.ends_a_command() && !fault.is_permanent(), "{fault}");
        }
        assert!(!KerberosFault::NoKdc("down".to_owned()).ends_a_command(), "it may come back");
        assert!(KerberosFault::NotBuilt.is_permanent());
    }
}
