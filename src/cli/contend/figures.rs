//! The outcome of one fleet for people: a figure a line.

use crate::contend::{FleetOutcome, Overlap, Quantiles};
use crate::text::human::{count, latency, plural, rate, ratio};
use crate::znode::escaped;

/// Printed where a figure is not known.
pub(super) const UNKNOWN: &str = "-";

/// A label (empty: the same as above), a figure and what it means.
type Row = (&'static str, String, String);

/// The figures, aligned, and below them what went wrong.
pub(super) fn table(outcome: &FleetOutcome) -> String {
    let mut text = format!("{}\n\n", heading(outcome));
    let rows: Vec<Row> = [traffic(outcome), times(outcome), order(outcome)].into_iter().flatten().collect();
    let labels = rows.iter().map(|(label, ..)| label.len()).max().unwrap_or_default();
    let figures = rows.iter().map(|(_, figure, _)| figure.len()).max().unwrap_or_default();
    for (label, figure, meaning) in rows {
        let line = format!("{label:<labels$}  {figure:>figures$}  {meaning}");
        text += line.trim_end();
        text.push('\n');
    }
    for line in outcome.overlaps.iter().map(overlap).chain(troubles(outcome)) {
        text += &line;
        text.push('\n');
    }
    text
}

/// Who contended where, and how it ended.
fn heading(outcome: &FleetOutcome) -> String {
    let rounds = match outcome.rounds {
        Some(1) => "1 round each".to_owned(),
        Some(rounds) => format!("{} rounds each", count(rounds)),
        None => "endless".to_owned(),
    };
    let end = match (outcome.interrupted, outcome.rounds) {
        (true, Some(_)) => "; ended before all rounds were made",
        _ => "",
    };
    let path = escaped(outcome.path.as_str());
    format!("{} at {path}: {}, {rounds}, seed {}{end}", outcome.recipe, clients(outcome.clients), outcome.seed)
}

/// A number of clients, as in `1 client` or `5 clients`.
pub(super) fn clients(number: u32) -> String {
    plural(number, "client", "clients")
}

fn traffic(outcome: &FleetOutcome) -> Vec<Row> {
    let events = &outcome.watch_events;
    let each = |all: u64| format!("{} an acquisition", ratio(per(all, outcome.acquisitions)));
    let rate = format!("{}/s in {}", rate(outcome.acquisitions_per_second), latency(outcome.elapsed));
    let server = match outcome.server {
        Some(server) => {
            let parts = format!("{} for children, {} for deleted nodes", count(server.children), count(server.deleted));
            ("", count(server.children.saturating_add(server.deleted)), format!("as the servers count: {parts}"))
        }
        None => (
            "",
            UNKNOWN.to_owned(),
            format!("as the servers count: {}", outcome.server_silence.as_deref().unwrap_or("they did not answer")),
        ),
    };
    vec![
        ("acquisitions", count(outcome.acquisitions), rate),
        ("watch events", count(events.delivered), format!("delivered, {}", each(events.delivered))),
        ("", count(events.on_the_wire), "on the wire".to_owned()),
        server,
        ("", count(events.modelled_herd), format!("modelled herd-style, {}", each(events.modelled_herd))),
        ("", count(events.modelled_chain), format!("modelled chain-style, {}", each(events.modelled_chain))),
        ("requests", count(outcome.requests.total), each(outcome.requests.total)),
        ("bytes", count(outcome.bytes.up), "to the servers".to_owned()),
        ("", count(outcome.bytes.down), "from the servers".to_owned()),
    ]
}

fn times(outcome: &FleetOutcome) -> Vec<Row> {
    let row = |label, times: &Quantiles| {
        let Quantiles { count: number, p50, p90, p99, max } = *times;
        let times = [("p50", p50), ("p90", p90), ("p99", p99), ("max", max)];
        let times: Vec<String> = times.iter().map(|(name, time)| format!("{name} {}", latency(*time))).collect();
        (label, count(number), if number == 0 { String::new() } else { times.join("  ") })
    };
    vec![row("waits", &outcome.wait_ms), row("holds", &outcome.hold_ms)]
}

fn order(outcome: &FleetOutcome) -> Vec<Row> {
    let unless_none = |number: u64, meaning: &str| if number == 0 { String::new() } else { meaning.to_owned() };
    let left = outcome.left_behind.map_or_else(|| UNKNOWN.to_owned(), |left: u64| count(left));
    vec![
        ("violations", count(outcome.violations), unless_none(outcome.violations, VIOLATION)),
        ("outlived", count(outcome.outlived), unless_none(outcome.outlived, OUTLIVED)),
        ("expired sessions", count(outcome.expired_sessions), String::new()),
        ("left behind", left, left_behind(outcome).unwrap_or_default().to_owned()),
    ]
}

const VIOLATION: &str = "two held at once, or a token did not rise";
const OUTLIVED: &str = "thought they held the lock after their sessions had ended; the tokens show who is right";

/// What is to be said of nodes that are left behind; `None` when there are none.
pub(super) fn left_behind(outcome: &FleetOutcome) -> Option<&'static str> {
    match outcome.left_behind {
        Some(0) => None,
        Some(1) => Some("node is still there; it goes when its session expires"),
        Some(_) => Some("nodes are still there; they go when their sessions expire"),
        None => Some("the servers could not be asked which nodes are still there"),
    }
}

