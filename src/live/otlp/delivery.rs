//! Messages to a collector, each in one request, and the collector's answers.
//!
//! A request has a connection of its own, and is bounded in time and bytes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use percent_encoding::percent_decode_str;
use prost::Message as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{Endpoint, Origin, OtlpError, SendOutcome, encode};
use crate::own_process::usage;
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_files as files;
use lockscope_files::Sensitivity;
use lockscope_model::metrics::{Scrape, Scrapes, to_open_metrics};
use lockscope_model::span::Span;

/// Sends messages to one collector.
#[derive(Debug)]
pub struct Delivery {
    client: CollectorClient,
    spans: SpanExporter,
    /// What everything that is sent is about.
    about: Resource,
    /// The time from which sums count.
    since: SystemTime,
}

/// A message.
#[derive(Debug)]
pub enum OtlpMessage {
    Spans(Vec<SpanData>),
    Metrics(Vec<u8>),
}

impl Delivery {
    pub fn new(endpoint: &Endpoint, origin: &Origin) -> Result<Self, OtlpError> {
        let client = CollectorClient::new(endpoint, origin)?;
        let mut spans = SpanExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_endpoint(endpoint.url("traces"))
            .with_protocol(Protocol::HttpBinary)
            // The task tries again, and counts.
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|error| OtlpError::Settings(format!("spans cannot be sent: {error}")))?;
        let about = about(origin);
        spans.set_resource(&about);
        Ok(Self { client, spans, about, since: SystemTime::now() })
    }

    /// Sends a message once. Cancel safe.
    pub async fn send(&self, message: &OtlpMessage) -> SendOutcome {
        match message {
            OtlpMessage::Metrics(bytes) => self.client.post("metrics", bytes.clone()).await,
            OtlpMessage::Spans(spans) => {
                let exported = self.spans.export(spans.clone()).await;
                let refused =
                    || SendOutcome::Refused(exported.err().map(|error| error.to_string()).unwrap_or_default());
                self.client.take_outcome().unwrap_or_else(refused)
            }
        }
    }

    /// Returns spans as a message.
    #[expect(clippy::unused_self, reason = "only one that can send makes a message: see `absent`")]
    pub fn message_of(&self, spans: &[Span]) -> OtlpMessage {
        OtlpMessage::Spans(spans.iter().map(encode::span).collect())
    }

    /// Returns metrics as a message; `None` if nothing is known yet.
    pub fn metrics(&self, scrape: Scrape, at: Timestamp) -> Option<OtlpMessage> {
        // Writing into a text does not fail.
        let text = to_open_metrics(Scrapes { process: usage(), ..scrape.into() }).ok()?;
        let scope = encode::of_open_metrics(&text, nanoseconds(self.since), encode::nanoseconds(at));
        let resource = Some((&self.about).into());
        let metrics = ResourceMetrics { resource, scope_metrics: vec![scope], schema_url: String::new() };
        Some(OtlpMessage::Metrics(ExportMetricsServiceRequest { resource_metrics: vec![metrics] }.encode_to_vec()))
    }
}

impl OtlpMessage {
    pub fn is_metrics(&self) -> bool {
        matches!(self, Self::Metrics(_))
    }

    /// Returns how many spans a collector refused, according to its answer.
    pub fn refused_in(&self, answer: &[u8]) -> u64 {
        if self.is_metrics() { 0 } else { partial(answer).map_or(0, |(refused, _)| refused) }
    }

    /// Says why a collector refused a part of it, according to its answer.
    #[expect(clippy::unused_self, reason = "only a message that was sent is refused: see `absent`")]
    pub fn refusal(&self, answer: &[u8]) -> String {
        let said = partial(answer).map(|(_, why)| why).unwrap_or_default();
        format!("the collector refuses a part of the spans: {}", escaped(&said))
    }
}

/// Returns the number of refused spans and the reason.
fn partial(answer: &[u8]) -> Option<(u64, String)> {
    let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
    Some((u64::try_from(partial.rejected_spans).ok()?, partial.error_message))
}

