//! Tests of sending to collectors that answer in other ways than by taking everything.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use super::*;
use lockscope_base::trace_context::TraceId;
use lockscope_model::span::SpanContext;

/// A collector that gives these answers, one a request, and afterwards takes everything.
struct FakeCollector {
    port: u16,
    got: Arc<Mutex<Vec<String>>>,
}

impl FakeCollector {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (got, mut answers) = (Arc::new(Mutex::new(Vec::new())), VecDeque::from(answers));
        let names = Arc::clone(&got);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let body = body_of_request(&mut stream).await;
                let request = ExportTraceServiceRequest::decode(&body[..]).expect("spans");
                let spans = request.resource_spans.into_iter().flat_map(|of| of.scope_spans).flat_map(|of| of.spans);
                let answer = answers.pop_front().unwrap_or_else(|| answer("200 OK", "", &[]));
                if answer.starts_with(b"HTTP/1.1 200") {
                    names.lock().expect("no panic").extend(spans.map(|span| span.name));
                }
                stream.write_all(&answer).await.expect("an answer");
            }
        });
        Self { port, got }
    }

    fn sender(&self) -> Sender {
        let endpoint = format!("http://127.0.0.1:{}", self.port).parse().expect("an endpoint");
        let origin = Origin { ensemble: "zk1:2181".to_owned(), context: None, version: "0.1.0" };
        Sender::start(&endpoint, &origin).expect("a sender")
    }
}

/// Reads a request. Returns its body.
async fn body_of_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.expect("a request");
        request.extend_from_slice(&piece[..read]);
        let Some(head) = request.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if length.is_some_and(|length| request.len() >= head + 4 + length) {
            return request.split_off(head + 4);
        }
    }
}

fn answer(status: &str, header: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{header}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn span(name: &str) -> Span {
    Span {
        context: SpanContext::within(TraceId::random()),
        parent: None,
        links: Vec::new(),
        name: name.to_owned(),
        start: Timestamp(1),
        end: Timestamp(2),
        failure: None,
        attributes: Vec::new(),
        events: Vec::new(),
    }
}

async fn until(sender: &Sender, settled: impl Fn(OtlpFigures) -> bool) -> OtlpFigures {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !settled(sender.figures()) {
        assert!(Instant::now() < deadline, "{:?}, {:?}", sender.figures(), sender.trouble());
        sleep(Duration::from_millis(10)).await;
    }
    sender.figures()
}

#[tokio::test]
async fn what_a_busy_collector_does_not_take_is_sent_again_once() {
    let busy = answer("503 Service Unavailable", "Retry-After: 0\r\n", &[]);
    let collector = FakeCollector::start(vec![busy.clone(), busy]).await;
    let sender = collector.sender();
    sender.push(vec![span("a"), span("b")], 0);
    assert_eq!(until(&sender, |figures| figures.sent == 2).await, OtlpFigures { sent: 2, ..OtlpFigures::default() });
    assert_eq!(sender.trouble(), None);
    assert_eq!(*collector.got.lock().unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted_and_not_sent_again() {
    let partial = ExportTracePartialSuccess { rejected_spans: 1, error_message: "too old\u{1b}[2J".to_owned() };
    let partial = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let collector =
        FakeCollector::start(vec![answer("400 Bad Request", "", &[]), answer("200 OK", "", &partial)]).await;
    let sender = collector.sender();
    sender.push(vec![span("a"), span("b")], 0);
    until(&sender, |figures| figures.refused == 2).await;
    assert!(sender.trouble().is_some_and(|why| why.contains("status 400")), "{:?}", sender.trouble());
    sender.push(vec![span("c"), span("d")], 0);
    let figures = until(&sender, |figures| figures.queued == 0 && figures.sent > 0).await;
    assert_eq!(figures, OtlpFigures { sent: 1, refused: 3, ..OtlpFigures::default() });
    let trouble = sender.trouble().expect("a part is refused");
    assert!(trouble.contains("too old") && !trouble.contains('\u{1b}'), "{trouble}");
}

#[tokio::test]
async fn the_end_sends_what_waits_and_waits_for_no_collector_that_is_away() {
    let collector = FakeCollector::start(Vec::new()).await;
    let sender = collector.sender();
    sender.push((0..2_000).map(|number| span(&number.to_string())).collect(), 0);
    assert_eq!(sender.stop().await, OtlpFigures { sent: 2_000, ..OtlpFigures::default() });
    let away = FakeCollector { port: 1, got: Arc::default() };
    let sender = away.sender();
    sender.push(vec![span("a")], 0);
    sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    assert_eq!(sender.stop().await, OtlpFigures { queued: 1, ..OtlpFigures::default() });
    assert!(began.elapsed() < Duration::from_secs(10));
}
