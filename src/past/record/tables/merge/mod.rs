//! Completes the tables of a recording with those of a recording made from transaction logs.
//!
//! All of it happens in one transaction of the caller. Rows are read in batches, so memory does not
//! grow with either recording. Completing twice with the same logs changes nothing the second time.

mod contenders;
mod gaps;
mod order;
mod others;
mod rule;

pub(in crate::record) use super::attempt::complete as complete_attempts;
pub(in crate::record) use super::ensemble::complete as complete_ensemble;
pub(in crate::record) use contenders::{ContenderMerge, read_rows};
pub(in crate::record) use gaps::{add_gaps, reduce_gaps};
pub(in crate::record) use others::{
    add_activity, add_findings, add_runs, close_findings, complete_sessions, prove_ends,
};
