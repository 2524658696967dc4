//! The past of a live console, as its user sees it.

use super::{LivePast, PastPlace};
use crate::tui::app::{App, Recording, Replay, Screen};
use crate::tui::testing::live_past::LiveConsole;
use crate::tui::testing::{curator, ensemble, gone};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{Change, ConnectionState};

const SIZE: (u16, u16) = (100, 30);
const IN_MEMORY: PastPlace = PastPlace::Memory(64 << 20);

fn cut() -> Change {
    Change::Connection(ConnectionState::Lost { reason: "the server closed the connection".to_owned() })
}

fn hand_over(console: &mut LiveConsole, turn: i32) {
    console.feed(vec![gone("/locks/billing", 4711 + turn, 0x1b + i64::from(turn))]);
}

fn notice(app: &App) -> &str {
    app.notice().map_or("", |notice| &notice.text)
}

fn first_of_billing(console: &LiveConsole) -> Option<i32> {
    let table = console.app.world().table();
    let id = table.find(&crate::tui::testing::path("/locks/billing"), None)?;
    Some(table.lock(id)?.row(0)?.contender.sequence?.0)
}

/// Asserts that two texts are equal. On failure, both are shown from shortly before the first
/// difference.
fn assert_same(shown: &str, before: &str) {
    let at = shown.bytes().zip(before.bytes()).position(|(a, b)| a != b).unwrap_or(shown.len().min(before.len()));
    let around = |text: &str| text.chars().skip(at.saturating_sub(300)).take(500).collect::<String>();
    assert!(shown == before, "{}\n\nbefore: {}", around(shown), around(before));
}

#[test]
fn every_moment_of_the_past_looks_as_it_did_live() {
    let mut console = LiveConsole::new(SIZE, &IN_MEMORY);
    let mut shown: Vec<(Timestamp, String)> = Vec::new();
    for second in 0..120 {
        match second {
            // A cut clears the findings; afterwards they are raised again.
            40 => console.feed(vec![cut()]),
            50 => console.feed(ensemble()),
            second if second % 7 == 0 && second < 35 => hand_over(&mut console, second / 7),
            second if second % 7 == 0 => console.feed(vec![curator("/locks/new", second, 90, 0)]),
            _ => {}
        }
        console.pass(1);
        shown.push((console.now, console.shown()));
    }
    assert!(shown.iter().any(|(_, json)| json.contains("\"code\":\"stuck\"")), "there were findings");
    for (moment, json) in shown.iter().rev().step_by(3).chain(&shown) {
        console.go_to(*moment);
        assert_same(&console.shown(), json);
    }
}

#[test]
fn the_live_state_continues_behind_the_past_and_one_key_returns_to_it() {
    let mut console = LiveConsole::new(SIZE, &IN_MEMORY);
    console.pass(5);
    hand_over(&mut console, 0);
    let handed_over = console.now;
    console.pass(65);
    console.press(":lock /locks/billing\n{");
    assert!(console.app.replay().is_some_and(Replay::is_of_live));
    assert_eq!((console.app.screen(), first_of_billing(&console)), (Screen::Queue, Some(4712)));
    // The finding of the first look has ended after that.
    console.press("[[");
    assert_eq!(console.app.now(), handed_over);
    console.press("{");
    assert_eq!(first_of_billing(&console), Some(4711));
    let since = console.app.events_since();
    assert!(since.0 >= 2 && !since.1, "one went and the next acquired: {since:?}");
    hand_over(&mut console, 1);
    console.pass(3);
    assert_eq!(first_of_billing(&console), Some(4711), "the past stays as it was");
    assert!(console.app.events_since().0 >= since.0 + 2, "and two more: {:?}", console.app.events_since());
    console.press("F");
    assert!(console.app.replay().is_none());
    assert_eq!(first_of_billing(&console), Some(4713), "what came meanwhile is there");
    console.press("F");
    assert!(notice(&console.app).contains("live already"), "{}", notice(&console.app));
    // Changes that came while the past was shown can be visited too.
    console.press("[");
    assert_eq!(first_of_billing(&console), Some(4713));
    assert!(console.app.now() > handed_over);
    let outline = console.app.replay().expect("the past is shown").outline();
    assert!(
        outline.from < handed_over && outline.until > handed_over,
        "the bar shows all of the past again: {outline:?}"
    );
}

#[test]
fn a_time_before_the_past_begins_is_refused_with_the_way_to_its_beginning() {
    let mut console = LiveConsole::new(SIZE, &IN_MEMORY);
    console.pass(5);
    hand_over(&mut console, 0);
    console.pass(70);
    console.press(":at 02:13\n");
    assert!(console.app.replay().is_none(), "the screen stays live");
    let said = "Nothing is known of 2024-05-01 02:13:00 UTC: the past begins at 2024-05-01 14:41:07 UTC. `:at start` goes there.";
    assert_eq!(notice(&console.app), said);
    console.press(":at start\n");
    assert!(console.app.is_live(), "everything was read then");
    assert_eq!(first_of_billing(&console), Some(4711));
    let start = console.app.now();
    console.press("}{");
    assert_eq!(console.app.now(), start, "a minute before the beginning nothing is known");
    console.press("{");
    assert_eq!((console.app.now(), notice(&console.app)), (start, "The past begins here."));
}

