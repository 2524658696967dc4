//! How the members compare: whether ours lags behind the others, and in which nodes their trees
//! differ.
//!
//! A member that is cut off from its leader still answers reads for up to `syncLimit` × `tickTime`,
//! with outdated data. [`LagWatch`] detects that from the last transactions that the members show.
//! A [`MemberComparison`] is the result of reading the trees of all members.

use std::cmp::Reverse;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{MemberProgress, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

/// Maximum time that a member may lack a transaction which another member has shown.
///
/// The members are asked once a second, each at its own time, and a transaction takes a moment from
/// one member to the next.
const MAX_LAG: Duration = Duration::from_secs(1);

/// How a member compares with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberStanding {
    /// Unknown: the member was not asked since the connection was made, or could not be identified.
    Unknown,
    /// The member lacks no transaction for too long, as far as is known.
    Current,
    /// The member lags.
    Lags(Lag),
}

/// A member lags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// The member's address, as in the view.
    pub member: String,
    /// The evidence for the lag.
    pub evidence: LagEvidence,
    /// When the member was last known to have all transactions of the others, by our clock.
    pub current_until: Option<Timestamp>,
}

/// The evidence that a member lags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LagEvidence {
    /// The member lacks a transaction that another member, named here, has shown long before.
    Behind(String),
    /// The member reports that it has no leader.
    Leaderless,
}

impl Lag {
    /// Describes the lag as the beginning of a sentence.
    pub fn sentence(&self) -> String {
        let member = &self.member;
        match &self.evidence {
            LagEvidence::Behind(other) => {
                format!("{member} lags behind {other} and may be cut off from the other members")
            }
            LagEvidence::Leaderless => format!("{member} has lost its leader"),
        }
    }
}

/// A transaction that another member has shown and ours has not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MemberAhead {
    member: String,
    zxid: Zxid,
    /// When the other member was asked. It had answered by `answered_at`.
    asked_at: Timestamp,
    answered_at: Timestamp,
}

/// Compares the member that our session is connected to with the others, one view after another.
///
/// On a busy ensemble the members never show the same transaction at the same time. A member lags
/// only if it is asked `MAX_LAG` after another member's answer and still lacks the transaction in
/// that answer.
#[derive(Clone, Debug, Default)]
pub struct LagWatch {
    ahead: Option<MemberAhead>,
    current_until: Option<Timestamp>,
}

impl LagWatch {
    /// Compares the member at `own` with the others. `session` has been connected to it since
    /// `since`.
    pub fn check(&mut self, view: &ServerView, own: &str, session: SessionId, since: Timestamp) -> MemberStanding {
        let Some(member) = view.members.iter().find(|member| member.address == own && may_serve(member, session))
        else {
            return MemberStanding::Unknown;
        };
        let Some(progress) = member.extras.progress.filter(|progress| progress.asked_at >= since) else {
            return MemberStanding::Unknown;
        };
        let Some(zxid) = progress.zxid else { return self.lags(own, LagEvidence::Leaderless) };
        let newest = newest_of_others(view, own);
        for shown in self.ahead.iter().chain(&newest).filter(|shown| zxid >= shown.zxid) {
            self.current_until = self.current_until.max(Some(shown.asked_at.min(progress.asked_at)));
        }
        self.ahead = self.ahead.take().or(newest).filter(|ahead| ahead.zxid > zxid);
        match &self.ahead {
            Some(ahead) if progress.asked_at >= ahead.answered_at.plus(MAX_LAG) => {
                self.lags(own, LagEvidence::Behind(ahead.member.clone()))
            }
            _ => MemberStanding::Current,
        }
    }

    fn lags(&self, own: &str, evidence: LagEvidence) -> MemberStanding {
        MemberStanding::Lags(Lag { member: own.to_owned(), evidence, current_until: self.current_until })
    }
}

/// Returns whether the session can be connected to a member. Several servers may share one name,
/// but a server that lists all its connections would list this session too.
fn may_serve(member: &MemberView, session: SessionId) -> bool {
    !member.knows_connections() || !member.connections_of(session).is_empty()
}

