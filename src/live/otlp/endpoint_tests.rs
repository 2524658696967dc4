//! Tests of `endpoint`.

use super::*;

#[test]
fn the_signals_are_below_the_base() {
    for (text, url, at) in [
        ("http://collector:4318", "http://collector:4318/v1/traces", ("collector", 4318, false)),
        ("https://otlp.example.com/otlp/", "https://otlp.example.com/otlp/v1/traces", ("otlp.example.com", 443, true)),
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
