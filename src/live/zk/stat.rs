//! Converts the stat of the client library.

use zookeeper_client::Stat;

use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

/// Converts a stat of the client library to the type of this crate.
pub fn stat_of(stat: &Stat) -> ZnodeStat {
    ZnodeStat {
        czxid: Zxid(stat.czxid),
        mzxid: Zxid(stat.mzxid),
        pzxid: Zxid(stat.pzxid),
        ctime: Timestamp(stat.ctime),
        mtime: Timestamp(stat.mtime),
        version: stat.version,
        cversion: stat.cversion,
        aversion: stat.aversion,
        ephemeral_owner: (stat.ephemeral_owner != 0).then_some(SessionId(stat.ephemeral_owner)),
        data_length: stat.data_length,
        num_children: stat.num_children,
    }
}