/// Returns the newest transaction that another member shows.
fn newest_of_others(view: &ServerView, own: &str) -> Option<MemberAhead> {
    let others = view.members.iter().filter(|member| member.address != own);
    let shown = others.filter_map(|member| {
        let MemberProgress { asked_at, zxid } = member.extras.progress?;
        // 0 for a new leader, while the followers still show the previous leader's last transaction.
        // They do not lag.
        let zxid = zxid.filter(|zxid| zxid.counter() != 0)?;
        Some(MemberAhead { member: member.address.clone(), zxid, asked_at, answered_at: member.answered_at? })
    });
    // Among equal transactions, the one that was shown first.
    shown.max_by_key(|ahead| (ahead.zxid, Reverse(ahead.answered_at)))
}

/// A node that one member has and most others have not, or the reverse, or another one of the same
/// path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Difference {
    /// The node's path.
    pub path: ZnodePath,
    /// The member that differs from the others.
    pub member: String,
    /// Whether that member has a node at the path.
    pub has: bool,
    /// The transaction that created the node: of that member's node, or else of the others'.
    pub czxid: Option<Zxid>,
}

/// Whether a member's nodes could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedMember {
    /// The member's address.
    pub address: String,
    /// The first reason why the member was not read, as a part of a sentence.
    pub error: Option<String>,
}

/// What the members of the connect string showed of the same nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberComparison {
    /// When the last reading ended, by this machine's clock.
    pub at: Timestamp,
    /// The members that were to be read.
    pub members: Vec<ComparedMember>,
    /// The differences that lasted over two readings, ordered by path.
    pub differences: Vec<Difference>,
    /// The number of nodes whose children were compared.
    pub parents: usize,
    /// The number of nodes that were left out, because there are too many.
    pub left_out: usize,
}

impl MemberComparison {
    /// Returns the memory of the comparison, in bytes.
    pub fn memory(&self) -> u64 {
        let of_member = |member: &ComparedMember| member.address.len() + member.error.as_ref().map_or(0, String::len);
        let of_difference = |difference: &Difference| difference.path.as_str().len() + difference.member.len();
        let texts = self.members.iter().map(of_member).chain(self.differences.iter().map(of_difference)).sum::<usize>();
        let parts = size_of_val(&*self.members) + size_of_val(&*self.differences);
        (size_of::<Self>() + texts + parts) as u64
    }

    /// Returns the differences in a node itself.
    pub fn of(&self, path: &ZnodePath) -> &[Difference] {
        let from = self.differences.partition_point(|difference| difference.path < *path);
        let found = &self.differences[from..];
        &found[..found.partition_point(|difference| difference.path == *path)]
    }

