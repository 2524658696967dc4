//! Tests of the [follower](lockscope_model::follow) against a model server, with the reads that the
//! [scheduler](super::schedule) puts together.

mod created;
mod model;
mod unread;
mod walks;

use lockscope_base::znode::ZnodePath;
use lockscope_model::queue::LockTable;

fn curator(number: u32) -> String {
    format!("_c_c3d2e1f0-0000-4000-8000-000000000000-lock-{number:010}")
}

/// Returns the contenders of a table, with the transactions that created them.
fn in_table(table: &LockTable) -> impl Iterator<Item = (ZnodePath, i64)> {
    table
        .locks()
        .flat_map(|lock| lock.rows(0..lock.len()).map(|row| (lock.path_of(row.contender), row.contender.czxid.0)))
}
