//! An entry as it stands in the file. New kinds are added at the end: their place is their number in the file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::name::NamePattern;
use lockscope_base::znode::{Node, SessionId};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{ServerView, SessionTiming};

/// One entry: what the segment has named before is a number.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredEntry<'a> {
    /// A change that is rare: all of it.
    Change(Cow<'a, Change>),
    /// [`Entry::Examined`](super::Entry::Examined).
    Examined,
    /// [`Change::Seen`].
    Seen { path: StoredPath<'a>, node: StoredNode<'a> },
    /// [`Change::Appeared`].
    Appeared { path: StoredPath<'a> },
    /// [`Change::Deleted`], with the difference to the last transaction.
    Deleted { path: StoredPath<'a>, zxid: Option<i64> },
    /// [`Entry::FindingsForgotten`](super::Entry::FindingsForgotten).
    FindingsForgotten,
    /// [`Change::Surveyed`], with what its view is stored without. Before format 3 it stood among the rare changes.
    Surveyed { view: Cow<'a, ServerView>, timings: Vec<SessionTiming> },
}

/// What was named before, or is named here for the first time.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredName<T> {
    Known(u32),
    New(T),
}

/// The path of a node.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredPath<'a> {
    /// One that was named, and not deleted since.
    Known(u32),
    /// A name below a parent. Its id, if it has one, lies with the other ids.
    New {
        parent: StoredName<Cow<'a, str>>,
        pattern: StoredName<NamePattern>,
        /// The difference to the last number below that parent.
        number: Option<i64>,
    },
}

/// A node as a read found it.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredNode<'a> {
    /// One to which nothing happened since it was created.
    Fresh {
        /// The difference to the last transaction.
        zxid: i64,
        /// When it was created: so many milliseconds before the entry.
        created_before: i64,
        owner: StoredName<Option<SessionId>>,
        /// What was kept of its data, and how long all of it is; `None`: as of the last node with this owner.
        data: Option<(Cow<'a, [u8]>, i32)>,
    },
    /// Any other.
    Any(Cow<'a, Node>),
}
