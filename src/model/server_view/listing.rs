//! What one server listed, in order, and whether it is whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::Timestamp;

/// What has a key to be found by.
pub trait Keyed {
    /// The key.
    type Key: Ord + ?Sized;

    /// Its key.
    fn key(&self) -> &Self::Key;
}

/// What one server listed, in the order of the keys. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Unsorted<T>", bound = "T: Keyed + Serialize + serde::de::DeserializeOwned")]
pub struct Listing<T: Keyed> {
    items: Arc<[T]>,
    /// Whether nothing is missing: the answer came to its end, each line of it was understood, and nothing says that the
    /// server knows more than it listed. What is not in a listing that is not whole may be there all the same.
    pub whole: bool,
    /// When the server was asked, by our clock: the listing is no older than that.
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
    /// Sorts what was listed.
    pub fn new(mut items: Vec<T>, whole: bool, at: Timestamp) -> Self {
        items.sort_by(|a, b| a.key().cmp(b.key()));
        Self { items: items.into(), whole, at }
    }

    /// All of it, in the order of the keys.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Those with that key.
    pub fn with_key(&self, key: &T::Key) -> &[T] {
        let from = self.items.partition_point(|item| item.key() < key);
        let length = self.items[from..].partition_point(|item| item.key() <= key);
        &self.items[from..from + length]
    }
}
