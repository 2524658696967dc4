//! What happened: the entries of the timeline, and the recent activity that is shown while the
//! selected lock has no finding.
//!
//! Recent activity is the longest waits and holds of the last minutes, changes of the ensemble's
//! leader, and news since the user was away.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_live::admin::Ending;
use lockscope_model::diagnose::{Finding, is_likely_election};
use lockscope_model::queue::{
    ClientIdentity, Contender, ContenderId, Happening, HoldBounds, LockEvent, LockName, LockQueue, LockTable,
};
use lockscope_model::server_view::{ServerMode, ServerView};

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimelineEntry {
    /// An event of a lock or of the connection.
    Happening(Happening),
    /// A finding was raised or cleared.
    Finding {
        /// The time of the entry, by this machine's clock.
        at: Timestamp,
        finding: Arc<Finding>,
        /// Whether the finding was raised; else it was cleared.
        raised: bool,
    },
    /// The result of a deletion by this console.
    Deletion {
        /// When the result was known, by this machine's clock.
        at: Timestamp,
        /// The name of the lock, if it was known.
        lock: Option<LockName>,
        node: Arc<str>,
        /// The owner of the node, as far as known when the deletion was confirmed.
        client: ClientIdentity,
        ending: Box<Ending>,
    },
}

impl TimelineEntry {
    /// The time of the entry, by this machine's clock.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Happening(happening) => happening.at,
            Self::Finding { at, .. } | Self::Deletion { at, .. } => *at,
        }
    }

    /// The name of the event in JSON and on the screen.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Happening(happening) => happening.event.title(),
            Self::Finding { raised: true, .. } => "finding-raised",
            Self::Finding { raised: false, .. } => "finding-cleared",
            Self::Deletion { ending, .. } => match **ending {
                Ending::Deleted { .. } | Ending::DeletedOther => "deleted",
                Ending::Asked => "asked",
                Ending::NotKnown { .. } => "not-known",
                _ => "not-deleted",
            },
        }
    }

    /// The lock of the entry; `None` when the entry concerns the connection.
    pub fn lock(&self) -> Option<&LockName> {
        match self {
            Self::Happening(happening) => happening.lock.as_ref(),
            Self::Finding { finding, .. } => Some(&finding.lock),
            Self::Deletion { lock, .. } => lock.as_ref(),
        }
    }

    /// The session of the entry's node; `None` when the node has no owner or the owner is unknown.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Happening(happening) => happening.session,
            Self::Deletion { client, .. } => client.session,
            Self::Finding { .. } => None,
        }
    }

    pub fn node(&self) -> Option<&Arc<str>> {
        match self {
            Self::Happening(happening) => happening.node.as_ref(),
            Self::Finding { finding, .. } => finding.node.as_ref(),
            Self::Deletion { node, .. } => Some(node),
        }
    }

    /// The contender of the entry, whichever node it has now; `None` when only the node is known.
    pub fn contender(&self) -> Option<&ContenderId> {
        match self {
            Self::Happening(happening) => happening.contender.as_ref(),
            Self::Finding { .. } | Self::Deletion { .. } => None,
        }
    }
}

/// Minutes for which the longest waits and holds are kept, including the current minute.
pub const MINUTES: i64 = 10;

/// How many of the longest waits and holds are kept, each of a different lock.
pub const LONGEST: usize = 3;

/// Minimum length of a wait or hold that is listed.
const MIN_SPAN: Duration = Duration::from_millis(100);

/// Maximum number of kept news items. The oldest are dropped.
const MAX_NEWS: usize = 200;

/// One wait for a lock, or one hold of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineSpan {
    pub lock: LockName,
    pub client: ClientIdentity,
    /// The client's node in the lock.
    node: Option<Arc<str>>,
    since: Beginning,
    /// When the wait or hold ended, by this machine's clock; `None` while it lasts.
    pub ended: Option<Timestamp>,
}

/// Bounds of the time at which a wait or hold began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Beginning {
    earliest: Timestamp,
    latest: Timestamp,
}

impl Beginning {
    fn of(at: Timestamp, lasted: HoldBounds) -> Self {
        Self { earliest: before(at, lasted.at_most), latest: before(at, lasted.at_least) }
    }
}

impl TimelineSpan {
    /// The upper bound of the duration, up to `now` while the wait or hold lasts.
    pub fn at_most(&self, now: Timestamp) -> Duration {
        self.ended.unwrap_or(now).since(self.since.earliest)
    }

    /// The lower bound of the duration, up to `now` while the wait or hold lasts.
    pub fn at_least(&self, now: Timestamp) -> Duration {
        self.ended.unwrap_or(now).since(self.since.latest)
    }

