//! What a frame costs, and a change on its way to the screen, at three lengths of the queue and three numbers of locks: they
//! must not follow them.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use lockscope::observe::Observed;
use lockscope::queue::{Change, ConnectionState};
use lockscope::tui::ThemeName;
use lockscope::tui::app::{App, Event, Key, Settings};
use lockscope::tui::theme::Theme;
use lockscope::tui::view::draw;
use lockscope::znode::{SessionId, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

#[path = "nodes.rs"]
mod nodes;

const LENGTHS: [i64; 3] = [100, 10_000, 100_000];
const SIZE: (u16, u16) = (160, 45);

fn event(now: i64, changes: Vec<Change>) -> Event {
    let at = Timestamp(now);
    Event::Changes(changes.into_iter().map(|change| Observed { at, change }).collect())
}

/// A live console with one long queue and a few short ones.
fn console(length: i64) -> App {
    let mut app = App::new(Settings::default(), SIZE, Timestamp(0));
    let mut changes = vec![
        Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true }),
        Change::Syncing,
    ];
    changes.extend((0..length).map(|number| nodes::seen("/locks/long", "lock-", number)));
    for lock in 0..60 {
        changes.extend((0..4).map(|number| nodes::seen(&format!("/locks/short-{lock}"), "lock-", number)));
    }
    changes.push(Change::Synced);
    app.update(event(1_000, changes), Timestamp(1_000));
    app
}

fn press(app: &mut App, keys: &[Key]) {
    for key in keys {
        app.update(Event::Key(*key), Timestamp(1_000));
    }
}

/// Measures a screen, to which these keys lead: each time the next changes come, and the screen shows them. `changes` gives them by
/// how many came before.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    length: i64,
    mut app: App,
    keys: &[Key],
    changes: impl Fn(i64) -> Vec<Change>,
) {
    press(&mut app, keys);
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a surface");
    let theme = Theme::new(ThemeName::Terminal, false);
    let mut turn = 0;
    group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
        bencher.iter(|| {
            let now = 1_001 + turn;
            app.update(event(now, changes(turn)), Timestamp(now));
            turn += 1;
            terminal.draw(|frame| draw(frame, &app, &theme)).expect("a frame");
        });
    });
}

/// The head leaves, a new contender comes, and the screen shows it.
fn frames(criterion: &mut Criterion) {
    let filter = [Key::Enter, Key::Char('/'), Key::Char('1'), Key::Char('7'), Key::Enter];
    let screens: [(&str, &[Key]); 4] = [
        ("Locks", &[]),
        ("Queue", &[Key::Enter]),
        ("Queue, from its end", &[Key::Enter, Key::Char('G')]),
        ("Queue, filtered", &filter),
    ];
    for (screen, keys) in screens {
        let mut group = criterion.benchmark_group(format!("a change and its frame: {screen}"));
        for length in LENGTHS {
            measure(&mut group, length, console(length), keys, |head| {
                let left = Change::Deleted { path: nodes::path("/locks/long", "lock-", head), zxid: None };
                vec![left, nodes::seen("/locks/long", "lock-", head + length)]
            });
        }
        group.finish();
    }
}

/// A live console with that many locks, each with a holder and a waiter.
fn console_of_locks(locks: i64) -> App {
    let mut app = App::new(Settings::default(), SIZE, Timestamp(0));
    let mut changes = vec![
        Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: true }),
        Change::Syncing,
    ];
    for lock in 0..locks {
        changes.extend((0..2).map(|number| nodes::seen(&parent(lock), "lock-", 2 * lock + number)));
    }
    changes.push(Change::Synced);
    app.update(event(1_000, changes), Timestamp(1_000));
    app
}

fn parent(lock: i64) -> String {
    format!("/locks/orders-{lock}")
}

/// The holder of one of many locks leaves, a new contender comes, and the screen shows it.
fn frames_of_many_locks(criterion: &mut Criterion) {
    let screens: [(&str, &[Key]); 2] = [("Locks", &[]), ("Locks, from its end", &[Key::Char('G')])];
    for (screen, keys) in screens {
        let mut group = criterion.benchmark_group(format!("a change and its frame among many locks: {screen}"));
        for locks in LENGTHS {
            measure(&mut group, locks, console_of_locks(locks), keys, |turn| {
                // In each round, every lock's holder leaves once.
                let (lock, round) = (turn % locks, turn / locks);
                let number = |round: i64| match round {
                    0 | 1 => 2 * lock + round,
                    _ => 2 * locks + round * locks + lock,
                };
                let left = Change::Deleted { path: nodes::path(&parent(lock), "lock-", number(round)), zxid: None };
                vec![left, nodes::seen(&parent(lock), "lock-", number(round + 2))]
            });
        }
        group.finish();
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = frames, frames_of_many_locks }
criterion_main!(benches);