fn about(origin: &Origin) -> Resource {
    let mut about = vec![
        KeyValue::new("service.name", "lockscope"),
        KeyValue::new("service.version", origin.version),
        KeyValue::new("zookeeper.ensemble", origin.ensemble.clone()),
    ];
    about.extend(origin.context.clone().map(|context| KeyValue::new("lockscope.context", context)));
    Resource::builder_empty().with_attributes(about).build()
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// How long a request may take.
const WITHIN: Duration = Duration::from_secs(10);

/// The most bytes of an answer, and of a file with certificates.
const MAX_ANSWER: usize = 64 << 10;

const MAX_FILE_SIZE: u64 = 1 << 20;

const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// Sends requests to one collector. Clones share the outcome.
#[derive(Clone)]
struct CollectorClient {
    endpoint: Arc<Endpoint>,
    tls: Option<TlsConnector>,
    headers: Arc<HeaderMap>,
    last: Arc<Mutex<Option<SendOutcome>>>,
}

impl std::fmt::Debug for CollectorClient {
    // The headers may hold a token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl CollectorClient {
    /// Creates a client. Reads the headers and the certificates.
    pub fn new(endpoint: &Endpoint, origin: &Origin) -> Result<Self, OtlpError> {
        let tls = if endpoint.is_secure() { Some(connector()?) } else { None };
        let mut headers = headers_of(&std::env::var(HEADERS).unwrap_or_default())?;
        if let Ok(program) = HeaderValue::from_str(&format!("lockscope/{}", origin.version)) {
            headers.entry(USER_AGENT).or_insert(program);
        }
        Ok(Self { endpoint: Arc::new(endpoint.clone()), tls, headers: Arc::new(headers), last: Arc::default() })
    }

    /// Takes the outcome of the last request.
    pub fn take_outcome(&self) -> Option<SendOutcome> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Posts a message of a signal. Cancel safe.
    pub async fn post(&self, signal: &str, message: Vec<u8>) -> SendOutcome {
        let request = Request::post(self.endpoint.url(signal))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Bytes::from(message));
        match request {
            Ok(request) => self.send(request).await.0,
            Err(error) => SendOutcome::Refused(error.to_string()),
        }
    }

    async fn send(&self, request: Request<Bytes>) -> (SendOutcome, StatusCode) {
        let endpoint = &self.endpoint;
        let later = |why: String| SendOutcome::Later(format!("the collector at {endpoint} {why}"), None);
        match timeout(WITHIN, self.exchange(request)).await {
            Err(_) => (later(format!("did not answer within {} s", WITHIN.as_secs())), StatusCode::GATEWAY_TIMEOUT),
            Ok(Err(why)) => (later(format!("cannot be reached: {why}")), StatusCode::BAD_GATEWAY),
            Ok(Ok(response)) => {
                let status = response.status();
                (self.judge(&response), status)
            }
        }
    }

    /// Decides by the rules of OTLP over HTTP: only four statuses may be tried again.
    fn judge(&self, response: &Response<Bytes>) -> SendOutcome {
        let status = response.status();
        let said = format!("the collector at {} answers with status {}", self.endpoint, status.as_u16());
        match status.as_u16() {
            200..=299 => SendOutcome::Taken(response.body().clone()),
            429 | 502 | 503 | 504 => {
                let pause = response.headers().get(RETRY_AFTER).and_then(|pause| pause.to_str().ok()?.parse().ok());
                SendOutcome::Later(said, pause.map(Duration::from_secs))
            }
            _ => SendOutcome::Refused(said),
        }
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut parts, body) = request.into_parts();
        let authority = parts.uri.authority().map(ToString::to_string).unwrap_or_default();
        // The request line of a direct request has a path only.
        parts.uri = parts.uri.path().parse()?;
        parts.headers.insert(HOST, HeaderValue::from_str(&authority)?);
        for (name, value) in &*self.headers {
            // OpenTelemetry's exporter has set some of them.
            parts.headers.insert(name.clone(), value.clone());
        }
        let stream = TcpStream::connect((self.endpoint.host(), self.endpoint.port())).await?;
        let request = Request::from_parts(parts, Full::new(body));
        match &self.tls {
            None => over(TokioIo::new(stream), request).await,
            Some(tls) => {
                let host = ServerName::try_from(self.endpoint.host().to_owned())?;
                over(TokioIo::new(tls.connect(host, stream).await?), request).await
            }
        }
    }
}

async fn over<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, HttpError>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = handshake(stream).await?;
    let answer = async {
        let (parts, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    };
    // The answer arrives only while the connection is polled; both end with this future.
    tokio::select! {
        answer = answer => answer,
        Err(error) = connection => Err(error.into()),
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (outcome, status) = self.send(request).await;
        let body = if let SendOutcome::Taken(body) = &outcome { body.clone() } else { Bytes::new() };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Ok(response)
    }
}

/// Reads `name=value,name=value`, with percent-encoded values, as OpenTelemetry defines it. Errors
/// show no value.
fn headers_of(text: &str) -> Result<HeaderMap, OtlpError> {
    let bad = || OtlpError::Settings(format!("{HEADERS} cannot be read: write it as name=value,name=value"));
    let mut headers = HeaderMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(bad)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| bad())?;
        let value = percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Creates the TLS side: a collector must present a certificate for its host, signed by the
/// authority in the file that the environment names, or by one that the system trusts.
fn connector() -> Result<TlsConnector, OtlpError> {
    let mut roots = RootCertStore::empty();
    let from = if let Some(file) = std::env::var_os(CERTIFICATE) {
        let unusable = |why| OtlpError::Settings(format!("{CERTIFICATE} names a file that cannot be used: {why}"));
        let text = files::read_text(Path::new(&file), Sensitivity::Public, MAX_FILE_SIZE).map_err(unusable)?;
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(text.as_bytes()).filter_map(Result::ok));
        CERTIFICATE
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        "this system"
    };
    if roots.is_empty() {
        return Err(OtlpError::Settings(format!(
            "the collector's certificate cannot be verified: {from} names no authority; name its PEM file in {CERTIFICATE}"
        )));
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_opentelemetry_writes_them() {
        let headers = headers_of("Authorization=Basic%20eDp5, x-tenant = a=b ,").unwrap();
        assert_eq!(headers["authorization"], "Basic eDp5");
        assert_eq!(headers["x-tenant"], "a=b");
        for text in ["secret", "bad name=secret", "name=line%0Asecret"] {
            let error = headers_of(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
