//! When to draw: only when something changed, and not more often than an eye can follow. Pure.

use std::time::{Duration, Instant};

/// The least time between two frames: at most 60 a second.
const BETWEEN: Duration = Duration::from_micros(16_667);

/// Spreads frames. No request, no frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    wanted: bool,
    last: Option<Instant>,
}

impl Frames {
    /// Something looks different now.
    pub fn request(&mut self) {
        self.wanted = true;
    }

    /// When the next frame is to be drawn; `None` when nothing changed since the last one. May lie in the past.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        self.wanted.then(|| self.last.map_or(now, |last| last + BETWEEN))
    }

    /// A frame was drawn: everything up to now is on the screen.
    pub fn drawn(&mut self, now: Instant) {
        self.wanted = false;
        self.last = Some(now);
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
        frames.request();
        frames.drawn(now);
        assert_eq!(frames.due(now + Duration::from_secs(100)), None);
    }

    #[test]
    fn the_first_change_is_drawn_at_once() {
        let now = Instant::now();
        let mut frames = Frames::default();
        frames.request();
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
                    prop_assert!(drawn.last().is_none_or(|last| at - *last >= BETWEEN));
                    frames.drawn(at);
                    drawn.push(at);
                }
                now = next;
                frames.request();
                prop_assert!(frames.due(now).unwrap().saturating_duration_since(now) <= BETWEEN);
            }
            let in_a_second = |from: &Instant| {
                drawn.iter().filter(|at| *at >= from && **at - *from < Duration::from_secs(1)).count()
            };
            prop_assert!(drawn.iter().map(in_a_second).all(|frames| frames <= 60));
        }
    }

    #[test]
    fn a_thousand_changes_in_a_second_make_at_most_sixty_frames() {
        let start = Instant::now();
        let mut frames = Frames::default();
        let mut drawn = 0;
        for millis in 0..1000 {
            let now = start + Duration::from_millis(millis);
            frames.request();
            if frames.due(now).is_some_and(|due| due <= now) {
                frames.drawn(now);
                drawn += 1;
            }
        }
        assert!((50..=60).contains(&drawn), "{drawn}");
    }
}
