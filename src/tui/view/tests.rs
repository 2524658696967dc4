use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::draw;
use crate::tui::app::App;
use crate::tui::testing::{live, press};
use crate::tui::theme::{Theme, ThemeName};

const SIZES: [(u16, u16); 2] = [(80, 24), (160, 45)];

fn picture(app: &App, size: (u16, u16), ascii: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let theme = Theme::new(ThemeName::Terminal, ascii);
    terminal.draw(|frame| draw(frame, app, &theme)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn look() {
    for size in SIZES {
        for keys in ["", "\n", "\n\t", "6", "?", "u"] {
            let mut app = live(size);
            press(&mut app, keys);
            println!("{}", picture(&app, size, false));
        }
    }
}
