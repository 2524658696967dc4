//! Where AdminServer is. Pure.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// The part of a template that stands for the server's host.
const HOST_PLACEHOLDER: &str = "HOST";

/// How the address of an AdminServer begins that is asked over TLS.
const HTTPS: &str = "https://";

/// Why a text does not say where AdminServer is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address of AdminServer {text:?} cannot be used: {why}; write it as http://HOST:8080/commands (or https://...), where HOST stands for each server's own host"
)]
pub struct BadAdminUrl {
    text: String,
    why: &'static str,
}

/// Where each server's AdminServer is: `http://HOST:8080/commands`, or the same with `https`, where `HOST` stands for each
/// server's host.
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
    /// The commands of the server on that host.
    pub fn at(&self, host: &str) -> String {
        if host.contains(':') {
            self.0.replace(HOST_PLACEHOLDER, &format!("[{host}]"))
        } else {
            self.0.replace(HOST_PLACEHOLDER, host)
        }
    }

    /// Whether it is asked over TLS.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with(HTTPS)
    }

    /// Whether it holds a place for the server's host.
    pub(super) fn has_placeholder(&self) -> bool {
        self.0.contains(HOST_PLACEHOLDER)
    }

    /// The address of a command on that host.
    pub(super) fn of(&self, host: &str, command: &str) -> String {
        format!("{}/{command}", self.at(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_for_every_server() {
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
