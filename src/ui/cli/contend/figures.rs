//! The outcomes of test clients for people: that of one fleet, one figure a line, and a comparison
//! as a table, two plots and a conclusion.
//!
//! A plot draws two curves over the number of clients with characters. Both axes are logarithmic: a
//! herd's cost grows with a power of its size, which is then a straight line.

use std::fmt::Write;

use lockscope_base::znode::escaped;
use lockscope_lab::contend::{ComparedFleets, Comparison, FleetOutcome, Overlap, Quantiles, ServerEvents};
use lockscope_model::text::human::{count, latency, plural, rate, ratio};
use lockscope_model::text::{Align, Charset, columns};

#[cfg(test)]
mod tests;

/// Printed for an unknown figure.
const UNKNOWN: &str = "-";

/// A label (empty if equal to the one above), a figure and its meaning.
type Figure = [String; 3];

fn figure(label: &str, number: impl Into<Option<u64>>, meaning: impl Into<String>) -> Figure {
    [label.to_owned(), number.into().map_or_else(|| UNKNOWN.to_owned(), count), meaning.into()]
}

/// Returns the aligned figures, and the problems below them.
pub fn figures_table(outcome: &FleetOutcome) -> String {
    let mut text = format!("{}\n\n", fleet_heading(outcome));
    text += &columns(
        &[traffic(outcome), waits_and_holds(outcome), order(outcome)].concat(),
        [Align::Left, Align::Right, Align::Left],
    );
    for line in outcome.overlaps.iter().map(overlap).chain(troubles(outcome)) {
        text += &line;
        text.push('\n');
    }
    text
}

