//! A recording on the screen, from its file to the picture.

use std::time::Duration;

use crate::tui::screen::Screen;
use crate::tui::testing::recording::{Replayed, second};

const SIZE: (u16, u16) = (80, 24);

fn at(replayed: &Replayed) -> lockscope_base::znode::Timestamp {
    replayed.app.replay().expect("a recording is shown").at()
}

fn go_to(replayed: &mut Replayed, time: &str) {
    replayed.press(&format!(":at {time}\n"));
}

#[test]
fn a_recording_opens_at_its_end_and_goes_to_any_time() {
    let mut replayed = Replayed::new(SIZE);
    assert_eq!(at(&replayed), second(210));
    assert!(replayed.app.world().table().locks().any(|lock| lock.path().as_str() == "/locks/new"));
    go_to(&mut replayed, "14:41:22");
    let holder = |replayed: &Replayed| {
        let table = replayed.app.world().table();
        let lock = table.lock(table.find(&crate::tui::testing::path("/locks/billing"), None)?)?;
        Some(lock.first_holder()?.sequence?.0)
    };
    assert_eq!(holder(&replayed), Some(4712), "one hand-over before");
    go_to(&mut replayed, "-3m");
    assert_eq!((at(&replayed), holder(&replayed)), (second(30), Some(4714)));
    go_to(&mut replayed, "soon");
    assert!(replayed.app.notice().is_some_and(|notice| notice.sign != crate::tui::page::Sign::Done));
    assert_eq!(at(&replayed), second(30));
}

#[test]
fn a_time_before_the_recording_begins_is_refused_with_the_way_to_its_beginning() {
    let mut replayed = Replayed::new(SIZE);
    go_to(&mut replayed, "2024-05-01 02:13");
    assert_eq!(at(&replayed), second(210), "it stays where it is");
    let notice = replayed.app.notice().map(|notice| notice.text.clone()).expect("a reason");
    let said = "Nothing is known of 2024-05-01 02:13:00 UTC: the past begins at 2024-05-01 14:41:07 UTC. `:at start` goes there.";
    assert_eq!(notice, said);
    go_to(&mut replayed, "start");
    assert_eq!(at(&replayed), second(0));
    assert!(replayed.app.is_live(), "everything was read then");
}

#[test]
fn the_keys_go_from_event_to_event_and_across_gaps() {
    let mut replayed = Replayed::new(SIZE);
    go_to(&mut replayed, "14:41:12");
    replayed.press("]");
    assert_eq!(at(&replayed), second(10));
    replayed.press("]]");
    assert_eq!(at(&replayed), second(24), "a lock may be stuck");
    replayed.press("[");
    assert_eq!(at(&replayed), second(20));
    replayed.press("}}");
    assert_eq!(at(&replayed), second(180), "140 s are not in the recording: the next moment that is");
    replayed.press("{");
    assert_eq!(at(&replayed), second(120), "and the last one before");
}

#[test]
fn a_recording_plays_at_the_chosen_speed_and_stops() {
    let mut replayed = Replayed::new(SIZE);
    go_to(&mut replayed, "14:41:12");
    let from = at(&replayed);
    replayed.press("P");
    replayed.wait(Duration::from_secs(3));
    let played = at(&replayed).since(from);
    assert!((2_700..=3_000).contains(&played.as_millis()), "{played:?}");
    replayed.press(">>");
    replayed.wait(Duration::from_secs(2));
    let played = at(&replayed).since(from);
    assert!((11_000..=13_000).contains(&played.as_millis()), "{played:?}");
    replayed.press("P");
    let stopped = at(&replayed);
    replayed.wait(Duration::from_secs(5));
    assert_eq!(at(&replayed), stopped);
}

#[test]
fn a_recording_never_changes_or_queries_the_ensemble() {
    let mut replayed = Replayed::new(SIZE);
    for keys in ["x", "c", "5", "7", ":node /locks/billing\n"] {
        let screen = replayed.app.screen();
        replayed.press(keys);
        assert_eq!(replayed.app.screen(), screen, "{keys:?}");
        assert!(replayed.app.notice().is_some_and(|notice| notice.text.starts_with("This is a recording")), "{keys:?}");
        assert!(replayed.app.prompt().is_none());
    }
}

#[test]
fn an_open_queue_stays_open_across_jumps() {
    let mut replayed = Replayed::new(SIZE);
    replayed.press(":lock /locks/billing\n");
    assert_eq!(replayed.app.screen(), Screen::Queue);
    go_to(&mut replayed, "14:41:22");
    let first = |replayed: &Replayed| replayed.app.world().queue_rows().row(0).and_then(|row| row.contender.sequence);
    assert_eq!(first(&replayed).map(|number| number.0), Some(4712));
    replayed.press("]");
    assert_eq!((at(&replayed), first(&replayed).map(|number| number.0)), (second(20), Some(4713)));
}

#[test]
fn the_segment_behind_a_near_border_is_read_in_advance() {
    let mut replayed = Replayed::new(SIZE);
    let read = |replayed: &Replayed| {
        let open = replayed.past.open.lock().unwrap();
        open.read.iter().map(|segment| segment.info().id).collect::<Vec<_>>()
    };
    go_to(&mut replayed, "14:44:20");
    let here = read(&replayed)[0];
    replayed.past.forget();
    replayed.past.read_ahead();
    assert!(read(&replayed).is_empty(), "nobody is anywhere");
    go_to(&mut replayed, "14:44:21");
    assert_eq!(read(&replayed), [here]);
    replayed.past.read_ahead();
    let ahead = read(&replayed);
    assert!(ahead.len() == 2 && ahead.contains(&here), "{ahead:?}");
}
