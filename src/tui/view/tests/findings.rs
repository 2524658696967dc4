//! What the lists say of a lock in a word, however narrow they are.

use super::{SIZES, picture};
use crate::queue::Change;
use crate::tui::app::App;
use crate::tui::testing::{NOW, ago, app, at, connected, listed, seen};

/// The line of a picture that shows this.
fn line_with<'a>(picture: &'a str, text: &str) -> &'a str {
    picture.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("nothing shows {text}:\n{picture}"))
}

/// A group whose members are numbered and follow no recipe.
fn registry(size: (u16, u16)) -> App {
    let mut app = app(size);
    let members = (1..=3).map(|number| seen(&format!("/group/m-{number:010}"), number, ago(90 - number), b""));
    let mut changes = vec![connected(), Change::Syncing, listed("/group", 4)];
    changes.extend(members);
    changes.push(Change::Synced);
    app.update(at(NOW, changes), NOW);
    app
}

#[test]
fn who_is_only_assumed_to_hold_is_marked_in_locks_of_any_width() {
    for size in SIZES {
        let picture = picture(&registry(size), size);
        let row = line_with(&picture, "/group");
        assert!(row.contains("● assumed") || row.contains("(assumed)"), "{size:?}: {row}");
    }
    let row = picture(&registry((80, 24)), (80, 24));
    assert!(line_with(&row, "/group").contains("● assumed"), "{row}");
}
