//! What the person notes about findings: mutes of findings, and the maintenance of servers.
//!
//! The notes are kept by [`Effect::Note`], and come back as [`FollowedNotes`], like those that
//! another program writes. So a mute counts once it is kept, and never before.

use std::sync::Arc;
use std::time::Duration;

use super::known::KnownFindings;
use super::{App, Effect, PromptPurpose, Recording, Screen, Update};
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_live::admin::notebook::{FollowedNotes, NoteChange};
use lockscope_live::observe::Observed;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{Change, Mute, MuteScope};
use lockscope_model::text::human::{date_and_time, plural};

/// The time that is offered for a mute.
const OFFERED: &str = "2h";

/// The longest mute: who mutes for longer should plan it in the config file.
const MAX_MUTE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The pause between two writings of what is known. A crash loses no more than that.
const KEPT_EVERY: Duration = Duration::from_secs(10);

/// How long to wait before a mute is ended again, whose end could not be kept.
const ENDED_EVERY: Duration = Duration::from_secs(10);

/// What is noted about the open ensemble, and what is to be kept.
#[derive(Debug, Default)]
pub struct NotedFindings {
    /// The known findings, where one ensemble is shown.
    pub(super) known: KnownFindings,
    /// When the ensemble was opened.
    pub(super) opened_at: Timestamp,
    kept_at: Timestamp,
    ended_at: Timestamp,
    /// Why the notes cannot be read; said once.
    trouble: Option<String>,
}

impl NotedFindings {
    /// Nothing is noted yet about an ensemble that is opened now.
    pub fn new(now: Timestamp) -> Self {
        Self { opened_at: now, ..Self::default() }
    }
}

/// Until when to mute, and the note.
type Wish = (Option<Timestamp>, String);

impl App {
    /// Mutes the findings of the selected row, or asks until when.
    pub(super) fn mute(&mut self, argument: Option<&str>) -> Update {
        let (connect, findings) = self.findings_to_mute();
        let all = findings.len();
        let findings: Vec<_> = findings.iter().filter(|finding| finding.muted.is_none()).collect();
        if findings.is_empty() && all > 0 && argument.is_none() {
            self.footer.ask(PromptPurpose::Command, "unmute");
            return Update::redraw();
        }
        if findings.is_empty() {
            return self.refuse("There is no finding to mute at the selected row.".to_owned());
        }
        let Some(argument) = argument else {
            self.footer.ask(PromptPurpose::Command, &format!("mute {OFFERED} "));
            let findings = plural(findings.len(), "finding", "findings");
            self.show_hint(format!("Mutes {findings}: for that time, or until `cleared`; then a note."));
            return Update::redraw();
        };
        let (until, note) = match self.wish(argument, true) {
            Ok(wish) => wish,
            Err(why) => return self.refuse(why),
        };
        let said = format!("{} muted until {}.", plural(findings.len(), "finding", "findings"), self.named(until));
        let scopes = findings.into_iter().map(|finding| MuteScope::Finding(finding.to_muted()));
        let mutes = scopes.map(|scope| self.new_mute(scope, until, &note)).collect();
        Update::effect(Effect::Note { connect, change: NoteChange::Mute(mutes), said: Some(said) })
    }

    /// Ends the mutes of the selected row.
    pub(super) fn unmute(&mut self) -> Update {
        let (connect, findings) = self.findings_to_mute();
        let mutes: Vec<Arc<Mute>> = findings.iter().filter_map(|finding| finding.muted.clone()).collect();
        let is_planned = |mute: &&Arc<Mute>| matches!(mute.scope, MuteScope::Locks { .. });
        match (mutes.first(), mutes.iter().find(is_planned)) {
            (None, _) => return self.refuse("No finding of the selected row is muted.".to_owned()),
            (_, Some(planned)) => {
                let note = escaped(&planned.note).into_owned();
                return self.refuse(format!("It is muted by [[mute]] in the config file ({note}): change it there."));
            }
            (Some(first), None) if first.scope == MuteScope::Maintenance => {
                return self.refuse("It is muted by the maintenance: `:maintenance off` ends that.".to_owned());
            }
            _ => {}
        }
        let said = format!("{} counted again.", plural(mutes.len(), "finding is", "findings are"));
        let change = NoteChange::Unmute(mutes.iter().map(|mute| mute.scope.clone()).collect());
        Update::effect(Effect::Note { connect, change, said: Some(said) })
    }

    /// Begins or ends the maintenance of the servers of the open or the selected ensemble.
    pub(super) fn maintain(&mut self, argument: Option<&str>) -> Update {
        let Some(argument) = argument else {
            self.footer.ask(PromptPurpose::Command, "maintenance 30m ");
            return Update::redraw();
        };
        let connect = self.ensemble_to_note();
        if argument.trim() == "off" {
            let change = NoteChange::Unmute(vec![MuteScope::Maintenance]);
            let said = Some("The maintenance is over.".to_owned());
            return Update::effect(Effect::Note { connect, change, said });
        }
        let (until, note) = match self.wish(argument, false) {
            Ok(wish) => wish,
            Err(why) => return self.refuse(why),
        };
        let said = format!(
            "In maintenance until {}: servers that do not serve, and clients without a connection, do not count.",
            self.named(until)
        );
        let change = NoteChange::Mute(vec![self.new_mute(MuteScope::Maintenance, until, &note)]);
        Update::effect(Effect::Note { connect, change, said: Some(said) })
    }

