//! The cost of a frame, and of a change on its way to the screen, at three lengths of the queue and
//! three numbers of locks. The cost must not grow with either.

use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use lockscope::tui::ThemeName;
use lockscope::tui::app::{App, Event, FleetSide, Key, Settings};
use lockscope::tui::theme::Theme;
use lockscope::tui::view::draw;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetStatus, FleetTotals, LinkState, Quantiles, ResourceStatus, Scenario,
    TraceEntry, TraceStep, WatchPlace, WokenTurn,
};
use lockscope_live::observe::Observed;
use lockscope_lock::{Access, Algorithm};
use lockscope_model::queue::{Change, ConnectionState};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;

#[path = "nodes.rs"]
mod nodes;

const LENGTHS: [i64; 3] = [100, 10_000, 100_000];
const SIZE: (u16, u16) = (160, 45);

fn event(now: i64, changes: Vec<Change>) -> Event {
    let at = Timestamp(now);
    Event::Changes(changes.into_iter().map(|change| Observed { at, change }).collect())
}

/// Returns a live console with one long queue and a few short ones.
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

/// Measures the screen that `keys` lead to: each iteration applies the next changes and draws.
/// `changes` returns the changes by the number of earlier iterations.
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

/// Measures a frame after a release: the head leaves, a new contender comes, and the screen shows
/// it.
fn frames(criterion: &mut Criterion) {
    let filtered = |text: &str| {
        let text = text.chars().map(Key::Char);
        [Key::Enter, Key::Char('/')].into_iter().chain(text).chain([Key::Enter]).collect::<Vec<_>>()
    };
    let (words, pattern) = (filtered("17 !9"), filtered("/1[78]/"));
    let screens: [(&str, &[Key]); 5] = [
        ("Locks", &[]),
        ("Queue", &[Key::Enter]),
        ("Queue, from its end", &[Key::Enter, Key::Char('G')]),
        ("Queue, filtered by words", &words),
        ("Queue, filtered by a pattern", &pattern),
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

/// Returns a live console with `locks` locks, each with a holder and a waiter.
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

/// Returns what happens to some locks in turn: the holder of one leaves, and a new contender comes.
fn hand_over(locks: i64, turn: i64) -> Vec<Change> {
    let (lock, round) = (turn % locks, turn / locks);
    let number = |round: i64| match round {
        0 | 1 => 2 * lock + round,
        _ => 2 * locks + round * locks + lock,
    };
    let left = Change::Deleted { path: nodes::path(&parent(lock), "lock-", number(round)), zxid: None };
    vec![left, nodes::seen(&parent(lock), "lock-", number(round + 2))]
}

/// Measures Locks with the lanes of its locks: one lock is handed over in each half second, for ten
/// minutes before and while it is measured.
fn frames_of_the_lanes(criterion: &mut Criterion) {
    const LOCKS: i64 = 16;
    let mut app = console_of_locks(LOCKS);
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a surface");
    let theme = Theme::new(ThemeName::Terminal, false);
    let mut turn = 0;
    let mut next = |app: &mut App| {
        turn += 1;
        let now = 1_000 + turn * 500;
        app.update(event(now, hand_over(LOCKS, turn - 1)), Timestamp(now));
    };
    (0..1_200).for_each(|_| next(&mut app));
    terminal.draw(|frame| draw(frame, &app, &theme)).expect("a frame");
    let drawn = terminal.backend().buffer().content().iter().map(Cell::symbol).collect::<String>();
    assert!(drawn.contains("Last 10 minutes"), "there are lanes");
    criterion.bench_function("a change and its frame: Locks with 16 lanes", |bencher| {
        bencher.iter(|| {
            next(&mut app);
            terminal.draw(|frame| draw(frame, &app, &theme)).expect("a frame");
        });
    });
}

/// Measures a frame with many locks: the holder of one leaves, a new contender comes, and the
/// screen shows it.
fn frames_of_many_locks(criterion: &mut Criterion) {
    let screens: [(&str, &[Key]); 2] = [("Locks", &[]), ("Locks, from its end", &[Key::Char('G')])];
    for (screen, keys) in screens {
        let mut group = criterion.benchmark_group(format!("a change and its frame among many locks: {screen}"));
        for locks in LENGTHS {
            measure(&mut group, locks, console_of_locks(locks), keys, |turn| hand_over(locks, turn));
        }
        group.finish();
    }
}

/// Returns a herd of `many` clients: the first holds, the others watch the parent. `woken` of them
/// have just got an event.
fn herd(many: u32, woken: u32, age: u64) -> FleetStatus {
    let path = ZnodePath::new("/lockscope/herd").expect("a path");
    let place = WatchPlace::Children(path.clone());
    let client = |id: u32| ClientStatus {
        id: ClientId(id),
        state: if id == 1 { ClientState::Holding } else { ClientState::Waiting },
        frozen: false,
        since: Duration::ZERO,
        session: Some(SessionId(i64::from(id))),
        expired: 0,
        link: LinkState::Whole,
        delay: Duration::ZERO,
        token: (id == 1).then_some(Zxid(4_711)),
        events: 0,
        requests: 0,
        acquisitions: 0,
        held: Duration::ZERO,
        longest_wait: Duration::ZERO,
        waits: Quantiles::default(),
        holds: Quantiles::default(),
        trouble: None,
        access: Access::Write,
        node: Some(path.child(&format!("lock-{id:010}"))),
        watches: if id == 1 { Vec::new() } else { vec![place.clone()] },
        woken_in_vain: 0,
    };
    let wakes = (0..woken).map(|id| TraceEntry {
        at: Duration::ZERO,
        client: ClientId(id + 2),
        step: TraceStep::Woken(place.clone()),
    });
    FleetStatus {
        scenario: Arc::new(Scenario::new(Algorithm::Herd, path.clone(), many)),
        elapsed: Duration::from_millis(age),
        age: Duration::from_millis(age),
        connected: many,
        finished: false,
        clients: (1..=many).map(client).collect(),
        totals: FleetTotals { acquisitions: 7, events: 700, requests: 900, ..FleetTotals::default() },
        overlaps: Vec::new(),
        server: None,
        server_silence: None,
        servers_lost_for: None,
        stepped: true,
        next_step: None,
        trace: wakes.collect(),
        trace_missed: 0,
        turn: None,
        resource: ResourceStatus {
            highest: Some(Zxid(4_711)),
            writer: Some(ClientId(1)),
            accepted: 7,
            rejected: 1,
            last_rejected: Some((ClientId(2), Zxid(4_700), Duration::ZERO)),
        },
    }
}

/// Measures two herds in slow motion, each with an event on its way to every waiter. Each iteration
/// advances the time and draws.
fn frames_of_the_picture(criterion: &mut Criterion) {
    let mut app = App::new(Settings { write: true, ..Settings::default() }, SIZE, Timestamp(0));
    let keys = [Key::Char('5'), Key::Char('c'), Key::Char('1'), Key::Char('0'), Key::Char('0'), Key::Enter];
    press(&mut app, &keys);
    press(&mut app, &[Key::Char(','); 5]);
    for (woken, age) in [(0, 1_000), (99, 2_000)] {
        for side in FleetSide::BOTH {
            app.update(Event::Fleet { side, status: Arc::new(herd(100, woken, age)) }, Timestamp(1_000));
        }
    }
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a surface");
    let theme = Theme::new(ThemeName::Terminal, false);
    let mut turn = 0;
    criterion.bench_function(
        "a frame of the picture: 100 clients on each side, all of them woken, and the resource",
        |bencher| {
            bencher.iter(|| {
                turn += 1;
                app.update(Event::Due, Timestamp(1_001 + turn % 900));
                terminal.draw(|frame| draw(frame, &app, &theme)).expect("a frame");
            });
        },
    );
    assert!(app.next_due().is_some(), "the events are still on their way");
}

/// Measures two fleets at full speed as cells: each status has the next turn, which woke all.
fn frames_of_the_cells(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a status and its frame: cells, all of them woken, clients on each side");
    for many in [100, 1_000] {
        let mut app = App::new(Settings { write: true, ..Settings::default() }, SIZE, Timestamp(0));
        let number = many.to_string();
        let keys: Vec<_> = [Key::Char('5'), Key::Char('c')]
            .into_iter()
            .chain(number.chars().map(Key::Char))
            .chain([Key::Enter, Key::Char('w')])
            .collect();
        press(&mut app, &keys);
        let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a surface");
        let theme = Theme::new(ThemeName::Terminal, false);
        let statuses: Vec<_> = (1..=2)
            .map(|number| {
                let woken = (1..=many).map(ClientId).collect();
                let turn = WokenTurn { number, holder: ClientId(1), woken, events: u64::from(many) };
                let status = herd(many, 0, number * 1_000);
                Arc::new(FleetStatus { stepped: false, turn: Some(Arc::new(turn)), ..status })
            })
            .collect();
        let (mut now, mut next) = (1_000, statuses.iter().cycle());
        let mut turn = || {
            now += 600;
            let status = next.next().expect("a cycle");
            for side in FleetSide::BOTH {
                let status = Arc::clone(status);
                app.update(Event::Fleet { side, status }, Timestamp(now));
            }
            terminal.draw(|frame| draw(frame, &app, &theme)).expect("a frame");
            terminal.backend().buffer().content().iter().map(Cell::symbol).any(|symbol| symbol == "█")
        };
        assert!(turn(), "there are cells");
        group.bench_function(BenchmarkId::from_parameter(many), |bencher| bencher.iter(&mut turn));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = frames, frames_of_many_locks, frames_of_the_lanes, frames_of_the_picture, frames_of_the_cells
}
criterion_main!(benches);
