//! A comparison for people: a table, two plots, and a conclusion.

use std::fmt::Write;

use super::figures::{UNKNOWN, clients, left_behind, per, troubles};
use super::text_plot::{Point, legend, plot};
use lockscope_base::znode::escaped;
use lockscope_lab::contend::{ComparedFleets, Comparison, FleetOutcome};
use lockscope_model::text::Charset;
use lockscope_model::text::human::{plural, rate, ratio};

/// A title above several columns.
struct Group {
    title: &'static str,
    columns: &'static [&'static str],
}

/// The columns that compare herd and chain.
const HERD_AND_CHAIN: [Group; 5] = [
    Group { title: "", columns: &["CLIENTS"] },
    Group { title: "ACQUISITIONS/S", columns: &["herd", "chain", "ratio"] },
    Group { title: "EVENTS AN ACQUISITION", columns: &["herd", "chain", "ratio"] },
    Group { title: "AT MOST", columns: &["herd", "chain"] },
    Group { title: "SERVERS SAY", columns: &["herd", "chain"] },
];

/// The columns that compare the chain and the look-ahead chain.
const CHAIN_AND_AHEAD: [Group; 4] = [
    Group { title: "", columns: &["CLIENTS"] },
    Group { title: "ACQUISITIONS/S", columns: &["chain", "ahead", "ratio"] },
    Group { title: "EVENTS AN ACQUISITION", columns: &["chain", "ahead"] },
    Group { title: "REQUESTS AN ACQUISITION", columns: &["chain", "ahead"] },
];

/// The gap between two groups.
const GROUP_GAP: &str = "   ";

/// Returns the whole text.
pub(super) fn table(comparison: &Comparison, ascii: bool) -> String {
    let charset = if ascii { Charset::Ascii } else { Charset::Unicode };
    let runs = &comparison.runs;
    let mut text = heading(runs) + &lines(&HERD_AND_CHAIN, runs.iter().map(cells));
    let looking_ahead: Vec<Vec<String>> = runs.iter().filter_map(cells_of_look_ahead).collect();
    if !looking_ahead.is_empty() {
        text += "\nA chain that looks ahead hands over in one round trip in place of two:\n\n";
        text += &lines(&CHAIN_AND_AHEAD, looking_ahead.into_iter());
    }
    let point = |run: &ComparedFleets, value: fn(&FleetOutcome) -> f64| Point {
        clients: run.clients,
        herd: value(&run.herd),
        chain: value(&run.chain),
    };
    let rates: Vec<Point> = runs.iter().map(|run| point(run, |outcome| outcome.acquisitions_per_second)).collect();
    let events: Vec<Point> =
        runs.iter().map(|run| point(run, |outcome| outcome.watch_events.per_acquisition)).collect();
    for (title, points) in [("Acquisitions a second", rates), ("Watch events an acquisition", events)] {
        let plot = plot(title, &points, charset);
        if !plot.is_empty() {
            text.push('\n');
            text += &plot;
        }
    }
    if runs.len() > 1 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", legend(charset));
    }
    let problems = problems(runs);
    if !problems.is_empty() {
        let _ = write!(text, "\n{}\n", problems.join("\n"));
    }
    let _ = write!(text, "\n{}\n", comparison.conclusion());
    text
}

/// Names the locks of the fleets.
fn heading(runs: &[ComparedFleets]) -> String {
    let Some(ComparedFleets { herd, chain, .. }) = runs.first() else { return String::new() };
    let [herd_path, chain_path] = [herd, chain].map(|outcome| escaped(outcome.path.as_str()));
    format!("herd at {herd_path}, chain at {chain_path}, seed {}\n\n", herd.seed)
}