    fn ended(happening: &Happening, lock: &LockName, lasted: HoldBounds) -> Self {
        let since = Beginning::of(happening.at, lasted);
        Self {
            lock: lock.clone(),
            client: happening.client.clone(),
            node: happening.node.clone(),
            since,
            ended: Some(happening.at),
        }
    }

    fn standing(lock: &LockQueue, contender: &Contender, table: &LockTable, since: Beginning) -> Self {
        let (client, node) = (table.clients().identity_of(contender), Some(Arc::clone(&contender.node)));
        Self { lock: lock.lock_name(), client, node, since, ended: None }
    }
}

/// The longest spans, one of each lock, the longest first.
#[derive(Clone, Debug, Default)]
struct Longest(Vec<(Duration, TimelineSpan)>);

impl Longest {
    /// Adds a span if it is among the longest. Calls `span` only in that case.
    fn add(&mut self, lasted: Duration, lock: &LockName, span: impl FnOnce() -> TimelineSpan) {
        let is_too_short = self.0.len() == LONGEST && self.0.last().is_some_and(|(shortest, _)| lasted <= *shortest);
        if lasted < MIN_SPAN || is_too_short {
            return;
        }
        if let Some(known) = self.0.iter().position(|(_, known)| known.lock.id == lock.id) {
            if self.0[known].0 >= lasted {
                return;
            }
            self.0.remove(known);
        }
        let place = self.0.partition_point(|(longer, _)| *longer >= lasted);
        self.0.insert(place, (lasted, span()));
        self.0.truncate(LONGEST);
    }
}

/// The longest waits and holds that ended in one minute.
#[derive(Clone, Debug, Default)]
struct Minute {
    number: i64,
    waits: Longest,
    holds: Longest,
}

/// The ensemble's leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    pub address: String,
    /// When this server was first seen as leader, and the address of the previous leader. `None`
    /// for the first leader that was seen.
    pub since: Option<(Timestamp, String)>,
    /// When each change of leader was seen, within the last [`MINUTES`].
    changes: VecDeque<Timestamp>,
}

impl Leader {
    /// How often the leader changed within the last [`MINUTES`].
    pub fn changes(&self, now: Timestamp) -> usize {
        self.changes.iter().filter(|at| now.since(**at) < WINDOW).count()
    }
}

const WINDOW: Duration = Duration::from_secs(60 * MINUTES.unsigned_abs());

/// An event that is news to a user who was away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    Lock(LockName),
    LockGone(LockName),
    Finding(Arc<Finding>),
}

/// Recent activity. Waits and holds that still last are as of the last check for findings.
#[derive(Clone, Debug, Default)]
pub struct Lately {
    /// When the first read of the ensemble was complete.
    begun: Option<Timestamp>,
    /// The last [`MINUTES`], oldest first.
    minutes: VecDeque<Minute>,
    waiting: Longest,
    holding: Longest,
    leader: Option<Leader>,
    news: VecDeque<(Timestamp, News)>,
}

impl Lately {
    /// Marks the end of the first read: locks that exist by then are not news.
    pub fn begin(&mut self, at: Timestamp) {
        self.begun = Some(at);
        self.news.clear();
    }

    /// The number of minutes that are covered, at most [`MINUTES`]. `None` before the first read is
    /// complete.
    pub fn minutes(&self, now: Timestamp) -> Option<i64> {
        let seconds = i64::try_from(now.since(self.begun?).as_secs()).unwrap_or(i64::MAX);
        Some((seconds / 60 + 1).min(MINUTES))
    }

    /// Adds a happening. `held` is how long the contender that is gone has held the lock, as far as
    /// known.
    pub fn add(&mut self, happening: &Happening, held: Option<HoldBounds>) {
        let Some(lock) = &happening.lock else { return };
        match happening.event {
            LockEvent::LockFound => self.tell(happening.at, News::Lock(lock.clone())),
            LockEvent::LockGone => self.tell(happening.at, News::LockGone(lock.clone())),
            _ => {}
        }
        for longest in [&mut self.waiting, &mut self.holding] {
            longest.0.retain(|(_, span)| span.lock.id != lock.id || span.node != happening.node);
        }
        let exactly = |ms: u64| HoldBounds { at_least: Duration::from_millis(ms), at_most: Duration::from_millis(ms) };
        let ends_hold = matches!(happening.event, LockEvent::Released | LockEvent::Expired);
        let held = happening.held_ms.map(exactly).or(held.filter(|_| ends_hold));
        let waited = happening.waited_ms.map(exactly);
        if waited.is_none() && held.is_none() {
            return;
        }
        let minute = self.minute(happening.at);
        for (longest, lasted) in [(&mut minute.waits, waited), (&mut minute.holds, held)] {
            if let Some(lasted) = lasted {
                longest.add(lasted.at_most, lock, || TimelineSpan::ended(happening, lock, lasted));
            }
        }
    }

