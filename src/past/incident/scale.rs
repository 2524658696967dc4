//! The time scale of a picture, and the times written below it.

use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::text::human::{date_and_time, exact_time, time_of_day};
use lockscope_model::text::tenth;

/// The width of a picture, and the offset of its time axis, in pixels.
pub(super) const WIDTH: f64 = 1120.0;
pub(super) const LEFT: f64 = 240.0;

/// The possible intervals between written times, in milliseconds: those that people count in.
const STEPS: [i64; 28] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    2 * 60_000,
    5 * 60_000,
    10 * 60_000,
    15 * 60_000,
    30 * 60_000,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
    7 * 24 * HOUR,
];
const HOUR: i64 = 3_600_000;

/// The most times written below a picture.
const MAX_TICKS: i64 = 8;

/// Returns round times and their texts.
pub(super) fn ticks(scale: Scale, utc: bool) -> Vec<(i64, String)> {
    let span = scale.to.saturating_sub(scale.from).max(1);
    let longest = STEPS[STEPS.len() - 1];
    let fits = |step: &i64| span / step < MAX_TICKS;
    let step = STEPS.into_iter().find(fits).unwrap_or_else(|| longest * (span / longest / MAX_TICKS + 1));
    let first = scale.from.div_euclid(step).saturating_add(1).saturating_mul(step);
    let times = (0..MAX_TICKS).map(|number| first.saturating_add(number * step)).take_while(|at| *at < scale.to);
    let time = |at| match step {
        ..1_000 => exact_time(Timestamp(at), utc),
        _ if span < 24 * HOUR => time_of_day(Timestamp(at), utc),
        // Without seconds and zone.
        _ => date_and_time(Timestamp(at), utc).chars().take("2024-05-01 14:41".len()).collect(),
    };
    times.map(|at| (at, time(at))).collect()
}

/// Maps times to positions in the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub from: i64,
    pub to: i64,
}

impl Scale {
    pub fn x(self, at: i64) -> f64 {
        let part = millis(at.clamp(self.from, self.to) - self.from) / millis((self.to - self.from).max(1));
        tenth(LEFT + part * (WIDTH - LEFT))
    }

    /// Returns the anchor of a text at a time, so that the text stays in the picture.
    pub fn anchor(self, at: i64) -> &'static str {
        if self.x(at) > WIDTH - 60.0 { "end" } else { "middle" }
    }

    /// Returns the position and width of a span; the width is at least visible.
    pub fn span(self, time: TimeRange) -> (f64, f64) {
        let x = self.x(time.from.0);
        (x, tenth((self.x(time.to.0) - x).max(1.0)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a pixel is coarser than the rounding")]
fn millis(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_below_a_picture_are_round_and_few_for_any_length() {
        let began = 1_714_574_467_123;
        let written = |span: i64| {
            let ticks = ticks(Scale { from: began, to: began + span }, true);
            assert!(
                ticks.len() <= 8 && ticks.iter().all(|(at, _)| (began..=began + span).contains(at)),
                "{span}: {ticks:?}"
            );
            ticks.into_iter().map(|(_, time)| time).collect::<Vec<_>>()
        };
        assert_eq!(
            written(63_000),
            ["14:41:10", "14:41:20", "14:41:30", "14:41:40", "14:41:50", "14:42:00", "14:42:10"]
        );
        assert_eq!(written(30 * 60_000)[..2], ["14:45:00", "14:50:00"]);
        assert_eq!(written(900)[0], "14:41:07.200");
        assert_eq!(written(3 * 24 * HOUR)[0], "2024-05-02 00:00");
        for span in [0, 1, 10, 1_000, HOUR, 400 * 24 * HOUR, i64::MAX / 4] {
            written(span);
        }
    }
}
