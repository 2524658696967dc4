//! Whether the member that a session is connected to keeps up with the others.
//!
//! A member that is cut off from its leader answers reads for up to `syncLimit` × `tickTime`, and
//! shows the ensemble as it was.

use std::cmp::Reverse;
use std::time::Duration;

use super::{MemberProgress, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// How long a member may be without a transaction that another member has shown. The members are
/// asked once a second, each at a time of its own. A transaction takes a moment from one to the
/// next.
const MAX_LAG: Duration = Duration::from_secs(1);

/// The part of a zxid that counts the transactions of one leader. A new leader shows 0 there, and
/// its followers show the last transaction of the leader before: none of them lags.
const COUNTER: i64 = 0xffff_ffff;

/// How a member stands to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was not asked since, or it is not known which member it is.
    Unknown,
    /// Nothing is known that it lacks for too long.
    Current,
    /// It lags.
    Lags(Lag),
}

/// That a member lags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// The member, as the view names it.
    pub member: String,
    /// How that is known.
    pub evidence: LagEvidence,
    /// When it was last known to have all that the others had, by our clock.
    pub current_until: Option<Timestamp>,
}

/// How it is known that a member lags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LagEvidence {
    /// It lacks a transaction that another member has shown long before.
    Behind(String),
    /// It says itself that it has no leader.
    Leaderless,
}

impl Lag {
    /// What is the matter, as the beginning of a sentence.
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

/// A transaction that a member has shown and ours has not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ahead {
    member: String,
    zxid: Zxid,
    /// It was asked after `asked_at`, and had answered by `answered_at`.
    asked_at: Timestamp,
    answered_at: Timestamp,
}

/// Compares the member that a session is connected to with the others, view by view.
///
/// On a busy ensemble the members never show the same transaction at the same time. A member lags
/// only when it is asked `MAX_LAG` after another member's answer and lacks what that answer showed.
#[derive(Clone, Debug, Default)]
pub struct LagWatch {
    ahead: Option<Ahead>,
    current_until: Option<Timestamp>,
}

impl LagWatch {
    /// How the member at `own` stands, to which `session` has been connected since then.
    pub fn look(&mut self, view: &ServerView, own: &str, session: SessionId, since: Timestamp) -> Standing {
        let Some(member) = view.members.iter().find(|member| member.address == own && may_serve(member, session))
        else {
            return Standing::Unknown;
        };
        let Some(progress) = member.progress.filter(|progress| progress.asked_at >= since) else {
            return Standing::Unknown;
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
            _ => Standing::Current,
        }
    }

    fn lags(&self, own: &str, evidence: LagEvidence) -> Standing {
        Standing::Lags(Lag { member: own.to_owned(), evidence, current_until: self.current_until })
    }
}

/// Whether a member can be the one that the session is connected to. Several servers may stand
/// behind one name. One that lists all its connections lists that session, too.
fn may_serve(member: &MemberView, session: SessionId) -> bool {
    !member.knows_connections() || !member.connections_of(session).is_empty()
}

