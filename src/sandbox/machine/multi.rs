//! Multi requests: transactions, and several reads in one request.

use super::Machine;
use crate::tree::Change;
use crate::wire::{Create, NodeWriter, Write, multi};
use lockscope_base::wire::{ErrorCode, Reader, Writer, op};

impl Machine {
    /// Applies several changes as one transaction with one zxid: all of them, or none.
    pub(super) fn multi(&mut self, id: usize, xid: i32, mut from: Reader<'_>, now: i64) {
        self.zxid += 1;
        let Ok(writes) = multi(&mut from, Write::read_of_multi) else {
            return self.refuse(id, xid, ErrorCode::MarshallingError);
        };
        let mut changes = Vec::with_capacity(writes.len());
        let mut undos = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            match self.apply(id, write, now) {
                Ok((change, undo)) => {
                    changes.push(change);
                    undos.push(undo);
                }
                Err(code) => {
                    while let Some(undo) = undos.pop() {
                        self.tree.undo(undo);
                    }
                    return match code {
                        ErrorCode::MarshallingError => self.refuse(id, xid, code),
                        _ => self.reply(id, xid, |out| failed(out, writes.len(), index, code)),
                    };
                }
            }
        }
        for change in &changes {
            self.notify(change);
        }
        self.reply(id, xid, |out| {
            for (write, change) in writes.iter().zip(&changes) {
                result(out, write, change);
            }
            end(out);
        });
    }
}

/// Appends the header that precedes each result of a multi.
fn header(out: &mut Vec<u8>, op: i32, done: bool, error: i32) {
    out.put_int(op);
    out.put_bool(done);
    out.put_int(error);
}

/// Appends the header that ends the results of a multi.
pub(super) fn end(out: &mut Vec<u8>) {
    header(out, op::ERROR, true, -1);
}

/// Appends the header of a successful result; its body follows.
pub(super) fn good(out: &mut Vec<u8>, op: i32) {
    header(out, op, false, 0);
}

/// Appends a failed result.
pub(super) fn bad(out: &mut Vec<u8>, error: i32) {
    header(out, op::ERROR, false, error);
    out.put_int(error);
}

/// Appends the result of a change. A result with both a path and a stat has the type `create2`.
fn result(out: &mut Vec<u8>, write: &Write<'_>, change: &Change) {
    match (write, change) {
        (Write::Create(Create { op: op::CREATE, .. }), Change::Created { path, .. }) => {
            good(out, op::CREATE);
            out.put_text(path);
        }
        (_, Change::Created { path, stat, .. }) => {
            good(out, op::CREATE2);
            out.put_text(path);
            out.put_stat(stat);
        }
        (_, Change::DataChanged { stat, .. } | Change::AclChanged { stat }) => {
            good(out, op::SET_DATA);
            out.put_stat(stat);
        }
        (_, Change::Deleted { .. }) => good(out, op::DELETE),
        (_, Change::Checked { .. }) => good(out, op::CHECK),
    }
}

/// Appends the `count` results of a multi whose operation `refused` failed. Those before it have
/// the code 0; those after it were not tried.
fn failed(out: &mut Vec<u8>, count: usize, refused: usize, code: ErrorCode) {
    for index in 0..count {
        bad(
            out,
            match index.cmp(&refused) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => code.number(),
                std::cmp::Ordering::Greater => ErrorCode::RuntimeInconsistency.number(),
            },
        );
    }
    end(out);
}
