//! Handles events one after the other: the top layer of `App`.

use super::{App, Effect, Event, Recording, Update};
use lockscope_base::znode::Timestamp;
use lockscope_live::observe::Observed;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::queue::Change;

impl App {
    /// Handles one event. Returns whether to redraw, and the effects to carry out.
    pub fn update(&mut self, event: Event, now: Timestamp) -> Update {
        self.wall = now;
        let second = matches!(event, Event::Tick);
        let before = (self.navigation.screen, self.shown.is_paused());
        let looked = match &event {
            Event::Tick => true,
            Event::Changes(changes) => changes.iter().any(|seen| matches!(seen.change, Change::Surveyed { .. })),
            _ => false,
        };
        let update = match event {
            Event::Key(key) => self.attended(|app| app.key(key)),
            Event::Mouse(mouse) => self.attended(|app| app.mouse(mouse)),
            Event::Resize(width, height) => {
                self.size = (width, height);
                Update::redraw()
            }
            Event::Changes(changes) => self.changes(changes),
            Event::Tick => self.tick(),
            Event::Due => self.due(),
            Event::ExportDone(done) => {
                match done {
                    Ok(path) => self.show_notice(format!("Written to {}", path.display())),
                    Err(why) => self.show_failure(why),
                }
                Update::redraw()
            }
            Event::Note(note) => {
                self.show_notice(note);
                Update::redraw()
            }
            Event::ContextRefused(why) => self.context_refused(why),
            Event::ConfigChanged(change) => self.config_changed(*change),
            Event::GuardsFound(found) => self.guards_found(found),
            Event::DeletionDone(done) => self.deletion_done(done),
            Event::NodeRead { path, read } => self.node_read(&path, read),
            Event::Command(report) => self.command_reported(*report),
            Event::AuditRead(reading) => self.audit_read(*reading),
            Event::ObserverEnded => {
                self.observing = false;
                Update::redraw()
            }
            Event::Fleet { side, status } => self.fleet_reported(side, status),
            Event::FleetFailed { side, why } => self.fleet_failed(side, why),
            Event::FleetEnded { side, outcome } => self.fleet_ended(side, *outcome),
            Event::FleetBusy(side) => self.fleet_busy(side),
            Event::FleetCompared(outcome) => self.fleet_compared(outcome),
            Event::Arrived(arrival) => self.arrive(*arrival),
            Event::Recorded(recorded) => self.recorded(*recorded),
            Event::ServerFilesFound(found) => self.server_files_found(found),
            Event::PastTakenIn(taken) => self.past_taken_in(taken),
            Event::LastLeadersFound(found) => self.last_leaders_found(found),
            Event::EnsemblesReported(reports) => self.ensembles_reported(reports),
            Event::TourBegins(tour) => self.tour_begins(tour),
            Event::SceneFailed(why) => self.scene_failed(why),
        };
        let mut update = self.follow_tour(update, second);
        update.append(self.look_in_ensembles());
        update.append(self.go_into_wanted());
        if update.redraw {
            if looked || before != (self.navigation.screen, self.shown.is_paused()) {
                self.rebuild_rows();
            }
            self.reanchor();
            self.arrange();
            self.wrap_output();
            self.reanchor();
        }
        if before.0 != self.navigation.screen {
            self.offer_import();
        }
        let wanted = match (self.shown.is_live(), self.screen().entry().shows_watchers) {
            (false, _) => WatchersWanted::Never,
            // Any lock may have a head that waits itself, which its watches alone tell.
            (true, false) => WatchersWanted::AtPace,
            (true, true) => WatchersWanted::Now,
        };
        if std::mem::replace(&mut self.watchers_wanted, wanted) != wanted {
            update.effects.push(Effect::LookAtWatchers(wanted));
        }
        update.effects.extend(self.compare_members_if_due());
        if looked {
            update.effects.extend(self.ask_for_last_leaders());
        }
        update
    }

    fn changes(&mut self, changes: Vec<Observed>) -> Update {
        let count = changes.iter().filter(|seen| !matches!(seen.change, Change::Surveyed { .. })).count() as u64;
        self.count_changes(usize::try_from(count).unwrap_or(usize::MAX));
        self.live.apply(changes, self.recording.as_mut().and_then(Recording::recorder));
        if let Some(open) = &self.navigation.open {
            self.live.reopen(open);
        }
        self.deletions.recheck(&self.live, &self.settings.bindings, self.wall);
        self.name_new_holder();
        Update { redraw: self.shown.follow(count), effects: Vec::new() }
    }

    /// Re-anchors the selection of the screen's list after rows moved.
    fn reanchor(&mut self) {
        if let Some((list, layout)) = self.navigation.screen.list().zip(self.layout()) {
            list.reanchor(self, layout.rows().1);
        }
    }

    /// Rebuilds the rows that are not updated change by change. The rows of Sessions and Waits are
    /// at most a second old.
    fn rebuild_rows(&mut self) {
        // While the state is stale, the rows stay as they were.
        if let Some(list) = self.navigation.screen.list().filter(|_| self.shows_truth()) {
            list.rebuild_rows(self);
        }
    }
}
