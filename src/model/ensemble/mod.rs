//! The ensemble's own time line, beside that of the locks: who led, whether a majority of the
//! members worked together so that clients were served, which members answered, and when we saw
//! nothing.
//!
//! [`EnsembleLine`] is made of the servers' answers and of the state of our connection, so that a
//! replay has the same line.

mod event;
mod member;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::server_view::{MemberView, ServerMode, ServerView};
use crate::text::human;
use event::EnsembleEvents;
use lockscope_base::znode::{TimeBounds, Timestamp, Zxid};
use member::{AbsentTime, KnownMember, MemberWord, WritesChange, proves_since};

pub use event::{BEFORE_THE_FIRST_LOOK, EnsembleEvent, EnsembleEventKind};

#[cfg(test)]
mod tests;

/// A member without an answer is missing after this many rounds.
const MISSED_ROUNDS: u32 = 2;

/// A leader and its epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Regime {
    leader: Option<Arc<str>>,
    epoch: Option<u32>,
    since: TimeBounds,
    /// A time at which it certainly led.
    led_at: Timestamp,
    /// The leader's last transaction, and when it was asked for it.
    newest: Option<(Zxid, Timestamp)>,
}

/// The leader, the members that answer, and what happened to the ensemble as a whole.
///
/// Each event rests on an answer that would have shown the opposite. What the answers leave open is
/// [`Majority::Unknown`], and no event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleLine {
    voters: Option<u16>,
    members: BTreeMap<Arc<str>, KnownMember>,
    regime: Option<Regime>,
    majority: Majority,
    /// A time at which a majority certainly worked together.
    worked_at: Option<Timestamp>,
    /// Until when the majority was certainly lost.
    lost_until: Option<Timestamp>,
    events: EnsembleEvents,
    upheaval_at: Option<Timestamp>,
}

impl EnsembleLine {
    /// Takes in the servers' new answers.
    pub fn surveyed(&mut self, view: &ServerView) {
        self.voters = view.voters.or(self.voters);
        if self.moves_sessions(view) {
            self.upheaval_at = Some(view.at);
        }
        self.forget_former_members(view);
        for member in &view.members {
            self.hear(member, view.at);
        }
        self.judge_majority(view);
        self.judge_leader(view);
        for member in &view.members {
            self.judge_member(member, view);
        }
    }

    /// Takes in that we see nothing since `last_true`.
    pub fn lost_sight(&mut self, last_true: Timestamp, why: &str) {
        let began = TimeBounds::exact(last_true);
        self.events.add(EnsembleEvent::lasting(EnsembleEventKind::NotSeen, None, began).with_detail(why));
    }

    /// Takes in that we see everything again.
    pub fn sees_again(&mut self, now: Timestamp) {
        self.events.end(EnsembleEventKind::NotSeen, None, TimeBounds::exact(now));
    }

    /// Returns whether the ensemble serves its clients, by the last answers.
    pub fn majority(&self) -> &Majority {
        &self.majority
    }

    /// Returns what happened: the events that are over, then those that last.
    pub fn events(&self) -> impl Iterator<Item = &EnsembleEvent> {
        self.events.all()
    }

    /// Returns the number of the last change of an event.
    pub fn revision(&self) -> u64 {
        self.events.revision()
    }

    /// Returns the events that changed after a [`revision`](Self::revision).
    pub fn changed_after(&self, revision: u64) -> impl Iterator<Item = &EnsembleEvent> {
        self.events.changed_after(revision)
    }

    /// Returns when a member last went, came back or changed its role, or another epoch began, by
    /// this machine's clock. `None` if that was never seen.
    ///
    /// Clients connect again within moments. Until every server was asked again, a session without
    /// a connection may only be on its way.
    pub fn upheaval_at(&self) -> Option<Timestamp> {
        self.upheaval_at
    }

    /// Returns whether a member went, came back or changed its role since the last view.
    ///
    /// A member that is new in the list is no reason to move: the first views of a console name the
    /// members one after the other.
    fn moves_sessions(&self, view: &ServerView) -> bool {
        let now = |address: &str| view.members.iter().find(|member| member.address == address);
        let mut asked = self.members.iter().filter_map(|(address, known)| Some((address, known.standing?)));
        asked.any(|(address, before)| now(address).map_or(before.0, |now| standing(now) != before))
    }

