//! The page of one node.

use super::{SIZE, later, selected_contender};
use crate::tui::app::{App, Effect, Event, NodeRead, Screen, Update};
use crate::tui::testing::{at, gone, live, node_reading, path, press};

fn asked(update: &Update) -> Option<String> {
    update.effects.iter().find_map(|effect| match effect {
        Effect::ReadNode(path) => Some(path.to_string()),
        _ => None,
    })
}

fn text(app: &App) -> String {
    let lines = app.pages()[0].page.lines.clone();
    let line = |line: &crate::tui::page::Line| format!("{} {}", line.label.as_deref().unwrap_or(""), line.text);
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn answer(app: &mut App, node: &str, read: NodeRead) {
    let now = app.clock();
    app.update(Event::NodeRead { path: path(node), read }, now);
}

#[test]
fn the_node_page_reads_the_node_when_it_opens_and_again_on_d() {
    let mut app = live(SIZE);
    press(&mut app, "\nj");
    let node = selected_contender(&app).unwrap().to_string();
    assert_eq!(asked(&press(&mut app, "d")), Some(node.clone()));
    assert_eq!(app.screen(), Screen::Node);
    assert!(text(&app).contains("is being read"), "{}", text(&app));
    answer(&mut app, &node, Ok(Box::new(Some(node_reading(b"10.0.4.28")))));
    assert!(text(&app).contains("as text 10.0.4.28"), "{}", text(&app));
    assert_eq!(asked(&press(&mut app, "d")), Some(node));
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Queue, "and back");
}

#[test]
fn an_answer_about_another_node_is_not_shown() {
    let mut app = live(SIZE);
    press(&mut app, ":node /a\n");
    press(&mut app, "\u{1b}:node /b\n");
    answer(&mut app, "/a", Ok(Box::new(Some(node_reading(b"of a")))));
    assert!(text(&app).contains("is being read"), "{}", text(&app));
    answer(&mut app, "/b", Err("It cannot be read: nobody is there.".to_owned()));
    assert!(text(&app).contains("nobody is there"), "{}", text(&app));
}

#[test]
fn the_timeline_opens_the_page_of_a_node_that_is_gone() {
    let mut app = live(SIZE);
    app.update(at(later(1), vec![gone("/locks/billing", 4712, 0x1c)]), later(1));
    let read = asked(&press(&mut app, "6/gone\nd")).unwrap();
    assert!(read.starts_with("/locks/billing/_c_0000001c") && read.ends_with("4712"), "{read}");
    answer(&mut app, &read, Ok(Box::new(None)));
    assert!(text(&app).contains("There was no such node"), "{}", text(&app));
}

#[test]
fn a_missing_node_and_an_invalid_path_are_refused() {
    let mut app = crate::tui::testing::app(SIZE);
    assert_eq!(asked(&press(&mut app, "d")), None);
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);
    assert_eq!(asked(&press(&mut app, ":node locks\n")), None);
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn truncated_data_and_denied_reads_are_reported() {
    let mut app = live((160, 45));
    press(&mut app, ":node /a\n");
    let mut read = node_reading(&[b'x'; 40]);
    read.stat.data_length = 1_048_576;
    answer(&mut app, "/a", Ok(Box::new(Some(read.clone()))));
    assert!(text(&app).contains("1 048 576 bytes, of which the first 40 are shown"), "{}", text(&app));
    read.data = Err("this console may not read it".to_owned());
    read.acl = Err("this console may not see it".to_owned());
    answer(&mut app, "/a", Ok(Box::new(Some(read))));
    assert!(text(&app).contains("ACL this console may not see it"), "{}", text(&app));
    assert!(text(&app).contains("1 048 576 bytes, not read: this console may not read it"), "{}", text(&app));
}
