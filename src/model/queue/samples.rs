//! What is known of the locks while events come faster than they can be taken in: counts, from samples of their parents' stats.
//!
//! The queues stay as they were when they were last true. A parent's stat says how many children it has, and with its `cversion`, which
//! grows by one with each creation and each deletion of a child, how many were created and how many were deleted between two samples.

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The most that a count of creations or deletions can be before it begins at 0 again: a stat holds twice their number in 32 bits.
const MAX_COUNT: u32 = u32::MAX >> 1;

/// The last samples of each parent, until everything was read again.
pub(super) type Samples = FxHashMap<ZnodePath, ParentSamples>;

/// What samples say of a lock: counts of the children of its parent (of a semaphore, of both its parents). All children count: those
/// of other queues of the same parent, and those that are no contenders, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledCounts {
    /// When the last sample was taken, by this machine's clock.
    pub at: Timestamp,
    /// When the first one was taken.
    pub since: Timestamp,
    /// How many children there were at the last one.
    pub children: u64,
    /// How many were created from the first sample to the last.
    pub created: u64,
    /// How many were deleted from the first sample to the last.
    pub deleted: u64,
    /// How many came and went between the last two samples; `None` when there is only one.
    pub per_second: Option<ChildRates>,
}

/// How many children of a node come and go per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChildRates {
    /// How many are created.
    pub created: f64,
    /// How many are deleted.
    pub deleted: f64,
}

impl ChildRates {
    /// Whether nothing comes and goes.
    pub fn are_zero(self) -> bool {
        self.created + self.deleted <= 0.0
    }
}

/// One look at a parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sample {
    at: Timestamp,
    czxid: Zxid,
    cversion: i32,
    children: i32,
}

/// What is kept of the looks at one parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ParentSamples {
    first: Sample,
    before: Option<Sample>,
    last: Sample,
}

impl Sample {
    /// How many children were created and how many deleted since an earlier sample of the same node.
    fn since(self, earlier: Self) -> (u32, u32) {
        let created = |sample: Self| sample.cversion.wrapping_add(sample.children).cast_unsigned() >> 1;
        let deleted = |sample: Self| sample.cversion.wrapping_sub(sample.children).cast_unsigned() >> 1;
        let grown = |count: fn(Self) -> u32| count(self).wrapping_sub(count(earlier)) & MAX_COUNT;
        (grown(created), grown(deleted))
    }
}

impl ParentSamples {
    /// With one more, after those that are known of the same node.
    pub fn with(known: Option<&Self>, stat: &ZnodeStat, at: Timestamp) -> Self {
        let last = Sample { at, czxid: stat.czxid, cversion: stat.cversion, children: stat.num_children };
        let known = known.filter(|known| known.last.czxid == last.czxid);
        Self { first: known.map_or(last, |known| known.first), before: known.map(|known| known.last), last }
    }

    /// What they say.
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
    /// Those of two parents together.
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
