//! Computes the layout: which area of the terminal each part of the screen has.

/// The smallest usable terminal: columns and lines.
pub const MIN_TERMINAL: (u16, u16) = (60, 16);

/// Maximum lines of the banner.
const MAX_BANNER_HEIGHT: u16 = 4;

/// Minimum columns for two panes side by side.
const MIN_WIDTH_OF_TWO_PANES: u16 = 118;

/// Lines of a list with three rows, including its border and titles.
const MIN_LIST_HEIGHT: u16 = 6;

/// Lines of a list besides its rows: its border and its titles.
const LIST_FRAME: u16 = 3;

/// Minimum columns of a terminal with a box beside the list, and the minimum and maximum columns of
/// that box.
const MIN_WIDTH_WITH_BESIDE: u16 = 110;
const BESIDE_WIDTHS: (u16, u16) = (42, 64);

/// Minimum lines of the box below a list that keeps its rows.
const MIN_SIDE_HEIGHT: u16 = 4;

/// Minimum lines of the body that leave room for a box below a list.
const MIN_BODY_WITH_SIDE: u16 = 12;

/// The heights that a screen asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Lines of the banner.
    pub banner: u16,
    /// Lines of the tour's caption and of the bar of a recording.
    pub caption: u16,
    /// Whether the figures of the fleets are shown above the list.
    pub fleets: bool,
    /// Lines of overlaps below these figures.
    pub overlaps: u16,
    /// Rows of the list.
    pub rows: usize,
    /// The minimum and the wanted height of the box below the list, including its border. 0 when
    /// there is no box.
    pub side: (u16, u16),
    /// Whether that box takes all lines that the rows leave free. True where the box shows the
    /// whole sentence of a row that the list cuts off.
    pub side_fills: bool,
    /// Rows that the list keeps before the box below it gets more than [`MIN_SIDE_HEIGHT`] lines.
    pub least_rows: u16,
    /// Columns of the box beside the list; 0 when there is none.
    pub beside: u16,
}

/// A rectangle of the terminal, in columns and lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

/// The area of each part of the screen. Plain numbers, which drawing, paging and the mouse share.
///
/// ```text
/// header                       1 line
/// tabs                         1 line
/// banner                       1 to 4 lines, only when something is wrong with the connection
/// fleets: boxes side by side   only on Contend
/// overlaps                     a few lines, only on Contend, when two clients thought they held
/// main: a box with the list    the remaining lines
/// side: a box below it         Locks: findings, recent events or the graph; others: details
/// beside: a box on the right   the selected lock, in a wide terminal; as high as both
/// caption                      a few lines, only during the tour or a replay
/// footer                       1 line
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The line with program, ensemble and connection.
    pub header: Area,
    /// The line of tabs.
    pub tabs: Area,
    /// Problems of the connection; no lines when there are none.
    pub banner: Area,
    /// The figures of the fleets, with their borders; no lines when there are none.
    pub fleets: Area,
    /// Clients that thought they held at the same time; no lines when there were none.
    pub overlaps: Area,
    /// The list or the text, with its border.
    pub main: Area,
    /// The box below the list; no lines when there is none.
    pub side: Area,
    /// The box to the right of the list and of the box below it; no lines when there is none.
    pub beside: Area,
    /// The tour's caption with its scene and step, or the bar of a recording; no lines when there
    /// is neither.
    pub caption: Area,
    /// The keys, or the prompt.
    pub footer: Area,
}

impl Layout {
    /// Computes the layout for the heights that a screen asks for; `None` when the terminal is too
    /// small.
    pub fn of((width, height): (u16, u16), wishes: Wishes) -> Option<Self> {
        if width < MIN_TERMINAL.0 || height < MIN_TERMINAL.1 {
            return None;
        }
        // In a small terminal the rest of the screen shrinks too, because a tour without its
        // captions is of no use.
        let caption = wishes.caption.min((height - MIN_TERMINAL.1) * 5 / 2);
        let height = height - caption;
        let line = |y, height| Area { x: 0, y, width, height };
        let banner = line(2, wishes.banner.min(MAX_BANNER_HEIGHT));
        let body = line(2 + banner.height, height - 3 - banner.height);
        let fleets = line(body.y, if wishes.fleets { fleets_height(body.height) } else { 0 });
        // The list below keeps at least three rows.
        let room = body.height.saturating_sub(fleets.height + MIN_LIST_HEIGHT);
        let overlaps = line(fleets.y + fleets.height, wishes.overlaps.min(room));
        let body = line(overlaps.y + overlaps.height, body.height - fleets.height - overlaps.height);
        let below = side_height(body.height, &wishes);
        let left = width.saturating_sub(wishes.beside);
        let beside = if wishes.beside > 0 { body.height } else { 0 };
        Some(Self {
            header: line(0, 1),
            tabs: line(1, 1),
            banner,
            fleets,
            overlaps,
            main: Area { width: left, ..line(body.y, body.height - below) },
            side: Area { width: left, ..line(body.y + body.height - below, below) },
            beside: Area { x: left, width: width - left, ..line(body.y, beside) },
            caption: line(height - 1, caption),
            footer: line(height - 1 + caption, 1),
        })
    }

