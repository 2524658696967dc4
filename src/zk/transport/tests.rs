//! Ten thousand malformed answers, through the client library itself.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use zookeeper_client::{Acls, AddWatchMode, Client, CreateMode, Error};

use super::*;
use crate::zk::{ConnectOptions, connect_through};

const ANSWERS: usize = 10_000;
const HANDSHAKES: usize = 300;
const CLIENTS: usize = 8;
/// How long a request may take whatever is answered.
const PATIENCE: Duration = Duration::from_secs(20);
/// In KiB.
const MAX_MEMORY: u64 = 150 << 10;
/// Set in the process that runs the test, so that nothing else takes memory there.
const CHILD: &str = "LOCKSCOPE_TEST_MALFORMED";

/// What the server says to the next request, and whether it closes the connection behind that.
#[derive(Clone, Debug)]
struct Said {
    /// Each is written on its own.
    parts: Vec<Vec<u8>>,
    closes: bool,
}

type Next = Arc<Mutex<Option<Said>>>;

/// The body of a right answer to an operation.
fn right(operation: i32) -> Vec<u8> {
    let text = |text: &str| [&u32::try_from(text.len()).expect("short").to_be_bytes()[..], text.as_bytes()].concat();
    let names = || [&3_u32.to_be_bytes()[..], &text("a"), &text("lock-0000000001"), &text("\u{20ac}")].concat();
    let stat = [1_u8; 68];
    let result = |op: i32, done: u8| [&op.to_be_bytes()[..], &[done], &(-1_i32).to_be_bytes()].concat();
    match operation {
        1 | 9 => text("/a"),
        15 => [text("/a"), stat.to_vec()].concat(),
        3 | 5 => stat.to_vec(),
        4 => [text("some data"), stat.to_vec()].concat(),
        6 => [&1_u32.to_be_bytes()[..], &31_u32.to_be_bytes(), &text("world"), &text("anyone"), &stat].concat(),
        8 => names(),
        12 => [names(), stat.to_vec()].concat(),
        14 => [result(13, 0), result(5, 0), stat.to_vec(), result(-1, 1)].concat(),
        22 => [result(4, 0), text("d"), stat.to_vec(), result(8, 0), names(), result(-1, 1)].concat(),
        107 => [&1_u32.to_be_bytes()[..], &text("digest"), &text("bob")].concat(),
        _ => Vec::new(),
    }
}

fn frame(xid: i32, error: i32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).expect("short");
    [&length.to_be_bytes()[..], &xid.to_be_bytes(), &7_i64.to_be_bytes(), &error.to_be_bytes(), body].concat()
}

/// Numbers that stand where lengths and counts do.
const ODD: [i32; 10] = [-1, -2, i32::MIN, i32::MAX, 10_000_000, 1 << 26, (1 << 26) + 1, 1 << 24, 0, 255];

fn garbage(chance: &mut fastrand::Rng) -> Vec<u8> {
    let length = chance.usize(1..200);
    std::iter::repeat_with(|| chance.u8(..)).take(length).collect()
}

/// A malformed answer.
fn malformed(chance: &mut fastrand::Rng, xid: i32, operation: i32) -> Said {
    let body = right(operation);
    let mut whole = frame(xid, 0, &body);
    let odd = |chance: &mut fastrand::Rng| ODD[chance.usize(..ODD.len())];
    let mut closes = false;
    match chance.u8(..12) {
        // Cut, with a length that says so, or with the end of the connection.
        0 | 1 => whole = frame(xid, 0, &body[..chance.usize(..=body.len().saturating_sub(1))]),
        2 => (closes, whole) = (true, whole[..chance.usize(..whole.len())].to_vec()),
        3 => whole[..4].copy_from_slice(&odd(chance).to_be_bytes()),
        4 | 5 => {
            let at = 20 + 4 * chance.usize(..=body.len() / 4);
            if at + 4 <= whole.len() {
                whole[at..at + 4].copy_from_slice(&odd(chance).to_be_bytes());
            } else {
                whole.push(0);
                whole[3] += 1;
            }
        }
        6 => whole = frame(*[xid + 1, xid - 1, 0, -3, -2, -1, i32::MAX].get(chance.usize(..7)).expect("one"), 0, &body),
        7 => whole = frame(xid, *[1, -999, i32::MIN, i32::MAX].get(chance.usize(..4)).expect("one"), &body),
        8 => whole = garbage(chance),
        9 => {
            let at = chance.usize(20..whole.len().max(21));
            whole.resize(whole.len().max(at + 1), 0);
            whole[at] = chance.u8(..);
            closes = true;
        }
        10 => whole = frame(-1, 0, &[&chance.i32(-1..7).to_be_bytes()[..], &odd(chance).to_be_bytes(), &body].concat()),
        _ => whole = frame(xid, 0, &[&body[..], &[0, 0, 0, 1, 0xff]].concat()),
    }
    // A frame that announces more than comes is waited for. Nine in ten end with the connection.
    let announced = whole.first_chunk().map_or(0, |head| i32::from_be_bytes(*head));
    let waits = usize::try_from(announced).is_ok_and(|length| length + 4 > whole.len());
    closes |= waits && chance.u8(..10) > 0;
    let cut = chance.usize(..=whole.len());
    let (one, other) = whole.split_at(cut);
    Said { parts: vec![one.to_vec(), other.to_vec()], closes }
}