    /// Returns the differences in the children of a node.
    pub fn below(&self, parent: &ZnodePath) -> Vec<&Difference> {
        // A path sorts before those below it, but names with a lower character than the slash lie
        // between them.
        let from = self.differences.partition_point(|difference| difference.path <= *parent);
        let near = self.differences[from..].iter();
        let near = near.take_while(|difference| difference.path.as_str().starts_with(parent.as_str()));
        near.filter(|difference| difference.path.parent().as_ref() == Some(parent)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::{Listing, MemberExtras};
    use crate::testing::path;

    const OWN: SessionId = SessionId(7);

    /// Returns a member that was asked at `asked_at` and answered 20 ms later.
    fn member(name: &str, zxid: Option<i64>, asked_ms: i64) -> MemberView {
        MemberView {
            extras: MemberExtras {
                progress: Some(MemberProgress { asked_at: Timestamp(asked_ms), zxid: zxid.map(Zxid) }),
                ..MemberExtras::default()
            },
            answered_at: Some(Timestamp(asked_ms + 20)),
            ..MemberView::unasked(name.to_owned())
        }
    }

    fn view<const N: usize>(members: [MemberView; N]) -> ServerView {
        ServerView { members: members.into(), ..ServerView::default() }
    }

    fn lags(watch: &mut LagWatch, own: (i64, i64), other: (i64, i64)) -> bool {
        let view = view([member("zk1", Some(other.0), other.1), member("zk2", Some(own.0), own.1)]);
        matches!(watch.check(&view, "zk2", OWN, Timestamp(0)), MemberStanding::Lags(_))
    }

    #[test]
    fn a_member_lags_if_it_lacks_a_transaction_a_second_after_another_showed_it() {
        let mut watch = LagWatch::default();
        assert!(!lags(&mut watch, (100, 1_000), (100, 1_500)));
        assert!(!lags(&mut watch, (100, 2_000), (105, 1_900)), "they were asked at the same time");
        assert!(!lags(&mut watch, (100, 2_000), (109, 2_910)));
        let view = view([member("zk1", Some(109), 2_910), member("zk2", Some(100), 3_000)]);
        let MemberStanding::Lags(lag) = watch.check(&view, "zk2", OWN, Timestamp(0)) else { panic!("it lags") };
        assert_eq!((&*lag.member, &lag.evidence), ("zk2", &LagEvidence::Behind("zk1".to_owned())));
        assert_eq!(lag.current_until, Some(Timestamp(1_000)));
        assert!(lags(&mut watch, (104, 4_000), (200, 3_910)), "it has not all of it");
        assert!(!lags(&mut watch, (105, 5_000), (300, 4_910)), "it has what it lacked");
    }

    #[test]
    fn members_of_a_busy_ensemble_race_and_do_not_lag() {
        let mut watch = LagWatch::default();
        for round in 1..100 {
            // With 1,000 transactions per second, this member has applied those that are older than
            // 0.9 s.
            let (own, other) = (round * 1_000, round * 1_000 + 700);
            assert!(!lags(&mut watch, (own - 900, own), (other - 1_000, other - 1_000)), "{round}");
            assert!(!lags(&mut watch, (own - 900, own), (other, other)), "{round}");
        }
    }

    #[test]
    fn a_new_leader_without_a_transaction_is_not_ahead() {
        let mut watch = LagWatch::default();
        let (old, new) = (0x1_0000_0042, 0x2_0000_0000);
        assert!(!lags(&mut watch, (old, 9_000), (new, 1_000)));
        assert!(lags(&mut watch, (old, 9_000), (new + 1, 1_000)));
    }

    #[test]
    fn answers_from_before_the_connection_do_not_count() {
        let mut watch = LagWatch::default();
        let view = view([member("zk1", Some(9), 1_000), member("zk2", Some(5), 3_000)]);
        assert_eq!(watch.check(&view, "zk2", OWN, Timestamp(3_001)), MemberStanding::Unknown);
        assert_eq!(watch.check(&view, "zk3", OWN, Timestamp(0)), MemberStanding::Unknown);
        assert!(matches!(watch.check(&view, "zk2", OWN, Timestamp(3_000)), MemberStanding::Lags(_)));
    }

    #[test]
    fn another_server_of_the_same_name_is_not_taken_for_ours() {
        let mut other = member("zk2", Some(5), 3_000);
        other.connections = Some(Listing::new(Vec::new(), true, Timestamp(3_000)));
        let view = view([member("zk1", Some(9), 1_000), other]);
        assert_eq!(LagWatch::default().check(&view, "zk2", OWN, Timestamp(0)), MemberStanding::Unknown);
    }

    #[test]
    fn a_member_that_says_that_it_has_no_leader_lags() {
        let view = view([member("zk1", Some(9), 1_000), member("zk2", None, 1_000)]);
        let MemberStanding::Lags(lag) = LagWatch::default().check(&view, "zk2", OWN, Timestamp(0)) else {
            panic!("it lags")
        };
        assert_eq!(lag.evidence, LagEvidence::Leaderless);
    }

    #[test]
    fn the_differences_of_a_node_and_of_its_children_are_found_among_others() {
        let mut differences: Vec<Difference> =
            ["/", "/a", "/l", "/l", "/l-1", "/l/x", "/l/x/y", "/l/z", "/m/x"].map(difference).into();
        differences.sort();
        let compared = MemberComparison { at: Timestamp(0), members: Vec::new(), differences, parents: 1, left_out: 0 };
        assert_eq!((compared.of(&path("/l")).len(), compared.of(&path("/l/q")).len()), (2, 0));
        let below = |at: &str| -> Vec<String> {
            compared.below(&path(at)).into_iter().map(|found| found.path.to_string()).collect()
        };
        assert_eq!(below("/l"), ["/l/x", "/l/z"]);
        assert_eq!(below("/"), ["/a", "/l", "/l", "/l-1"]);
        assert_eq!(below("/q"), [""; 0]);
    }

    fn difference(at: &str) -> Difference {
        Difference { path: path(at), member: "zk1:2181".to_owned(), has: true, czxid: None }
    }
}
