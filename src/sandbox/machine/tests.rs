//! Tests of the machine: frames in, frames out.

mod bounds;
mod old_server;

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::tree::{anyone, permission};
use crate::wire::NodeWriter;
use lockscope_base::wire::{ConnectRequest, ErrorCode, Reader, Writer, frame, op};

const NOW: i64 = 1_714_574_467_250;

fn machine() -> Machine {
    Machine::new(SandboxConfig { sweep: Duration::from_secs(1), ..SandboxConfig::default() }, [7; PASSWORD_BYTES], NOW)
}

fn open(machine: &mut Machine) -> usize {
    machine.open("127.0.0.1:40000".parse().unwrap(), NOW).unwrap()
}

fn handshake(timeout: i32) -> Vec<u8> {
    let password = vec![0; PASSWORD_BYTES];
    ConnectRequest { last_zxid: 0, timeout, session: 0, password, read_only: Some(false) }.to_frame()
}

fn request(xid: i32, op: i32, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    frame(&mut out, |out| {
        out.put_int(xid);
        out.put_int(op);
        body(out);
    });
    out
}

fn create(xid: i32, path: &str, flags: i32) -> Vec<u8> {
    request(xid, op::CREATE, |out| {
        out.put_text(path);
        out.put_buffer(None);
        out.put_acls(&anyone(permission::ALL));
        out.put_int(flags);
    })
}

fn list(xid: i32, path: &str, watch: bool) -> Vec<u8> {
    request(xid, op::GET_CHILDREN, |out| {
        out.put_text(path);
        out.put_bool(watch);
    })
}

/// Sends all bytes and returns all output.
fn send(machine: &mut Machine, id: usize, bytes: &[u8], now: i64) -> (Vec<u8>, Option<CloseReason>) {
    let (mut sent, mut buffer, mut rest) = (Vec::new(), Vec::new(), bytes);
    loop {
        let done = machine.receive(id, rest, now);
        rest = &rest[done..];
        let end = machine.take_output(id, &mut buffer);
        sent.extend_from_slice(&buffer);
        if end.is_some() || !machine.has_frame(rest) {
            return (sent, end);
        }
    }
}

/// Returns the xid and the error code of each frame.
fn outcomes(mut sent: &[u8]) -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    while let Cut::Frame(length) = cut(sent, usize::MAX) {
        let mut from = Reader::new(&sent[LENGTH_BYTES..]);
        found.push((from.int().unwrap(), from.long().and_then(|_| from.int()).unwrap()));
        sent = &sent[LENGTH_BYTES + length..];
    }
    found
}

fn session(machine: &mut Machine, timeout: i32) -> usize {
    let id = open(machine);
    let (greeting, end) = send(machine, id, &handshake(timeout), NOW);
    assert_eq!((greeting.len(), end), (4 + 37, None));
    id
}

#[test]
fn many_requests_at_once_are_answered_in_order_and_in_turns() {
    let mut machine = machine();
    let id = session(&mut machine, 5000);
    let all: Vec<u8> = (0..200).flat_map(|n| create(n, &format!("/n{n}"), 0)).collect();
    let first = machine.receive(id, &all, NOW);
    assert!(first > 0 && first < all.len(), "others have their turn");
    let (sent, _) = send(&mut machine, id, &all[first..], NOW);
    assert_eq!(outcomes(&sent), (0..200).map(|n| (n, 0)).collect::<Vec<_>>());
}

