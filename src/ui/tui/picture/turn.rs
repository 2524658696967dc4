//! The clients of a fast fleet as cells, each in a fixed place, and the turn that the cells show: a
//! client that was woken is bright, and fades. Pure: time is an argument.
//!
//! No eye follows a thousand turns a second. So a turn is shown for at least half a second, as a
//! whole, before the latest one replaces it. A herd flashes as a whole, a chain in one cell.

use std::sync::Arc;
use std::time::Duration;

use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::WokenTurn;

/// How bright a woken client can be. The faintest level stays until the next turn.
pub const FADE_LEVELS: u8 = 4;

/// The time until a client that was woken has faded to the faintest level.
const FADE: Duration = Duration::from_millis(300);

/// The shortest time for which a turn is shown.
const MIN_SHOWN: Duration = Duration::from_millis(500);

/// The turn that the cells show, and how far it has faded.
#[derive(Clone, Debug, Default)]
pub struct ShownTurn {
    turn: Option<Arc<WokenTurn>>,
    since: Timestamp,
    /// The level of the woken clients, from 0, the brightest.
    level: u8,
}

impl ShownTurn {
    /// Shows a turn, unless it is shown already or the one before it was shown too briefly. `None`
    /// shows no turn.
    pub fn set_turn(&mut self, turn: Option<&Arc<WokenTurn>>, now: Timestamp) {
        let number = |turn: &Arc<WokenTurn>| turn.number;
        let is_due = self.turn.is_none() || now.since(self.since) >= MIN_SHOWN;
        if turn.is_none() || is_due && turn.map(number) != self.turn.as_ref().map(number) {
            *self = Self { turn: turn.cloned(), since: now, level: 0 };
        }
    }

    pub fn turn(&self) -> Option<&WokenTurn> {
        self.turn.as_deref()
    }

    /// Returns the level of the woken clients, from 0, the brightest, to the last of [`FADE_LEVELS`].
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Fades to the level of `now`. Returns whether that is another one.
    pub fn fade(&mut self, now: Timestamp) -> bool {
        let last = u128::from(FADE_LEVELS - 1);
        let level = (now.since(self.since).as_millis() * last / FADE.as_millis()).min(last);
        let before = std::mem::replace(&mut self.level, u8::try_from(level).unwrap_or(FADE_LEVELS - 1));
        self.turn.is_some() && before != self.level
    }

    /// Returns when the next level begins; `None` once the turn has faded.
    pub fn next(&self) -> Option<Timestamp> {
        let next = u32::from(self.level) + 1;
        let is_fading = self.turn.is_some() && self.level < FADE_LEVELS - 1;
        is_fading.then(|| self.since.plus(FADE * next / u32::from(FADE_LEVELS - 1)))
    }
}

/// The size of a cell on the screen, in columns and lines with the gap to the next cell, and of what
/// is drawn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSize {
    pub step: (u16, u16),
    pub drawn: (u16, u16),
}

const fn cell_size(step: (u16, u16), drawn: (u16, u16)) -> CellSize {
    CellSize { step, drawn }
}

/// The sizes, the largest first.
const CELL_SIZES: [CellSize; 10] = [
    cell_size((18, 8), (16, 7)),
    cell_size((14, 6), (12, 5)),
    cell_size((10, 5), (8, 4)),
    cell_size((8, 4), (6, 3)),
    cell_size((6, 3), (4, 2)),
    cell_size((4, 3), (3, 2)),
    cell_size((4, 2), (3, 1)),
    cell_size((3, 2), (2, 1)),
    cell_size((2, 1), (2, 1)),
    cell_size((1, 1), (1, 1)),
];

/// The cells of a number of clients in an area: row by row, each client in the place of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCells {
    pub size: CellSize,
    /// The cells of a row.
    pub columns: usize,
    /// The clients that each cell stands for. More than one where not all have a place.
    pub clients_each: usize,
    pub cells: usize,
}

impl ClientCells {
    /// Chooses the largest cells of which there is one for each client, or the smallest.
    pub fn of(clients: usize, (width, height): (u16, u16)) -> Self {
        let columns = |size: &CellSize| usize::from((width + size.step.0 - size.drawn.0) / size.step.0);
        let rows = |size: &CellSize| usize::from((height + size.step.1 - size.drawn.1) / size.step.1);
        let fits = |size: &&CellSize| columns(size) * rows(size) >= clients;
        let [.., smallest] = &CELL_SIZES;
        let size = CELL_SIZES.iter().find(fits).unwrap_or(smallest);
        let clients_each = clients.div_ceil((columns(size) * rows(size)).max(1)).max(1);
        Self { size: *size, columns: columns(size).max(1), clients_each, cells: clients.div_ceil(clients_each) }
    }

    /// Returns the position of a cell, from the top left of the area.
    pub fn place(&self, cell: usize) -> (u16, u16) {
        let at = |index: usize, step: u16| u16::try_from(index).unwrap_or(u16::MAX).saturating_mul(step);
        (at(cell % self.columns, self.size.step.0), at(cell / self.columns, self.size.step.1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::testing::NOW;

    fn turn(number: u64) -> Arc<WokenTurn> {
        Arc::new(WokenTurn { number, ..WokenTurn::default() })
    }

    fn after(millis: u64) -> Timestamp {
        NOW.plus(Duration::from_millis(millis))
    }

    #[test]
    fn a_turn_fades_in_three_steps_and_asks_for_no_frame_after_them() {
        let mut shown = ShownTurn::default();
        assert_eq!(shown.next(), None);
        shown.set_turn(Some(&turn(1)), NOW);
        let mut levels = vec![shown.level()];
        while let Some(due) = shown.next() {
            assert!(!shown.fade(due.minus(Duration::from_millis(1))), "not yet");
            assert!(shown.fade(due), "each frame shows another level");
            levels.push(shown.level());
        }
        assert_eq!((levels, shown.fade(after(9_000))), (vec![0, 1, 2, 3], false));
    }

    #[test]
    fn a_turn_is_shown_for_half_a_second_before_the_next() {
        let mut shown = ShownTurn::default();
        let mut numbers = Vec::new();
        for tenth in 0..12 {
            shown.set_turn(Some(&turn(tenth * 50)), after(tenth * 100));
            numbers.extend(shown.turn().map(|turn| turn.number));
        }
        numbers.dedup();
        assert_eq!(numbers, [0, 250, 500]);
        shown.set_turn(None, after(1_201));
        assert_eq!((shown.turn(), shown.next()), (None, None));
    }

    proptest! {
        #[test]
        fn each_client_has_a_cell_inside_the_area_and_no_two_cells_share_a_place(
            clients in 1..1_100_usize,
            size in (1..150_u16, 1..50_u16),
        ) {
            let cells = ClientCells::of(clients, size);
            prop_assert!(cells.cells * cells.clients_each >= clients);
            prop_assert!((cells.cells - 1) * cells.clients_each < clients, "no cell is empty");
            let mut seen = std::collections::HashSet::new();
            for cell in 0..cells.cells {
                let (x, y) = cells.place(cell);
                prop_assert!(x + cells.size.drawn.0 <= size.0 && y + cells.size.drawn.1 <= size.1);
                prop_assert!(seen.insert((x, y)));
            }
        }
    }
}