/// Returns one line per run, below the titles of the groups and columns.
fn lines(groups: &[Group], runs: impl Iterator<Item = Vec<String>>) -> String {
    let columns = groups.iter().flat_map(|group| group.columns);
    let mut rows = vec![columns.map(|column| (*column).to_owned()).collect()];
    rows.extend(runs);
    let width = |column: usize| rows.iter().map(|row: &Vec<String>| row[column].len()).max().unwrap_or_default();
    let mut widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let (mut titles, mut first) = (Vec::new(), 0);
    for Group { title, columns } in groups {
        let widths = &mut widths[first..first + columns.len()];
        let whole = widths.iter().sum::<usize>() + columns.len() - 1;
        widths[0] += title.len().saturating_sub(whole);
        titles.push(format!("{title:<whole$}"));
        first += columns.len();
    }
    let mut text = titles.join(GROUP_GAP).trim_end().to_owned() + "\n";
    for row in &rows {
        let mut cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        let group = |group: &Group| cells.by_ref().take(group.columns.len()).collect::<Vec<_>>().join(" ");
        text += &groups.iter().map(group).collect::<Vec<_>>().join(GROUP_GAP);
        text.push('\n');
    }
    text
}

fn times(ratio_of: Option<f64>) -> String {
    ratio_of.map_or_else(|| UNKNOWN.to_owned(), |times| format!("{}x", ratio(times)))
}

/// Returns the cells of a run about the look-ahead chain; `None` when it did not run.
fn cells_of_look_ahead(run: &ComparedFleets) -> Option<Vec<String>> {
    let (chain, ahead) = (&run.chain, run.chain_ahead.as_ref()?);
    Some(vec![
        run.clients.to_string(),
        rate(chain.acquisitions_per_second),
        rate(ahead.acquisitions_per_second),
        times(run.look_ahead_ratio),
        ratio(chain.watch_events.per_acquisition),
        ratio(ahead.watch_events.per_acquisition),
        ratio(chain.requests.per_acquisition),
        ratio(ahead.requests.per_acquisition),
    ])
}

/// Returns the cells of a run, in the order of the groups.
fn cells(run: &ComparedFleets) -> Vec<String> {
    let ComparedFleets { herd, chain, .. } = run;
    let server = |outcome: &FleetOutcome| {
        let events = outcome.server.map(|server| server.children.saturating_add(server.deleted));
        events.map_or_else(|| UNKNOWN.to_owned(), |events| ratio(per(events, outcome.acquisitions)))
    };
    vec![
        run.clients.to_string(),
        rate(herd.acquisitions_per_second),
        rate(chain.acquisitions_per_second),
        times(run.throughput_ratio),
        ratio(herd.watch_events.per_acquisition),
        ratio(chain.watch_events.per_acquisition),
        times(run.watch_event_ratio),
        ratio(per(herd.watch_events.modelled_herd, herd.acquisitions)),
        ratio(per(chain.watch_events.modelled_chain, chain.acquisitions)),
        server(herd),
        server(chain),
    ]
}

/// Returns one line for each fleet with problems.
pub(super) fn problems(runs: &[ComparedFleets]) -> Vec<String> {
    let mut lines = Vec::new();
    for outcome in runs.iter().flat_map(ComparedFleets::outcomes) {
        let who = format!("{} of {}", outcome.recipe, clients(outcome.clients));
        let mut add = |problem: String| lines.push(format!("{who}: {problem}"));
        if outcome.violations > 0 {
            add(plural(outcome.violations, "violation of the lock", "violations of the lock"));
        }
        match (outcome.left_behind, left_behind(outcome)) {
            (Some(left), Some(sentence)) => add(format!("{left} {sentence}")),
            (_, sentence) => sentence.into_iter().for_each(|sentence| add(sentence.to_owned())),
        }
        if outcome.interrupted {
            add("ended before all rounds were made".to_owned());
        }
        troubles(outcome).for_each(add);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;

    #[test]
    fn each_size_is_a_line_with_herd_and_chain_side_by_side() {
        insta::assert_snapshot!(table(&comparison(&[2, 10, 50, 500], Some(10)), false), @r"
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
        let text = table(&comparison(&[2, 10, 50, 500], Some(10)), true);
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
        insta::assert_snapshot!(table(&one, false), @r"
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
        assert!(table(&comparison(&[], None), false).contains("nothing to compare"));
    }

    #[test]
    fn the_table_fits_into_eighty_columns_up_to_hundreds_of_clients() {
        let text = table(&comparison(&[2, 500], Some(2)), false);
        assert!(text.lines().take(10).all(|line| line.len() <= 96), "{text}");
    }
}
