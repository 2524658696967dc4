//! Formats rows of cells as aligned lines of text.

use unicode_width::UnicodeWidthStr;

/// The alignment of a cell in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left, for words.
    Left,
    /// To the right, for numbers.
    Right,
}

/// Returns a line for each row, with two spaces between columns and none at the end. The cells must
/// be free of control characters.
///
/// ```
/// use lockscope_model::text::{Align, columns};
///
/// let rows = [["LOCK", "WAIT"].map(str::to_owned), ["/locks/a", "7"].map(str::to_owned)];
/// assert_eq!(columns(&rows, [Align::Left, Align::Right]), "LOCK      WAIT\n/locks/a     7\n");
/// ```
pub fn columns<const N: usize>(rows: &[[impl AsRef<str>; N]], align: [Align; N]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.as_ref().width());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), align) in row.iter().zip(widths).zip(align) {
            let cell = cell.as_ref();
            // `format!` would pad by characters, but a character may be two columns wide.
            let gap = " ".repeat(width - cell.width());
            match align {
                Align::Left => line.extend([cell, &gap, "  "]),
                Align::Right => line.extend([&gap, cell, "  "]),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_by_the_columns_that_they_take() {
        let rows = [["锁", "1", ""], ["a", "20", "all"]];
        assert_eq!(columns(&rows, [Align::Left, Align::Right, Align::Left]), "锁   1\na   20  all\n");
        assert_eq!(columns::<1>(&[] as &[[&str; 1]], [Align::Left]), "");
    }
}
