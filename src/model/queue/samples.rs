//! Counts of a lock's children during an overload, from samples of its parents' stats.
//!
//! The queues stay as they were when they were last accurate. A parent's stat contains its number
//! of children and its `cversion`, which grows by one with each creation and each deletion of a
//! child. From both follows how many children were created and deleted between two samples.

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The maximum of a count of creations or deletions. After it the count starts at 0 again: a stat
/// holds twice the number in 32 bits.
const MAX_COUNT: u32 = u32::MAX >> 1;

/// The samples of each parent, kept until the next complete reading.
pub(super) type Samples = FxHashMap<ZnodePath, ParentSamples>;

/// What samples show of a lock: counts of its parent's children. For a semaphore, of both parents.
///
/// All children count, including those of other queues below the same parent, and those that are no
/// contenders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledCounts {
    /// When the last sample was taken, by this machine's clock.
    pub at: Timestamp,
    /// When the first sample was taken.
    pub since: Timestamp,
    /// The number of children in the last sample.
    pub children: u64,
    /// The number of creations from the first sample to the last.
    pub created: u64,
    /// The number of deletions from the first sample to the last.
    pub deleted: u64,
    /// The rates between the last two samples; `None` when there is only one.
    pub per_second: Option<ChildRates>,
}

/// How many children of a node are created and deleted per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChildRates {
    /// Creations per second.
    pub created: f64,
    /// Deletions per second.
    pub deleted: f64,
}

impl ChildRates {
    /// Returns whether there were no creations and no deletions.
    pub fn are_zero(self) -> bool {
        self.created + self.deleted <= 0.0
    }
}

/// One sample of a parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sample {
    at: Timestamp,
    czxid: Zxid,
    cversion: i32,
    children: i32,
}

/// The samples that are kept of one parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ParentSamples {
    first: Sample,
    before: Option<Sample>,
    last: Sample,
}

impl Sample {
    /// Returns how many children were created and deleted since an earlier sample of the same node.
    fn since(self, earlier: Self) -> (u32, u32) {
        let created = |sample: Self| sample.cversion.wrapping_add(sample.children).cast_unsigned() >> 1;
        let deleted = |sample: Self| sample.cversion.wrapping_sub(sample.children).cast_unsigned() >> 1;
        let grown = |count: fn(Self) -> u32| count(self).wrapping_sub(count(earlier)) & MAX_COUNT;
        (grown(created), grown(deleted))
    }
}

impl ParentSamples {
    /// Adds a sample to the earlier ones of the same node.
    pub fn with(known: Option<&Self>, stat: &ZnodeStat, at: Timestamp) -> Self {
        let last = Sample { at, czxid: stat.czxid, cversion: stat.cversion, children: stat.num_children };
        let known = known.filter(|known| known.last.czxid == last.czxid);
        Self { first: known.map_or(last, |known| known.first), before: known.map(|known| known.last), last }
    }

    /// Returns the counts and rates.
    pub fn counts(&self) -> SampledCounts {
        let (created, deleted) = self.last.since(self.first);
        let per_second = self.before.map(|before| {
            let (created, deleted) = self.last.since(before);
            let seconds = self.last.at.since(before.at).as_secs_f64().max(0.001);
            ChildRates { created: f64::from(created) / seconds, deleted: f64::from(deleted) / seconds }
        });
        SampledCounts {
            at: self.last.at,
            since: self.first.at,
            children: u64::try_from(self.last.children).unwrap_or_default(),
            created: created.into(),
            deleted: deleted.into(),
            per_second,
        }
    }
}

impl SampledCounts {
    /// Returns the sums for two parents.
    pub(super) fn plus(self, other: Self) -> Self {
        let both = self.per_second.zip(other.per_second);
        Self {
            at: self.at.min(other.at),
            since: self.since.max(other.since),
            children: self.children + other.children,
            created: self.created + other.created,
            deleted: self.deleted + other.deleted,
            per_second: both.map(|(one, other)| ChildRates {
                created: one.created + other.created,
                deleted: one.deleted + other.deleted,
            }),
        }
    }
}
