//! Deletes rows by age, together with their segments.

use rusqlite::{Transaction, params};

use lockscope_base::znode::Timestamp;

/// Deletes the rows of everything that ended before `time`; open rows stay. Afterwards
/// [`TableWriter::start_over`](super::TableWriter::start_over) must be called. Linear in the
/// deleted rows, and in the locks and clients of the file.
pub fn forget_before(transaction: &Transaction<'_>, time: Timestamp) -> rusqlite::Result<()> {
    let ended = [
        "DELETE FROM contender WHERE ifnull(ended_before, 9223372036854775807) < ?1",
        "DELETE FROM finding WHERE ifnull(cleared_at, 9223372036854775807) < ?1",
        "DELETE FROM gap WHERE ended_at < ?1",
        "DELETE FROM ensemble_event WHERE ifnull(ended_before, 9223372036854775807) < ?1",
        "DELETE FROM deletion WHERE at < ?1",
        "DELETE FROM attempt WHERE to_at < ?1",
        "DELETE FROM activity WHERE until_at < ?1",
        "DELETE FROM session WHERE last_seen_at < ?1 AND NOT EXISTS (SELECT 1 FROM contender WHERE contender.session = session.session)",
        "DELETE FROM recording WHERE until_at < ?1 AND id < (SELECT max(id) FROM recording)",
    ];
    for statement in ended {
        transaction.execute(statement, params![time.0])?;
    }
    transaction.execute_batch(
        "DELETE FROM lock WHERE NOT EXISTS (SELECT 1 FROM contender WHERE lock_id = lock.id)
            AND lock.id NOT IN (SELECT lock_id FROM finding);
         DELETE FROM client WHERE NOT EXISTS (SELECT 1 FROM contender WHERE client_id = client.id)
            AND client.id NOT IN (SELECT client_id FROM finding WHERE client_id IS NOT NULL)
            AND client.id NOT IN (SELECT client_id FROM session WHERE client_id IS NOT NULL);",
    )
}
