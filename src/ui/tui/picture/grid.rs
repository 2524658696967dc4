//! The layout of a picture: the position of its rows, the cells of its lines, and the paths of its
//! events. Pure geometry, in cells from the top left of the picture.
//!
//! ```text
//! ◆ herd            ● 5
//! ├─● 5             ╰─○ 6
//! ├─○ 6               ╰─○ 7
//! ╰─○ 7                 ╰─○ 8
//! ```
//!
//! Where not all rows fit, `most_important` chooses those that are shown.

use rustc_hash::FxHashMap;

use super::schedule::{Flight, RequestFlight};
use super::{LineState, PictureRow, QueuePicture, RowId, RowState, WakeEffect, WatchLine};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::WatchPlace;

/// Minimum columns of the words beside a row's name.
const MIN_WORDS: u16 = 14;

/// The line ends within a cell.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent end, and every combination occurs")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCell {
    pub up: bool,
    pub right: bool,
    pub down: bool,
    pub left: bool,
    /// The best known state among the lines that cross the cell.
    pub state: Option<LineState>,
}

/// A row and its position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridRow<'a> {
    pub id: RowId,
    /// The row of the picture; `None` for a row that stands for many.
    pub row: Option<&'a PictureRow>,
    /// The position of the row's sign.
    pub x: u16,
    pub y: u16,
}

/// The direction in which a flight moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightDirection {
    Up,
    Right,
    Down,
    Left,
}

/// A watch event or a request in flight, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightPlace {
    /// The number of the [`Flight`] or [`RequestFlight`].
    pub number: u64,
    pub x: u16,
    pub y: u16,
    pub direction: FlightDirection,
}

/// The layout of a picture in a given number of columns and lines.
#[derive(Clone, Debug)]
pub struct Grid<'a> {
    pub rows: Vec<GridRow<'a>>,
    pub lines: FxHashMap<(u16, u16), LineCell>,
    /// The column in which the words of the rows begin.
    pub words: u16,
    /// The number of rows that do not fit.
    pub hidden: usize,
    /// The column of rows that watch nothing.
    base: u16,
}

impl<'a> Grid<'a> {
    /// Assigns each row its position; `spacing` is the number of lines from row to row. When not
    /// all rows fit, the most important ones are shown.
    pub fn of(picture: &'a QueuePicture, (width, height): (u16, u16), spacing: u16) -> Self {
        let spacing = spacing.max(1);
        let room = usize::from(height.div_ceil(spacing));
        let has_outside = picture.outside_count > 0 && room > 2;
        let room = room - usize::from(has_outside);
        let all = picture.rows.len() + picture.hidden;
        let visible = most_important(&picture.rows, if all > room { room.saturating_sub(1) } else { all });
        let shown = visible.len();
        let base = if visible.first().is_some_and(|row| row.state == RowState::Parent) { 2 } else { 0 };
        let name = visible
            .iter()
            .filter(|row| row.state != RowState::Parent)
            .map(|row| lockscope_model::text::width(&row.name))
            .max();
        let name = u16::try_from(name.unwrap_or(1)).unwrap_or(u16::MAX).min(width / 2);
        let name = name + if visible.iter().any(|row| row.access.is_some()) { 2 } else { 0 };
        let most = width.saturating_sub(name + 3 + MIN_WORDS).max(base);
        let columns = [2, 1].map(|step| columns(&visible, base, step));
        let fits = |columns: &&Vec<u16>| columns.iter().all(|x| *x <= most);
        let mut columns = columns.iter().find(fits).unwrap_or(&columns[1]).clone();
        for x in &mut columns {
            *x = (*x).min(most);
        }
        let line = |at: usize| u16::try_from(at).unwrap_or(u16::MAX).saturating_mul(spacing);
        let mut rows: Vec<GridRow<'a>> = visible
            .iter()
            .zip(&columns)
            .enumerate()
            .map(|(at, (row, x))| GridRow { id: row.id, row: Some(*row), x: *x, y: line(at) })
            .collect();
        let many = |rows: &Vec<GridRow<'_>>, id| GridRow { id, row: None, x: base, y: line(rows.len()) };
        if shown < all {
            rows.push(many(&rows, RowId::More));
        }
        if has_outside {
            rows.push(many(&rows, RowId::Outside));
        }
        let words = columns.iter().max().copied().unwrap_or(0) + name + 3;
        let mut grid = Self { rows, lines: FxHashMap::default(), words, hidden: all - shown, base };
        grid.draw_lines();
        grid
    }

