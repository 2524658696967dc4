//! Where everything stands on the terminal, as areas.

use super::Screen;

/// Columns and lines that the console needs at the least.
pub const MIN_TERMINAL: (u16, u16) = (60, 16);

/// Lines that the banner may take.
const MAX_BANNER_HEIGHT: u16 = 4;

/// From how many columns on two panes stand side by side.
const MIN_WIDTH_OF_TWO_PANES: u16 = 118;

/// Lines of a list of three rows, with its border and titles.
const MIN_LIST_HEIGHT: u16 = 6;

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
    /// The layout of a screen below a banner of some lines, and on Contend with some lines of overlaps; `None` when the
    /// terminal is too small for it.
    pub fn of(size: (u16, u16), screen: Screen, banner: u16, overlaps: u16) -> Option<Self> {
        let (width, height) = size;
        if width < MIN_TERMINAL.0 || height < MIN_TERMINAL.1 {
            return None;
        }
        let line = |y, height| Area { x: 0, y, width, height };
        let banner = line(2, banner.min(MAX_BANNER_HEIGHT));
        let body = line(2 + banner.height, height - 3 - banner.height);
        let fleets = line(
            body.y,
            match screen {
                Screen::Contend => fleets_height(body.height),
                _ => 0,
            },
        );
        // At least three clients show below.
        let room = body.height.saturating_sub(fleets.height + MIN_LIST_HEIGHT);
        let overlaps = line(fleets.y + fleets.height, if screen == Screen::Contend { overlaps.min(room) } else { 0 });
        let body = line(overlaps.y + overlaps.height, body.height - fleets.height - overlaps.height);
        let below = match screen {
            Screen::Locks if body.height >= 13 => 5,
            Screen::Locks if body.height == 12 => 4,
            Screen::Queue | Screen::Audit if body.height >= 34 => 11,
            Screen::Queue | Screen::Audit if body.height >= 18 => 9,
            Screen::Queue | Screen::Audit if body.height >= 12 => 6,
            _ => 0,
        };
        Some(Self {
            header: line(0, 1),
            tabs: line(1, 1),
            banner,
            fleets,
            overlaps,
            main: line(body.y, body.height - below),
            side: line(body.y + body.height - below, below),
            caption: line(height - 1, 0),
            footer: line(height - 1, 1),
        })
    }

    /// The same with some lines of the tour above the footer, as many as leave the rest enough.
    pub fn with_caption(size: (u16, u16), lines: u16, rest: impl FnOnce((u16, u16)) -> Option<Self>) -> Option<Self> {
        let lines = lines.min(size.1.saturating_sub(MIN_TERMINAL.1));
        let layout = rest((size.0, size.1 - lines))?;
        let caption = Area { height: lines, ..layout.footer };
        Some(Self { caption, footer: Area { y: caption.y + lines, ..layout.footer }, ..layout })
    }

    /// The first line of the list's rows, and how many rows show: without the border and the line of titles.
    pub fn rows(&self) -> (u16, usize) {
        (self.main.y + 2, usize::from(self.main.height.saturating_sub(3)))
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
    use crate::tui::app::SCREENS;

    #[test]
    fn every_line_of_the_terminal_belongs_to_one_part() {
        for screen in SCREENS.iter().map(|entry| entry.screen) {
            for (banner, overlaps) in (0..=MAX_BANNER_HEIGHT + 1).zip([0, 1, 2, 4, 0, 9]) {
                for height in MIN_TERMINAL.1..90 {
                    let lines = height % 6;
                    let layout =
                        Layout::with_caption((80, height), lines, |size| Layout::of(size, screen, banner, overlaps));
                    let layout = layout.unwrap();
                    let Layout { header, tabs, banner, fleets, overlaps, main, side, caption, footer } = layout;
                    let mut next = 0;
                    for part in [header, tabs, banner, fleets, overlaps, main, side, caption, footer] {
                        assert_eq!(part.y, next, "{screen:?} {height} {part:?}");
                        next += part.height;
                    }
                    assert_eq!(next, height);
                    assert!(layout.rows().1 >= 3, "{screen:?} {height}");
                }
            }
        }
    }

    #[test]
    fn a_terminal_that_is_too_small_has_no_layout() {
        for size in [(0, 0), (1, 1), (20, 5), (59, 50), (200, 15)] {
            assert_eq!(Layout::of(size, Screen::Locks, 0, 0), None);
        }
    }
}