fn overlap(overlap: &Overlap) -> String {
    let Overlap { after, first, first_token, second, second_token, outlived } = overlap;
    let text = format!(
        "after {}: client {second} got the lock (token {second_token}) while client {first} thought it held it \
         (token {first_token})",
        latency(*after)
    );
    if *outlived { format!("outlived {text}, whose session had ended") } else { format!("violation {text}") }
}

/// What went wrong with clients, a line each.
pub(super) fn troubles(outcome: &FleetOutcome) -> impl Iterator<Item = String> {
    outcome.troubles.iter().map(|trouble| format!("trouble: {}", escaped(trouble)))
}

/// How much of something there is for each of `all`; 0 when there are none.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(super) fn per(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::outcome;
    use super::*;
    use crate::contend::{ClientId, ServerEvents};
    use crate::znode::Zxid;

    #[test]
    fn every_figure_has_its_line() {
        insta::assert_snapshot!(table(&outcome("chain", 50)), @r"
        chain at /lockscope/chain: 50 clients, 20 rounds each, seed 42

        acquisitions          1 000  1 235/s in 3.21s
        watch events            999  delivered, 1.0 an acquisition
                                999  on the wire
                                999  as the servers count: 0 for children, 999 for deleted nodes
                            100 000  modelled herd-style, 100 an acquisition
                                999  modelled chain-style, 1.0 an acquisition
        requests              5 000  5.0 an acquisition
        bytes               123 456  to the servers
                          1 234 567  from the servers
        waits                 1 000  p50 40ms  p90 52ms  p99 410ms  max 1.25s
        holds                 1 000  p50 0s  p90 0.4ms  p99 410ms  max 1.25s
        violations                0
        outlived                  0
        expired sessions          0
        left behind               0
        ");
    }

    #[test]
    fn what_went_wrong_is_a_sentence() {
        let overlap = Overlap {
            after: Duration::from_millis(3250),
            first: ClientId(2),
            first_token: Zxid(41),
            second: ClientId(3),
            second_token: Zxid(40),
            outlived: false,
        };
        let wrong = FleetOutcome {
            clients: 1,
            rounds: Some(1),
            interrupted: true,
            violations: 1,
            outlived: 1,
            left_behind: Some(2),
            server: None,
            overlaps: vec![overlap.clone(), Overlap { second_token: Zxid(42), outlived: true, ..overlap }],
            troubles: vec!["the connection was cut\u{1b}".to_owned()],
            ..outcome("herd", 50)
        };
        insta::assert_snapshot!(table(&wrong), @r"
        herd at /lockscope/herd: 1 client, 1 round each, seed 42; ended before all rounds were made

        acquisitions          1 000  16/s in 3.21s
        watch events         50 115  delivered, 50.1 an acquisition
                             50 115  on the wire
                                  -  as the servers count: they did not answer
                            100 000  modelled herd-style, 100 an acquisition
                                999  modelled chain-style, 1.0 an acquisition
        requests              5 000  5.0 an acquisition
        bytes               123 456  to the servers
                          1 234 567  from the servers
        waits                 1 000  p50 40ms  p90 52ms  p99 410ms  max 1.25s
        holds                 1 000  p50 0s  p90 0.4ms  p99 410ms  max 1.25s
        violations                1  two held at once, or a token did not rise
        outlived                  1  thought they held the lock after their sessions had ended; the tokens show who is right
        expired sessions          0
        left behind               2  nodes are still there; they go when their sessions expire
        violation after 3.25s: client 3 got the lock (token 40) while client 2 thought it held it (token 41)
        outlived after 3.25s: client 3 got the lock (token 42) while client 2 thought it held it (token 41), whose session had ended
        trouble: the connection was cut\u{1b}
        ");
    }

    #[test]
    fn a_run_without_acquisitions_has_figures_all_the_same() {
        let nothing = FleetOutcome {
            rounds: None,
            interrupted: true,
            acquisitions: 0,
            elapsed: Duration::ZERO,
            acquisitions_per_second: 0.0,
            wait_ms: Quantiles::default(),
            hold_ms: Quantiles::default(),
            server: Some(ServerEvents::default()),
            left_behind: None,
            ..outcome("chain", 2)
        };
        insta::assert_snapshot!(table(&nothing), @r"
        chain at /lockscope/chain: 2 clients, endless, seed 42

        acquisitions              0  0/s in 0s
        watch events            999  delivered, 0.0 an acquisition
                                999  on the wire
                                  0  as the servers count: 0 for children, 0 for deleted nodes
                              4 000  modelled herd-style, 0.0 an acquisition
                                999  modelled chain-style, 0.0 an acquisition
        requests              5 000  0.0 an acquisition
        bytes               123 456  to the servers
                          1 234 567  from the servers
        waits                     0
        holds                     0
        violations                0
        outlived                  0
        expired sessions          0
        left behind               -  the servers could not be asked which nodes are still there
        ");
    }
}
