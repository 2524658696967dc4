//! Changes by time alone: the tick of each second, moving pictures and playback; and when the next
//! of them is due.

use super::{App, Recording, Replay, Screen, Update};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::ConnectionState;

impl App {
    pub(super) fn tick(&mut self) -> Update {
        let redraw = self.counts_seconds();
        self.live.tick(self.wall);
        if self.observing && self.live.table().is_live() {
            self.live.examine_if_due(self.wall, self.recording.as_mut().and_then(Recording::recorder));
        }
        self.summarize_open();
        self.deletions.tick(&self.live, &self.settings.bindings, self.wall);
        self.footer.tick(self.wall);
        Update { redraw, effects: self.record().into_iter().collect() }
    }

    /// Moves pictures and playback on, at the time that [`next_due`](Self::next_due) returned.
    pub(super) fn due(&mut self) -> Update {
        let played = self.shown.replay_mut().and_then(|replay| replay.play_on(self.wall));
        let moved = self.test_clients.move_pictures(self.wall);
        let stepped = self.test_clients.play_due_step(self.wall);
        Update { redraw: moved && self.shows_moves(), effects: played.into_iter().chain(stepped).collect() }
    }

    /// When the next [`Event::Due`](super::Event::Due) is wanted, for the next step or the next
    /// frame of a moving picture. `None` while nothing moves.
    pub fn next_due(&self) -> Option<Timestamp> {
        let of_clients = self.test_clients.next_due(self.wall, self.shows_moves());
        of_clients.into_iter().chain(self.replay().and_then(Replay::plays_on_at)).min()
    }

    /// Whether the moving picture of the test clients is visible.
    fn shows_moves(&self) -> bool {
        self.shows_picture() && !self.shown.is_paused()
    }

    /// Whether live locks exist and are up to date, whatever the screen shows.
    fn watches_locks(&self) -> bool {
        let table = self.live.table();
        self.observing && table.is_live() && table.contender_count() > 0
    }

    /// Whether an [`Event::Tick`] is needed every second: the screen changes with time alone, a
    /// waiter may become overdue, or recorded changes wait to be written.
    pub fn ticks(&self) -> bool {
        let has_open = self.ensembles().is_some_and(|ensembles| ensembles.open().is_some());
        self.counts_seconds()
            || self.watches_locks()
            || has_open
            || self.recording.as_ref().is_some_and(Recording::has_more)
    }

    /// Whether something on the screen changes with time alone.
    pub fn counts_seconds(&self) -> bool {
        let playing = self.tour.as_ref().is_some_and(|tour| tour.is_playing());
        if self.footer.notice.is_some() || self.shown.is_paused() || self.deletions.open.is_some() || playing {
            return true;
        }
        if self.navigation.screen == Screen::Contend && self.has_fleets() {
            return true;
        }
        if let Some(replay) = self.replay() {
            return replay.is_of_live();
        }
        if self.shows_ensembles() {
            return false;
        }
        if !self.is_live() {
            return matches!(self.link(), ConnectionState::Connecting { next_try: Some(_), .. });
        }
        match self.navigation.screen.list() {
            Some(list) => list.changes_with_time(self),
            None => self.navigation.screen == Screen::Servers && self.settings.asks_servers,
        }
    }

    /// Whether Locks shows how long a lock has been free or gone.
    pub(super) fn shows_ages_of_free_locks(&self) -> bool {
        let world = self.world();
        let rows = self.layout().map_or(0, |layout| layout.rows().1);
        let top = self.cursors.locks.top();
        let ids = world.locks().window(top..top + rows).filter_map(|id| world.table().lock(id));
        world.vanished().shown() > 0 || ids.into_iter().any(|lock| lock.is_empty() && world.free_since(lock).is_some())
    }

    /// Whether the sparklines of Locks contain watch events, which move with time.
    pub(super) fn shows_recent_watch_events(&self) -> bool {
        let seconds = self.live.table().totals().history.seconds(self.moment());
        seconds.iter().any(|second| second.watch_events.herd + second.watch_events.chain > 0)
    }
}
