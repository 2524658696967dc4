use super::Screen;

/// Columns and lines that the console needs at the least.
pub const SMALLEST: (u16, u16) = (60, 16);

/// Lines that the banner may take.
const MOST_BANNER: u16 = 4;

/// A part of the terminal: column, line, columns, lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The first column, from 0.
    pub x: u16,
    /// The first line, from 0.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Lines.
    pub height: u16,
}

/// Where everything stands. Plain numbers, so that paging and the mouse know what the eye sees.
///
/// ```text
/// header                       1 line
/// tabs                         1 line
/// banner                       1 to 4 lines, only when something is wrong with the connection
/// main: a box with the list    what is left
/// side: a box below it         Locks: watch events; Queue: details
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
    /// The list or the text, with its border.
    pub main: Area,
    /// The box below it; without lines where there is none.
    pub side: Area,
    /// Keys, or what is being typed.
    pub footer: Area,
}

impl Layout {
    /// The layout of a screen below a banner of some lines; `None` when the terminal is too small for it.
    pub fn of(size: (u16, u16), screen: Screen, banner: u16) -> Option<Self> {
        let (width, height) = size;
        if width < SMALLEST.0 || height < SMALLEST.1 {
            return None;
        }
        let line = |y, height| Area { x: 0, y, width, height };
        let banner = line(2, banner.min(MOST_BANNER));
        let body = line(2 + banner.height, height - 3 - banner.height);
        let below = match screen {
            Screen::Locks if body.height >= 12 => 4,
            Screen::Queue if body.height >= 34 => 11,
            Screen::Queue if body.height >= 18 => 9,
            Screen::Queue if body.height >= 12 => 6,
            _ => 0,
        };
        Some(Self {
            header: line(0, 1),
            tabs: line(1, 1),
            banner,
            main: line(body.y, body.height - below),
            side: line(body.y + body.height - below, below),
            footer: line(height - 1, 1),
        })
    }

    /// The first line of the list's rows, and how many rows show: without the border and the line of titles.
    pub fn rows(&self) -> (u16, usize) {
        (self.main.y + 2, usize::from(self.main.height.saturating_sub(3)))
    }

    /// How many lines of text the main box shows: without the border.
    pub fn lines(&self) -> usize {
        usize::from(self.main.height.saturating_sub(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_terminal_belongs_to_one_part() {
        for screen in Screen::ALL {
            for banner in 0..=MOST_BANNER + 1 {
                for height in SMALLEST.1..90 {
                    let layout = Layout::of((80, height), screen, banner).unwrap();
                    let Layout { header, tabs, banner, main, side, footer } = layout;
                    let mut next = 0;
                    for part in [header, tabs, banner, main, side, footer] {
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
            assert_eq!(Layout::of(size, Screen::Locks, 0), None);
        }
    }
}
