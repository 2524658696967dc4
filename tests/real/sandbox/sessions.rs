//! Sessions: their timeouts, resuming with a password, closing and expiring.

use std::io::{Read, Write};

use super::pair::{same, same_aside};
use super::side::Side;
use crate::harness::raw::{Jute, Raw, Request as R, open};
use crate::harness::wait::eventually_blocking;

/// Resumes a session on a new connection, and reports the result.
fn resume(side: &mut Side, session: i64, password: &[u8], zxid: i64, timeout: i32) -> Option<Raw> {
    match Raw::resume(side.port, timeout, session, password, zxid) {
        Err(_) => {
            side.note("closed without a word");
            None
        }
        Ok(raw) => {
            let same = raw.greeting.session == session;
            let known = raw.greeting.password == password;
            side.note(format!("timeout {} same session {same} same password {known}", raw.greeting.timeout));
            Some(raw)
        }
    }
}

#[test]
fn timeouts_are_kept_within_bounds() {
    same(0, |side| {
        for timeout in [-1, 0, 1, 399, 400, 401, 60_000, 60_001, i32::MAX] {
            side.connect(timeout);
        }
    });
}

#[test]
fn a_session_resumes_only_with_its_password() {
    same(2, |side| {
        side.ask_all(0, &[R::create("/s", 0), R::create("/s/a", 1), R::get_data("/s", true)]);
        let greeting = side.raw(0).greeting.clone();
        let zxid = side.raw(0).zxid();
        let again = resume(side, greeting.session, &greeting.password, zxid, 5000);
        // The previous connection is closed.
        let more = side.raw(0).receive().map(|frame| frame.xid);
        side.note(format!("{more:?}"));
        side.sessions[0] = again;
        side.ask_all(0, &[R::get_ephemerals("/"), R::create("/s/b", 1), R::set_data("/s", None, -1)]);
        side.events(0);
        // A wrong password also closes the existing connection.
        let refused = resume(side, greeting.session, &[7; 16], 0, 5000).and_then(|mut raw| raw.receive());
        side.note(format!("{refused:?}"));
        let more = side.raw(0).receive().map(|frame| frame.xid);
        side.note(format!("{more:?}"));
        side.sessions[0] = resume(side, greeting.session, &greeting.password, 0, 100_000);
        side.ask(0, &R::get_ephemerals("/"));
        // A client that has seen a higher zxid belongs to another ensemble.
        side.sessions[0] = None;
        resume(side, greeting.session, &greeting.password, i64::MAX, 5000);
        resume(side, greeting.session + 1000, &greeting.password, 0, 5000);
        side.sessions[0] = resume(side, greeting.session, &greeting.password, 0, 5000);
        side.ask(0, &R::close());
        side.sessions[0] = None;
        resume(side, greeting.session, &greeting.password, 0, 5000);
        side.ask(1, &R::get_children2("/s", false));
        side.zxid(1);
    });
}

#[test]
fn a_silent_session_expires_and_its_nodes_go() {
    same(1, |side| {
        side.ask_all(0, &[R::create("/s", 0), R::get_children("/s", true)]);
        let silent = side.connect(600);
        side.ask_all(silent, &[R::create("/s/a", 1), R::create("/s/b", 3), R::create("/s/c", 0)]);
        side.events(0);
        side.ask(0, &R::get_children("/s", true));
        eventually_blocking("the end of the session", || {
            let left = side.raw(0).ask(&R { xid: Some(0), ..R::exists("/s/a", false) }).pop().expect("a reply");
            if left.error == -101 { Ok(()) } else { Err(left) }
        });
        let end = side.raw(silent).receive();
        side.note(format!("{end:?}"));
        let greeting = side.raw(silent).greeting.clone();
        side.sessions[silent] = None;
        resume(side, greeting.session, &greeting.password, 0, 5000);
        side.ask_all(0, &[R::get_children2("/s", false), R::delete("/s/c", -1), R::delete("/s", -1)]);
    });
}

#[test]
fn handshakes_of_every_shape_are_answered_alike() {
    let whole = |more: &[u8]| {
        let mut body = Vec::new();
        body.put_int(0).put_long(0).put_int(5000).put_long(0).put_buffer(Some(&[0; 16])).extend(more);
        body
    };
    let bodies =
        [whole(&[]), whole(&[0]), whole(&[1]), whole(&[0, 1, 2]), whole(&[])[..20].to_vec(), Vec::new(), vec![0; 24]];
    same_aside(0, |side| {
        for body in &bodies {
            let mut stream = open(side.port).expect("a connection");
            let mut frame = Vec::new();
            frame.put_buffer(Some(body));
            stream.write_all(&frame).expect("a sent handshake");
            let mut length = [0; 4];
            let read = stream.read_exact(&mut length).map(|()| i32::from_be_bytes(length));
            side.note(format!("{} bytes: {:?}", body.len(), read.map_err(|error| error.kind())));
        }
    });
}
