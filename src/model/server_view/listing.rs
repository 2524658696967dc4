//! A server's listing, sorted, with its time and whether it is whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::Timestamp;

/// An item that is found by a key.
pub trait Keyed {
    /// The type of the key.
    type Key: Ord + ?Sized;

    /// Returns the item's key.
    fn key(&self) -> &Self::Key;
}

/// The items that one server listed, sorted by key. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Unsorted<T>", bound = "T: Keyed + Serialize + serde::de::DeserializeOwned")]
pub struct Listing<T: Keyed> {
    items: Arc<[T]>,
    /// Whether nothing is missing: the answer was complete, each line was understood, and the
    /// server does not seem to know more than it listed. A listing that is not whole proves no
    /// absence.
    pub whole: bool,
    /// When the server was asked, by our clock. The listing is no older than that.
    pub at: Timestamp,
}

#[derive(Deserialize)]
struct Unsorted<T> {
    items: Vec<T>,
    whole: bool,
    at: Timestamp,
}

impl<T: Keyed> From<Unsorted<T>> for Listing<T> {
    fn from(unsorted: Unsorted<T>) -> Self {
        Self::new(unsorted.items, unsorted.whole, unsorted.at)
    }
}

impl<T: Keyed> Listing<T> {
    /// Creates a listing and sorts its items.
    pub fn new(mut items: Vec<T>, whole: bool, at: Timestamp) -> Self {
        items.sort_by(|a, b| a.key().cmp(b.key()));
        Self { items: items.into(), whole, at }
    }

    /// Returns all items, sorted by key.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns the items with this key.
    pub fn with_key(&self, key: &T::Key) -> &[T] {
        let from = self.items.partition_point(|item| item.key() < key);
        let length = self.items[from..].partition_point(|item| item.key() <= key);
        &self.items[from..from + length]
    }
}