#[test]
fn a_silent_session_expires_at_the_tick_after_its_timeout_with_its_nodes_and_connection() {
    let mut machine = machine();
    let (silent, other) = (session(&mut machine, 1000), session(&mut machine, 60_000));
    send(&mut machine, silent, &create(1, "/mine", 1), NOW + 500);
    send(&mut machine, other, &list(1, "/", true), NOW + 500);
    let end = machine.next_tick();
    machine.tick(end.min(NOW + 1000));
    assert!(machine.tree.node("/mine").is_ok(), "it has been heard of since");
    while machine.next_tick() <= NOW + 1600 {
        let next = machine.next_tick();
        machine.tick(next);
    }
    assert_eq!(machine.tree.node("/mine").unwrap_err(), ErrorCode::NoNode);
    let mut woken = Vec::new();
    machine.ready(&mut woken);
    assert!(woken.contains(&silent) && woken.contains(&other), "{woken:?}");
    let mut sent = Vec::new();
    assert_eq!(machine.take_output(silent, &mut sent), Some(CloseReason::Expired));
    assert_eq!(machine.take_output(other, &mut sent), None);
    assert_eq!(outcomes(&sent), [(-1, 0)]);
}

#[test]
fn a_lost_connection_leaves_the_session_but_not_its_watches() {
    let mut machine = machine();
    let id = session(&mut machine, 1000);
    send(&mut machine, id, &[create(1, "/mine", 1), list(2, "/", true)].concat(), NOW);
    machine.forget(id);
    assert_eq!((machine.watches.len(), machine.sessions.len()), (0, 1));
    assert!(machine.tree.node("/mine").is_ok());
}

#[test]
fn a_client_that_does_not_read_is_disconnected_at_the_bound() {
    let mut machine =
        Machine::new(SandboxConfig { max_unread: 1000, ..SandboxConfig::default() }, [7; PASSWORD_BYTES], NOW);
    let (unread, other) = (session(&mut machine, 5000), session(&mut machine, 5000));
    let watch = request(1, op::ADD_WATCH, |out| {
        out.put_text("/");
        out.put_int(1);
    });
    send(&mut machine, unread, &watch, NOW);
    for n in 0..50 {
        send(&mut machine, other, &create(n, &format!("/n{n}"), 0), NOW);
    }
    let mut buffer = Vec::new();
    assert_eq!(machine.take_output(unread, &mut buffer), Some(CloseReason::Unread));
    assert!(buffer.is_empty());
}

/// Generates bytes that resemble a client's: valid, truncated or corrupt.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![
        vec(any::<u8>(), 0..30),
        "(/[ab]){0,3}".prop_map(|path| {
            let mut body = Vec::new();
            body.put_text(&path);
            body.extend([0, 0, 0, 0, 0, 0, 0, 1]);
            body
        }),
    ];
    let known = (-12..24_i32, body).prop_map(|(op, body)| request(1, op, |out| out.extend_from_slice(&body)));
    let made = (0..7, "(/[ab]){1,2}").prop_map(|(flags, path)| create(1, &path, flags));
    prop_oneof![2 => known, 4 => made, 1 => vec(any::<u8>(), 0..20)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_client_sends_is_answered_alike_however_it_is_cut(inputs in vec(input(), 0..20), cuts in vec(1..50_usize, 1..40)) {
        let bytes = [vec![handshake(5000)], inputs].concat().concat();
        let (mut whole, mut parts) = (machine(), machine());
        let (one, other) = (open(&mut whole), open(&mut parts));
        let (at_once, end) = send(&mut whole, one, &bytes, NOW);
        let (mut sent, mut waiting, mut ended, mut at) = (Vec::new(), Vec::new(), None, 0);
        for cut in cuts.into_iter().cycle() {
            if at >= bytes.len() || ended.is_some() {
                break;
            }
            let next = bytes.len().min(at + cut);
            waiting.extend_from_slice(&bytes[at..next]);
            at = next;
            while parts.has_frame(&waiting) && ended.is_none() {
                let done = parts.receive(other, &waiting, NOW);
                waiting.drain(..done);
                let mut buffer = Vec::new();
                ended = parts.take_output(other, &mut buffer);
                sent.extend(buffer);
            }
        }
        prop_assert_eq!(&at_once, &sent);
        prop_assert_eq!(end, ended);
        prop_assert_eq!(whole.zxid, parts.zxid);
    }
}