    pub fn take_finding(&mut self, finding: &Arc<Finding>, at: Timestamp) {
        self.tell(at, News::Finding(Arc::clone(finding)));
    }

    /// Updates the leader from a survey of the servers.
    pub fn surveyed(&mut self, view: &ServerView, at: Timestamp) {
        let mut leading = view.members.iter().filter(|member| member.mode == Some(ServerMode::Leader));
        let Some(found) = leading.next().map(|member| &member.address) else { return };
        match &mut self.leader {
            None => {
                self.leader = Some(Leader { address: found.clone(), since: None, changes: VecDeque::new() });
            }
            // A leader that has just lost its followers may still report for a moment that it
            // leads.
            Some(known) if known.address == *found || leading.any(|other| other.address == known.address) => {}
            Some(known) => {
                let before = std::mem::replace(&mut known.address, found.clone());
                known.since = Some((at, before));
                known.changes.retain(|change| at.since(*change) < WINDOW);
                known.changes.push_back(at);
            }
        }
    }

    /// Finds the longest current waits and holds. A hold counts only while another client waits for
    /// the lock. Linear in the number of locks.
    pub fn find_longest(&mut self, table: &LockTable, now: Timestamp) {
        (self.waiting, self.holding) = (Longest::default(), Longest::default());
        // Long waits are normal for standby candidates of an election.
        for lock in table.locks().filter(|lock| lock.waiting() > 0 && !is_likely_election(lock)) {
            let name = lock.lock_name();
            if let Some(waiter) = lock.first_waiter() {
                let since = waiter.contends_since(table.clock().ahead_ms());
                self.waiting.add(now.since(since), &name, || {
                    TimelineSpan::standing(lock, waiter, table, Beginning { earliest: since, latest: since })
                });
            }
            if let Some((holder, bounds)) =
                lock.first_holder().and_then(|it| Some((it, table.clock().hold_bounds(it, now)?)))
            {
                let since = Beginning::of(now, bounds);
                self.holding.add(bounds.at_most, &name, || TimelineSpan::standing(lock, holder, table, since));
            }
        }
    }

    /// The longest waits of the last [`MINUTES`], including those that still last.
    pub fn waits(&self, now: Timestamp) -> Vec<&TimelineSpan> {
        self.longest(&self.waiting, |minute| &minute.waits, now)
    }

    /// The longest holds of the last [`MINUTES`], including those that last while another client
    /// waits.
    pub fn holds(&self, now: Timestamp) -> Vec<&TimelineSpan> {
        self.longest(&self.holding, |minute| &minute.holds, now)
    }

    /// The ensemble's leader; `None` until a server has reported that it leads.
    pub fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// The news after `since`, oldest first.
    pub fn news(&self, since: Timestamp) -> impl DoubleEndedIterator<Item = &News> {
        let old = self.news.partition_point(|(at, _)| *at <= since);
        self.news.range(old..).map(|(_, news)| news)
    }

    /// When the first read of the ensemble was complete.
    pub fn begun(&self) -> Option<Timestamp> {
        self.begun
    }

    fn longest<'a>(
        &'a self,
        standing: &'a Longest,
        of: fn(&Minute) -> &Longest,
        now: Timestamp,
    ) -> Vec<&'a TimelineSpan> {
        let ended = self.minutes.iter().filter(|minute| minute.number > number(now) - MINUTES).flat_map(|it| &of(it).0);
        let mut all: Vec<&TimelineSpan> = ended.chain(&standing.0).map(|(_, span)| span).collect();
        all.sort_by_key(|span| std::cmp::Reverse(span.at_most(now)));
        let mut shown: Vec<&TimelineSpan> = Vec::with_capacity(LONGEST);
        for span in all {
            if shown.len() < LONGEST && shown.iter().all(|other| other.lock.id != span.lock.id) {
                shown.push(span);
            }
        }
        shown
    }

    fn minute(&mut self, at: Timestamp) -> &mut Minute {
        let number = number(at);
        while self.minutes.front().is_some_and(|minute| minute.number <= number - MINUTES) {
            self.minutes.pop_front();
        }
        // After the clock was set back, events are added to the latest minute.
        if self.minutes.back().is_none_or(|last| last.number < number) {
            self.minutes.push_back(Minute { number, ..Minute::default() });
        }
        let last = self.minutes.len() - 1;
        &mut self.minutes[last]
    }

    fn tell(&mut self, at: Timestamp, news: News) {
        if self.begun.is_none() {
            return;
        }
        if self.news.len() == MAX_NEWS {
            self.news.pop_front();
        }
        self.news.push_back((at, news));
    }
}

