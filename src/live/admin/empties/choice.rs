//! Chooses the empty lock parents that may be deleted. Pure.

use lockscope_base::znode::ZnodeStat;
use lockscope_model::queue::{ParentUse, TransactionAges};

/// Why a node is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Left {
    /// It has children.
    NotEmpty,
    /// A child came or went, or the data were written, too lately.
    TooYoung,
    /// No other node tells when its last child came or went.
    AgeNotKnown,
    /// It has data.
    HasData,
    /// A session watches it.
    Watched,
    /// It never had children, or a session or the ensemble keeps it.
    NoLockParent,
    /// It is an election's.
    Election,
    /// It is a part of a semaphore, or of several locks.
    OtherLock,
    /// The permission to read it is missing.
    NotReadable,
    /// The permission to delete it is missing.
    NotPermitted,
    /// Nothing that could guard its deletion may be written.
    Unguarded,
    /// The run has as many nodes as one may have.
    OverLimit,
}

impl Left {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::NotEmpty => "not-empty",
            Self::TooYoung => "too-young",
            Self::AgeNotKnown => "age-not-known",
            Self::HasData => "has-data",
            Self::Watched => "watched",
            Self::NoLockParent => "no-lock-parent",
            Self::Election => "election",
            Self::OtherLock => "other-lock",
            Self::NotReadable => "not-readable",
            Self::NotPermitted => "not-permitted",
            Self::Unguarded => "unguarded",
            Self::OverLimit => "over-limit",
        }
    }

    /// Returns the reason as a sentence about several nodes.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotEmpty => "they have children",
            Self::TooYoung => "a child came or went, or the data were written, more lately than --older-than",
            Self::AgeNotKnown => {
                "no node tells how long ago their last child went: of that a stat has a transaction, but no time"
            }
            Self::HasData => "they have data, which an application may need",
            Self::Watched => "a session watches them",
            Self::NoLockParent => "they never had children, or a session or the ensemble keeps them",
            Self::Election => "they are elections, where an empty parent means that nobody leads",
            Self::OtherLock => "they are parts of a semaphore, or hold several locks",
            Self::NotReadable => "the READ permission is missing: give an identity that has it with --auth-file",
            Self::NotPermitted => {
                "the DELETE permission on their parent is missing: give an identity that has it with --auth-file"
            }
            Self::Unguarded => "they may not be written, so nothing would guard the deletion",
            Self::OverLimit => "a run deletes no more: run it again for the rest",
        }
    }
}

/// Returns why a node is left; `None` if it may be deleted as far as its stat tells.
///
/// The age is that of `pzxid`, the last change of the children. `mtime` and `ctime` are times, but
/// of other changes: of the data, and of the creation.
///
/// `counts` tells whether the server counts `pzxid` and `cversion` as `ZooKeeper` does.
pub(super) fn left(usage: ParentUse, stat: &ZnodeStat, ages: TransactionAges, counts: bool) -> Option<Left> {
    if stat.num_children > 0 {
        return Some(Left::NotEmpty);
    }
    match usage {
        ParentUse::Used => return Some(Left::NotEmpty),
        ParentUse::Election => return Some(Left::Election),
        ParentUse::OtherLock => return Some(Left::OtherLock),
        ParentUse::Free => {}
    }
    if stat.cversion <= 0 || stat.ephemeral_owner.is_some() {
        return Some(Left::NoLockParent);
    }
    if stat.data_length > 0 {
        return Some(Left::HasData);
    }
    match ages.is_early(stat.pzxid).filter(|_| counts) {
        // Somebody who writes to a node uses it.
        Some(true) => (ages.is_early(stat.mzxid) != Some(true)).then_some(Left::TooYoung),
        Some(false) => Some(Left::TooYoung),
        None => Some(Left::AgeNotKnown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_base::znode::{SessionId, Timestamp, Zxid};

    const USED: ZnodeStat = ZnodeStat {
        czxid: Zxid(10),
        mzxid: Zxid(10),
        pzxid: Zxid(20),
        ctime: Timestamp(1),
        mtime: Timestamp(1),
        version: 0,
        cversion: 2,
        aversion: 0,
        ephemeral_owner: None,
        data_length: 0,
        num_children: 0,
    };

    fn chosen(usage: ParentUse, stat: ZnodeStat, dates: &[(i64, i64)]) -> Option<Left> {
        let dates = || dates.iter().map(|(zxid, at)| (Zxid(*zxid), Timestamp(*at)));
        left(usage, &stat, TransactionAges::at(Timestamp(100), dates), true)
    }

    #[test]
    fn only_what_is_proven_to_be_empty_for_long_is_deleted() {
        let by_date = |dates: &[(i64, i64)]| chosen(ParentUse::Free, USED, dates);
        assert_eq!(by_date(&[(30, 100)]), None, "a later node is old enough");
        assert_eq!(
            by_date(&[(10, 1), (30, 101)]),
            Some(Left::AgeNotKnown),
            "its own creation does not date its children"
        );
        assert_eq!(by_date(&[(15, 101), (30, 102)]), Some(Left::TooYoung));
        assert_eq!(by_date(&[]), Some(Left::AgeNotKnown));
        let written = ZnodeStat { mzxid: Zxid(25), ..USED };
        assert_eq!(chosen(ParentUse::Free, written, &[(22, 100), (25, 101)]), Some(Left::TooYoung));
        let ages = TransactionAges::at(Timestamp(100), || std::iter::once((Zxid(30), Timestamp(100))));
        assert_eq!(
            left(ParentUse::Free, &USED, ages, false),
            Some(Left::AgeNotKnown),
            "a server that counts in another way"
        );
    }

    #[test]
    fn what_may_be_in_use_is_left_for_its_reason() {
        let by_stat = |stat| chosen(ParentUse::Free, stat, &[(30, 100)]);
        assert_eq!(by_stat(ZnodeStat { num_children: 1, ..USED }), Some(Left::NotEmpty));
        assert_eq!(by_stat(ZnodeStat { data_length: 1, ..USED }), Some(Left::HasData));
        assert_eq!(by_stat(ZnodeStat { cversion: 0, pzxid: Zxid(10), ..USED }), Some(Left::NoLockParent));
        assert_eq!(by_stat(ZnodeStat { ephemeral_owner: Some(SessionId(1)), ..USED }), Some(Left::NoLockParent));
        for (usage, why) in [
            (ParentUse::Used, Left::NotEmpty),
            (ParentUse::Election, Left::Election),
            (ParentUse::OtherLock, Left::OtherLock),
        ] {
            assert_eq!(chosen(usage, USED, &[(30, 100)]), Some(why));
        }
    }
}