    /// Returns the row of a client, or the row that stands for it.
    fn place(&self, picture: &QueuePicture, client: u64, gone_first: bool) -> Option<&GridRow<'a>> {
        let (own, gone) = (RowId::Client(client), RowId::Gone(client));
        let ids = if gone_first { [gone, own] } else { [own, gone] };
        let found = ids.into_iter().find_map(|id| self.rows.iter().find(|row| row.id == id));
        found.or_else(|| {
            let is_outside = !picture.outside.is_empty() && !ids.iter().any(|id| picture.has(*id));
            let is_hidden = self.hidden > 0 && (ids.iter().any(|id| picture.has(*id)) || picture.hidden > 0);
            let first = if is_hidden { RowId::More } else { RowId::Outside };
            let second = if is_outside { RowId::Outside } else { RowId::More };
            let row = |id: RowId| self.rows.iter().find(|row| row.id == id);
            row(first).or_else(|| row(second))
        })
    }

    /// Returns the positions of the events in flight at `now`. An event for a hidden row moves to
    /// the row that stands for it.
    pub fn flight_places(&self, picture: &QueuePicture, flying: &[Flight], now: Timestamp) -> Vec<FlightPlace> {
        let flight_place = |flight: &Flight| {
            let path = self.path(picture, flight)?;
            place_on(&path, (flight.start, flight.end), now, flight.number)
        };
        flying.iter().filter_map(flight_place).collect()
    }

    /// Returns the positions of the requests in flight at `now`: each moves along the line to the
    /// node that its client watched.
    pub fn request_places(
        &self,
        picture: &QueuePicture,
        requests: &[RequestFlight],
        now: Timestamp,
    ) -> Vec<FlightPlace> {
        let request_place = |request: &RequestFlight| {
            let number = u64::from(request.client.0);
            let row = self.place(picture, number, false)?;
            let mut lines: Vec<&WatchLine> = Vec::new();
            if let Some(shown) = picture.rows.iter().find(|row| row.id == RowId::Client(number)) {
                lines.extend(&shown.lines);
            }
            // The watch that has just fired comes first.
            lines.sort_by_key(|line| line.state != LineState::Used);
            let watched = lines.into_iter().find_map(|line| self.row(line.to));
            let path = match watched {
                Some(target) => route((row.x, row.y), target.x, (target.x, target.y)),
                // Without a line, the request stays at its row.
                None => vec![(row.x, row.y)],
            };
            place_on(&path, (request.start, request.end), now, request.number)
        };
        requests.iter().filter_map(request_place).collect()
    }

    fn row(&self, id: RowId) -> Option<&GridRow<'a>> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Returns the cells from the cause of an event to the client that it wakes; at least one.
    fn path(&self, picture: &QueuePicture, flight: &Flight) -> Option<Vec<(u16, u16)>> {
        let to = self.place(picture, u64::from(flight.to.0), false)?;
        let from = flight.from.and_then(|from| self.place(picture, u64::from(from.0), true));
        let to = (to.x, to.y);
        Some(match (&flight.place, from) {
            // Along the line of the parent, left of all rows.
            (WatchPlace::Children(_), Some(from)) => route((from.x, from.y), self.base.saturating_sub(2), to),
            (WatchPlace::Children(_), None) => route((self.base.saturating_sub(2), 0), self.base.saturating_sub(2), to),
            (WatchPlace::Node(_), Some(from)) => route((from.x, from.y), from.x.min(to.0), to),
            // The owner of the node is unknown.
            (WatchPlace::Node(_), None) => vec![to],
        })
    }

    fn draw_lines(&mut self) {
        for at in 0..self.rows.len() {
            let row = self.rows[at];
            let Some(lines) = row.row.map(|row| &row.lines) else { continue };
            for line in lines {
                let Some(target) = self.rows.iter().find(|other| other.id == line.to).copied() else { continue };
                let passes = |other: &&GridRow<'_>| other.x == target.x && other.y > target.y && other.y < row.y;
                // A line that crosses another row's sign would seem to lead there; the words name
                // the target instead.
                if target.y < row.y && target.x < row.x && !self.rows.iter().any(|other| passes(&other)) {
                    self.draw_line((target.x, target.y), (row.x, row.y), line.state);
                }
            }
        }
    }

    fn draw_line(&mut self, from: (u16, u16), to: (u16, u16), state: LineState) {
        let mut mark = |at: (u16, u16), ends: [bool; 4]| {
            let cell = self.lines.entry(at).or_default();
            let [up, right, down, left] = ends;
            (cell.up, cell.right) = (cell.up || up, cell.right || right);
            (cell.down, cell.left) = (cell.down || down, cell.left || left);
            cell.state = cell.state.max(Some(state));
        };
        for y in from.1 + 1..to.1 {
            mark((from.0, y), [true, false, true, false]);
        }
        mark((from.0, to.1), [true, true, false, false]);
        for x in from.0 + 1..to.0 {
            mark((x, to.1), [false, true, false, true]);
        }
    }

    /// Returns whether a line between two rows is drawn.
    pub fn has_line(&self, row: &GridRow<'_>, to: RowId) -> bool {
        let target = self.rows.iter().find(|other| other.id == to);
        target.is_some_and(|target| {
            target.x < row.x
                && self.lines.get(&(target.x, row.y)).is_some_and(|cell| cell.up && cell.right)
                && target.y < row.y
        })
    }
}

