//! Tests of the bounds on memory and time.

use super::*;
use crate::tree::{Id, NodeAcl};

fn with(options: SandboxConfig) -> Machine {
    Machine::new(options, [7; PASSWORD_BYTES], NOW)
}

/// Sends bytes without taking the output: the client does not read.
fn push(machine: &mut Machine, id: usize, bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let done = machine.receive(id, rest, NOW);
        rest = &rest[done..];
        if done == 0 || rest.is_empty() {
            return;
        }
    }
}

fn data(xid: i32, path: &str, data: &[u8]) -> Vec<u8> {
    request(xid, op::SET_DATA, |out| {
        out.put_text(path);
        out.put_buffer(Some(data));
        out.put_int(-1);
    })
}

fn read(xid: i32, path: &str) -> Vec<u8> {
    request(xid, op::GET_DATA, |out| {
        out.put_text(path);
        out.put_bool(false);
    })
}

fn watch(xid: i32, path: &str) -> Vec<u8> {
    request(xid, op::ADD_WATCH, |out| {
        out.put_text(path);
        out.put_int(1);
    })
}

fn set_acl(path: &str, acls: &[NodeAcl]) -> Vec<u8> {
    request(1, op::SET_ACL, |out| {
        out.put_text(path);
        out.put_acls(acls);
        out.put_int(-1);
    })
}

/// Returns the sum of the connections' memory, counted from scratch.
fn sum(machine: &Machine) -> usize {
    machine.connections.iter().map(|(_, connection)| connection.counted).sum()
}

#[test]
fn acls_are_refused_when_memory_is_used_up_and_when_they_are_too_many() {
    let mut machine = with(SandboxConfig { max_memory: 200_000, ..SandboxConfig::default() });
    let id = session(&mut machine, 5000);
    let user = |n: usize, length: usize| NodeAcl {
        permissions: 31,
        id: Id::new("digest", &format!("{n}:{}", "x".repeat(length))),
    };
    let users = |count: usize, length| {
        (0..count).map(|n| user(n, length)).chain(anyone(31).iter().cloned()).collect::<Vec<_>>()
    };
    let mut error = |bytes: &[u8]| outcomes(&send(&mut machine, id, bytes, NOW).0)[0].1;
    assert_eq!(error(&create(1, "/a", 0)), 0);
    assert_eq!(error(&set_acl("/a", &users(100, 1000))), 0);
    assert_eq!(error(&create(1, "/b", 0)), 0);
    assert_eq!(error(&set_acl("/b", &users(100, 1000))), ErrorCode::QuotaExceeded.number());
    assert_eq!(error(&set_acl("/a", &users(1, 10))), 0, "what takes less is taken");
    assert_eq!(error(&set_acl("/b", &users(100, 1000))), 0);
    assert_eq!(error(&set_acl("/a", &users(10_000, 4))), ErrorCode::QuotaExceeded.number());
    assert!(machine.memory() <= 200_000);
}

#[test]
fn requests_of_a_client_that_does_not_read_stop_after_one_batch() {
    let mut machine = machine();
    let id = session(&mut machine, 5000);
    send(&mut machine, id, &[create(1, "/big", 0), data(2, "/big", &vec![7; 100_000])].concat(), NOW);
    let reads: Vec<u8> = (0..1000).flat_map(|n| read(n, "/big")).collect();
    push(&mut machine, id, &reads);
    let waiting = machine.connections[id].out.len();
    assert!(waiting <= MAX_OUTPUT_A_TURN + 101_000, "{waiting}");
    assert_eq!(machine.buffered(), sum(&machine));
    assert!(machine.buffered() >= waiting, "it counts, and so do the requests that wait");
}

