//! The parts that the loop drives: its sources and the test clients as traits, the pace of its
//! frames, and the thread that writes the past.
//!
//! A frame is drawn only after a change, and not more often than the eye can follow; what decides
//! that is pure.
//!
//! One single thread writes the past. Memory that a thread frees stays with it for its next
//! allocations, so each thread of the runtime's pool that ever wrote would keep megabytes.

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::tui::app::{Event, FleetSide};
use crate::tui::terminal::{ProcessSignal, ProcessSignals};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend;
use lockscope_lab::contend::Scenario;
use lockscope_lab::demo::SceneCommand;
use lockscope_live::observe::Observed;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::members::ComparedNodes;

/// A source of changes.
pub trait ChangeSource {
    /// Waits for the next changes; `None` when no more will come. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Option<Vec<Observed>>>;
    /// Sets when to ask the servers for the watches of each session.
    fn set_watchers_wanted(&mut self, wanted: WatchersWanted);
    /// Sets the parent of the open queue, whose contenders are read first.
    fn set_open_queue(&mut self, parent: Option<ZnodePath>);
    /// Compares the members in these nodes, unless a comparison is under way.
    fn compare_members(&mut self, _: ComparedNodes) {}
}

/// A source of signals.
pub trait SignalSource {
    /// Waits for the next signal. Cancel safe.
    fn next(&mut self) -> impl Future<Output = ProcessSignal>;
}

impl SignalSource for ProcessSignals {
    fn next(&mut self) -> impl Future<Output = ProcessSignal> {
        ProcessSignals::next(self)
    }
}

/// Starts and controls test clients.
pub trait FleetControl {
    /// Waits for the fleets' next report; forever while there is no fleet. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Event>;
    fn start(&mut self, side: FleetSide, scenario: Scenario);
    fn order(&mut self, side: FleetSide, order: contend::FleetCommand);
    /// Stops the fleet on a side; its end is reported as an event.
    fn stop(&mut self, side: FleetSide);
    /// Lets all fleets end in the background and reports no more events of them.
    fn dismiss(&mut self) {}
    fn direct(&mut self, _: SceneCommand) {}
    /// Runs these scenarios to their end, one after the other; each outcome is reported as an
    /// event.
    fn compare(&mut self, _: Vec<Scenario>) {}
}

/// The minimum time between two frames: 60 a second.
const BETWEEN_FRAMES: Duration = Duration::from_micros(16_667);

/// The minimum time before a frame that shows only changes of the ensemble: 20 a second. Nobody can
/// read a table that changes faster, and drawing it would cost more than following the locks.
const BETWEEN_CHANGES: Duration = Duration::from_millis(50);

/// How soon a frame is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A change of the ensemble.
    Changes,
    /// A key press, or a step of a picture that is due.
    Now,
}

/// Paces the frames. Without a request there is no frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    wanted: Option<Urgency>,
    last: Option<Instant>,
}

impl Frames {
    /// Requests a frame.
    pub fn request(&mut self, urgency: Urgency) {
        self.wanted = self.wanted.max(Some(urgency));
    }

    /// Returns when the next frame is due, which may be in the past; `None` when nothing was
    /// requested since the last frame.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let between = match self.wanted? {
            Urgency::Now => BETWEEN_FRAMES,
            Urgency::Changes => BETWEEN_CHANGES,
        };
        Some(self.last.map_or(now, |last| last + between))
    }

    /// Notes that a frame was drawn, which shows everything up to now.
    pub fn drawn(&mut self, now: Instant) {
        self.wanted = None;
        self.last = Some(now);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs one after the other. The thread ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct WriterThread {
    jobs: Sender<Job>,
}

impl WriterThread {
    pub fn start() -> Self {
        let (jobs, to_do) = channel::<Job>();
        thread::spawn(move || to_do.into_iter().for_each(|job| job()));
        Self { jobs }
    }

    /// Runs a job after those given before. The caller awaits each job before the next. Dropping
    /// the future does not cancel the job.
    pub fn run<T: Send + 'static>(self, job: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> + Send {
        let (done, outcome) = oneshot::channel();
        let job = Box::new(move || {
            // Fails when nobody awaits the result any more.
            let _ = done.send(job());
        });
        let given = self.jobs.send(job);
        async move {
            given.expect("the thread ends with its last job");
            outcome.await.expect("no job panics")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_a_change_there_is_no_frame() {
        let now = Instant::now();
        let mut frames = Frames::default();
        assert_eq!(frames.due(now), None);
        frames.request(Urgency::Now);
        frames.drawn(now);
        assert_eq!(frames.due(now + Duration::from_secs(100)), None);
    }

    #[test]
    fn the_first_change_is_drawn_at_once() {
        let now = Instant::now();
        let mut frames = Frames::default();
        frames.request(Urgency::Changes);
        assert_eq!(frames.due(now), Some(now));
    }

    proptest! {
        #[test]
        fn however_changes_come_two_frames_are_a_sixtieth_of_a_second_apart_and_no_change_waits_longer(
            pauses in prop::collection::vec(0..40_000_u64, 1..300),
        ) {
            let start = Instant::now();
            let (mut frames, mut now) = (Frames::default(), start);
            let mut drawn: Vec<Instant> = Vec::new();
            for pause in pauses {
                let next = now + Duration::from_micros(pause);
                if let Some(due) = frames.due(now).filter(|due| *due <= next) {
                    let at = due.max(now);
                    prop_assert!(drawn.last().is_none_or(|last| at - *last >= BETWEEN_FRAMES));
                    frames.drawn(at);
                    drawn.push(at);
                }
                now = next;
                frames.request(Urgency::Now);
                prop_assert!(frames.due(now).unwrap().saturating_duration_since(now) <= BETWEEN_FRAMES);
            }
            let in_a_second = |from: &Instant| {
                drawn.iter().filter(|at| *at >= from && **at - *from < Duration::from_secs(1)).count()
            };
            prop_assert!(drawn.iter().map(in_a_second).all(|frames| frames <= 60));
        }
    }

    /// Returns the frames of a second in which a frame is requested every millisecond.
    fn frames_of_a_busy_second(urgency: impl Fn(u64) -> Urgency) -> usize {
        let start = Instant::now();
        let mut frames = Frames::default();
        let mut drawn = 0;
        for millis in 0..1000 {
            let now = start + Duration::from_millis(millis);
            frames.request(urgency(millis));
            if frames.due(now).is_some_and(|due| due <= now) {
                frames.drawn(now);
                drawn += 1;
            }
        }
        drawn
    }

    #[test]
    fn a_thousand_changes_in_a_second_make_at_most_twenty_frames_and_a_thousand_keys_sixty() {
        assert_eq!(frames_of_a_busy_second(|_| Urgency::Changes), 20);
        assert!((50..=60).contains(&frames_of_a_busy_second(|_| Urgency::Now)));
    }

    #[test]
    fn a_key_among_many_changes_is_shown_within_a_sixtieth_of_a_second() {
        let start = Instant::now();
        let mut frames = Frames::default();
        frames.request(Urgency::Changes);
        frames.drawn(start);
        frames.request(Urgency::Changes);
        assert_eq!(frames.due(start), Some(start + BETWEEN_CHANGES));
        frames.request(Urgency::Now);
        frames.request(Urgency::Changes);
        assert_eq!(frames.due(start), Some(start + BETWEEN_FRAMES));
    }
}
