//! What was looked for in one of several ensembles: its locks and contenders that pass a filter.
//!
//! Each ensemble is searched by itself, where its table is. The answer has the first places and the
//! number of all, so that it stays small.

use std::sync::Arc;

use super::filter::{Filter, MAX_SEARCHED_CONTENDERS};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::diagnose::{Diagnosis, TableAt};
use lockscope_model::queue::{ContenderRow, LockName, LockQueue, LockTable};

/// The most places of an answer.
const MAX_PLACES: usize = 10;

/// The most contenders of one ensemble that are searched, which takes about 50 ms.
const MAX_SEARCHED: usize = 100_000;

/// A lock that passes by itself, or a contender by which its lock passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlace {
    pub lock: LockName,
    /// The contender's node; `None` for the lock itself.
    pub node: Option<Arc<str>>,
    /// The contender's state, and who that is.
    pub who: Option<(&'static str, String)>,
}

impl FoundPlace {
    /// Returns the path by which the place can be opened.
    pub fn path(&self) -> ZnodePath {
        self.node.as_deref().map_or_else(|| self.lock.path.clone(), |node| self.lock.path.child(node))
    }
}

/// The locks of an ensemble that pass a filter by themselves or by a contender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLocks {
    /// The filter. An answer to an earlier one says nothing.
    filter: Filter,
    count: usize,
    /// Those that Locks would list.
    listed: usize,
    first: Option<LockName>,
    /// Whether the filter is the path of one of them.
    is_path: bool,
    /// The first places, in the order of the locks; at most ten.
    pub places: Vec<FoundPlace>,
    /// Whether there were too many contenders to search all.
    is_cut: bool,
}

impl FoundLocks {
    /// Looks for locks that pass; for none if the filter is empty. Linear in the number of locks and,
    /// up to 100,000, of contenders.
    pub fn of(filter: &Filter, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) -> Self {
        let mut found = Self { filter: filter.clone(), ..Self::default() };
        if filter.is_empty() {
            return found;
        }
        let (at, mut left) = (TableAt::new(table, now), MAX_SEARCHED);
        for lock in table.locks() {
            let is_listed = filter.takes_lock(lock, at, diagnosis, now);
            let by_name = is_listed && filter.takes_name_of(&lock.lock_name());
            // Once there are enough places, only their number is wanted.
            let who = if by_name || (is_listed && found.places.len() == MAX_PLACES) {
                None
            } else {
                // The first contenders of a lock that does not pass were searched with it.
                let first = if is_listed { 0 } else { MAX_SEARCHED_CONTENDERS };
                found.contender(lock, first, at, &mut left)
            };
            if is_listed || who.is_some() {
                found.add(lock, is_listed, who.as_ref(), at);
            }
        }
        found
    }