#[test]
fn the_largest_connections_close_first_when_all_together_exceed_the_bound() {
    let options = SandboxConfig { max_buffered: 1_000_000, max_unread: 400_000, ..SandboxConfig::default() };
    let mut machine = with(options);
    let (writer, quiet) = (session(&mut machine, 5000), session(&mut machine, 5000));
    let unread: Vec<usize> = (0..20).map(|_| session(&mut machine, 5000)).collect();
    for id in &unread {
        send(&mut machine, *id, &watch(1, "/"), NOW);
    }
    let long = format!("/{}", "n".repeat(9_000));
    send(&mut machine, writer, &create(1, &long, 0), NOW);
    // The first client already has more unread output than the others.
    push(&mut machine, unread[0], &(0..20).flat_map(|n| list(n, "/", false)).collect::<Vec<_>>());
    for n in 0..100 {
        let (replies, end) = send(&mut machine, writer, &data(n, &long, b"x"), NOW);
        assert_eq!((outcomes(&replies), end), (vec![(n, 0)], None), "who reads goes on");
        assert!(machine.buffered() <= 1_000_000, "{}", machine.buffered());
        assert_eq!(machine.buffered(), sum(&machine));
    }
    let ended = |id: &usize| machine.connections[*id].end;
    assert_eq!(ended(&unread[0]), Some(CloseReason::Crowded));
    assert_eq!((ended(&writer), ended(&quiet)), (None, None));
    for id in unread.into_iter().chain([writer, quiet]) {
        machine.forget(id);
    }
    assert_eq!(machine.buffered(), 0);
}

#[test]
fn output_in_flight_and_partial_frames_count_as_memory_until_done() {
    let mut machine = machine();
    let id = session(&mut machine, 5000);
    let before = machine.buffered();
    send(&mut machine, id, &[create(1, "/big", 0), data(2, "/big", &vec![7; 100_000])].concat(), NOW);
    machine.receive(id, &read(3, "/big"), NOW);
    let mut buffer = Vec::new();
    machine.take_output(id, &mut buffer);
    assert!(machine.buffered() >= before + 100_000);
    machine.sent(id);
    assert!(machine.buffered() <= before);
    let half = &data(4, "/big", &vec![7; 100_000])[..90_000];
    assert_eq!(machine.receive(id, half, NOW), 0);
    assert!(machine.buffered() >= 90_000);
    machine.forget(id);
    assert_eq!(machine.buffered(), 0);
}

#[test]
fn identities_count_as_memory() {
    let mut machine = machine();
    let id = session(&mut machine, 5000);
    let before = machine.buffered();
    for n in 0..10 {
        let auth = request(-4, op::AUTH, |out| {
            out.put_int(0);
            out.put_text("digest");
            out.put_buffer(Some(format!("{}{n}:x", "u".repeat(50_000)).as_bytes()));
        });
        send(&mut machine, id, &auth, NOW);
    }
    assert!(machine.buffered() >= before + 500_000);
}

#[test]
fn the_answer_to_a_four_letter_word_is_bounded() {
    let mut machine = with(SandboxConfig { max_unread: 10_000, ..SandboxConfig::default() });
    let id = session(&mut machine, 5000);
    for n in 0..30 {
        send(&mut machine, id, &watch(n, &format!("/{n}{}", "w".repeat(1000))), NOW);
    }
    for (word, end) in [
        (b"wchp", CloseReason::LongAnswer),
        (b"wchc", CloseReason::LongAnswer),
        (b"wchs", CloseReason::Word),
        (b"stat", CloseReason::Word),
    ] {
        let asks = open(&mut machine);
        let (answer, ended) = send(&mut machine, asks, word, NOW);
        assert_eq!((ended, answer.is_empty()), (Some(end), end == CloseReason::LongAnswer), "{word:?}");
        machine.forget(asks);
    }
}

#[test]
fn a_connection_without_a_session_is_closed_at_the_handshake_timeout() {
    let mut machine = with(SandboxConfig { handshake_timeout: Duration::from_secs(2), ..SandboxConfig::default() });
    let (silent, half, done) = (open(&mut machine), open(&mut machine), session(&mut machine, 5000));
    machine.receive(half, &handshake(5000)[..20], NOW);
    // A later connection reuses the number of this one.
    let gone = open(&mut machine);
    machine.forget(gone);
    assert!(machine.next_tick() <= NOW + 2000);
    machine.tick(NOW + 1999);
    assert_eq!(machine.connections[silent].end, None);
    let late = machine.open("127.0.0.1:40000".parse().unwrap(), NOW + 1999).unwrap();
    assert_eq!(late, gone);
    machine.tick(NOW + 2000);
    let ends = [silent, half, done, late].map(|id| machine.connections[id].end);
    assert_eq!(ends, [Some(CloseReason::Silent), Some(CloseReason::Silent), None, None]);
    machine.tick(NOW + 4000);
    assert_eq!(machine.connections[late].end, Some(CloseReason::Silent));
}
