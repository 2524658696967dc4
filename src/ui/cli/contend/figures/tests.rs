//! Tests of `figures`.

use std::time::Duration;

use proptest::prelude::*;

use super::super::testing::{comparison, outcome};
use super::*;
use lockscope_base::znode::Zxid;
use lockscope_lab::contend::ClientId;

#[test]
fn every_figure_has_its_line() {
    insta::assert_snapshot!(figures_table(&outcome("chain", 50)), @r"
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
    insta::assert_snapshot!(figures_table(&wrong), @r"
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
    insta::assert_snapshot!(figures_table(&nothing), @r"
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

#[test]
fn each_size_is_a_line_with_herd_and_chain_side_by_side() {
    insta::assert_snapshot!(comparison_table(&comparison(&[2, 10, 50, 500], Some(10)), false), @r"
        herd at /lockscope/herd, chain at /lockscope/chain, seed 42

                  ACQUISITIONS/S        EVENTS AN ACQUISITION   AT MOST       SERVERS SAY
        CLIENTS     herd chain  ratio        herd chain ratio    herd chain    herd chain
              2   10 000 1 235  0.12x         2.1   1.0  2.1x     4.0   1.0     2.1   1.0
             10      400 1 235   3.1x        10.1   1.0 10.1x    20.0   1.0    10.1   1.0
             50       16 1 235  77.2x        50.1   1.0 50.2x     100   1.0    50.1   1.0
            500      0.2 1 235 7 716x         500   1.0  501x   1 000   1.0     500   1.0

        A chain that looks ahead hands over in one round trip in place of two:

                  ACQUISITIONS/S      EVENTS AN ACQUISITION   REQUESTS AN ACQUISITION
        CLIENTS   chain ahead ratio             chain ahead               chain ahead
              2   1 235 2 400  1.9x               1.0   2.0                 5.0   6.0
             10   1 235 2 400  1.9x               1.0   2.0                 5.0   6.0
             50   1 235 2 400  1.9x               1.0   2.0                 5.0   6.0
            500   1 235 2 400  1.9x               1.0   2.0                 5.0   6.0

        Acquisitions a second
        10 000 │■····
               │○················○················○························○
               │             ····■···
               │                     ·········
               │                              ····■···
               │                                      ·········
               │                                               ········
          0.16 │                                                       ····■
               └────────────────────────────────────────────────────────────
                2                10               50                     500

        Watch events an acquisition
        500 │                                                       ····■
            │                                             ··········
            │                                   ··········
            │                          ········■
            │                ·■········
            │       ·········
            │■······
        1.0 │○················○················○························○
            └────────────────────────────────────────────────────────────
             2                10               50                     500
        ■ herd  ○ chain  ◘ both, over the number of clients; both axes are logarithmic

        From 10 clients on, a herd costs more than it is worth here. With 500 clients, each acquisition causes 501 times as many watch events as in a chain (450 to 551 within the run), and the chain acquires 7 716 times as often.
        ");
}

#[test]
fn with_ascii_all_characters_are_ascii() {
    let text = comparison_table(&comparison(&[2, 10, 50, 500], Some(10)), true);
    assert!(text.is_ascii() && text.contains("H herd"), "{text}");
}

#[test]
fn one_size_needs_no_plot_and_unknown_figures_are_dashes() {
    let mut one = comparison(&[2], None);
    one.runs[0].throughput_ratio = None;
    one.runs[0].herd.server = None;
    one.runs[0].herd.violations = 3;
    one.runs[0].chain.left_behind = None;
    one.runs[0].chain_ahead = None;
    one.runs[0].chain.interrupted = true;
    one.runs[0].chain.troubles = vec!["cut\u{7}".to_owned()];
    insta::assert_snapshot!(comparison_table(&one, false), @r"
        herd at /lockscope/herd, chain at /lockscope/chain, seed 42

                  ACQUISITIONS/S       EVENTS AN ACQUISITION   AT MOST      SERVERS SAY
        CLIENTS     herd chain ratio        herd chain ratio   herd chain    herd chain
              2   10 000 1 235     -         2.1   1.0  2.1x    4.0   1.0       -   1.0

        herd of 2 clients: 3 violations of the lock
        chain of 2 clients: the servers could not be asked which nodes are still there
        chain of 2 clients: ended before all rounds were made
        chain of 2 clients: trouble: cut\u{7}

        Up to 2 clients a herd is not slower than a chain here, but each acquisition causes 2.1 times as many watch events as in a chain (1.8 to 2.2 within the run).
        ");
    assert!(comparison_table(&comparison(&[], None), false).contains("nothing to compare"));
}

#[test]
fn the_table_fits_into_eighty_columns_up_to_hundreds_of_clients() {
    let text = comparison_table(&comparison(&[2, 500], Some(2)), false);
    assert!(text.lines().take(10).all(|line| line.len() <= 96), "{text}");
}

fn points(sizes: &[u32]) -> Vec<Point> {
    let point = |clients: u32| Point { clients, herd: 4000.0 / f64::from(clients), chain: 1200.0 };
    sizes.iter().copied().map(point).collect()
}

#[test]
fn a_herd_that_slows_down_is_a_falling_line() {
    let points = points(&[50, 2, 5, 10, 25]);
    insta::assert_snapshot!(plot("per second", &points, Charset::Unicode), @r"
        per second
        2 000 │■····
              │○················○············○···············○············○
              │             ····■····
              │                      ········■
              │                               ········
              │                                       ·······■
              │                                               ········
         80.0 │                                                       ····■
              └────────────────────────────────────────────────────────────
               2                5            10              25          50
        ");
    insta::assert_snapshot!(plot("per second", &points, Charset::Ascii), @r"
        per second
        2 000 |H....
              |c................c............c...............c............c
              |             ....H....
              |                      ........H
              |                               ........
              |                                       .......H
              |                                               ........
         80.0 |                                                       ....H
              +------------------------------------------------------------
               2                5            10              25          50
        ");
}

#[test]
fn there_is_no_plot_of_one_size_or_of_nothing() {
    assert_eq!(plot("", &points(&[7]), Charset::Ascii), "");
    assert_eq!(plot("", &[], Charset::Ascii), "");
    let nothing = [2, 3].map(|clients| Point { clients, herd: 0.0, chain: 0.0 });
    assert_eq!(plot("", &nothing, Charset::Ascii), "");
}

proptest! {
    #[test]
    fn any_figures_fit_into_eighty_columns(
        sizes in prop::collection::vec((1_u32..=5000, 0.0..1e7_f64, 0.0..1e7_f64), 0..20),
    ) {
        let points: Vec<Point> =
            sizes.into_iter().map(|(clients, herd, chain)| Point { clients, herd, chain }).collect();
        let text = plot("per second", &points, Charset::Ascii);
        prop_assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 80), "{}", text);
    }
}