    /// Takes what is noted about the open ensemble.
    pub(super) fn notes_followed(&mut self, notes: FollowedNotes) -> Update {
        let FollowedNotes { mutes, findings, trouble } = notes;
        if !self.observing && self.shown.is_past() {
            return Update::default();
        }
        self.noted.known.load(&findings, self.wall);
        if *self.live.table().mutes() != mutes {
            let changes = vec![Observed { at: self.wall, change: Change::Muted { mutes } }];
            self.live.apply(changes, self.recording.as_mut().and_then(Recording::recorder));
            self.live.look_at_muted(self.wall, self.recording.as_mut().and_then(Recording::recorder));
        }
        if let Some(why) = trouble.filter(|why| self.noted.trouble.as_ref() != Some(why)) {
            self.show_failure(format!("{}.", escaped(&why)));
            self.noted.trouble = Some(why);
        }
        Update::redraw()
    }

    /// Says whether a note was kept.
    pub(super) fn note_kept(&mut self, kept: Result<(), String>, said: Option<String>) -> Update {
        match (kept, said) {
            (Ok(()), None) => return Update::default(),
            (Ok(()), Some(said)) => self.show_notice(said),
            (Err(why), said) => {
                // What the console keeps by itself fails again and again for the same reason.
                if said.is_none() && self.noted.trouble.as_ref() == Some(&why) {
                    return Update::default();
                }
                self.show_failure(format!("{}.", escaped(&why)));
                self.noted.trouble = Some(why);
            }
        }
        Update::redraw()
    }

    /// Learns which findings stand, once a second. Returns what is to be kept of them, and the mutes
    /// whose findings are cleared.
    pub(super) fn know_findings(&mut self) -> Vec<Effect> {
        if self.ensembles.is_none() && self.observing {
            let (live, now) = (&self.live, self.wall);
            self.noted.known.take(live.diagnosis().findings(), live.table().is_live(), true, now);
        }
        let mut effects = Vec::new();
        if self.wall.since(self.noted.ended_at) >= ENDED_EVERY {
            let cleared = self.live.diagnosis().cleared_mutes(self.live.table());
            if !cleared.is_empty() {
                self.noted.ended_at = self.wall;
                let change = NoteChange::Unmute(cleared.iter().map(|mute| mute.scope.clone()).collect());
                effects.push(Effect::Note { connect: self.settings.connect.clone(), change, said: None });
            }
        }
        if self.wall.since(self.noted.kept_at) >= KEPT_EVERY {
            self.noted.kept_at = self.wall;
            effects.extend(self.take_known());
        }
        effects
    }

    /// Returns what is to be kept of the known findings, of each ensemble that has news.
    pub(crate) fn take_known(&mut self) -> Vec<Effect> {
        let keep =
            |(connect, known): (String, Vec<_>)| Effect::Note { connect, change: NoteChange::Know(known), said: None };
        if let Some(ensembles) = &mut self.ensembles {
            return ensembles.take_known().into_iter().map(keep).collect();
        }
        let known = self.noted.known.take_changed();
        known.map(|known| keep((self.settings.connect.clone(), known))).into_iter().collect()
    }

    fn new_mute(&self, scope: MuteScope, until: Option<Timestamp>, note: &str) -> Mute {
        // The author is known to who keeps it.
        Mute { scope, since: self.wall, until, note: note.into(), by: "".into() }
    }

    fn named(&self, until: Option<Timestamp>) -> String {
        until.map_or_else(|| "cleared".to_owned(), |until| date_and_time(until, self.settings.utc))
    }

    /// Reads `2h the note`, or `cleared the note`.
    fn wish(&self, argument: &str, may_be_cleared: bool) -> Result<Wish, String> {
        let (word, note) = argument.trim().split_once(' ').unwrap_or((argument.trim(), ""));
        let note = note.trim().to_owned();
        if may_be_cleared && word == "cleared" {
            return Ok((None, note));
        }
        let time = humantime::parse_duration(word).ok().filter(|time| !time.is_zero());
        let time = time.ok_or_else(|| {
            let or_cleared = if may_be_cleared { ", or `cleared`" } else { ", or `off`" };
            format!("`{}` is no time: write one as in 30m or 2h{or_cleared}; then a note.", escaped(word))
        })?;
        if time > MAX_MUTE {
            return Err(
                "That is too long: 30 days at most. [[mute]] in the config file plans what is later.".to_owned()
            );
        }
        Ok((Some(self.wall.plus(time)), note))
    }

    /// The connect string of the ensemble that a note is about: the selected one of the list, or the
    /// open one.
    fn ensemble_to_note(&self) -> String {
        let selected = || self.ensembles.as_deref()?.row(self.cursors.ensembles.rank());
        match selected().filter(|_| self.screen() == Screen::Ensembles) {
            Some(row) => row.connect.clone(),
            None => self.settings.connect.clone(),
        }
    }

    /// The findings of the selected row, and the ensemble that has them.
    fn findings_to_mute(&self) -> (String, Vec<Finding>) {
        let connect = self.ensemble_to_note();
        let world = &self.live;
        let of_lock = |lock| world.diagnosis().of(lock).cloned().collect::<Vec<Finding>>();
        let findings = match self.screen() {
            Screen::Ensembles => {
                let row = self.ensembles.as_deref().and_then(|all| all.row(self.cursors.ensembles.rank()));
                let worst = row.and_then(|row| row.summary.as_ref()?.findings.first());
                worst.map(|worst| Finding::clone(worst)).into_iter().collect()
            }
            Screen::Queue => {
                let all = world.open_lock().map(|lock| of_lock(lock.id())).unwrap_or_default();
                let selected = world.queue_rows().row(self.cursors.contenders.rank());
                let node = selected.map(|row| Arc::clone(&row.contender.node));
                let own: Vec<_> = all.iter().filter(|of| of.node.is_some() && of.node == node).cloned().collect();
                if own.is_empty() { all } else { own }
            }
            _ => self.cursors.locks.selected(world.locks()).map(of_lock).unwrap_or_default(),
        };
        (connect, findings)
    }
}
