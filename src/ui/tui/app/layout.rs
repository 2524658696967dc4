//! Where everything stands on the terminal, as areas.

/// Columns and lines that the console needs at the least.
pub const MIN_TERMINAL: (u16, u16) = (60, 16);

/// Lines that the banner may take.
const MAX_BANNER_HEIGHT: u16 = 4;

/// From how many columns on two panes stand side by side.
const MIN_WIDTH_OF_TWO_PANES: u16 = 118;

/// Lines of a list of three rows, with its border and titles.
const MIN_LIST_HEIGHT: u16 = 6;

/// Lines around the rows of a list: its border and its titles.
const LIST_FRAME: u16 = 3;

/// From how many lines on there is room for a box below a list.
const MIN_BODY_WITH_SIDE: u16 = 12;

/// What a screen wants of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Lines of the banner.
    pub banner: u16,
    /// Lines of what the tour says.
    pub caption: u16,
    /// Whether the figures of fleets stand above the list.
    pub fleets: bool,
    /// Lines of overlaps below these.
    pub overlaps: u16,
    /// Rows of the list.
    pub rows: usize,
    /// Lines of the box below the list, with its border: at the least, and to show all of it. 0 where there is none.
    pub side: (u16, u16),
    /// Whether that box takes all that the rows leave: where rows are sentences that it shows as a whole.
    pub side_fills: bool,
}

/// A part of the terminal: column, line, columns, lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

/// Where everything stands. Plain numbers, so that paging and the mouse know what the eye sees.
///
/// ```text
/// header                       1 line
/// tabs                         1 line
/// banner                       1 to 4 lines, only when something is wrong with the connection
/// fleets: boxes side by side   only on Contend
/// overlaps                     a few lines, only on Contend, when two thought that they hold
/// main: a box with the list    what is left
/// side: a box below it         Locks: watch events; Queue, Audit: details
/// caption                      a few lines, only during the tour
/// footer                       1 line
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Program, ensemble, connection.
    pub header: Area,
    /// The screens.
    pub tabs: Area,
    /// What is wrong; without lines when nothing is.
    pub banner: Area,
    /// The figures of the fleets, with their borders; without lines where there are none.
    pub fleets: Area,
    /// Who thought to hold at the same time; without lines when nobody was wrong.
    pub overlaps: Area,
    /// The list or the text, with its border.
    pub main: Area,
    /// The box below it; without lines where there is none.
    pub side: Area,
    /// What the tour says, with a line that says where it is; without lines when there is no tour.
    pub caption: Area,
    /// Keys, or what is being typed.
    pub footer: Area,
}

impl Layout {
    /// The layout for what a screen wants; `None` when the terminal is too small.
    pub fn of((width, height): (u16, u16), wishes: Wishes) -> Option<Self> {
        if width < MIN_TERMINAL.0 || height < MIN_TERMINAL.1 {
            return None;
        }
        // In a small terminal the screen gives way too: what the tour says is what it is for.
        let caption = wishes.caption.min((height - MIN_TERMINAL.1) * 5 / 2);
        let height = height - caption;
        let line = |y, height| Area { x: 0, y, width, height };
        let banner = line(2, wishes.banner.min(MAX_BANNER_HEIGHT));
        let body = line(2 + banner.height, height - 3 - banner.height);
        let fleets = line(body.y, if wishes.fleets { fleets_height(body.height) } else { 0 });
        // At least three clients show below.
        let room = body.height.saturating_sub(fleets.height + MIN_LIST_HEIGHT);
        let overlaps = line(fleets.y + fleets.height, wishes.overlaps.min(room));
        let body = line(overlaps.y + overlaps.height, body.height - fleets.height - overlaps.height);
        let below = side_height(body.height, &wishes);
        Some(Self {
            header: line(0, 1),
            tabs: line(1, 1),
            banner,
            fleets,
            overlaps,
            main: line(body.y, body.height - below),
            side: line(body.y + body.height - below, below),
            caption: line(height - 1, caption),
            footer: line(height - 1 + caption, 1),
        })
    }

    /// Lines that the rows of a list leave, in a terminal of that height.
    pub fn left_below_rows(height: u16, wishes: &Wishes) -> u16 {
        let rows = u16::try_from(wishes.rows).unwrap_or(u16::MAX).saturating_add(LIST_FRAME).max(MIN_LIST_HEIGHT);
        height.saturating_sub(3 + wishes.banner.min(MAX_BANNER_HEIGHT) + wishes.caption).saturating_sub(rows)
    }

    /// The first line of the list's rows, and how many rows show: without the border and the line of titles.
    pub fn rows(&self) -> (u16, usize) {
        (self.main.y + 2, usize::from(self.main.height.saturating_sub(3)))
    }

    /// How wide each of some panes is that stand below the list.
    pub fn pane_width(width: u16, panes: usize) -> u16 {
        if panes < 2 || width < MIN_WIDTH_OF_TWO_PANES { width } else { width / 2 }
    }

    /// Queue's panes below the list: the details, and the diagnosis, where there is room for both.
    pub fn panes(&self) -> Option<(Area, Area)> {
        if self.side.width < MIN_WIDTH_OF_TWO_PANES {
            return None;
        }
        let half = self.side.width / 2;
        let details = Area { width: half, ..self.side };
        Some((details, Area { x: half, width: self.side.width - half, ..self.side }))
    }
}

/// Lines of the box below a list: all that it wants where the rows leave it, else at most half.
fn side_height(body: u16, wishes: &Wishes) -> u16 {
    let (least, wanted) = wishes.side;
    if wanted == 0 || body < MIN_BODY_WITH_SIDE {
        return 0;
    }
    let list = u16::try_from(wishes.rows).unwrap_or(u16::MAX).saturating_add(LIST_FRAME).max(MIN_LIST_HEIGHT);
    let most = (body / 2).max(body.saturating_sub(list)).min(body - MIN_LIST_HEIGHT);
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
    fn every_line_of_the_terminal_belongs_to_one_part() {
        for (banner, overlaps) in (0..=MAX_BANNER_HEIGHT + 1).zip([0, 1, 2, 4, 0, 9]) {
            for (height, rows) in (MIN_TERMINAL.1..90).flat_map(|height| [0, 3, 20, 9999].map(|rows| (height, rows))) {
                for side in [(0, 0), (5, 5), (6, 11), (6, 50)] {
                    let (caption, fleets) = (height % 6, height % 2 == 0);
                    let wishes = Wishes { banner, caption, fleets, overlaps, rows, side, side_fills: fleets };
                    let layout = Layout::of((80, height), wishes).unwrap();
                    let Layout { header, tabs, banner, fleets, overlaps, main, side, caption, footer } = layout;
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
    fn a_terminal_that_is_too_small_has_no_layout() {
        for size in [(0, 0), (1, 1), (20, 5), (59, 50), (200, 15)] {
            assert_eq!(Layout::of(size, Wishes::default()), None);
        }
    }
}
