//! Ten thousand malformed answers, sent through the client library.

mod answers;
mod oracle;

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use zookeeper_client::{Acls, AddWatchMode, Client, CreateMode, Error};

use self::answers::{ODD, Said, frame, garbage, malformed};
use self::oracle::{Kind, kind_of};
use super::*;
use crate::zk::{ConnectOptions, SessionRole, connect_through};
use lockscope_base::wire::ConnectRequest;

const ANSWERS: usize = 10_000;
const HANDSHAKES: usize = 300;
/// The number of concurrent clients: most of the time passes waiting for servers that fall silent.
const CLIENTS: usize = 50;
/// The time limit of a request, whatever the answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The memory limit, in KiB.
const MAX_MEMORY: u64 = 150 << 10;
/// Set in the child process that runs the test, so that nothing else uses memory there.
const CHILD: &str = "LOCKSCOPE_TEST_MALFORMED";

/// State shared by a fake server and its client.
#[derive(Debug, Default)]
struct Shown {
    /// The next answer, if it is not random.
    next: Mutex<Option<Said>>,
    /// The kind of the last answer.
    last: Mutex<Option<Kind>>,
}

type Next = Arc<Shown>;

/// Starts a server that answers handshakes and heartbeats correctly, and other requests with the
/// next answer.
async fn fake(next: Next, seed: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        for connection in 0_u64.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            let chance = fastrand::Rng::with_seed(seed ^ connection << 20);
            let _ = serve(stream, &next, chance).await;
        }
    });
    address
}

async fn read_frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut frame = vec![0; stream.read_u32().await?.min(1 << 20) as usize];
    stream.read_exact(&mut frame).await?;
    Ok(frame)
}

async fn serve(mut stream: TcpStream, next: &Next, mut chance: fastrand::Rng) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    read_frame(&mut stream).await?;
    let answer = ConnectResponse { timeout: 2_000, session: 9, password: vec![1; 16], read_only: Some(false) };
    stream.write_all(&answer.to_frame()).await?;
    loop {
        let request = read_frame(&mut stream).await?;
        let number = |at: usize| i32::from_be_bytes(request[at..at + 4].try_into().expect("four bytes"));
        let (xid, operation) = (number(0), number(4));
        if let Some(xid) = [(11, -2), (-11, xid), (18, xid), (101, xid), (105, xid)]
            .iter()
            .find_map(|(own, xid)| (*own == operation).then_some(*xid))
        {
            stream.write_all(&frame(xid, 0, &[])).await?;
            continue;
        }
        let wanted = next.next.lock().expect("not poisoned").take();
        let is_wanted = wanted.is_some();
        let said = wanted.unwrap_or_else(|| malformed(&mut chance, xid, operation));
        let kind = if is_wanted { Kind::Right } else { kind_of(&said.parts.concat(), xid, operation) };
        *next.last.lock().expect("not poisoned") = Some(kind);
        for part in &said.parts {
            stream.write_all(part).await?;
        }
        // After an accidentally valid answer the connection serves the next request.
        if said.closes && (is_wanted || kind != Kind::Right) {
            return Ok(());
        }
        if kind != Kind::Right {
            // The client would read an answer to a heartbeat as the rest of the unfinished one.
            return tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(drop);
        }
    }
}

fn options(address: SocketAddr, timeout: Duration) -> ConnectOptions {
    ConnectOptions {
        connect: address.to_string(),
        session_timeout: timeout,
        role: SessionRole::Client,
        auth: Vec::new(),
        tls: None,
        kerberos: None,
    }
}

async fn transport_to(options: &ConnectOptions) -> Transport {
    let dialer = Dialer::new(options).await.expect("sound options");
    Transport::start(Arc::new(dialer), Flow::default()).await.expect("a port")
}

/// Sends one request of the kinds that the program uses.
async fn ask(client: &Client, kind: usize) -> Result<(), Error> {
    match kind % 12 {
        0 | 1 => client.get_data("/a").await.map(drop),
        2 | 3 => client.list_children("/a").await.map(drop),
        4 => client.get_children("/a").await.map(drop),
        5 => client.check_stat("/a").await.map(drop),
        6 => client.get_acl("/a").await.map(drop),
        7 => client.create("/a", b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.map(drop),
        8 => client.watch("/a", AddWatchMode::PersistentRecursive).await.map(drop),
        9 => {
            let mut reads = client.new_multi_reader();
            reads.add_get_data("/a")?;
            reads.add_get_children("/a")?;
            reads.commit().await.map(drop)
        }
        10 => {
            let mut writes = client.new_multi_writer();
            writes.add_check_version("/a", 1)?;
            writes.add_set_data("/a", b"", None)?;
            writes.commit().await.map(drop).map_err(Error::from)
        }
        _ => client.list_auth_users().await.map(drop),
    }
}

/// The number of answers of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    right: usize,
    malformed: usize,
    unfinished: usize,
}