#[test]
fn a_jump_back_from_a_paused_screen_starts_at_the_paused_time() {
    let mut console = LiveConsole::new(SIZE, &IN_MEMORY);
    console.pass(5);
    hand_over(&mut console, 0);
    console.pass(1);
    console.press("p");
    console.pass(30);
    hand_over(&mut console, 1);
    console.pass(1);
    console.press("[");
    assert!(console.app.paused().is_none());
    assert_eq!(first_of_billing(&console), Some(4712));
    console.press("F");
    assert_eq!(first_of_billing(&console), Some(4713));
}

#[test]
fn nothing_is_changed_or_queried_while_the_past_is_shown() {
    let mut console = LiveConsole::new(SIZE, &IN_MEMORY);
    console.pass(3);
    console.press(":lock /locks/billing\n[");
    for keys in ["x", "c", "d", "5", "7", " "] {
        console.press(keys);
        assert!(console.app.deletion().is_none() && console.app.prompt().is_none());
        assert_eq!(console.app.screen(), Screen::Queue, "{keys}");
    }
    console.press("x");
    assert!(notice(&console.app).contains("F goes back to live"), "{}", notice(&console.app));
}

#[test]
fn without_a_past_the_screen_stays_live_and_says_so() {
    let mut console = LiveConsole::new(SIZE, &IN_MEMORY);
    console.press("(");
    assert!(console.app.replay().is_none());
    assert!(notice(&console.app).contains("no other finding"), "{}", notice(&console.app));
    let mut app = crate::tui::testing::live(SIZE);
    crate::tui::testing::press(&mut app, "[");
    assert!(notice(&app).contains("--past-memory"), "{}", notice(&app));
}

#[test]
fn the_past_of_another_ensemble_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = PastPlace::File(folder.path().join("locks.db"));
    let mut console = LiveConsole::new(SIZE, &place);
    console.pass(2);
    let refused = |connect: &str| LivePast::start(&place, connect, true).err().map(|error| error.to_string());
    assert_eq!(refused("zk2:2181/prod"), None);
    let why = refused("zk1:2181/test").expect("another chroot");
    assert!(why.contains("was recorded from zk1:2181,zk2:2181/prod, and this is zk1:2181/test"), "{why}");
    console.quit();
    assert!(refused("zk7:2181/prod").is_some());
}

#[test]
fn a_file_keeps_the_past_for_the_next_console_and_a_second_one_reads_it_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = PastPlace::File(folder.path().join("locks.db"));
    let mut first = LiveConsole::new(SIZE, &place);
    first.pass(5);
    hand_over(&mut first, 0);
    first.pass(2);
    let (moment, shown) = (first.now, first.shown());
    let since = first.app.recording().and_then(Recording::since);
    let mut second = LiveConsole::new(SIZE, &place);
    second.go_to(moment);
    assert_same(&second.shown(), &shown);
    first.quit();
    let mut third = LiveConsole::started_at(moment.plus(std::time::Duration::from_secs(600)), SIZE, &place);
    assert!(since.is_some());
    assert_eq!(third.app.recording().and_then(Recording::since), since);
    third.pass(2);
    third.go_to(moment);
    assert_same(&third.shown(), &shown);
}

#[test]
fn a_file_that_goes_is_told_and_the_past_goes_on_in_another_one() {
    type Fault = fn(&std::path::Path);
    let faults: [(&str, Fault); 3] = [
        ("moved away", |path| std::fs::rename(path, path.with_extension("moved")).expect("moved")),
        ("was removed", |path| std::fs::remove_file(path).expect("removed")),
        ("log of the recording or its index was removed", |path| {
            std::fs::remove_file(path.with_extension("db-wal")).expect("removed");
        }),
    ];
    for (said, fault) in faults {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("past.db");
        let mut console = LiveConsole::new(SIZE, &PastPlace::File(path.clone()));
        console.pass(5);
        fault(&path);
        console.pass(1);
        assert!(notice(&console.app).contains(said), "{}", notice(&console.app));
        console.pass(10);
        let (moment, shown) = (console.now, console.shown());
        hand_over(&mut console, 0);
        console.pass(20);
        console.go_to(moment);
        assert_same(&console.shown(), &shown);
        std::fs::remove_file(&path).expect("removed");
        let ended = console.try_quit().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(ended.contains("was removed") && ended.contains("is lost"), "{ended}");
    }
}
