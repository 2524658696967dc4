//! The nodes that could not be read, as JSON.

use std::collections::BTreeMap;

use serde::ser::{Serialize, Serializer};

use lockscope_base::znode::ZnodePath;

/// The nodes that could not be read, with the reasons.
pub(super) struct Unreadable<'a>(pub &'a BTreeMap<ZnodePath, String>);

#[derive(serde::Serialize)]
struct UnreadableNode<'a> {
    path: &'a str,
    reason: &'a str,
}

impl Serialize for Unreadable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(path, reason)| UnreadableNode { path: path.as_str(), reason }))
    }
}