/// The newest transaction that another member shows.
fn newest_of_others(view: &ServerView, own: &str) -> Option<Ahead> {
    let others = view.members.iter().filter(|member| member.address != own);
    let shown = others.filter_map(|member| {
        let MemberProgress { asked_at, zxid } = member.progress?;
        let zxid = zxid.filter(|zxid| zxid.0 & COUNTER != 0)?;
        Some(Ahead { member: member.address.clone(), zxid, asked_at, answered_at: member.answered_at? })
    });
    // The one that showed it first, among equals.
    shown.max_by_key(|ahead| (ahead.zxid, Reverse(ahead.answered_at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::Listing;

    const OWN: SessionId = SessionId(7);

    /// A member that was asked then and answered 20 ms later.
    fn member(name: &str, zxid: Option<i64>, asked_ms: i64) -> MemberView {
        MemberView {
            progress: Some(MemberProgress { asked_at: Timestamp(asked_ms), zxid: zxid.map(Zxid) }),
            answered_at: Some(Timestamp(asked_ms + 20)),
            ..MemberView::unasked(name.to_owned())
        }
    }

    fn view<const N: usize>(members: [MemberView; N]) -> ServerView {
        ServerView { members: members.into(), ..ServerView::default() }
    }

    fn look(watch: &mut LagWatch, own: (i64, i64), other: (i64, i64)) -> bool {
        let view = view([member("zk1", Some(other.0), other.1), member("zk2", Some(own.0), own.1)]);
        matches!(watch.look(&view, "zk2", OWN, Timestamp(0)), Standing::Lags(_))
    }

    #[test]
    fn a_member_lags_that_lacks_after_a_second_what_another_showed() {
        let mut watch = LagWatch::default();
        assert!(!look(&mut watch, (100, 1_000), (100, 1_500)));
        assert!(!look(&mut watch, (100, 2_000), (105, 1_900)), "they were asked at the same time");
        assert!(!look(&mut watch, (100, 2_000), (109, 2_910)));
        let view = view([member("zk1", Some(109), 2_910), member("zk2", Some(100), 3_000)]);
        let Standing::Lags(lag) = watch.look(&view, "zk2", OWN, Timestamp(0)) else { panic!("it lags") };
        assert_eq!((&*lag.member, &lag.evidence), ("zk2", &LagEvidence::Behind("zk1".to_owned())));
        assert_eq!(lag.current_until, Some(Timestamp(1_000)));
        assert!(look(&mut watch, (104, 4_000), (200, 3_910)), "it has not all of it");
        assert!(!look(&mut watch, (105, 5_000), (300, 4_910)), "it has what it lacked");
    }

    #[test]
    fn members_of_a_busy_ensemble_race_and_do_not_lag() {
        let mut watch = LagWatch::default();
        for round in 1..100 {
            // 1,000 transactions a second, of which this member has those that are older than 0.9
            // s.
            let (own, other) = (round * 1_000, round * 1_000 + 700);
            assert!(!look(&mut watch, (own - 900, own), (other - 1_000, other - 1_000)), "{round}");
            assert!(!look(&mut watch, (own - 900, own), (other, other)), "{round}");
        }
    }

    #[test]
    fn a_new_leader_without_a_transaction_is_ahead_of_nobody() {
        let mut watch = LagWatch::default();
        let (old, new) = (0x1_0000_0042, 0x2_0000_0000);
        assert!(!look(&mut watch, (old, 9_000), (new, 1_000)));
        assert!(look(&mut watch, (old, 9_000), (new + 1, 1_000)));
    }

    #[test]
    fn what_was_asked_before_the_connection_says_nothing_of_it() {
        let mut watch = LagWatch::default();
        let view = view([member("zk1", Some(9), 1_000), member("zk2", Some(5), 3_000)]);
        assert_eq!(watch.look(&view, "zk2", OWN, Timestamp(3_001)), Standing::Unknown);
        assert_eq!(watch.look(&view, "zk3", OWN, Timestamp(0)), Standing::Unknown);
        assert!(matches!(watch.look(&view, "zk2", OWN, Timestamp(3_000)), Standing::Lags(_)));
    }

    #[test]
    fn another_server_of_the_same_name_is_not_taken_for_ours() {
        let mut other = member("zk2", Some(5), 3_000);
        other.connections = Some(Listing::new(Vec::new(), true, Timestamp(3_000)));
        let view = view([member("zk1", Some(9), 1_000), other]);
        assert_eq!(LagWatch::default().look(&view, "zk2", OWN, Timestamp(0)), Standing::Unknown);
    }

    #[test]
    fn a_member_that_says_that_it_has_no_leader_lags() {
        let view = view([member("zk1", Some(9), 1_000), member("zk2", None, 1_000)]);
        let Standing::Lags(lag) = LagWatch::default().look(&view, "zk2", OWN, Timestamp(0)) else { panic!("it lags") };
        assert_eq!(lag.evidence, LagEvidence::Leaderless);
    }
}
