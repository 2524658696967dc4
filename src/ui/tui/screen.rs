//! The screens and their panes, by name, and the layout of lists' columns: which fit into the
//! terminal, and where. Pure.
//!
//! One table, `app::screens`, says what each screen shows.

/// A part of a screen that can have the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The list, or the text of a screen without a list.
    List,
    Details,
    Findings,
    Events,
}

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Screen {
    Ensembles,
    Locks,
    Queue,
    Sessions,
    Session,
    Waits,
    Contend,
    Timeline,
    Audit,
    Tree,
    Node,
    History,
    Comparison,
    Servers,
    Unreadable,
    Output,
    Help,
}

/// Columns of the terminal at the left end of a list, for the sign of the selected row.
pub const MARK_WIDTH: u16 = 1;

/// A column of a table, identified by its `key`.
#[derive(Clone, Copy, Debug)]
pub struct Column<K> {
    pub key: K,
    pub title: &'static str,
    /// The name in the config file, if it is not the title in lower case.
    pub own_name: Option<&'static str>,
    /// The minimum width.
    pub least: u16,
    /// The width above which the column gains nothing.
    pub most: u16,
    /// Whether the text is right-aligned, as numbers are.
    pub right: bool,
    /// The order in which columns are left out when the terminal is narrow: the highest rank first.
    /// A column of rank 0 always stays.
    pub rank: u8,
    /// The width that the visible rows need. It precedes all columns whose rank is above
    /// [`MAX_RANK_OF_IDENTITY`].
    pub need: u16,
}

/// The columns up to this rank say which row it is, and what matters most about it.
const MAX_RANK_OF_IDENTITY: u8 = 1;

impl<K> Column<K> {
    pub const fn text(key: K, title: &'static str, least: u16, most: u16, rank: u8) -> Self {
        Self { key, title, own_name: None, least, most, right: false, rank, need: 0 }
    }

    pub const fn number(key: K, title: &'static str, width: u16, rank: u8) -> Self {
        Self { key, title, own_name: None, least: width, most: width, right: true, rank, need: 0 }
    }

    /// Sets a name other than the title.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.own_name = Some(name);
        self
    }

    /// Returns the name in the config file and on the command line.
    pub fn name(&self) -> String {
        self.own_name.map_or_else(|| self.title.to_lowercase(), str::to_owned)
    }
}

/// A column with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<K> {
    pub key: K,
    pub title: &'static str,
    /// The first column of the terminal, counted from the left end of the table.
    pub x: u16,
    pub width: u16,
    /// Whether the text is right-aligned.
    pub right: bool,
}

/// Returns the chosen columns in the chosen order, or all columns when `chosen` is `None`.
pub fn choose<K: Copy>(columns: &[Column<K>], chosen: Option<&[String]>) -> Vec<Column<K>> {
    match chosen {
        None => columns.to_vec(),
        Some(names) => {
            names.iter().filter_map(|name| columns.iter().find(|column| column.name() == *name)).copied().collect()
        }
    }
}

/// Returns the gap between two columns.
fn gap(width: u16) -> u16 {
    if width >= 118 { 2 } else { 1 }
}

/// Returns one of the widths of a column.
type Width<K> = fn(&Column<K>) -> u16;

/// Chooses the columns that fit into `width` and divides the room among them. The last column of
/// the terminal stays free, and so do `mark` columns at the left end.
pub fn place<K: Copy>(columns: &[Column<K>], mark: u16, width: u16) -> Vec<Placed<K>> {
    let gap = gap(width);
    let lead = if mark > 0 { mark + gap } else { 0 };
    let width = width.saturating_sub(1 + lead);
    let total = |kept: &[&Column<K>], columns: Width<K>| {
        kept.iter().map(|column| columns(column)).fold(0, u16::saturating_add)
            + gap * u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0)
    };
    let need: Width<K> = |column| column.least.max(column.need);
    let (least, most): (Width<K>, Width<K>) = (|column| column.least, |column| column.most);
    let mut kept: Vec<_> = columns.iter().collect();
    for (wanted, rank) in [(need, MAX_RANK_OF_IDENTITY), (least, 0)] {
        while total(&kept, wanted) > width {
            let worst = (0..kept.len()).rev().max_by_key(|at| kept[*at].rank);
            let Some(worst) = worst.filter(|at| kept[*at].rank > rank) else { break };
            kept.remove(worst);
        }
    }
    let mut widths: Vec<_> = kept.iter().map(|column| column.least).collect();
    let mut left = width.saturating_sub(total(&kept, least));
    // What the rows need comes first, then the most important columns grow. Where there is not room
    // for all that is needed, a column that always stays gets twice as much as others.
    for (ranks, most) in [(0..=u8::MAX, need), (0..=1, most), (0..=u8::MAX, most)] {
        let mut grown = true;
        while grown {
            grown = false;
            for (width, column) in widths.iter_mut().zip(&kept) {
                let step = if column.need > 0 && column.rank == 0 { 2 } else { 1 };
                let step = step.min(left).min(most(column).saturating_sub(*width));
                if step > 0 && ranks.contains(&column.rank) {
                    *width += step;
                    left -= step;
                    grown = true;
                }
            }
        }
    }
    let mut x = lead;
    let mut placed = Vec::with_capacity(kept.len());
    for (column, width) in kept.into_iter().zip(widths) {
        placed.push(Placed { key: column.key, title: column.title, x, width, right: column.right });
        x += width + gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column<u8>] = &[
        Column::text(0, "LOCK", 10, 30, 0),
        Column::number(1, "HELD", 6, 0),
        Column::number(2, "RATE", 6, 2),
        Column::text(3, "DATA", 5, 20, 1),
    ];

    fn keys(width: u16) -> Vec<u8> {
        place(COLUMNS, 0, width).iter().map(|column| column.key).collect()
    }

    #[test]
    fn the_least_important_columns_are_left_out_first() {
        assert_eq!(keys(80), [0, 1, 2, 3]);
        assert_eq!(keys(30), [0, 1, 3]);
        assert_eq!(keys(20), [0, 1]);
        assert_eq!(keys(3), [0, 1], "those that matter stay, cut off");
    }

    #[test]
    fn what_the_rows_need_comes_before_less_important_columns() {
        let widths = |lock: u16, data: u16, width: u16| {
            let mut columns = COLUMNS.to_vec();
            (columns[0].need, columns[3].need) = (lock, data);
            place(&columns, 0, width).iter().map(|column| (column.key, column.width)).collect::<Vec<_>>()
        };
        assert_eq!(widths(25, 8, 60), [(0, 30), (1, 6), (2, 6), (3, 14)], "there is room for all");
        assert_eq!(widths(25, 8, 45), [(0, 27), (1, 6), (3, 9)], "a rate is less important");
        assert_eq!(widths(50, 20, 45), [(0, 24), (1, 6), (3, 12)], "both are cut");
        assert_eq!(widths(50, 20, 24), [(0, 10), (1, 6), (3, 5)], "the least");
        assert_eq!(widths(50, 20, 20), [(0, 12), (1, 6)]);
    }

    #[test]
    fn columns_take_only_the_room_that_they_can_use() {
        for width in 0..200 {
            let placed = place(COLUMNS, 0, width);
            for (column, next) in placed.iter().zip(&placed[1..]) {
                assert!(column.x + column.width < next.x, "{width}");
            }
            if let Some(last) = placed.last().filter(|_| width > 18) {
                assert!(last.x + last.width <= width, "{width}");
            }
        }
        assert_eq!(place(COLUMNS, 0, 200)[0].width, 30);
    }
}
