//! The stored form of an entry. New variants are added at the end: their position is their number
//! in the file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::name::NamePattern;
use lockscope_base::znode::{Node, SessionId};
use lockscope_model::queue::{Change, Deleter};
use lockscope_model::server_view::{ServerView, SessionTiming, ViewExtras};

/// One entry, in which known names are numbers.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredEntry<'a> {
    /// A rare change, stored as a whole.
    Change(Cow<'a, Change>),
    /// An [`Entry::Examined`](super::Entry::Examined).
    Examined,
    /// A [`Change::Seen`].
    Seen { path: StoredPath<'a>, node: StoredNode<'a> },
    /// A [`Change::Appeared`].
    Appeared { path: StoredPath<'a> },
    /// A [`Change::Deleted`], with the difference to the last transaction.
    Deleted { path: StoredPath<'a>, zxid: Option<i64> },
    /// An [`Entry::FindingsForgotten`](super::Entry::FindingsForgotten).
    FindingsForgotten,
    /// A [`Change::Surveyed`] before format 6, with the timings that its view is stored without.
    /// Before format 3 it was stored as a rare change.
    Surveyed { view: Cow<'a, ServerView>, timings: Vec<SessionTiming> },
    /// A [`Change::DeletedBy`], with the difference to the last transaction. Since format 4.
    DeletedBy { path: StoredPath<'a>, zxid: i64, by: Deleter },
    /// A [`Change::Surveyed`], with all that its view is stored without. Since format 6.
    SurveyedWith { view: Cow<'a, ServerView>, timings: Vec<SessionTiming>, extras: ViewExtras },
}

/// A known name, or a new one.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredName<T> {
    Known(u32),
    New(T),
}

#[derive(Serialize, Deserialize)]
pub(super) enum StoredPath<'a> {
    /// A path that was named and whose node was not deleted since.
    Known(u32),
    /// A name below a parent. Its id, if any, is stored with the other ids.
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
    /// A node unchanged since its creation.
    Fresh {
        /// The difference to the last transaction.
        zxid: i64,
        /// The time from the creation to the entry, in milliseconds.
        created_before: i64,
        owner: StoredName<Option<SessionId>>,
        /// The kept part of the data and the length of all data; `None` if equal to those of the
        /// owner's last node.
        data: Option<(Cow<'a, [u8]>, i32)>,
    },
    /// Any other node.
    Any(Cow<'a, Node>),
}
