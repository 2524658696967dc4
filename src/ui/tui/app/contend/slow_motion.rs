//! Slow motion: the speed of the test clients, and the pictures that show them.

use std::time::Duration;

use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::Speed;

/// How long a watch event travels in the picture if clients at full speed were stopped.
const FLIGHT_AT_FULL_SPEED: Duration = Duration::from_millis(500);
/// The time between two steps while the user is idle.
const IDLE_INTERVAL: Duration = Duration::from_secs(5);

/// The speed of the test clients, and which pictures show them.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent switch, and every combination is valid")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowMotion {
    pub(super) speed: Speed,
    /// Whether the clients are stopped until the user plays a step.
    pub(super) is_stopped: bool,
    /// Whether the user is idle. The clients then take one step every 5 s, whatever their speed.
    pub(super) is_idle: bool,
    pub(super) last_step: Timestamp,
    /// When each side was last sent a `Hold` order, which starts or ends stepping.
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

    /// Returns whether Contend should show the picture instead of figures and clients.
    pub fn wants_picture(&self) -> bool {
        self.shows_picture
    }

    /// Returns whether Queue should show its picture instead of the list.
    pub fn wants_queue_picture(&self) -> bool {
        self.shows_queue_picture
    }

    /// Returns whether pictures are drawn large, to be readable from a distance.
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    pub fn turn_picture(&mut self) {
        self.shows_picture = !self.shows_picture;
    }

    pub fn turn_queue_picture(&mut self) {
        self.shows_queue_picture = !self.shows_queue_picture;
    }

    /// Switches between large and normal pictures. Switching to large also shows the picture of
    /// Queue (`is_of_queue`) or of Contend.
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

    /// Resets to full speed and lists, for new clients. Keeps the size of the pictures.
    pub(super) fn leave(&mut self) {
        *self = Self { is_large: self.is_large, ..Self::default() };
    }

    /// Returns how long a watch event travels in the picture: half of the time between two steps.
    pub(super) fn flight(&self) -> Duration {
        self.speed.interval().unwrap_or(FLIGHT_AT_FULL_SPEED * 2) / 2
    }

    /// Returns whether the clients wait for a `Step` order before each step.
    pub(super) fn holds(&self) -> bool {
        self.is_stopped || self.interval().is_some()
    }

    /// Returns the time between two steps. `None` at full speed, where clients do not wait, unless
    /// the user is idle.
    fn interval(&self) -> Option<Duration> {
        if self.is_idle { Some(IDLE_INTERVAL) } else { self.speed.interval() }
    }

    /// Returns when the next automatic step is due; `None` if the clients are stopped or do not
    /// wait between steps.
    pub(super) fn next_step(&self) -> Option<Timestamp> {
        let interval = self.interval().filter(|_| !self.is_stopped)?;
        Some(self.last_step.plus(interval))
    }
}