    /// Returns the first contender of a lock, from a position on, that passes.
    fn contender<'a>(
        &mut self,
        lock: &'a LockQueue,
        first: usize,
        at: TableAt<'_>,
        left: &mut usize,
    ) -> Option<ContenderRow<'a>> {
        let end = lock.len().min(first.saturating_add(*left));
        self.is_cut |= end < lock.len();
        *left -= end.saturating_sub(first);
        lock.rows(first.min(end)..end).find(|row| self.filter.takes_who(&lock.lock_name(), row.contender, at.table()))
    }

    fn add(&mut self, lock: &LockQueue, is_listed: bool, who: Option<&ContenderRow<'_>>, at: TableAt<'_>) {
        let name = lock.lock_name();
        self.count += 1;
        self.listed += usize::from(is_listed);
        self.is_path |= is_listed && name.path.as_str() == self.filter.text();
        self.first.get_or_insert_with(|| name.clone());
        if self.places.len() < MAX_PLACES {
            let node = who.map(|row| Arc::clone(&row.contender.node));
            let who = who.map(|row| (row.state.id(), at.who(row.contender)));
            self.places.push(FoundPlace { lock: name, node, who });
        }
    }

    /// Returns whether this answers a filter.
    pub fn answers(&self, filter: &Filter) -> bool {
        self.filter == *filter
    }

    /// Returns the number of locks, and the first of them; `None` if there is none, or the question
    /// was another one.
    pub fn locks(&self, filter: &Filter) -> Option<(usize, &LockName)> {
        self.first.as_ref().filter(|_| self.answers(filter)).map(|first| (self.count, first))
    }

    /// Returns whether a contender that was not searched may pass.
    pub fn may_lack(&self, filter: &Filter) -> bool {
        self.is_cut && self.answers(filter)
    }

    /// Returns whether Locks would list any of them.
    pub fn is_listed(&self, filter: &Filter) -> bool {
        self.listed > 0 && self.answers(filter)
    }

    /// Returns whether a filter is the path of a lock.
    pub fn has_path(&self, filter: &Filter) -> bool {
        self.is_path && self.answers(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{seen, table};
    use lockscope_base::znode::{SessionId, ZnodeStat, Zxid};
    use lockscope_model::diagnose::Thresholds;
    use lockscope_model::queue::Change;
    use proptest::prelude::*;

    /// Locks with contenders; each contender has its node's data.
    fn locks(data: &[Vec<String>]) -> LockTable {
        let mut changes: Vec<Change> = Vec::new();
        for (lock, contenders) in data.iter().enumerate() {
            for (at, data) in contenders.iter().enumerate() {
                let session = i64::try_from(lock * 1_000 + at + 1).expect("small");
                let stat = ZnodeStat::of_new(Zxid(session), Timestamp(1), Some(SessionId(session)));
                let node = format!("/locks/{lock}/{session:032x}__lock__{at:010}");
                changes.push(seen(&node, stat, data.as_bytes()));
            }
        }
        table(changes, Timestamp(2))
    }

    proptest! {
        #[test]
        fn no_lock_is_missing_that_has_the_text_in_any_contender(
            data in prop::collection::vec(prop::collection::vec("[ab]{1,3}", 1..130), 1..12), text in "[ab]{2,3}",
        ) {
            let table = locks(&data);
            let found = FoundLocks::of(&Filter::new(&text), &table, &Diagnosis::new(Thresholds::default()), Timestamp(2));
            let has = |lock: &LockQueue| {
                let contenders = lock.rows(0..lock.len()).map(|row| row.contender.data.bytes().to_vec());
                contenders.into_iter().any(|data| String::from_utf8(data).is_ok_and(|data| data.contains(&text)))
                    || lock.rows(0..lock.len()).any(|row| row.contender.node.contains(&*text))
            };
            let expected: Vec<_> = table.locks().filter(|lock| has(lock)).map(LockQueue::lock_name).collect();
            prop_assert_eq!(found.locks(&Filter::new(&text)).map_or(0, |(count, _)| count), expected.len());
            let places: Vec<_> = found.places.iter().map(|place| place.lock.clone()).collect();
            prop_assert_eq!(&places[..], &expected[..expected.len().min(MAX_PLACES)]);
        }
    }

    #[test]
    fn a_place_is_the_lock_or_the_contender_that_has_the_text() {
        let table = locks(&[vec!["first".to_owned(), "worker-7".to_owned()], vec!["other".to_owned()]]);
        let of = |text: &str| {
            FoundLocks::of(&Filter::new(text), &table, &Diagnosis::new(Thresholds::default()), Timestamp(2))
        };
        let by_name = of("locks/1");
        assert_eq!((by_name.places.len(), by_name.places[0].node.as_ref()), (1, None));
        let by_waiter = of("worker-7");
        let place = &by_waiter.places[0];
        assert_eq!(place.who.as_ref().map(|(state, _)| *state), Some("waits"));
        assert!(
            place.path().as_str().starts_with("/locks/0/") && place.path().as_str().ends_with("__lock__0000000001")
        );
        assert!(of("nobody").places.is_empty() && of("").places.is_empty());
    }
}
