//! The address of AdminServer. Pure.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// The placeholder for the server's host in an address.
const HOST_PLACEHOLDER: &str = "HOST";

/// The prefix of addresses that are asked over TLS.
const HTTPS: &str = "https://";

/// Why a text is not a valid address of AdminServer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address of AdminServer {text:?} cannot be used: {why}; write it as http://HOST:8080/commands (or https://...), where HOST stands for each server's own host"
)]
pub struct BadAdminUrl {
    text: String,
    why: &'static str,
}

/// The address of each server's AdminServer: `http://HOST:8080/commands`, or the same with `https`.
/// `HOST` stands for the host of each server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminUrl(String);

impl Default for AdminUrl {
    fn default() -> Self {
        Self("http://HOST:8080/commands".to_owned())
    }
}

impl FromStr for AdminUrl {
    type Err = BadAdminUrl;

    fn from_str(text: &str) -> Result<Self, BadAdminUrl> {
        let bad = |why| Err(BadAdminUrl { text: text.to_owned(), why });
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix(HTTPS)).unwrap_or_default();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return bad("it must not contain a user name");
        }
        // A host name that comes from the ensemble must not become part of a path.
        if path.contains(HOST_PLACEHOLDER) {
            return bad("HOST may stand only in place of the host");
        }
        let url = Self(text.trim_end_matches('/').to_owned());
        match url.of("localhost", "ruok").parse::<Uri>() {
            Ok(uri)
                if matches!(uri.scheme_str(), Some("http" | "https"))
                    && uri.host().is_some_and(|host| !host.is_empty()) =>
            {
                Ok(url)
            }
            Ok(_) => bad("it does not start with http:// or https:// and a host"),
            Err(_) => bad("it is not a URL"),
        }
    }
}

impl fmt::Display for AdminUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AdminUrl {
    /// Returns the base address of the commands of the server on `host`.
    pub fn at(&self, host: &str) -> String {
        if host.contains(':') {
            self.0.replace(HOST_PLACEHOLDER, &format!("[{host}]"))
        } else {
            self.0.replace(HOST_PLACEHOLDER, host)
        }
    }

    /// Returns whether the address uses TLS.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with(HTTPS)
    }

    /// Returns whether the address contains the placeholder for the host.
    pub(super) fn has_placeholder(&self) -> bool {
        self.0.contains(HOST_PLACEHOLDER)
    }

    /// Returns the address of one command on `host`.
    pub(super) fn of(&self, host: &str, command: &str) -> String {
        format!("{}/{command}", self.at(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_serves_all_servers() {
        let url = AdminUrl::default();
        assert_eq!(url.of("zk1", "dump"), "http://zk1:8080/commands/dump");
        assert_eq!(url.of("::1", "dump"), "http://[::1]:8080/commands/dump");
        for text in [
            "",
            "http://a/HOST/b",
            "http://me:secret@a/b",
            "zk1",
            "https://me:secret@zk1/commands",
            "https:///x",
            "ftp://a/b",
            "http:///x",
            "http://a b/",
        ] {
            assert!(text.parse::<AdminUrl>().is_err(), "{text}");
        }
    }
}
