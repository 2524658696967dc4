//! The progress of test clients, as a line.

use super::figures::clients;
use lockscope_lab::contend::FleetStatus;
use lockscope_model::text::human::{count, latency, rate};

/// Returns the progress of a fleet. `place` is its number among the fleets, from 1, and the number
/// of fleets.
pub(super) fn of(status: &FleetStatus, place: Option<(usize, usize)>) -> String {
    let scenario = &status.scenario;
    let place = place.map_or_else(String::new, |(fleet, of)| format!("fleet {fleet} of {of}, "));
    let start = format!("{place}{}: ", scenario.algorithm.name());
    if status.elapsed.is_zero() {
        return format!("{start}{} of {} connected", count(status.connected), clients(scenario.clients));
    }
    let made = count(status.totals.acquisitions);
    let all = scenario.rounds.map(|rounds| u64::from(rounds) * u64::from(scenario.clients));
    let of = all.map_or_else(String::new, |all| format!(" of {}", count(all)));
    let acquisitions = if all.unwrap_or(status.totals.acquisitions) == 1 { "acquisition" } else { "acquisitions" };
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let per_second = status.totals.acquisitions as f64 / status.elapsed.as_secs_f64();
    format!(
        "{start}{}, {made}{of} {acquisitions}, {}/s, {}",
        clients(status.connected),
        rate(per_second),
        latency(status.elapsed)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::testing::status;
    use super::*;
    use lockscope_lab::contend::Scenario;

    #[test]
    fn it_shows_connected_clients_and_then_their_progress() {
        assert_eq!(of(&status(2, Duration::ZERO), None), "chain: 2 of 3 clients connected");
        let mut under_way = status(3, Duration::from_secs(4));
        under_way.totals.acquisitions = 2048;
        assert_eq!(of(&under_way, None), "chain: 3 clients, 2 048 acquisitions, 512/s, 4.00s");
        under_way.scenario = Arc::new(Scenario { rounds: Some(1000), ..(*under_way.scenario).clone() });
        let shown = of(&under_way, Some((3, 10)));
        assert_eq!(shown, "fleet 3 of 10, chain: 3 clients, 2 048 of 3 000 acquisitions, 512/s, 4.00s");
    }
}
