//! A recording as it looks.

use super::show;
use crate::tui::testing::recording::Replayed;

fn after(size: (u16, u16), keys: &str) -> crate::tui::app::App {
    let mut replayed = Replayed::new(size);
    replayed.press(keys);
    replayed.app
}

#[test]
fn a_recording_looks() {
    show("replay", |size| after(size, ":at 14:42:02\n"));
    show("replay-queue", |size| after(size, ":lock /locks/billing\n:at 14:41:22\n"));
    show("replay-timeline", |size| after(size, "6:at 14:42:02\n"));
    show("replay-cut", |size| after(size, ":at 14:42:42\n"));
    show("replay-gap", |size| after(size, ":at 14:43:15\n{"));
}
