//! Slow motion: how test clients go, and the pictures that show it.

use std::time::Duration;

use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::Speed;

/// How long an event travels where clients that go at full speed were stopped.
const FLIGHT_AT_FULL_SPEED: Duration = Duration::from_millis(500);
/// The time from step to step of clients that nobody looks at.
const IDLE_INTERVAL: Duration = Duration::from_secs(5);

/// How the test clients go, and how they are shown.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and any mixture of them is good")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowMotion {
    pub(super) speed: Speed,
    /// Whether they stand still until somebody plays a step.
    pub(super) is_stopped: bool,
    /// Whether nobody looks at them: they go slowly then, whatever their speed.
    pub(super) is_idle: bool,
    pub(super) last_step: Timestamp,
    /// When each side was last told to be held or let go.
    pub(super) told: [Option<Timestamp>; 2],
    pub(super) shows_picture: bool,
    shows_queue_picture: bool,
    is_large: bool,
}

impl SlowMotion {
    pub fn speed(&self) -> Speed {
        self.speed
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether Contend is to show the picture in place of figures and clients.
    pub fn wants_picture(&self) -> bool {
        self.shows_picture
    }

    /// Whether Queue is to show its picture in place of the list.
    pub fn wants_queue_picture(&self) -> bool {
        self.shows_queue_picture
    }

    /// Whether a picture is drawn for those who sit far away.
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    pub fn turn_picture(&mut self) {
        self.shows_picture = !self.shows_picture;
    }

    pub fn turn_queue_picture(&mut self) {
        self.shows_queue_picture = !self.shows_queue_picture;
    }

    /// Draws the pictures larger, and shows the one of Queue or the one of Contend, or draws them
    /// as usual.
    pub fn turn_large(&mut self, is_of_queue: bool) {
        self.is_large = !self.is_large;
        if is_of_queue {
            self.shows_queue_picture |= self.is_large;
        } else {
            self.shows_picture |= self.is_large;
        }
    }

    pub fn show_picture(&mut self, large: bool) {
        (self.shows_picture, self.is_large) = (true, self.is_large || large);
    }

    pub fn hide_picture(&mut self) {
        self.shows_picture = false;
    }

    /// New clients go by themselves and are shown as a list, until somebody wants it otherwise. How large the picture is stays.
    pub(super) fn leave(&mut self) {
        *self = Self { is_large: self.is_large, ..Self::default() };
    }

    /// How long a watch event travels in the picture: half of the time from step to step.
    pub(super) fn flight(&self) -> Duration {
        self.speed.interval().unwrap_or(FLIGHT_AT_FULL_SPEED * 2) / 2
    }

    /// Whether the clients wait to be let go on.
    pub(super) fn holds(&self) -> bool {
        self.is_stopped || self.interval().is_some()
    }

    /// The time from step to step; `None` where they go on by themselves.
    fn interval(&self) -> Option<Duration> {
        if self.is_idle { Some(IDLE_INTERVAL) } else { self.speed.interval() }
    }

    /// When the next step is due by itself.
    pub(super) fn next_step(&self) -> Option<Timestamp> {
        let interval = self.interval().filter(|_| !self.is_stopped)?;
        Some(self.last_step.plus(interval))
    }
}
