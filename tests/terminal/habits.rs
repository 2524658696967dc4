//! The habits of users of k9s, lazygit and less: each key works at once, or the screen names the
//! key to press instead.

use zookeeper_client::CreateMode;

use crate::harness::terminal::Terminal;
use crate::harness::zk;

/// A habit: keys that a user types without thinking.
struct Habit {
    program: &'static str,
    /// The keys typed before, and the text that then shows.
    before: (&'static str, &'static str),
    keys: &'static str,
    shows: &'static str,
    hides: Option<&'static str>,
}

const fn habit(program: &'static str, keys: &'static str, shows: &'static str) -> Habit {
    Habit { program, before: ("", "Locks"), keys, shows, hides: None }
}

impl Habit {
    const fn after(mut self, keys: &'static str, shows: &'static str) -> Self {
        self.before = (keys, shows);
        self
    }

    const fn hides(mut self, text: &'static str) -> Self {
        self.hides = Some(text);
        self
    }
}

/// Help, one page further on.
const HELP_PAGE: &str = ":help\r ";
/// The text in the lower border of a page that continues in both directions.
const IN_THE_MIDDLE: &str = "↑↓ more";

const HABITS: &[Habit] = &[
    habit("k9s: : and Tab complete a command", ":hist\t\r", "History of /orders"),
    habit("k9s: :describe", ":describe\r", "czxid"),
    habit("k9s: / filters", "/billing\r", "filter: billing (1 of 2)").hides("/orders"),
    habit("k9s: /! filters the others", "/! orders\r", "filter: ! orders (1 of 2)"),
    habit("k9s: a|b is a pattern", "/bill|ord\r", "A pattern stands between slashes, as in /a|b/."),
    habit("k9s: Ctrl-A shows what there is", "\x01", "Help"),
    habit("k9s: 0 shows all namespaces", "0", "All locks show already: / filters them"),
    habit("k9s: d describes", "d", "czxid"),
    habit("k9s: Shift-A sorts by age", "A", "s sorts by the next column, :sort by a named one."),
    habit("k9s: Ctrl-K kills", "\x0b", "x shows the plan to delete what is selected"),
    habit("lazygit: / filters", "/orders\r", "filter: orders (1 of 2)").hides("/billing"),
    habit("lazygit: > goes to the bottom", ">", "▸ /billing"),
    habit("lazygit: < goes to the top", "<", "▸ /orders").after("G", "▸ /billing"),
    habit("lazygit: . is the next page", ".", "▸ /billing"),
    habit("lazygit: , is the page before", ",", "▸ /orders").after("G", "▸ /billing"),
    habit("lazygit: @ shows the command log", "@", "7 shows what this console has changed"),
    habit("lazygit: + enlarges", "+", "The panes size themselves"),
    habit("lazygit: _ shrinks", "_", "The panes size themselves"),
    habit("lazygit: ? shows the keys", "?", "Help"),
    habit("lazygit: y copies", "y", "Copied /orders"),
    habit("less: Space pages", " ", IN_THE_MIDDLE).after(":help\r", "Keys of"),
    habit("less: b pages back", "b", "Keys of").after(HELP_PAGE, IN_THE_MIDDLE),
    habit("less: d is half a page", "d", IN_THE_MIDDLE).after(":help\r", "Keys of"),
    habit("less: u is half a page back", "uuu", "Keys of").after(HELP_PAGE, IN_THE_MIDDLE),
    habit("less: G goes to the end", "G", "With --mouse").after(":help\r", "Keys of"),
    habit("less: g goes to the beginning", "g", "Keys of").after(":help\rG", "With --mouse"),
    habit("less: / searches", "/With --mouse\r", "With --mouse").after(":help\r", "Keys of"),
    habit("less: n is the next match", "n", "End the program").after(":help\r/program\r", "Program"),
    habit("less: & shows what matches", "&", "/ shows only the rows that match"),
    habit("less: -S changes an option", "-", "The panes size themselves"),
];

/// Returns to Locks, without a filter.
const HOME: &str = ":locks\r/\x15\r";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_habits_of_k9s_lazygit_and_less_work_or_say_what_to_press() {
    let at = zk::own_root("habits").await;
    let client = zk::connect(&at).await;
    let other = zk::connect(&at).await;
    zk::make(&client, ["/orders", "/billing"].map(str::to_owned)).await;
    let name = |path: &str| [(format!("{path}/lock-"), b"host-a".to_vec())];
    zk::create_all(&client, CreateMode::EphemeralSequential, name("/orders")).await;
    zk::create_all(&other, CreateMode::EphemeralSequential, name("/orders")).await;
    zk::create_all(&client, CreateMode::EphemeralSequential, name("/billing")).await;
    let mut terminal = Terminal::lockscope(&["--connect", &at], 100, 30);
    terminal.shows_all(&["● live", "2 locks, 3 contenders"]);
    // The recent events name locks that a filter hides.
    terminal.press("gw");
    terminal.shows("Watch events, all locks");
    assert_eq!(HABITS.len(), 30);
    for Habit { program, before: (keys_before, shows_before), keys, shows, hides } in HABITS {
        println!("{program}");
        terminal.press(HOME);
        terminal.shows("Locks ──");
        terminal.press("g");
        terminal.press(keys_before);
        terminal.shows(shows_before);
        terminal.press(keys);
        terminal.shows(shows);
        if let Some(text) = hides {
            terminal.hides(text);
        }
    }
    terminal.press(":q\r");
    assert!(terminal.ends().success(), "and :q leaves, as in vim and k9s");
    drop((client, other));
}