fn before(at: Timestamp, time: Duration) -> Timestamp {
    Timestamp(at.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
}

/// The minute that contains a time, counted from the epoch.
fn number(at: Timestamp) -> i64 {
    at.0.div_euclid(60_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::path;
    use lockscope_model::queue::LockId;
    use lockscope_model::server_view::MemberView;

    fn lock(number: u64) -> LockName {
        LockName { id: LockId(number), path: path(&format!("/l{number}")), name: None }
    }

    fn ended(lately: &mut Lately, event: LockEvent, number: u64, minute: i64, ms: u64) {
        let mut happening = Happening::of_connection(event, Timestamp(minute * 60_000));
        happening.lock = Some(lock(number));
        if event == LockEvent::Acquired {
            happening.waited_ms = Some(ms);
        } else {
            happening.held_ms = Some(ms);
        }
        lately.add(&happening, None);
    }

    fn shown(spans: &[&TimelineSpan], now: Timestamp) -> Vec<(u64, u64)> {
        spans.iter().map(|span| (span.lock.id.0, u64::try_from(span.at_most(now).as_millis()).unwrap())).collect()
    }

    #[test]
    fn the_longest_of_each_lock_are_kept_for_ten_minutes() {
        let mut lately = Lately::default();
        for (number, minute, ms) in [(1, 0, 9_000), (1, 1, 500), (2, 1, 700), (3, 1, 600), (4, 1, 650), (5, 1, 50)] {
            ended(&mut lately, LockEvent::Acquired, number, minute, ms);
            ended(&mut lately, LockEvent::Released, number, minute, ms * 2);
        }
        let at = |minute: i64| Timestamp(minute * 60_000);
        assert_eq!(shown(&lately.waits(at(1)), at(1)), [(1, 9_000), (2, 700), (4, 650)]);
        assert_eq!(shown(&lately.holds(at(1)), at(1)), [(1, 18_000), (2, 1_400), (4, 1_300)]);
        assert_eq!(shown(&lately.waits(at(10)), at(10)), [(2, 700), (4, 650), (3, 600)], "the first minute is over");
        assert_eq!(shown(&lately.waits(at(11)), at(11)), []);
    }

    #[test]
    fn a_change_of_leader_is_reported_with_the_previous_leader() {
        let mut lately = Lately::default();
        let view = |leaders: &[&str]| {
            let leads = |address: &&str| MemberView {
                mode: Some(ServerMode::Leader),
                ..MemberView::unasked((*address).to_owned())
            };
            ServerView { members: leaders.iter().map(leads).collect(), ..ServerView::default() }
        };
        lately.surveyed(&view(&["zk1"]), Timestamp(0));
        assert_eq!(lately.leader().map(|leader| (&*leader.address, leader.since.is_some())), Some(("zk1", false)));
        lately.surveyed(&view(&[]), Timestamp(1_000));
        lately.surveyed(&view(&["zk2", "zk1"]), Timestamp(2_000));
        assert_eq!(lately.leader().map(|leader| &*leader.address), Some("zk1"), "the old one still says so");
        lately.surveyed(&view(&["zk2"]), Timestamp(3_000));
        let leader = lately.leader().expect("one leads");
        assert_eq!((&*leader.address, &leader.since), ("zk2", &Some((Timestamp(3_000), "zk1".to_owned()))));
        assert_eq!((leader.changes(Timestamp(4_000)), leader.changes(Timestamp(700_000))), (1, 0));
    }

    #[test]
    fn locks_of_the_first_read_are_not_news_and_only_the_last_news_are_kept() {
        let mut lately = Lately::default();
        ended(&mut lately, LockEvent::LockFound, 1, 0, 0);
        lately.begin(Timestamp(0));
        assert_eq!(lately.news(Timestamp(-1)).count(), 0);
        (0..300).for_each(|number| ended(&mut lately, LockEvent::LockFound, number, 1, 0));
        ended(&mut lately, LockEvent::LockGone, 7, 2, 0);
        assert_eq!(lately.news(Timestamp(0)).count(), 200);
        assert_eq!(lately.news(Timestamp(60_000)).collect::<Vec<_>>(), [&News::LockGone(lock(7))]);
    }
}
