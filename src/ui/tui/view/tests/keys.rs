//! Screens name the keys as they are bound.

use super::{Theme, ThemeName, after, drawn, live, picture, record, testing};
use crate::tui::app::{App, Key};
use crate::tui::keymap::{Bindings, Command, FixedKey, commands};
use crate::tui::screen::Screen;

/// The size of the scenes, with room for most sentences.
const SIZE: (u16, u16) = (160, 45);

/// The names of default keys that are no letters.
const USUAL_NAMES: &[&str] = &["⏎", "Enter", "Esc", "Tab", "Shift-Tab", "Space", "PgUp", "PgDn", "F1"];

/// Letters in texts that are no keys: an article, readers and writers, signs and arguments.
const OTHER_LETTERS: &str = "aARWiN";

/// Binds every command to a key that occurs in no text. With `keeps_usual`, the default keys stay
/// as second keys, because scenes are made by pressing them.
fn rebound(keeps_usual: bool) -> Bindings {
    let mut bindings = Bindings::default();
    for (entry, letter) in commands().zip('\u{100}'..) {
        let usual = if keeps_usual { entry.keys } else { &[] };
        bindings.bind(entry.command, [&[Key::Char(letter)], usual].concat());
    }
    bindings
}

/// Makes a scene and rebinds all its keys; `None` when the scene has settings of its own.
fn under_other_keys(scene: impl Fn((u16, u16)) -> App) -> Option<App> {
    let mut app = testing::bound(rebound(true), || scene(SIZE));
    let is_bound = *app.bindings() == rebound(true);
    app.rebind(rebound(false));
    is_bound.then_some(app)
}

/// Checks that no text of the scene names a default key once all commands have other keys, and that
/// the footer names the other keys.
pub fn check(name: &str, scene: &impl Fn((u16, u16)) -> App) {
    let Some(app) = under_other_keys(scene) else { return };
    record::take();
    drawn(&app, SIZE, &Theme::new(ThemeName::Terminal, false));
    let asks = app.prompt().is_some() || app.deletion().is_some() || app.asks_to_quit();
    let texts = record::take().texts;
    let stale: Vec<_> = texts.iter().map(|text| &text.text).filter(|text| names_usual_key(text, asks)).collect();
    assert!(stale.is_empty(), "{name} names a key that does nothing: {stale:#?}");
    if !asks && app.notice().is_none() {
        let footer = texts.iter().filter(|text| text.y + 1 == SIZE.1).map(|text| &*text.text).collect::<String>();
        let quit = format!("{} quit", app.bindings().name(Command::Quit));
        assert!(footer.contains(&quit), "{name}: {footer}");
    }
}

/// Returns whether a text names a default key. While a question is open, the fixed keys of its
/// answers are right.
fn names_usual_key(text: &str, asks: bool) -> bool {
    let fixed = [FixedKey::Yes, FixedKey::No, FixedKey::Enter, FixedKey::Leave, FixedKey::Complete, FixedKey::Older];
    let is_fixed = |word: &str| asks && fixed.iter().any(|key| key.name() == word || key.key().label(false) == word);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_dump = text.starts_with("00");
    let is_unit = |at: usize| at > 0 && words[at - 1].ends_with(|letter: char| letter.is_ascii_digit());
    words.len() > 1
        && words.iter().enumerate().any(|(at, word)| {
            let bare = word.trim_matches(|letter: char| "(),.:;".contains(letter));
            let is_letter = bare.len() == 1 && bare.starts_with(|letter: char| letter.is_ascii_alphabetic());
            let is_key = USUAL_NAMES.contains(&bare)
                || bare.starts_with("Ctrl-")
                || (is_letter && !OTHER_LETTERS.contains(bare));
            is_key && !is_unit(at) && !is_fixed(bare) && !is_dump && !text.contains("(Space too)")
        })
}

#[test]
fn tabs_and_sentences_name_the_keys_that_are_bound() {
    let name = |command| rebound(false).name(command);
    let app = under_other_keys(live).unwrap();
    let shown = picture(&app, SIZE);
    for (screen, title) in [(Screen::Locks, "Locks"), (Screen::Queue, "Queue"), (Screen::Audit, "Audit")] {
        let tab = format!(" {} {title} ", name(Command::Go(screen)));
        assert!(shown.contains(&tab), "{tab}: {shown}");
    }
    let empty = under_other_keys(|size| after(live(size), "/nothing like it\n")).unwrap();
    let empty = picture(&empty, SIZE);
    assert!(empty.contains(&format!("{} clears the filter.", name(Command::Back))), "{empty}");
    let refused = under_other_keys(|size| after(live(size), "@")).unwrap();
    let said = &refused.notice().expect("a notice").text;
    assert!(said.starts_with(&format!("{} shows what", name(Command::Go(Screen::Audit)))), "{said}");
}

#[test]
fn a_command_without_a_key_is_named_as_it_is_typed() {
    let mut app = after(live((80, 24)), "/nothing like it\n");
    let mut bindings = Bindings::default();
    bindings.bind(Command::Back, Vec::new());
    app.rebind(bindings);
    let shown = picture(&app, (80, 24));
    assert!(shown.contains(":back clears the filter."), "{shown}");
}

#[test]
fn a_usual_key_is_found_in_a_text() {
    for text in ["x delete", "the other (Tab)", "Enter opens it", "then x", "v: why", "Ctrl-L draws"] {
        assert!(names_usual_key(text, false), "{text}");
    }
    assert!(!names_usual_key("Enter opens it", true) && !names_usual_key("a lock of 5 s", false));
}
