//! The address of a collector.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use hyper::Uri;

/// The base address of a collector, such as `http://collector:4318`. Spans go to `/v1/traces` below
/// it, metrics to `/v1/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    base: String,
    host: String,
    port: u16,
    is_secure: bool,
}

/// Why a text is no address of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The text is no URL of HTTP.
    #[error("write the URL of an OTLP receiver over HTTP, as in http://collector:4318")]
    NotHttp,
    /// The URL contains a user or a password.
    #[error("leave user and password out of the URL, and put them into OTEL_EXPORTER_OTLP_HEADERS")]
    Credentials,
    /// The URL contains a query.
    #[error("leave out what follows the question mark: it is not sent")]
    Query,
}

impl Endpoint {
    /// Returns the URL of a signal: `traces` or `metrics`.
    pub(super) fn url(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.base)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let uri: Uri = text.parse().map_err(|_| EndpointError::NotHttp)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(EndpointError::NotHttp);
        };
        let is_secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(EndpointError::NotHttp),
        };
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        if uri.query().is_some() {
            return Err(EndpointError::Query);
        }
        Ok(Self {
            base: format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            is_secure,
        })
    }
}

impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signals_are_below_the_base() {
        for (text, url, at) in [
            ("http://collector:4318", "http://collector:4318/v1/traces", ("collector", 4318, false)),
            (
                "https://otlp.example.com/otlp/",
                "https://otlp.example.com/otlp/v1/traces",
                ("otlp.example.com", 443, true),
            ),
            ("http://[::1]", "http://[::1]/v1/traces", ("::1", 80, false)),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.url("traces"), url);
            assert_eq!((endpoint.host(), endpoint.port(), endpoint.is_secure()), at);
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for (text, error) in [
            ("", EndpointError::NotHttp),
            ("collector:4318", EndpointError::NotHttp),
            ("grpc://collector:4317", EndpointError::NotHttp),
            ("http://user:secret@collector:4318", EndpointError::Credentials),
            ("http://collector:4318/?key=secret", EndpointError::Query),
        ] {
            assert_eq!(text.parse::<Endpoint>(), Err(error), "{text}");
        }
    }
}