/// Sends `times` requests and compares each result with the kind of its answer.
async fn ask_often(number: usize, times: usize) -> Counted {
    let shown = Next::default();
    let address = fake(Arc::clone(&shown), number as u64).await;
    let options = options(address, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let (mut client, mut counted) = (None::<Client>, Counted::default());
    for kind in 0..times {
        if client.as_ref().is_none_or(|client| client.state().is_terminated()) {
            client = Some(connect_through(&transport, &options).await.expect("handshakes are right"));
        }
        let client = client.as_ref().expect("a client");
        let mut states = client.state_watcher();
        transport.shared.report.send_modify(|report| report.broken = None);
        let asked = timeout(PATIENCE, ask(client, kind + number)).await;
        let answer = asked.unwrap_or_else(|_| panic!("request {kind} of client {number} was never answered"));
        let said = shown.last.lock().expect("not poisoned").take().expect("the server was asked");
        judge(&transport, address, said, &answer).await;
        match said {
            Kind::Right => counted.right += 1,
            Kind::Malformed => counted.malformed += 1,
            Kind::Unfinished => counted.unfinished += 1,
        }
        let connected = async {
            while states.peek_state() == zookeeper_client::SessionState::Disconnected {
                states.changed().await;
            }
        };
        timeout(PATIENCE, connected).await.expect("the library goes on");
    }
    counted
}

/// Asserts that valid answers succeed, and that all others end the connection with a sentence that
/// names the server.
async fn judge(transport: &Transport, address: SocketAddr, said: Kind, answer: &Result<(), Error>) {
    if said == Kind::Right {
        assert!(
            *answer != Err(Error::ConnectionLoss),
            "it was right, and reported as {:?}",
            transport.status().broken()
        );
        return;
    }
    // After its timeout the library returns an error of its own.
    assert!(matches!(answer, Err(Error::ConnectionLoss | Error::Custom(_))), "{said:?} was taken as {answer:?}");
    // After the library's timeout the report follows shortly.
    let mut report = transport.shared.report.subscribe();
    let reported = timeout(PATIENCE, report.wait_for(|report| report.broken.is_some())).await;
    let reported = reported.unwrap_or_else(|_| panic!("{said:?} was not reported")).expect("the transport is there");
    let sentence = reported.broken.as_deref().unwrap_or_default();
    assert!(sentence.starts_with(&format!("{address} ")) && !sentence.contains('\n'), "{said:?}: {sentence}");
}

/// Sends garbage instead of an answer to the handshake.
async fn greet_badly(number: u64) {
    let mut chance = fastrand::Rng::with_seed(number);
    let answer = ConnectResponse { timeout: 10_000, session: 9, password: vec![1; 16], read_only: Some(false) };
    let mut said = answer.to_frame();
    match number % 4 {
        0 => said.truncate(chance.usize(..said.len())),
        1 => {
            let at = 4 * chance.usize(..6);
            said[at..at + 4].copy_from_slice(&ODD[chance.usize(..5)].to_be_bytes());
        }
        2 => said = garbage(&mut chance),
        _ => said = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = read_frame(&mut stream).await;
            let _ = stream.write_all(&said).await;
        }
    });
    let options = options(address, Duration::from_secs(10));
    let connected = timeout(PATIENCE, crate::zk::connect(&options)).await.expect("in time");
    if let Err(error) = connected {
        let sentence = error.to_string();
        assert!(sentence.starts_with("no session") && !sentence.contains('\n'), "{sentence}");
        assert!(!sentence.contains("silent") || number % 4 != 3, "{sentence}");
    }
}

