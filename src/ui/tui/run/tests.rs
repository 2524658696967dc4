//! The whole program without a terminal: keys and changes go in, pictures come out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use futures::FutureExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use tokio::time::timeout;

use super::*;
use crate::tui::app::{FleetSide, Tour};
use crate::tui::testing;
use crate::tui::testing::{curator, ensemble, listed};
use crate::tui::theme::ThemeName;
use lockscope_base::time::now;
use lockscope_lab::contend;
use lockscope_lab::contend::Scenario;
use lockscope_lab::demo::Script;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::queue::Change;

/// Longer than any step of these tests takes.
const PATIENCE: Duration = Duration::from_secs(20);

type Keys = UnboundedSender<io::Result<TerminalEvent>>;

/// Delivers the given batches, and then nothing more.
struct Given {
    batches: VecDeque<Vec<Observed>>,
    /// The queue that the program last asked to be read first.
    looked_at: Option<ZnodePath>,
}

impl Given {
    fn new(batches: impl Into<VecDeque<Vec<Observed>>>) -> Self {
        Self { batches: batches.into(), looked_at: None }
    }
}

impl ChangeSource for Given {
    async fn next(&mut self) -> Option<Vec<Observed>> {
        match self.batches.pop_front() {
            Some(batch) => Some(batch),
            None => std::future::pending().await,
        }
    }
    fn set_watchers_wanted(&mut self, _: WatchersWanted) {}
    fn set_open_queue(&mut self, parent: Option<ZnodePath>) {
        self.looked_at = parent;
    }
}

struct Silent;

impl SignalSource for Silent {
    async fn next(&mut self) -> ProcessSignal {
        std::future::pending().await
    }
}

struct NoFleets;

impl FleetControl for NoFleets {
    async fn next(&mut self) -> Event {
        std::future::pending().await
    }
    fn start(&mut self, _: FleetSide, _: Scenario) {}
    fn order(&mut self, _: FleetSide, _: contend::FleetCommand) {}
    fn stop(&mut self, _: FleetSide) {}
}

/// Records the calls.
#[derive(Clone, Default)]
struct Notes {
    written: Arc<Mutex<Vec<String>>>,
    lost: bool,
}

impl Notes {
    fn write(&self, note: &str) {
        self.written.lock().unwrap().push(note.to_owned());
    }
}

impl TerminalControl for Notes {
    fn copy(&mut self, text: &str) -> io::Result<()> {
        self.write(&format!("copy {text}"));
        Ok(())
    }
    async fn suspend(&mut self) -> io::Result<()> {
        self.write("suspend");
        Ok(())
    }
    fn lend(&mut self) -> io::Result<()> {
        self.write("lend");
        Ok(())
    }
    fn ask(&mut self, sentence: &str) -> io::Result<()> {
        self.write(sentence);
        Ok(())
    }
    fn retake(&mut self) -> io::Result<()> {
        self.write("retake");
        Ok(())
    }
    fn is_taken(&self) -> bool {
        !self.lost
    }
}

fn console(outside: Notes) -> Console<TestBackend, Notes> {
    console_with(outside, ConsoleParts::default())
}

fn console_with(outside: Notes, parts: ConsoleParts) -> Console<TestBackend, Notes> {
    let app = testing::app((80, 24));
    let terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    Console::new(app, Theme::new(ThemeName::Terminal, false), terminal, outside, parts)
}

fn press(keys: &Keys, letters: &str) {
    for letter in letters.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        keys.unbounded_send(Ok(TerminalEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)))).unwrap();
    }
}

fn batch(changes: Vec<Change>) -> Vec<Observed> {
    changes.into_iter().map(|change| Observed { at: now(), change }).collect()
}

fn input() -> (Keys, UnboundedReceiver<io::Result<TerminalEvent>>) {
    unbounded()
}

fn screen(console: &Console<TestBackend, Notes>) -> String {
    console.terminal().backend().to_string()
}

