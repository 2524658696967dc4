//! The watch events of a run's parts, which show how far its figures vary. Pure.

/// How many equal parts a run has.
const PARTS: u64 = 10;

/// The watch events that were delivered by the end of each part so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RunParts {
    /// The acquisitions of one part; 0 for an endless run, and for one that is too short.
    length: u64,
    delivered: Vec<u64>,
}

impl RunParts {
    /// Divides a run with this number of acquisitions; `None` is endless.
    pub(super) fn of(acquisitions: Option<u64>) -> Self {
        Self { length: acquisitions.unwrap_or_default() / PARTS, delivered: Vec::new() }
    }

    /// Returns whether a part ends with this acquisition, counted from 1.
    pub(super) fn ends_with(&self, acquisition: u64) -> bool {
        let ended = self.ended();
        self.length > 0 && ended < PARTS && acquisition == self.length * (ended + 1)
    }

    /// Ends a part, by whose end this many watch events were delivered in all.
    pub(super) fn end_part(&mut self, delivered: u64) {
        self.delivered.push(delivered);
    }

    fn ended(&self) -> u64 {
        self.delivered.len() as u64
    }

    /// Returns the least and the greatest number of watch events an acquisition in any part; `None`
    /// until all parts have ended.
    pub(super) fn spread(&self) -> Option<[f64; 2]> {
        if self.ended() < PARTS {
            return None;
        }
        let before = std::iter::once(0).chain(self.delivered.iter().copied());
        let each = self.delivered.iter().zip(before).map(|(after, before)| after.saturating_sub(before));
        let (least, greatest) =
            each.fold((u64::MAX, 0), |(least, greatest), part| (least.min(part), greatest.max(part)));
        Some([least, greatest].map(|part| super::outcome::per(part, self.length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_ten_equal_parts() {
        let mut parts = RunParts::of(Some(105));
        let mut delivered = 0;
        for acquisition in 1..=105 {
            assert_eq!(parts.spread().is_some(), acquisition > 100, "{acquisition}");
            // The third part has the most events, the ninth the fewest.
            delivered += match acquisition {
                21..=30 => 9,
                81..=90 => 2,
                _ => 5,
            };
            if parts.ends_with(acquisition) {
                parts.end_part(delivered);
            }
        }
        assert_eq!(parts.spread(), Some([2.0, 9.0]));
    }

    #[test]
    fn endless_and_short_runs_have_no_spread() {
        for acquisitions in [None, Some(0), Some(9)] {
            let parts = RunParts::of(acquisitions);
            assert!((0..100).all(|acquisition| !parts.ends_with(acquisition)), "{acquisitions:?}");
            assert_eq!(parts.spread(), None);
        }
    }
}