    /// The lines that the rows of a list leave free in a terminal of that height.
    pub fn left_below_rows(height: u16, wishes: &Wishes) -> u16 {
        let rows = u16::try_from(wishes.rows).unwrap_or(u16::MAX).saturating_add(LIST_FRAME).max(MIN_LIST_HEIGHT);
        height.saturating_sub(3 + wishes.banner.min(MAX_BANNER_HEIGHT) + wishes.caption).saturating_sub(rows)
    }

    /// The first line of the list's rows and the number of visible rows, without the border and the
    /// line of titles.
    pub fn rows(&self) -> (u16, usize) {
        (self.main.y + 2, usize::from(self.main.height.saturating_sub(3)))
    }

    /// The width of a box beside the list; 0 where there is no room for it.
    pub fn beside_width(width: u16) -> u16 {
        let (least, most) = BESIDE_WIDTHS;
        if width < MIN_WIDTH_WITH_BESIDE { 0 } else { (width / 20 * 7).clamp(least, most) }
    }

    /// The width of each of the panes below the list.
    pub fn pane_width(width: u16, panes: usize) -> u16 {
        if panes < 2 || width < MIN_WIDTH_OF_TWO_PANES { width } else { width / 2 }
    }

    /// The areas of two panes side by side below the list, such as Queue's details and diagnosis.
    /// `None` when there is room for one only.
    pub fn panes(&self) -> Option<(Area, Area)> {
        if self.side.width < MIN_WIDTH_OF_TWO_PANES {
            return None;
        }
        let half = self.side.width / 2;
        let details = Area { width: half, ..self.side };
        Some((details, Area { x: half, width: self.side.width - half, ..self.side }))
    }
}

/// The height of the box below a list: the wanted height if the rows leave it free, else at most
/// half of the body.
fn side_height(body: u16, wishes: &Wishes) -> u16 {
    let (least, wanted) = wishes.side;
    if wanted == 0 || body < MIN_BODY_WITH_SIDE {
        return 0;
    }
    let list = u16::try_from(wishes.rows).unwrap_or(u16::MAX).saturating_add(LIST_FRAME).max(MIN_LIST_HEIGHT);
    let most = (body / 2).max(body.saturating_sub(list)).min(body - MIN_LIST_HEIGHT);
    let kept = body.saturating_sub(list.min(wishes.least_rows + LIST_FRAME));
    let most = if wishes.least_rows > 0 && kept >= MIN_SIDE_HEIGHT { most.min(kept) } else { most };
    let free = if wishes.side_fills { body.saturating_sub(list) } else { 0 };
    wanted.max(least).min(most).max(free)
}

fn fleets_height(body: u16) -> u16 {
    match body {
        34.. => 13,
        19.. => 8,
        13.. => 7,
        _ => body.saturating_sub(MIN_LIST_HEIGHT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_terminal_belongs_to_exactly_one_part() {
        for (banner, overlaps) in (0..=MAX_BANNER_HEIGHT + 1).zip([0, 1, 2, 4, 0, 9]) {
            for (height, rows) in (MIN_TERMINAL.1..90).flat_map(|height| [0, 3, 20, 9999].map(|rows| (height, rows))) {
                for side in [(0, 0), (5, 5), (6, 11), (6, 50)] {
                    let (caption, fleets) = (height % 6, height % 2 == 0);
                    let (least_rows, beside) = (height % 3 * 7, height % 5 * 9);
                    let side_fills = fleets;
                    let wishes =
                        Wishes { banner, caption, fleets, overlaps, rows, side, side_fills, least_rows, beside };
                    let layout = Layout::of((80, height), wishes).unwrap();
                    let Layout { header, tabs, banner, fleets, overlaps, main, side, beside, caption, footer } = layout;
                    assert_eq!((main.width, main.y), (80 - beside.width, beside.y));
                    assert!([0, main.height + side.height].contains(&beside.height));
                    let mut next = 0;
                    for part in [header, tabs, banner, fleets, overlaps, main, side, caption, footer] {
                        assert_eq!(part.y, next, "{wishes:?} {height} {part:?}");
                        next += part.height;
                    }
                    assert_eq!(next, height);
                    assert!(layout.rows().1 >= 3, "{wishes:?} {height}");
                }
            }
        }
    }

    #[test]
    fn a_box_below_a_short_list_shows_all_of_its_text() {
        let wishes = Wishes { rows: 2, side: (6, 14), ..Wishes::default() };
        assert_eq!(Layout::of((80, 24), wishes).unwrap().side.height, 14);
        let long = Wishes { rows: 5000, ..wishes };
        assert_eq!(Layout::of((80, 24), long).unwrap().side.height, 10, "half of what there is");
    }

    #[test]
    fn a_list_keeps_its_rows_where_there_is_room_for_a_box_below_it() {
        let wishes = Wishes { rows: 5000, side: (5, 9), least_rows: 14, ..Wishes::default() };
        let rows = |height, wishes| Layout::of((80, height), wishes).unwrap().rows().1;
        assert_eq!([rows(24, wishes), rows(30, wishes), rows(50, wishes)], [14, 15, 35]);
        assert_eq!(rows(24, Wishes { rows: 5, ..wishes }), 9, "the box takes what few rows leave");
        assert_eq!(rows(20, wishes), 6, "a low terminal shares its lines");
    }

    #[test]
    fn a_terminal_that_is_too_small_has_no_layout() {
        for size in [(0, 0), (1, 1), (20, 5), (59, 50), (200, 15)] {
            assert_eq!(Layout::of(size, Wishes::default()), None);
        }
    }
}
