//! The past is taken in from a server's logs when the user asks, and never before.

use std::path::PathBuf;

use super::super::{App, Effect, Event, Recording, Settings, TakeIn, TakenIn, Update};
use crate::tui::testing::{NOW, ensemble, press, settings};
use lockscope_base::znode::Timestamp;
use lockscope_past::record::{BatchWriter, Bounds, RecordOptions};

const FOLDER: &str = "/var/lib/zookeeper/version-2";
const BEGAN: Timestamp = Timestamp(NOW.0 - 60_000);

/// Returns a console that keeps its past in memory, and found a server's files.
fn console(connect: &str) -> App {
    let options = RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data: true, group_reads: false };
    let batches = BatchWriter::in_memory(options).unwrap().recorder("zk1:2181").unwrap();
    let recording = Recording::new(Some(batches), Some(BEGAN), NOW).in_memory();
    let settings = Settings { connect: connect.to_owned(), ..settings() };
    let mut app = App::new(settings, (100, 30), NOW).with_recording(recording);
    app.update(crate::tui::testing::at(NOW, ensemble()), NOW);
    app.update(Event::ServerFilesFound(vec![PathBuf::from(FOLDER)]), NOW);
    app
}

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

fn wish(update: &Update) -> Option<&TakeIn> {
    update.effects.iter().find_map(|effect| match effect {
        Effect::TakeIn(wish) => Some(&**wish),
        _ => None,
    })
}

#[test]
fn the_timeline_says_that_the_past_can_be_taken_in_and_only_a_command_does_it() {
    let mut app = console("zk1:2181");
    assert_eq!(notice(&app), "");
    press(&mut app, ":timeline\n");
    assert_eq!(notice(&app), "`:import` takes in the past from /var/lib/zookeeper/version-2.");
    let update = press(&mut app, ":import\n");
    let wish = wish(&update).expect("an import");
    assert_eq!((wish.folders.as_slice(), wish.until), (&[PathBuf::from(FOLDER)][..], BEGAN));
    assert!(self::wish(&press(&mut app, ":import\n")).is_none(), "one at a time");
    app.update(
        Event::PastTakenIn(Ok(TakenIn {
            since: Timestamp(BEGAN.0 - 3_600_000),
            transactions: 1_234,
            leaders: Vec::new(),
        })),
        NOW,
    );
    assert!(notice(&app).starts_with("The past begins at "), "{}", notice(&app));
    assert_eq!(app.recording().and_then(Recording::since), Some(Timestamp(BEGAN.0 - 3_600_000)));
    press(&mut app, ":import\n");
    assert_eq!(notice(&app), "The past was taken in already.");
}

#[test]
fn a_failed_import_says_why_and_can_be_tried_again_with_another_folder() {
    let mut app = console("zk1:2181");
    press(&mut app, ":import\n");
    app.update(Event::PastTakenIn(Err("it is of another ensemble".to_owned())), NOW);
    assert_eq!(notice(&app), "The past was not taken in: it is of another ensemble.");
    let update = press(&mut app, ":import /other/data\n");
    assert_eq!(wish(&update).expect("an import").folders, [PathBuf::from("/other/data")]);
}

#[test]
fn nothing_is_taken_in_below_a_chroot_or_without_a_past_in_memory() {
    let mut app = console("zk1:2181/prod");
    assert!(wish(&press(&mut app, ":import\n")).is_none() && notice(&app).contains("chroot"), "{}", notice(&app));
    let mut app = App::new(settings(), (100, 30), NOW);
    app.update(Event::ServerFilesFound(vec![PathBuf::from(FOLDER)]), NOW);
    press(&mut app, ":timeline\n");
    assert_eq!(notice(&app), "");
    assert!(wish(&press(&mut app, ":import\n")).is_none() && notice(&app).contains("in memory"), "{}", notice(&app));
}
