//! Lists that are updated change by change equal lists that are built afresh.

use proptest::prelude::*;

use super::{SIZE, later};
use crate::tui::app::{App, Event, ListOrder, LockOrder, Rows};
use crate::tui::testing::{at, connected, listed, live, path, press, seen};
use lockscope_model::queue::{Change, ConnectionState};

/// Returns the path of a contender's node, in a mutex, a read/write lock or either parent of a
/// semaphore.
fn node(lock: u8, number: u8) -> String {
    let id = format!("_c_{number:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b");
    match lock % 4 {
        0 => format!("/m/{id}-lock-{number:010}"),
        1 => format!("/rw/{id}-{}{number:010}", if number.is_multiple_of(3) { "__WRIT__" } else { "__READ__" }),
        2 => format!("/s/locks/{id}-lock-{number:010}"),
        _ => format!("/s/leases/{id}-lease-{number:010}"),
    }
}

fn change() -> impl Strategy<Value = Vec<Change>> {
    let nodes = (any::<u8>(), 0u8..24);
    prop_oneof![
        6 => (nodes.clone(), 0u8..40, 0i64..6).prop_map(|((lock, number), data, owner)| {
            let data = format!("worker-{data}");
            vec![seen(&node(lock, number), owner, crate::tui::testing::ago(i64::from(number)), data.as_bytes())]
        }),
        4 => nodes.prop_map(|(lock, number)| vec![Change::Deleted { path: path(&node(lock, number)), zxid: None }]),
        1 => prop::sample::select(vec!["/m", "/rw", "/s", "/s/locks", "/s/leases"])
            .prop_map(|parent| vec![listed(parent, 30)]),
        1 => prop::sample::select(vec!["/m", "/rw", "/s/locks"])
            .prop_map(|parent| vec![Change::Deleted { path: path(parent), zxid: None }]),
        1 => Just(vec![Change::Connection(ConnectionState::Lost { reason: "cut".to_owned() }), connected(), Change::Syncing]),
        1 => Just(vec![Change::Synced]),
    ]
}

fn locks(app: &App) -> Vec<Option<lockscope_model::queue::LockId>> {
    let locks = app.world().locks();
    (0..locks.len()).map(|rank| locks.id(rank)).collect()
}

fn contenders(app: &App) -> Vec<String> {
    let rows = app.world().queue_rows();
    let row = |rank| rows.row(rank).map(|row| row.contender.node.to_string());
    (0..rows.len()).map(|rank| row(rank).unwrap_or_else(|| format!("nothing at {rank}"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lists_kept_up_are_lists_made_afresh(
        before in prop::collection::vec(change(), 0..30),
        during in prop::collection::vec(change(), 0..60),
        by in prop::sample::select(LockOrder::all().collect::<Vec<_>>()),
        lock in prop::sample::select(vec!["/m", "/rw", "/s"]),
        filter in prop::sample::select(vec!["", "1", "worker-2", "lease"]),
    ) {
        let mut app = live(SIZE);
        app.update(at(later(1), before.concat()), later(1));
        // Without a text, the command opens a prompt.
        let set = if filter.is_empty() { String::new() } else { format!(":filter {filter}\n") };
        press(&mut app, &format!(":sort {}\n{set}:lock {lock}\n{set}", by.id()));
        for (second, changes) in during.into_iter().enumerate() {
            let now = later(2 + second as u64 / 8);
            app.update(at(now, changes), now);
        }
        let now = app.clock();
        app.update(Event::Tick, now);
        let (kept_locks, kept_contenders) = (locks(&app), contenders(&app));
        if !filter.is_empty() {
            // The filter is cleared first, because setting the same filter again checks only the
            // rows that pass already.
            press(&mut app, &format!("\u{1b}{set}"));
        }
        prop_assert_eq!(kept_contenders, contenders(&app), "contenders");
        press(&mut app, &format!("1:sort {}\n", by.id()));
        prop_assert_eq!(kept_locks, locks(&app), "locks");
    }
}
