//! The outcome of one fleet for people, one figure per line.

use lockscope_base::znode::escaped;
use lockscope_lab::contend::{FleetOutcome, Overlap, Quantiles, ServerEvents};
use lockscope_model::text::human::{count, latency, plural, rate, ratio};
use lockscope_model::text::{Align, columns};

/// Printed for an unknown figure.
pub(super) const UNKNOWN: &str = "-";

/// A label (empty if equal to the one above), a figure and its meaning.
type Figure = [String; 3];

fn figure(label: &str, number: impl Into<Option<u64>>, meaning: impl Into<String>) -> Figure {
    [label.to_owned(), number.into().map_or_else(|| UNKNOWN.to_owned(), count), meaning.into()]
}

/// Returns the aligned figures, and the problems below them.
pub(super) fn table(outcome: &FleetOutcome) -> String {
    let mut text = format!("{}\n\n", heading(outcome));
    text += &columns(
        &[traffic(outcome), times(outcome), order(outcome)].concat(),
        [Align::Left, Align::Right, Align::Left],
    );
    for line in outcome.overlaps.iter().map(overlap).chain(troubles(outcome)) {
        text += &line;
        text.push('\n');
    }
    text
}

/// Describes the fleet, its lock and its end.
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

/// Returns a number of clients, as in `1 client` or `5 clients`.
pub(super) fn clients(number: u32) -> String {
    plural(number, "client", "clients")
}

fn traffic(outcome: &FleetOutcome) -> Vec<Figure> {
    let events = &outcome.watch_events;
    let each = |all: u64| format!("{} an acquisition", ratio(per(all, outcome.acquisitions)));
    let rate = format!("{}/s in {}", rate(outcome.acquisitions_per_second), latency(outcome.elapsed));
    let by_servers = outcome.server.map(|server| server.children.saturating_add(server.deleted));
    let counted = match (outcome.server, &outcome.server_silence) {
        (Some(ServerEvents { children, deleted }), _) => {
            format!("{} for children, {} for deleted nodes", count(children), count(deleted))
        }
        (None, Some(silence)) => silence.clone(),
        (None, None) => "they did not answer".to_owned(),
    };
    let mut figures = vec![
        figure("acquisitions", outcome.acquisitions, rate),
        figure("watch events", events.delivered, format!("delivered, {}", each(events.delivered))),
        figure("", events.woken_in_vain, "in vain: who got one did not get the lock by it"),
        figure("", events.on_the_wire, "on the wire"),
        figure("", by_servers, format!("as the servers count: {counted}")),
        figure("", events.modelled_herd, format!("as a herd at most, {}", each(events.modelled_herd))),
        figure("", events.modelled_chain, format!("as a chain at most, {}", each(events.modelled_chain))),
    ];
    if let Some(share) = events.coalesced {
        let meaning = "of 100 changes reached a waiter together with another one, as one event";
        figures.push(figure("", percent(share), meaning));
    }
    figures.extend([
        figure("requests", outcome.requests.total, each(outcome.requests.total)),
        figure("bytes", outcome.bytes.up, "to the servers"),
        figure("", outcome.bytes.down, "from the servers"),
    ]);
    figures
}

/// Returns a share of one as a whole number of a hundred.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
fn percent(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * 100.0).round() as u64
}

fn times(outcome: &FleetOutcome) -> Vec<Figure> {
    let row = |label, times: &Quantiles| {
        let Quantiles { count, p50, p90, p99, max } = *times;
        let [p50, p90, p99, max] = [p50, p90, p99, max].map(latency);
        let meaning = if count == 0 { String::new() } else { format!("p50 {p50}  p90 {p90}  p99 {p99}  max {max}") };
        figure(label, count, meaning)
    };
    vec![row("waits", &outcome.wait_ms), row("holds", &outcome.hold_ms)]
}

fn order(outcome: &FleetOutcome) -> Vec<Figure> {
    let unless_none = |label, number: u64, meaning| figure(label, number, if number == 0 { "" } else { meaning });
    vec![
        unless_none("violations", outcome.violations, "two held at once, or a token did not rise"),
        unless_none(
            "outlived",
            outcome.outlived,
            "thought they held the lock after their sessions had ended; the tokens show who is right",
        ),
        unless_none(
            "rejected writes",
            outcome.rejected_writes,
            "by what the lock protects: a holder with a higher token had written",
        ),
        figure("expired sessions", outcome.expired_sessions, ""),
        figure("left behind", outcome.left_behind, left_behind(outcome).unwrap_or_default()),
    ]
}

/// Describes nodes that are left behind; `None` when there are none.
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

/// Returns one line for each problem of a client.
pub(super) fn troubles(outcome: &FleetOutcome) -> impl Iterator<Item = String> {
    outcome.troubles.iter().map(|trouble| format!("trouble: {}", escaped(trouble)))
}

/// Returns the average of `of` for each of `all`; 0 when `all` is 0.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(super) fn per(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::outcome;
    use super::*;
    use lockscope_base::znode::Zxid;
    use lockscope_lab::contend::ClientId;

    #[test]
    fn every_figure_has_its_line() {
        insta::assert_snapshot!(table(&outcome("chain", 50)), @r"
        chain at /lockscope/chain: 50 clients, 20 rounds each, seed 42

        acquisitions          1 000  1 235/s in 3.21s
        watch events            999  delivered, 1.0 an acquisition
                                  0  in vain: who got one did not get the lock by it
                                999  on the wire
                                999  as the servers count: 0 for children, 999 for deleted nodes
                            100 000  as a herd at most, 100 an acquisition
                                999  as a chain at most, 1.0 an acquisition
        requests              5 000  5.0 an acquisition
        bytes               123 456  to the servers
                          1 234 567  from the servers
        waits                 1 000  p50 40ms  p90 52ms  p99 410ms  max 1.25s
        holds                 1 000  p50 0s  p90 0.4ms  p99 410ms  max 1.25s
        violations                0
        outlived                  0
        rejected writes           0
        expired sessions          0
        left behind               0
        ");
    }

    #[test]
    fn problems_are_sentences() {
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
                             49 116  in vain: who got one did not get the lock by it
                             50 115  on the wire
                                  -  as the servers count: they did not answer
                            100 000  as a herd at most, 100 an acquisition
                                999  as a chain at most, 1.0 an acquisition
                                 50  of 100 changes reached a waiter together with another one, as one event
        requests              5 000  5.0 an acquisition
        bytes               123 456  to the servers
                          1 234 567  from the servers
        waits                 1 000  p50 40ms  p90 52ms  p99 410ms  max 1.25s
        holds                 1 000  p50 0s  p90 0.4ms  p99 410ms  max 1.25s
        violations                1  two held at once, or a token did not rise
        outlived                  1  thought they held the lock after their sessions had ended; the tokens show who is right
        rejected writes           0
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
                                  0  in vain: who got one did not get the lock by it
                                999  on the wire
                                  0  as the servers count: 0 for children, 0 for deleted nodes
                              4 000  as a herd at most, 0.0 an acquisition
                                999  as a chain at most, 0.0 an acquisition
        requests              5 000  0.0 an acquisition
        bytes               123 456  to the servers
                          1 234 567  from the servers
        waits                     0
        holds                     0
        violations                0
        outlived                  0
        rejected writes           0
        expired sessions          0
        left behind               -  the servers could not be asked which nodes are still there
        ");
    }
}
