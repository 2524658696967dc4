//! The principal of the servers. Pure.

use std::fmt;
use std::str::FromStr;

/// The placeholder for each server's own host in a principal, as in Hadoop's config files.
const HOST_PLACEHOLDER: &str = "_HOST";

/// Why a text is not a valid principal of servers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a server principal: write it as zookeeper/_HOST or zookeeper/HOST@REALM, where _HOST stands for each server's own host"
)]
pub struct BadPrincipal(String);

/// The Kerberos principal of the servers: `SERVICE/HOST[@REALM]`. The host may be `_HOST`, which
/// stands for each server's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPrincipal {
    service: String,
    host: String,
    realm: Option<String>,
}

impl Default for ServerPrincipal {
    /// Returns `zookeeper/_HOST`.
    fn default() -> Self {
        Self { service: "zookeeper".to_owned(), host: HOST_PLACEHOLDER.to_owned(), realm: None }
    }
}

impl FromStr for ServerPrincipal {
    type Err = BadPrincipal;

    fn from_str(text: &str) -> Result<Self, BadPrincipal> {
        let bad = || BadPrincipal(text.to_owned());
        let (name, realm) = match text.split_once('@') {
            Some((name, realm)) => (name, Some(realm)),
            None => (text, None),
        };
        let (service, host) = name.split_once('/').ok_or_else(bad)?;
        let is_good = |part: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
            !part.is_empty() && part.bytes().all(is_allowed)
        };
        if ![service, host].into_iter().chain(realm).all(is_good) {
            return Err(bad());
        }
        Ok(Self { service: service.to_owned(), host: host.to_owned(), realm: realm.map(str::to_owned) })
    }
}

impl fmt::Display for ServerPrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.service, self.host)?;
        self.realm.as_ref().map_or(Ok(()), |realm| write!(f, "@{realm}"))
    }
}

impl ServerPrincipal {
    /// Returns the principal of the server on `host`.
    #[cfg(any(feature = "gssapi", test))]
    pub(super) fn at(&self, host: &str) -> Self {
        let host = if self.host == HOST_PLACEHOLDER { host } else { &self.host };
        Self { host: host.to_owned(), ..self.clone() }
    }

    /// Returns `SERVICE@HOST`, for which Kerberos finds the realm and the canonical host; `None`
    /// when a realm is given.
    #[cfg(any(feature = "gssapi", test))]
    pub(super) fn as_service(&self) -> Option<String> {
        self.realm.is_none().then(|| format!("{}@{}", self.service, self.host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_a_service_on_a_host_with_or_without_a_realm() {
        for text in ["zookeeper/_HOST", "zk/zk1.example.net@EXAMPLE.NET", "zookeeper/_HOST@R"] {
            assert_eq!(text.parse::<ServerPrincipal>().map(|known| known.to_string()).as_deref(), Ok(text));
        }
        for text in
            ["", "zookeeper", "zookeeper/", "/zk1", "zookeeper/zk1@", "zoo keeper/zk1", "a/b/c", "a/b@c@d", "a/\u{7}"]
        {
            let refusal = text.parse::<ServerPrincipal>().expect_err(text).to_string();
            assert!(refusal.contains("zookeeper/_HOST"), "{refusal}");
        }
        assert_eq!(ServerPrincipal::default().to_string(), "zookeeper/_HOST");
    }

    #[test]
    fn each_server_has_its_own_principal_unless_a_host_is_named() {
        let own: ServerPrincipal = "zk/_HOST@R".parse().expect("a principal");
        assert_eq!((own.at("zk1").to_string(), own.at("zk1").as_service()), ("zk/zk1@R".to_owned(), None));
        let all: ServerPrincipal = "zk/shared".parse().expect("a principal");
        assert_eq!(all.at("zk1").as_service().as_deref(), Some("zk@shared"));
    }
}