/// Sends frames that do not end, and frames that end wrongly after much data.
async fn flood() {
    let next = Next::default();
    let address = fake(Arc::clone(&next), 1).await;
    let options = options(address, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let client = connect_through(&transport, &options).await.expect("a session");
    let much = 48_u32 << 20;
    let mut head = frame(1, 0, &[]);
    // The library's first request after its heartbeat has xid 1.
    head[..4].copy_from_slice(&(much + 16 + 4 + 60).to_be_bytes());
    head.extend(much.to_be_bytes());
    let mut parts = vec![head];
    parts.extend(std::iter::repeat_n(vec![0; 1 << 20], 48));
    *next.next.lock().expect("not poisoned") = Some(Said { parts, closes: false });
    let answer = timeout(PATIENCE, client.get_data("/a")).await.expect("in time");
    assert_eq!(answer.err(), Some(Error::ConnectionLoss));
    let sentence = transport.status().broken().expect("a sentence");
    assert!(sentence.contains("cut a reply short"), "{sentence}");
}

/// Opens a connection of this process that stays silent after its handshake.
async fn silent_client(transport: &Transport) -> TcpStream {
    let password = transport.secret.bytes().to_vec();
    let asked = ConnectRequest { last_zxid: 0, timeout: 10_000, session: 1, password, read_only: Some(false) };
    let mut stream = TcpStream::connect(transport.address()).await.expect("the port is open");
    stream.write_all(&asked.to_frame()).await.expect("it is read");
    read_frame(&mut stream).await.expect("a session");
    stream
}

#[tokio::test]
async fn the_end_of_the_librarys_own_task_is_reported() {
    let options = options(fake(Next::default(), 1).await, Duration::from_secs(10));
    // A client that believes to be connected, behind a connection of another client.
    let transport = transport_to(&options).await;
    let client = connect_through(&transport, &options).await.expect("a session");
    let other =
        transport_to(&ConnectOptions { connect: fake(Next::default(), 2).await.to_string(), ..options.clone() }).await;
    let stream = silent_client(&other).await;
    other.serves(client.state_watcher());
    let mut report = other.status();
    assert!(!report.library_ended());
    drop(stream);
    timeout(PATIENCE, report.until_library_ended()).await.expect("in time");
    let sentence = report.broken().expect("a sentence");
    assert!(sentence.contains("a defect of this program"), "{sentence}");
}

#[tokio::test]
async fn a_second_connection_with_the_secret_ends_the_first_and_one_without_it_gets_nothing() {
    let options = options(fake(Next::default(), 1).await, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let mut stranger = TcpStream::connect(transport.address()).await.expect("the port is open");
    let asked =
        ConnectRequest { last_zxid: 0, timeout: 10_000, session: 1, password: vec![7; 16], read_only: Some(false) };
    stranger.write_all(&asked.to_frame()).await.expect("it is read");
    let mut said = Vec::new();
    let read = timeout(PATIENCE, stranger.read_to_end(&mut said)).await.expect("in time");
    assert!(read.is_err() || said.is_empty(), "{said:?}");
    let mut first = silent_client(&transport).await;
    let second = silent_client(&transport);
    let (second, ended) = tokio::join!(second, timeout(PATIENCE, read_frame(&mut first)));
    drop(second);
    let ended = ended.expect("in time");
    assert!(ended.is_err(), "{ended:?}");
}

#[tokio::test]
async fn a_cut_is_not_blamed_on_the_server_that_broke_the_connection_before() {
    let options = options(fake(Next::default(), 1).await, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let mut report = transport.shared.report.subscribe();
    // Repeated, because either task may notice the cut first.
    for _ in 0..8 {
        let _stream = silent_client(&transport).await;
        transport.shared.report.send_modify(|report| report.broken = Some("of the connection before".to_owned()));
        transport.change(|flow| flow.cut = true);
        let cleared = timeout(PATIENCE, report.wait_for(|report| report.broken.is_none())).await;
        assert!(cleared.is_ok(), "{:?}", transport.status().broken());
        transport.change(|flow| flow.cut = false);
    }
}

#[tokio::test]
async fn after_a_cut_nothing_passes_even_when_it_is_undone_at_once() {
    let options = options(fake(Next::default(), 1).await, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let mut stream = silent_client(&transport).await;
    transport.change(|flow| flow.cut = true);
    transport.change(|flow| flow.cut = false);
    let _ = stream.write_all(&[0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11]).await;
    let ended = timeout(PATIENCE, read_frame(&mut stream)).await.expect("in time");
    assert!(ended.is_err(), "{ended:?}");
}

fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

async fn everything() {
    flood().await;
    let asking = (0..CLIENTS).map(|number| tokio::spawn(ask_often(number, ANSWERS / CLIENTS)));
    let mut all = Counted::default();
    for asked in futures::future::join_all(asking).await {
        let Counted { right, malformed, unfinished } = asked.expect("no panic");
        all.right += right;
        all.malformed += malformed;
        all.unfinished += unfinished;
    }
    for numbers in (0..HANDSHAKES as u64).collect::<Vec<_>>().chunks(CLIENTS) {
        let greeted = numbers.iter().map(|number| tokio::spawn(greet_badly(*number)));
        for greeted in futures::future::join_all(greeted).await {
            greeted.expect("no panic");
        }
    }
    let peak = peak_memory();
    println!("{all:?} and {HANDSHAKES} handshakes, {peak} KiB at most");
    assert!(all.malformed >= ANSWERS / 2 && all.right > ANSWERS / 50 && all.unfinished > ANSWERS / 50, "{all:?}");
    assert_eq!(all.right + all.malformed + all.unfinished, ANSWERS);
    assert!(peak < MAX_MEMORY, "{peak} KiB");
}

#[test]
fn ten_thousand_malformed_answers_end_in_a_sentence_each_without_a_panic_and_with_little_memory() {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        return runtime.expect("a runtime").block_on(everything());
    }
    let name = "ten_thousand_malformed_answers_end_in_a_sentence_each_without_a_panic_and_with_little_memory";
    let this = std::env::current_exe().expect("a test");
    let run = Command::new(this)
        .args(["--exact", &format!("zk::transport::tests::{name}"), "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("a child process");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    println!("{out}");
    assert!(run.status.success() && !err.contains("panicked"), "{out}\n{err}");
}
