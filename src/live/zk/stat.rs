//! Converts the client library's stat.

use zookeeper_client::Stat;

use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

/// The client library's stat as this crate's type.
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