/// Places each row one step to the right of the nearest row that it watches.
fn columns(rows: &[&PictureRow], base: u16, step: u16) -> Vec<u16> {
    let mut columns: Vec<u16> = Vec::with_capacity(rows.len());
    let mut places: FxHashMap<RowId, usize> = FxHashMap::default();
    for (at, row) in rows.iter().enumerate() {
        let nearest = row.lines.iter().filter_map(|line| places.get(&line.to)).max();
        let x = match nearest {
            _ if row.state == RowState::Parent => 0,
            Some(target) if rows[*target].state == RowState::Parent => base,
            Some(target) => columns[*target].saturating_add(step),
            None => base,
        };
        columns.push(x);
        places.insert(row.id, at);
    }
    columns
}

/// Returns the position at `now` on a path that takes the time from start to end.
fn place_on(
    path: &[(u16, u16)],
    (start, end): (Timestamp, Timestamp),
    now: Timestamp,
    number: u64,
) -> Option<FlightPlace> {
    let last = path.len().checked_sub(1)?;
    let whole = end.since(start).as_millis().max(1);
    let passed = now.since(start).as_millis().min(whole);
    let at = usize::try_from(passed * last as u128 / whole).unwrap_or(last).min(last);
    let next = path.get(at + 1).unwrap_or(&path[at]);
    let before = if at < last { path[at] } else { path[at.saturating_sub(1)] };
    let (x, y) = path[at];
    Some(FlightPlace { number, x, y, direction: direction(before, *next) })
}

/// Returns the cells of a route: to a column, along it, then to the end.
fn route(from: (u16, u16), column: u16, to: (u16, u16)) -> Vec<(u16, u16)> {
    let mut path = vec![from];
    let mut go = |to: (u16, u16)| {
        while let Some(&(x, y)) = path.last()
            && (x, y) != to
        {
            let next =
                |from: u16, to: u16| if from < to { from + 1 } else { from.saturating_sub(u16::from(from > to)) };
            path.push(if x == to.0 { (x, next(y, to.1)) } else { (next(x, to.0), y) });
        }
    };
    go((column, from.1));
    go((column, to.1));
    go(to);
    path
}

fn direction(from: (u16, u16), to: (u16, u16)) -> FlightDirection {
    if to.1 > from.1 {
        FlightDirection::Down
    } else if to.1 < from.1 {
        FlightDirection::Up
    } else if to.0 < from.0 {
        FlightDirection::Left
    } else {
        FlightDirection::Right
    }
}

/// Returns `room` rows in the order of the queue. Their priority: watched parents, the first holder
/// and the first waiter, nodes just deleted, other holders, woken clients, then the rest from the
/// front.
fn most_important(rows: &[PictureRow], room: usize) -> Vec<&PictureRow> {
    if rows.len() <= room {
        return rows.iter().collect();
    }
    let first = |wanted: fn(RowState) -> bool| rows.iter().position(|row| wanted(row.state));
    let holder = first(|state| matches!(state, RowState::Holds | RowState::ThinksItHolds));
    let waiter = first(|state| state == RowState::Waits);
    let rank = |at: usize| match rows[at].state {
        RowState::Parent => 0,
        _ if Some(at) == holder || Some(at) == waiter => 1,
        RowState::Gone(_) => 2,
        RowState::Holds | RowState::ThinksItHolds => 3,
        _ if rows[at].effect.is_some_and(|effect| effect != WakeEffect::SleepsOn) => 4,
        _ => 5,
    };
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|at| rank(*at));
    places.truncate(room);
    places.sort_unstable();
    places.into_iter().map(|at| &rows[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{NodeEnd, RowId};
    use super::*;

    fn row(number: u64, state: RowState, effect: Option<WakeEffect>) -> PictureRow {
        PictureRow {
            id: RowId::Client(number),
            name: number.to_string(),
            state,
            access: None,
            lines: Vec::new(),
            troubles: Vec::new(),
            effect,
            token: None,
        }
    }

    #[test]
    fn a_long_queue_shows_the_holder_the_next_and_the_woken_before_sleeping_clients() {
        let sleeps = Some(WakeEffect::SleepsOn);
        let mut rows = vec![row(1, RowState::Gone(NodeEnd::Released), None), row(2, RowState::Holds, None)];
        rows.extend((3..50).map(|number| row(number, RowState::Waits, sleeps)));
        rows[40].effect = Some(WakeEffect::InVain);
        rows.push(row(50, RowState::ThinksItHolds, None));
        let shown = |room| most_important(&rows, room).iter().map(|row| row.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!([2, 3, 4, 5, 7].map(shown), ["2 3", "1 2 3", "1 2 3 50", "1 2 3 41 50", "1 2 3 4 5 41 50"]);
        assert_eq!(most_important(&rows, 100).len(), 50);
    }
}
