//! Dispatches each request to the family that answers it.

use super::{CloseReason, Machine, read};
use crate::config::Behaviour;
use crate::wire::{Word, Write};
use lockscope_base::wire::{ErrorCode, NO_ZXID, PING_XID, Reader, RequestHead, Writer, op, refusal, reply};

/// The requests of ZooKeeper that Keeper does not know.
const UNKNOWN_TO_KEEPER: [i32; 4] = [op::SASL, op::GET_EPHEMERALS, op::GET_ALL_CHILDREN_NUMBER, op::WHO_AM_I];

/// The requests of `ZooKeeper` that came with 3.6, and `whoAmI` of 3.7.
const UNKNOWN_TO_3_5: [i32; 6] =
    [op::ADD_WATCH, op::SET_WATCHES2, op::MULTI_READ, op::GET_EPHEMERALS, op::GET_ALL_CHILDREN_NUMBER, op::WHO_AM_I];

impl Behaviour {
    /// Returns the requests that this server does not know, of those that the sandbox knows.
    fn unknown_requests(self) -> &'static [i32] {
        match self {
            Self::ZooKeeper => &[],
            Self::ZooKeeper35 => &UNKNOWN_TO_3_5,
            Self::Keeper => &UNKNOWN_TO_KEEPER,
        }
    }
}

impl Machine {
    /// Answers a four-letter word and closes the connection. As on a real server, nothing more is
    /// read from it.
    pub(super) fn answer(&mut self, id: usize, word: Word, received: usize, now: i64) -> usize {
        self.received += 1;
        if let Some(connection) = self.connections.get_mut(id) {
            connection.traffic.received += 1;
        }
        self.end(id, CloseReason::Word);
        let answer = self.answer_to(word, now, self.options.max_unread);
        self.sent += 1;
        if let Some(connection) = self.connections.get_mut(id) {
            match answer {
                Some(text) => connection.out.extend_from_slice(text.as_bytes()),
                None => connection.end = Some(CloseReason::LongAnswer),
            }
        }
        self.recount_output(id);
        received
    }

    pub(super) fn frame(&mut self, id: usize, frame: &[u8], now: i64) {
        self.received += 1;
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.traffic.received += 1;
        let Some((session, timeout)) = connection.session else { return self.handshake(id, frame, now) };
        self.sessions.touch(session, timeout, now);
        let mut from = Reader::new(frame);
        match RequestHead::read(&mut from) {
            Ok(header) => self.dispatch(id, header, from, now),
            Err(_) => self.end(id, CloseReason::NoHeader),
        }
    }

    pub(super) fn dispatch(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>, now: i64) {
        let name = name(header.op);
        match header.op {
            op if self.options.behaviour.unknown_requests().contains(&op) => return self.unknown(id, header),
            // Whatever number the heartbeat bore.
            op::PING => self.reply(id, PING_XID, |_| {}),
            op::AUTH => return self.auth(id, header.xid, from),
            // A server without SASL answers with an empty token.
            op::SASL => return self.push(id, |out| reply(out, header.xid, 0, |out| out.put_buffer(None))),
            op::CLOSE_SESSION => self.close_session(id, header.xid),
            op::MULTI => self.multi(id, header.xid, from, now),
            op::SET_WATCHES | op::SET_WATCHES2 => self.set_watches(id, header, from),
            op::ADD_WATCH => self.add_watch(id, header.xid, from),
            op::CHECK_WATCHES | op::REMOVE_WATCHES => self.take_watches(id, header, from),
            op::RECONFIG => self.never(id, header.xid, ErrorCode::ReconfigDisabled),
            // Only servers send it, to delete containers. They reject it from a client.
            op::DELETE_CONTAINER => self.never(id, header.xid, ErrorCode::BadArguments),
            op if Write::is(op) => {
                let write = Write::read(op, &mut from);
                self.write(id, header, write, now);
            }
            op if read::is_known(op) => self.read(id, header, from),
            _ => return self.unknown(id, header),
        }
        self.latency.add(0);
        let zxid = self.zxid;
        if let Some(connection) = self.connections.get_mut(id) {
            let traffic = &mut connection.traffic;
            (traffic.last, traffic.last_xid, traffic.last_zxid, traffic.last_response) = (name, header.xid, zxid, now);
            traffic.latency.add(0);
        }
    }

    fn unknown(&mut self, id: usize, header: RequestHead) {
        self.push(id, |out| refusal(out, header.xid, NO_ZXID, ErrorCode::Unimplemented));
        self.end(id, CloseReason::UnknownOperation(header.op));
    }

    /// Refuses a change that no client may make. It still takes a zxid.
    pub(super) fn never(&mut self, id: usize, xid: i32, code: ErrorCode) {
        self.zxid += 1;
        self.refuse(id, xid, code);
    }
}

/// Returns an operation's short name in `cons`.
fn name(op: i32) -> &'static str {
    match op {
        op::PING => "PING",
        op::CREATE | op::CREATE2 | op::CREATE_TTL | op::CREATE_CONTAINER => "CREA",
        op::DELETE | op::DELETE_CONTAINER => "DELE",
        op::EXISTS => "EXIS",
        op::GET_DATA => "GETD",
        op::SET_DATA => "SETD",
        op::GET_ACL => "GETA",
        op::SET_ACL => "SETA",
        op::GET_CHILDREN | op::GET_CHILDREN2 => "GETC",
        op::GET_ALL_CHILDREN_NUMBER => "GETACN",
        op::GET_EPHEMERALS => "GETE",
        op::SYNC => "SYNC",
        op::CHECK => "CHEC",
        op::MULTI => "MULT",
        op::MULTI_READ => "MLTR",
        op::SET_WATCHES => "SETW",
        op::SET_WATCHES2 => "STW2",
        op::ADD_WATCH => "ADDW",
        op::CHECK_WATCHES => "CHKW",
        op::REMOVE_WATCHES => "REMW",
        op::WHO_AM_I => "HOMI",
        op::CLOSE_SESSION => "CLOS",
        _ => "NA",
    }
}