    /// Forgets members that the ensemble has no longer.
    fn forget_former_members(&mut self, view: &ServerView) {
        let is_member = |address: &str| view.members.iter().any(|member| member.address == address);
        let events = &mut self.events;
        self.members.retain(|address, known| {
            let stays = is_member(address);
            if !stays {
                let last = known.absent.map_or(BEFORE_THE_FIRST_LOOK, |absent| absent.time.last);
                for what in [EnsembleEventKind::MemberMissing, EnsembleEventKind::SlowWrites] {
                    events.end(what, Some(address), TimeBounds::between(last, view.at));
                }
            }
            stays
        });
    }

    fn hear(&mut self, member: &MemberView, at: Timestamp) {
        let address: Arc<str> = member.address.as_str().into();
        let known = self.members.entry(Arc::clone(&address)).or_default();
        if member.mode.is_some() || member.connections.is_some() || member.error.is_some() {
            known.standing = Some(standing(member));
        }
        let word = MemberWord::of(member, at);
        let ended = known.said(word, member.mode, at);
        if let (Some(absent), MemberWord::Serves { answered_at, .. }) = (ended, word) {
            let ended = TimeBounds::between(absent.time.last, answered_at);
            self.events.end(EnsembleEventKind::MemberMissing, Some(&address), ended);
        }
    }

