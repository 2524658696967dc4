//! Large digits, readable from the back of a room: each is three blocks wide and five high; a block
//! has two columns.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use lockscope_model::text::Charset;

/// Lines of a number.
pub const HEIGHT: u16 = 5;
/// Columns of a block.
const BLOCK: u16 = 2;
/// Columns of a digit, with the gap after it.
const DIGIT: u16 = 4 * BLOCK;

/// Returns the rows of a character from the top. Each row has three bits, the leftmost first.
fn blocks(letter: char) -> [u8; 5] {
    match letter {
        '0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        '1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        '2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        '3' => [0b111, 0b001, 0b111, 0b001, 0b111],
        '4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        '5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        '6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        '7' => [0b111, 0b001, 0b010, 0b010, 0b010],
        '8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        '9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        'x' => [0b000, 0b101, 0b010, 0b101, 0b000],
        '.' => [0b000, 0b000, 0b000, 0b000, 0b010],
        '-' => [0b000, 0b000, 0b111, 0b000, 0b000],
        _ => [0; 5],
    }
}

/// Returns the columns of a number.
pub fn width(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX).saturating_mul(DIGIT).saturating_sub(BLOCK)
}

/// Draws a number; draws nothing where the number does not fit.
pub fn draw(text: &str, style: Style, charset: Charset, area: Rect, buffer: &mut Buffer) {
    if width(text) > area.width || area.height < HEIGHT {
        return;
    }
    let symbol = if charset == Charset::Ascii { "#" } else { "█" };
    for (at, letter) in (0_u16..).zip(text.chars()) {
        for (row, bits) in (0_u16..).zip(blocks(letter)) {
            for column in (0..3_u16).filter(|column| bits & (0b100 >> column) != 0) {
                for half in 0..BLOCK {
                    let x = area.x + at * DIGIT + column * BLOCK + half;
                    buffer[(x, area.y + row)].set_symbol(symbol).set_style(style);
                }
            }
        }
    }
}
