//! Snapshots of recordings.

use super::{show, show_once};
use crate::tui::past_writer::PastPlace;
use crate::tui::testing::gone;
use crate::tui::testing::live_past::LiveConsole;
use crate::tui::testing::recording::Replayed;

fn after(size: (u16, u16), keys: &str) -> crate::tui::app::App {
    let mut replayed = Replayed::new(size);
    replayed.press(keys);
    replayed.app
}

#[test]
fn a_recording_matches_its_snapshots() {
    show("replay", |size| after(size, ":at 14:42:02\n"));
    show_once("replay-queue", |size| after(size, ":lock /locks/billing\n:at 14:41:22\n"));
    show_once("replay-timeline", |size| after(size, "6:at 14:42:02\n"));
    show_once("replay-cut", |size| after(size, ":at 14:42:42\n"));
    show_once("replay-gap", |size| after(size, ":at 14:43:15\n{"));
}

#[test]
fn a_live_console_in_its_past_matches_its_snapshots() {
    let console = |size, keys: &str| {
        let mut console = LiveConsole::new(size, &PastPlace::Memory(64 << 20));
        console.pass(70);
        console.feed(vec![gone("/locks/billing", 4711, 0x1b)]);
        console.pass(5);
        console.press(keys);
        console.feed(vec![gone("/locks/billing", 4712, 0x1c)]);
        console.pass(1);
        console.app
    };
    show_once("rewound-not-yet", |size| console(size, ""));
    show("rewound", |size| console(size, ":lock /locks/billing\n{"));
}