    fn judge_majority(&mut self, view: &ServerView) {
        let serving = view.members.iter().filter_map(|member| match MemberWord::of(member, view.at) {
            MemberWord::Serves { asked_at, answered_at } => Some((proves_since(member, asked_at), answered_at)),
            MemberWord::Absent(_) | MemberWord::Unknown => None,
        });
        if let Some((worked_at, first)) = serving.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1))) {
            self.worked_at = self.worked_at.max(Some(worked_at));
            let after = self.lost_until.unwrap_or(BEFORE_THE_FIRST_LOOK);
            self.events.end(EnsembleEventKind::NoMajority, None, TimeBounds::between(after, first));
            self.majority = Majority::Serves { leader: None, epoch: None, since: None };
            return;
        }
        if let Some(lost) = self.lost_time() {
            self.lost_until = Some(lost.last);
            let after = self.worked_at.unwrap_or(BEFORE_THE_FIRST_LOOK);
            let began = TimeBounds::between(after, lost.first);
            let event = EnsembleEvent::lasting(EnsembleEventKind::NoMajority, None, began);
            self.events.add(event.with_detail(self.who_is_absent()));
            let open = self.events.open(EnsembleEventKind::NoMajority, None);
            self.majority = Majority::Lost { since: open.map_or(began, |event| event.began) };
        } else {
            self.majority = Majority::Unknown { why: self.why_unknown(view).into() };
        }
    }

    /// Returns the time in which so many members served nobody that the others are no majority.
    fn lost_time(&self) -> Option<AbsentTime> {
        let needed = usize::from(self.voters.filter(|voters| *voters > 0)? / 2 + 1);
        let voters = self.members.values().filter(|known| !known.is_observer);
        let absent: Vec<AbsentTime> = voters.filter_map(|known| known.absent?.proven).collect();
        let is_lost =
            |at: Timestamp| absent.iter().filter(|time| time.first <= at && at <= time.last).count() >= needed;
        let first = absent.iter().map(|time| time.first).filter(|at| is_lost(*at)).min()?;
        let last = absent.iter().map(|time| time.last).filter(|at| is_lost(*at)).max()?;
        Some(AbsentTime { first, last })
    }

    fn who_is_absent(&self) -> String {
        let absent = self.members.iter().filter_map(|(address, known)| Some((address, known.absent?)));
        absent.map(|(address, absent)| format!("{address} {}", absent.reason())).collect::<Vec<_>>().join(", ")
    }

    fn why_unknown(&self, view: &ServerView) -> String {
        if view.members.is_empty() {
            return "no server was asked".to_owned();
        }
        let absent = self.who_is_absent();
        match (absent.is_empty(), self.voters) {
            (true, _) => view.missing().next().map_or("no server answered yet", |(_, error)| error).to_owned(),
            (false, None) => {
                format!("{absent}, and the ensemble's config, which names the other members, was not read")
            }
            (false, Some(_)) => format!("{absent}, and it is not known whether the others serve"),
        }
    }

    fn judge_leader(&mut self, view: &ServerView) {
        let serving = || view.members.iter().filter_map(|member| Heard::of(member, view.at));
        let Some(newest) = serving().max_by_key(|heard| (heard.epoch, heard.leads, heard.asked_at)) else { return };
        let leading = serving().filter(|heard| heard.leads).max_by_key(|heard| (heard.epoch, heard.asked_at));
        let known = self.regime.as_ref();
        let is_new_epoch = known.is_some_and(|regime| newest.epoch > regime.epoch && regime.epoch.is_some());
        let is_new_leader = known.zip(leading).is_some_and(|(regime, leading)| {
            regime.leader.as_deref().is_some_and(|before| before != leading.member.address)
                && (leading.epoch.is_none() || regime.epoch.is_none())
        });
        match &mut self.regime {
            Some(regime) if !is_new_epoch && !is_new_leader => {
                let same = leading.filter(|leading| leading.epoch == regime.epoch || regime.epoch.is_none());
                if let Some(named) = same.and_then(|leading| regime.lead(leading)) {
                    self.events.name_leader(&named.0, named.1);
                }
                regime.epoch = regime.epoch.max(newest.epoch);
                self.worked_at = self.worked_at.max(Some(regime.led_at));
            }
            _ => self.begin_regime(newest, leading.filter(|leading| leading.epoch >= newest.epoch), view.at),
        }
        if let (Majority::Serves { leader, epoch, since }, Some(regime)) = (&mut self.majority, &self.regime) {
            (*leader, *epoch, *since) = (regime.leader.clone(), regime.epoch, Some(regime.since));
        }
    }

    /// Begins a leader's time: the first one that is known, or another epoch or leader.
    fn begin_regime(&mut self, newest: Heard<'_>, leading: Option<Heard<'_>>, at: Timestamp) {
        let shown = leading.unwrap_or(newest);
        let leader: Option<Arc<str>> = leading.map(|leading| leading.member.address.as_str().into());
        // A follower shows the epoch of its last transaction, which may be an earlier one.
        let is_certain = |regime: &Regime| regime.leader.is_some() || regime.since.after != BEFORE_THE_FIRST_LOOK;
        let before = self.regime.take().filter(is_certain);
        let lost_until = self.lost_until.filter(|until| before.as_ref().is_some_and(|regime| *until > regime.led_at));
        let after = before.as_ref().map(|regime| regime.led_at).max(lost_until);
        let since = TimeBounds::between(after.unwrap_or(BEFORE_THE_FIRST_LOOK), shown.answered_at);
        if let Some(before) = before {
            let event = EnsembleEvent::moment(EnsembleEventKind::LeaderChanged, leader.clone(), since);
            let event = event.with_epoch(newest.epoch);
            self.events.add(match before.leader {
                Some(former) => event.with_detail(format!("{former} led before")),
                None => event,
            });
            self.upheaval_at = Some(at);
        }
        let newest_zxid = leading.and_then(|leading| Some((leading.zxid?, leading.asked_at)));
        let led_at =
            leading.map_or(since.after, |leading| proves_since(leading.member, leading.asked_at).max(since.after));
        self.regime = Some(Regime { leader, epoch: newest.epoch, since, led_at, newest: newest_zxid });
    }

    fn judge_member(&mut self, member: &MemberView, view: &ServerView) {
        let others_served_at = || {
            let others = view.members.iter().filter(|other| other.address != member.address);
            others.filter_map(|other| Heard::of(other, view.at)).map(|heard| heard.asked_at).max()
        };
        let Some((address, known)) = self.members.get_key_value(&*member.address) else { return };
        let (address, absent, served_at) = (Arc::clone(address), known.absent, known.served_at);
        if let Some(absent) = absent.filter(|absent| absent.rounds >= MISSED_ROUNDS) {
            // A member that is asked before the others answer comes back like them after an outage.
            if others_served_at().is_some_and(|served| served <= absent.time.last) {
                let began = TimeBounds::between(served_at.unwrap_or(BEFORE_THE_FIRST_LOOK), absent.time.first);
                let event = EnsembleEvent::lasting(EnsembleEventKind::MemberMissing, Some(Arc::clone(&address)), began);
                self.events.add(event.with_detail(format!("{address} {}", absent.reason())));
            }
            let slow_until = self.members.get_mut(&address).and_then(KnownMember::forget_writes);
            if let Some(until) = slow_until {
                let ended = TimeBounds::between(until, absent.time.first);
                self.events.end(EnsembleEventKind::SlowWrites, Some(&address), ended);
            }
        }
        self.judge_figures(member, &address);
    }

    fn judge_figures(&mut self, member: &MemberView, address: &Arc<str>) {
        let Some(known) = self.members.get_mut(address) else { return };
        let (elected, wrote) = (known.elected(member), known.wrote(member));
        // The election of another leader is told already.
        let is_same =
            |bounds: &TimeBounds| self.regime.as_ref().is_none_or(|regime| regime.since.before <= bounds.after);
        if let Some(bounds) = elected.filter(is_same) {
            let event = EnsembleEvent::moment(EnsembleEventKind::Election, Some(Arc::clone(address)), bounds);
            self.events.add(event);
        }
        match wrote {
            Some(WritesChange::Slow { began, time }) => {
                let event = EnsembleEvent::lasting(EnsembleEventKind::SlowWrites, Some(Arc::clone(address)), began);
                let time = human::latency(time);
                self.events
                    .add(event.with_detail(format!("one write in a hundred takes {time} or longer at {address}")));
            }
            Some(WritesChange::Fast { ended }) => self.events.end(EnsembleEventKind::SlowWrites, Some(address), ended),
            None => {}
        }
    }
}