/// Runs until a text shows, as a user would wait for it.
async fn until_it_shows(
    console: &mut Console<TestBackend, Notes>,
    input: &mut UnboundedReceiver<io::Result<TerminalEvent>>,
    changes: &mut Given,
    text: &str,
) {
    let waiting = async {
        while !screen(console).contains(text) {
            let turn = console.next_turn(input, changes, &mut Silent, &mut NoFleets).await;
            assert!(console.handle(turn, changes, &mut NoFleets).await.unwrap().is_continue());
        }
    };
    let shown = timeout(PATIENCE, waiting).await;
    assert!(shown.is_ok(), "{text:?} never showed:\n{}", screen(console));
}

#[tokio::test]
async fn a_key_pressed_while_the_program_starts_counts_for_the_tour() {
    let tour = Tour::new(Script::built_in(), testing::path("/demo"), true, false);
    let first = Some(Event::TourBegins(Box::new(tour)));
    let mut console = console_with(Notes::default(), ConsoleParts { first, ..ConsoleParts::default() });
    let (keys, mut input) = input();
    press(&keys, "s");
    drop(keys);
    let (mut changes, mut signals, mut fleets) = (Given::new([]), Silent, NoFleets);
    let running = console.run(&mut input, &mut changes, &mut signals, &mut fleets);
    timeout(PATIENCE, running).await.expect("the terminal is closed").expect("nothing failed");
    assert!(console.app().slow_motion().is_stopped, "s stops the clients of the first scene");
}

#[tokio::test]
async fn a_session_from_start_to_end_as_a_user_sees_it() {
    let notes = Notes::default();
    let mut console = console(notes.clone());
    let (keys, mut input) = input();
    let mut changes = Given::new([batch(ensemble())]);
    until_it_shows(&mut console, &mut input, &mut changes, "/locks/billing").await;
    press(&keys, "j\n");
    until_it_shows(&mut console, &mut input, &mut changes, "worker-7").await;
    press(&keys, "y");
    until_it_shows(&mut console, &mut input, &mut changes, "Copied").await;
    assert_eq!(changes.looked_at, Some(testing::path("/locks/orders")), "its contenders are read first");
    press(&keys, "q");
    timeout(PATIENCE, console.run(&mut input, &mut changes, &mut Silent, &mut NoFleets)).await.unwrap().unwrap();
    let written = notes.written.lock().unwrap().clone();
    assert!(written[0].starts_with("copy /locks/orders/"), "{written:?}");
}

#[tokio::test]
async fn ten_thousand_changes_do_not_delay_a_key() {
    let mut console = console(Notes::default());
    let (keys, mut input) = input();
    let mut burst = ensemble();
    burst.push(listed("/locks/busy", 10_000));
    burst.extend((0..10_000).map(|number| curator("/locks/busy", number, i64::from(number), 1)));
    let mut changes = Given::new([batch(burst)]);
    // The first slice is being applied when the key comes.
    for _ in 0..3 {
        let turn = console.next_turn(&mut input, &mut changes, &mut Silent, &mut NoFleets).await;
        let _ = console.handle(turn, &mut changes, &mut NoFleets).await.unwrap();
    }
    press(&keys, "q");
    timeout(PATIENCE, console.run(&mut input, &mut changes, &mut Silent, &mut NoFleets)).await.unwrap().unwrap();
    assert!(console.waiting.len() > 5_000, "the key came first: {} changes still wait", console.waiting.len());
}

#[tokio::test]
async fn without_changes_nothing_is_drawn_and_nothing_wakes_the_loop() {
    let mut console = console(Notes::default());
    let (_keys, mut input) = input();
    let quiet = vec![testing::connected(), Change::Syncing, Change::Synced];
    let mut changes = Given::new([batch(quiet)]);
    until_it_shows(&mut console, &mut input, &mut changes, "There is no lock").await;
    assert_eq!(console.frames.due(Instant::now()), None, "a frame is wanted");
    assert!(!console.app().ticks(), "seconds are counted");
    // There is neither a frame nor a tick to wait for, so only a key, a change or a signal could
    // end this turn.
    assert!(
        console.next_turn(&mut input, &mut changes, &mut Silent, &mut NoFleets).now_or_never().is_none(),
        "it woke up without a reason"
    );
}

