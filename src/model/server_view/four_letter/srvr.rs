//! The answer to `srvr`.

use super::{hex, whole_lines};
use crate::server_view::software::KEEPER;
use lockscope_base::znode::Zxid;

/// The answer to `srvr`; `None` for missing values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Srvr {
    /// The server's version, in its own words.
    pub version: Option<String>,
    /// `leader`, `follower`, `observer`, `standalone` or `read-only`.
    pub mode: Option<String>,
    /// The number of connections, our own question included.
    pub connections: Option<u64>,
    /// The last transaction that the server processed.
    pub zxid: Option<Zxid>,
}

/// Reads the answer to `srvr`: lines of a name, a colon and a value.
pub fn srvr(answer: &str) -> Srvr {
    let mut found = Srvr::default();
    for (name, value) in whole_lines(answer).filter_map(|line| line.split_once(": ")) {
        let text = || value.trim().chars().take(200).collect();
        match name {
            "Zookeeper version" => found.version = Some(text()),
            "ClickHouse Keeper version" => found.version = Some(format!("{KEEPER} {}", text())),
            "Mode" => found.mode = Some(text()),
            "Zxid" => found.zxid = hex(value.trim()).filter(|zxid| *zxid >= 0).map(Zxid),
            "Connections" => found.connections = value.trim().parse().ok(),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_answer_contains_version_mode_and_counts() {
        let found = srvr(include_str!("../captures/leader-srvr.txt"));
        assert_eq!(found.mode.as_deref(), Some("leader"));
        assert!(found.version.expect("a version").starts_with("3.8.0"));
        let follower = srvr(include_str!("../captures/follower-srvr.txt"));
        assert_eq!((follower.mode.as_deref(), follower.zxid), (Some("follower"), Some(Zxid(0x1_0000_0023))));
    }
}