/// Describes the fleet, its lock and its end.
fn fleet_heading(outcome: &FleetOutcome) -> String {
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
pub fn clients(number: u32) -> String {
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

fn waits_and_holds(outcome: &FleetOutcome) -> Vec<Figure> {
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
fn left_behind(outcome: &FleetOutcome) -> Option<&'static str> {
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
pub fn troubles(outcome: &FleetOutcome) -> impl Iterator<Item = String> {
    outcome.troubles.iter().map(|trouble| format!("trouble: {}", escaped(trouble)))
}

/// Returns the average of `of` for each of `all`; 0 when `all` is 0.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub fn per(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

/// A title above several columns.
struct ColumnGroup {
    title: &'static str,
    columns: &'static [&'static str],
}

/// The columns that compare herd and chain.
const HERD_AND_CHAIN: [ColumnGroup; 5] = [
    ColumnGroup { title: "", columns: &["CLIENTS"] },
    ColumnGroup { title: "ACQUISITIONS/S", columns: &["herd", "chain", "ratio"] },
    ColumnGroup { title: "EVENTS AN ACQUISITION", columns: &["herd", "chain", "ratio"] },
    ColumnGroup { title: "AT MOST", columns: &["herd", "chain"] },
    ColumnGroup { title: "SERVERS SAY", columns: &["herd", "chain"] },
];

/// The columns that compare the chain and the look-ahead chain.
const CHAIN_AND_AHEAD: [ColumnGroup; 4] = [
    ColumnGroup { title: "", columns: &["CLIENTS"] },
    ColumnGroup { title: "ACQUISITIONS/S", columns: &["chain", "ahead", "ratio"] },
    ColumnGroup { title: "EVENTS AN ACQUISITION", columns: &["chain", "ahead"] },
    ColumnGroup { title: "REQUESTS AN ACQUISITION", columns: &["chain", "ahead"] },
];

/// The gap between two groups.
const GROUP_GAP: &str = "   ";

/// Returns the whole text.
pub fn comparison_table(comparison: &Comparison, ascii: bool) -> String {
    let charset = if ascii { Charset::Ascii } else { Charset::Unicode };
    let runs = &comparison.runs;
    let mut text = comparison_heading(runs) + &lines(&HERD_AND_CHAIN, runs.iter().map(cells));
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
fn comparison_heading(runs: &[ComparedFleets]) -> String {
    let Some(ComparedFleets { herd, chain, .. }) = runs.first() else { return String::new() };
    let [herd_path, chain_path] = [herd, chain].map(|outcome| escaped(outcome.path.as_str()));
    format!("herd at {herd_path}, chain at {chain_path}, seed {}\n\n", herd.seed)
}

/// Returns one line per run, below the titles of the groups and columns.
fn lines(groups: &[ColumnGroup], runs: impl Iterator<Item = Vec<String>>) -> String {
    let columns = groups.iter().flat_map(|group| group.columns);
    let mut rows = vec![columns.map(|column| (*column).to_owned()).collect()];
    rows.extend(runs);
    let width = |column: usize| rows.iter().map(|row: &Vec<String>| row[column].len()).max().unwrap_or_default();
    let mut widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let (mut titles, mut first) = (Vec::new(), 0);
    for ColumnGroup { title, columns } in groups {
        let widths = &mut widths[first..first + columns.len()];
        let whole = widths.iter().sum::<usize>() + columns.len() - 1;
        widths[0] += title.len().saturating_sub(whole);
        titles.push(format!("{title:<whole$}"));
        first += columns.len();
    }
    let mut text = titles.join(GROUP_GAP).trim_end().to_owned() + "\n";
    for row in &rows {
        let mut cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        let group = |group: &ColumnGroup| cells.by_ref().take(group.columns.len()).collect::<Vec<_>>().join(" ");
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
pub fn problems(runs: &[ComparedFleets]) -> Vec<String> {
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

const ROWS: usize = 8;

/// The columns of the plot, without the labels of the axis.
const COLUMNS: usize = 60;

/// The characters of a plot. Herd and chain differ in shape, not only in colour.
#[derive(Clone, Copy)]
struct Glyphs {
    herd: char,
    chain: char,
    both: char,
    between: char,
    axis: char,
    corner: char,
    base: char,
}

const UNICODE: Glyphs =
    Glyphs { herd: '■', chain: '○', both: '◘', between: '·', axis: '│', corner: '└', base: '─' };

const ASCII: Glyphs = Glyphs { herd: 'H', chain: 'c', both: '*', between: '.', axis: '|', corner: '+', base: '-' };

fn glyphs(charset: Charset) -> Glyphs {
    match charset {
        Charset::Unicode => UNICODE,
        Charset::Ascii => ASCII,
    }
}

/// The figures of a herd and a chain of one size.
#[derive(Clone, Copy, Debug)]
struct Point {
    pub clients: u32,
    pub herd: f64,
    pub chain: f64,
}

/// Explains the characters of all plots.
fn legend(charset: Charset) -> String {
    let Glyphs { herd, chain, both, .. } = glyphs(charset);
    format!("{herd} herd  {chain} chain  {both} both, over the number of clients; both axes are logarithmic")
}

/// Returns the plot below its title. Zeros have no place on a logarithmic axis and are left out.
/// Without two sizes there is nothing to plot, and the text is empty.
fn plot(title: &str, points: &[Point], charset: Charset) -> String {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.clients);
    let values = || points.iter().flat_map(|point| [point.herd, point.chain]).filter(|value| *value > 0.0);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if points.len() < 2 || high <= 0.0 {
        return String::new();
    }
    let glyphs = glyphs(charset);
    let x_axis = LogAxis::new(f64::from(points[0].clients), f64::from(points[points.len() - 1].clients), COLUMNS);
    let y_axis = LogAxis::new(low, high, ROWS);
    let mut canvas = Canvas { cells: vec![[' '; COLUMNS]; ROWS], glyphs };
    let curve = |value: fn(&Point) -> f64| -> Vec<(usize, f64)> {
        let known = points.iter().filter(|point| value(point) > 0.0);
        known.map(|point| (x_axis.cell(f64::from(point.clients)), y_axis.exact(value(point)))).collect()
    };
    for (curve, glyph) in [(curve(|point| point.herd), glyphs.herd), (curve(|point| point.chain), glyphs.chain)] {
        canvas.draw(&curve, glyph);
    }
    canvas.text(title, [low, high], &points, &x_axis)
}

/// A logarithmic axis between two values, in cells.
struct LogAxis {
    low: f64,
    range: f64,
    cells: usize,
}

impl LogAxis {
    fn new(low: f64, high: f64, cells: usize) -> Self {
        // Equal values are drawn at the axis.
        Self { low: low.ln(), range: (high.ln() - low.ln()).max(f64::MIN_POSITIVE), cells }
    }

    /// Returns the position of a value, in cells from the axis.
    #[expect(clippy::cast_precision_loss, reason = "a plot has few cells")]
    fn exact(&self, value: f64) -> f64 {
        ((value.ln() - self.low) / self.range).clamp(0.0, 1.0) * (self.cells - 1) as f64
    }

    fn cell(&self, value: f64) -> usize {
        nearest(self.exact(value))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a plot has few cells, and none is negative"
)]
fn nearest(place: f64) -> usize {
    place.round() as usize
}

/// The drawn cells, the lowest row first.
struct Canvas {
    cells: Vec<[char; COLUMNS]>,
    glyphs: Glyphs,
}

impl Canvas {
    /// Draws a curve through its points: a column, and a fractional row.
    fn draw(&mut self, curve: &[(usize, f64)], glyph: char) {
        for pair in curve.windows(2) {
            let ((from, start), (to, end)) = (pair[0], pair[1]);
            for column in from + 1..to {
                #[expect(clippy::cast_precision_loss, reason = "a plot has few cells")]
                let part = (column - from) as f64 / (to - from) as f64;
                let cell = &mut self.cells[nearest(start + (end - start) * part)][column];
                if *cell == ' ' {
                    *cell = self.glyphs.between;
                }
            }
        }
        for (column, row) in curve {
            let cell = &mut self.cells[nearest(*row)][*column];
            let is_taken = *cell == self.glyphs.herd && glyph != self.glyphs.herd;
            *cell = if is_taken { self.glyphs.both } else { glyph };
        }
    }

    fn text(&self, title: &str, [low, high]: [f64; 2], points: &[Point], x_axis: &LogAxis) -> String {
        let Glyphs { axis, corner, base, .. } = self.glyphs;
        let labels = [ratio(high), ratio(low)];
        let width = labels.iter().map(String::len).max().unwrap_or_default();
        let mut text = format!("{title}\n");
        for (row, cells) in self.cells.iter().enumerate().rev() {
            let label = match row {
                0 => &labels[1],
                _ if row == ROWS - 1 => &labels[0],
                _ => "",
            };
            let cells: String = cells.iter().collect();
            text += format!("{label:>width$} {axis}{cells}").trim_end();
            text.push('\n');
        }
        let (margin, line) = (" ".repeat(width), base.to_string().repeat(COLUMNS));
        text + &format!("{margin} {corner}{line}\n{margin}  {}\n", sizes(points, x_axis))
    }
}

/// Returns the numbers of clients below their places. A label that would touch the previous one is
/// left out, except the last.
fn sizes(points: &[Point], x_axis: &LogAxis) -> String {
    let labels = points.iter().map(|point| {
        let label = count(point.clients);
        let place = x_axis.cell(f64::from(point.clients));
        // The last label ends below its place.
        (place.min(COLUMNS.saturating_sub(label.len())), label)
    });
    let labels: Vec<(usize, String)> = labels.collect();
    let last = labels.last().map_or(0, |(place, _)| *place);
    let mut line = String::new();
    for (at, (place, label)) in labels.iter().enumerate() {
        let is_last = at + 1 == labels.len();
        let fits = (line.is_empty() || line.len() < *place) && (is_last || place + label.len() < last);
        if fits {
            line += &" ".repeat(place - line.len());
            line += label;
        }
    }
    line
}