#[tokio::test]
async fn the_end_of_the_input_ends_the_program() {
    let mut console = console(Notes::default());
    let (keys, mut input) = input();
    drop(keys);
    timeout(PATIENCE, console.run(&mut input, &mut Given::new([]), &mut Silent, &mut NoFleets)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_elsewhere_that_restored_the_terminal_ends_the_program() {
    let mut console = console(Notes { lost: true, ..Notes::default() });
    let (_keys, mut input) = input();
    let ended = timeout(PATIENCE, console.run(&mut input, &mut Given::new([]), &mut Silent, &mut NoFleets)).await;
    assert!(matches!(ended.unwrap(), Err(TuiError::Panicked)));
}

#[tokio::test]
async fn after_a_stop_and_continue_the_terminal_is_taken_and_drawn_again() {
    struct Continued(bool);
    impl SignalSource for Continued {
        async fn next(&mut self) -> ProcessSignal {
            if std::mem::replace(&mut self.0, true) { std::future::pending().await } else { ProcessSignal::Continue }
        }
    }
    let notes = Notes::default();
    let mut console = console(notes.clone());
    let (keys, mut input) = input();
    let mut changes = Given::new([]);
    let turn = console.next_turn(&mut input, &mut changes, &mut Continued(false), &mut NoFleets).await;
    assert!(console.handle(turn, &mut changes, &mut NoFleets).await.unwrap().is_continue());
    assert_eq!(*notes.written.lock().unwrap(), ["retake"]);
    until_it_shows(&mut console, &mut input, &mut changes, "lockscope").await;
    press(&keys, "q");
}

/// Fills the terminal with foreign text, such as that of an earlier console.
fn scribble(console: &mut Console<TestBackend, Notes>) {
    let cell = Cell::new("▓");
    let places = (0..24).flat_map(|row| (0..80).map(move |column| (column, row)));
    console.terminal.backend_mut().draw(places.map(|(column, row)| (column, row, &cell))).unwrap();
}

#[tokio::test]
async fn the_first_frame_covers_what_stood_on_the_terminal() {
    let mut console = console(Notes::default());
    let (_keys, mut input) = input();
    scribble(&mut console);
    until_it_shows(&mut console, &mut input, &mut Given::new([]), "lockscope").await;
    assert!(!screen(&console).contains('▓'), "{}", screen(&console));
}

#[tokio::test]
async fn a_resize_draws_every_cell_even_back_at_the_old_size() {
    let mut console = console(Notes::default());
    let (keys, mut input) = input();
    let mut changes = Given::new([]);
    until_it_shows(&mut console, &mut input, &mut changes, "lockscope").await;
    scribble(&mut console);
    keys.unbounded_send(Ok(TerminalEvent::Resize(80, 24))).unwrap();
    until_it_shows(&mut console, &mut input, &mut changes, "lockscope").await;
    assert!(!screen(&console).contains('▓'), "{}", screen(&console));
}

#[test]
fn an_export_never_overwrites_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taken.json");
    std::fs::write(&path, "mine").unwrap();
    let told = export(path.to_str().unwrap(), "yours").unwrap_err();
    assert!(told.contains("taken.json"), "{told}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    let fresh = folder.path().join("fresh.json");
    assert_eq!(export(fresh.to_str().unwrap(), "{}"), Ok(fresh.clone()));
    assert_eq!(std::fs::read_to_string(&fresh).unwrap(), "{}\n");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fresh.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let planted = folder.path().join("planted.json");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &planted).unwrap();
    assert!(export(planted.to_str().unwrap(), "{}").is_err());
    assert!(!folder.path().join("elsewhere").exists());
}