/// A server that answers handshakes and heartbeats as it should, and the rest as it is told.
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
    let answer = handshake::Answer { timeout: 2_000, session: 9, password: vec![1; 16], read_only: Some(false) };
    stream.write_all(&answer.write(&[1; 16])).await?;
    loop {
        let request = read_frame(&mut stream).await?;
        let number = |at: usize| i32::from_be_bytes(request[at..at + 4].try_into().expect("four bytes"));
        let (xid, operation) = (number(0), number(4));
        let said = next.lock().expect("not poisoned").take();
        let said = match (operation, said) {
            (11, said) => {
                // It was not asked yet.
                *next.lock().expect("not poisoned") = said;
                Said { parts: vec![frame(-2, 0, &[])], closes: false }
            }
            (-11 | 18 | 101 | 105, said) => {
                *next.lock().expect("not poisoned") = said;
                Said { parts: vec![frame(xid, 0, &[])], closes: false }
            }
            (_, Some(said)) if !said.parts.is_empty() => said,
            _ => malformed(&mut chance, xid, operation),
        };
        for part in &said.parts {
            stream.write_all(part).await?;
        }
        if said.closes {
            return Ok(());
        }
    }
}

fn options(address: SocketAddr, timeout: Duration) -> ConnectOptions {
    ConnectOptions { connect: address.to_string(), session_timeout: timeout, auth: Vec::new(), tls: None }
}

async fn transport_to(options: &ConnectOptions) -> Transport {
    let dialer = Dialer::new(options).await.expect("sound options");
    Transport::start(Arc::new(dialer), Flow::default()).await.expect("a port")
}

/// One request of the kinds that the program makes.
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

/// Asks so often; gives how many answers were told by a sentence of the transport's own.
async fn ask_often(number: usize, times: usize) -> usize {
    let address = fake(Next::default(), number as u64).await;
    let options = options(address, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let report = transport.status();
    let (mut client, mut sentences) = (None::<Client>, 0);
    for kind in 0..times {
        if client.as_ref().is_none_or(|client| client.state().is_terminated()) {
            client = Some(connect_through(&transport, &options).await.expect("handshakes are right"));
        }
        let client = client.as_ref().expect("there is one");
        let mut states = client.state_watcher();
        let asked = timeout(PATIENCE, ask(client, kind + number)).await;
        let answer = asked.unwrap_or_else(|_| panic!("request {kind} of client {number} was never answered"));
        if let (Err(Error::ConnectionLoss), Some(sentence)) = (&answer, report.broken()) {
            assert!(sentence.starts_with(&address.to_string()) && !sentence.contains('\n'), "{sentence}");
            sentences += 1;
        }
        let connected = async {
            while states.peek_state() == zookeeper_client::SessionState::Disconnected {
                states.changed().await;
            }
        };
        timeout(PATIENCE, connected).await.expect("the library goes on");
    }
    sentences
}

/// What a server says in place of an answer to the handshake.
async fn greet_badly(number: u64) {
    let mut chance = fastrand::Rng::with_seed(number);
    let answer = handshake::Answer { timeout: 10_000, session: 9, password: vec![1; 16], read_only: Some(false) };
    let mut said = answer.write(&[1; 16]);
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

/// Frames that do not end, and such as end wrongly after much.
async fn flood() {
    let next = Next::default();
    let address = fake(Arc::clone(&next), 1).await;
    let options = options(address, Duration::from_secs(10));
    let transport = transport_to(&options).await;
    let client = connect_through(&transport, &options).await.expect("a session");
    let much = 48_u32 << 20;
    let mut head = frame(1, 0, &[]);
    // The library's first request after its heartbeat bears number 1.
    head[..4].copy_from_slice(&(much + 16 + 4 + 60).to_be_bytes());
    head.extend(much.to_be_bytes());
    let mut parts = vec![head];
    parts.extend(std::iter::repeat_n(vec![0; 1 << 20], 48));
    *next.lock().expect("not poisoned") = Some(Said { parts, closes: false });
    let answer = timeout(PATIENCE, client.get_data("/a")).await.expect("in time");
    assert_eq!(answer.err(), Some(Error::ConnectionLoss));
    let sentence = transport.status().broken().expect("a sentence");
    assert!(sentence.contains("cut a reply short"), "{sentence}");
}

/// A connection of this process that says nothing more after its handshake.
async fn silent_client(transport: &Transport) -> TcpStream {
    let password = *transport.secret.bytes();
    let asked = handshake::Asked { last_zxid: 0, timeout: 10_000, session: 1, password, read_only: false };
    let mut stream = TcpStream::connect(transport.address()).await.expect("the port is open");
    stream.write_all(&asked.write(&password)).await.expect("it is read");
    read_frame(&mut stream).await.expect("a session");
    stream
}

#[tokio::test]
async fn an_end_of_the_librarys_own_task_is_told_as_what_it_is() {
    let options = options(fake(Next::default(), 1).await, Duration::from_secs(10));
    // A client that takes itself for connected, behind a connection that is not its own.
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
    let asked = handshake::Asked { last_zxid: 0, timeout: 10_000, session: 1, password: [7; 16], read_only: false };
    stranger.write_all(&asked.write(&[7; 16])).await.expect("it is read");
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
async fn after_a_cut_nothing_passes_even_when_it_is_mended_at_once() {
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
    let mut sentences = 0;
    for asked in futures::future::join_all(asking).await {
        sentences += asked.expect("no panic");
    }
    for numbers in (0..HANDSHAKES as u64).collect::<Vec<_>>().chunks(CLIENTS) {
        let greeted = numbers.iter().map(|number| tokio::spawn(greet_badly(*number)));
        for greeted in futures::future::join_all(greeted).await {
            greeted.expect("no panic");
        }
    }
    let peak = peak_memory();
    println!("{ANSWERS} answers and {HANDSHAKES} handshakes: {sentences} told by a sentence, {peak} KiB at most");
    assert!(sentences > ANSWERS / 2, "{sentences}");
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
        .expect("it starts");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    println!("{out}");
    assert!(run.status.success() && !err.contains("panicked"), "{out}\n{err}");
}