/// The answer of a member of an ensemble that serves.
#[derive(Clone, Copy)]
struct Heard<'a> {
    member: &'a MemberView,
    asked_at: Timestamp,
    answered_at: Timestamp,
    leads: bool,
    zxid: Option<Zxid>,
    epoch: Option<u32>,
}

impl<'a> Heard<'a> {
    fn of(member: &'a MemberView, at: Timestamp) -> Option<Self> {
        let MemberWord::Serves { asked_at, answered_at } = MemberWord::of(member, at) else { return None };
        let zxid = member.extras.progress.and_then(|progress| progress.zxid);
        // A standalone server has no leader, and stays in its epoch.
        let zxid = zxid.filter(|_| member.mode != Some(ServerMode::Standalone));
        let epoch = zxid.and_then(|zxid| u32::try_from(zxid.epoch()).ok());
        Some(Self { member, asked_at, answered_at, leads: member.mode == Some(ServerMode::Leader), zxid, epoch })
    }
}

impl Regime {
    /// Takes over an answer of its leader. Returns the leader and the epoch if they were not both
    /// known.
    fn lead(&mut self, leading: Heard<'_>) -> Option<(Arc<str>, u32)> {
        self.led_at = self.led_at.max(proves_since(leading.member, leading.asked_at));
        match (leading.zxid, self.newest) {
            // A transaction needs a majority: it was there after the question before.
            (Some(now), Some((before, asked_at))) if now > before => self.led_at = self.led_at.max(asked_at),
            _ => {}
        }
        if self.newest.is_none_or(|(_, asked_at)| leading.asked_at > asked_at) {
            self.newest = leading.zxid.map(|zxid| (zxid, leading.asked_at)).or(self.newest);
        }
        let is_new = self.leader.is_none();
        let leader = self.leader.get_or_insert_with(|| leading.member.address.as_str().into());
        Some((Arc::clone(leader), leading.epoch?)).filter(|_| is_new)
    }
}

fn standing(member: &MemberView) -> (bool, Option<ServerMode>) {
    (member.mode.is_some() || member.connections.is_some(), member.mode)
}

/// Whether the ensemble serves its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Majority {
    /// A member said that it serves with a leader, or that it is standalone.
    Serves {
        /// The member that leads. `None` for a standalone server, and where none of those that
        /// answer leads.
        leader: Option<Arc<str>>,
        /// The epoch of the leader.
        epoch: Option<u32>,
        /// Since when this leader leads; the earlier bound is missing where it led at the first
        /// look.
        since: Option<TimeBounds>,
    },
    /// A majority of the members said at one time that they have no leader, or did not run.
    Lost {
        /// Since when.
        since: TimeBounds,
    },
    /// Neither is known.
    Unknown {
        /// Why, as a part of a sentence. Unescaped.
        why: Arc<str>,
    },
}

impl Default for Majority {
    fn default() -> Self {
        Self::Unknown { why: "no server was asked yet".into() }
    }
}
