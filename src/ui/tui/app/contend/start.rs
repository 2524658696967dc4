//! Starts test clients: a herd beside a chain, a chain beside one that looks ahead, or more
//! contenders in an existing queue.

use std::time::Duration;

use super::Destination;
use crate::tui::app::{App, Cursor, PromptPurpose, Screen, Update};
use lockscope_lab::contend::{MAX_CLIENTS, Scenario};
use lockscope_lock::Algorithm;

/// The number of clients if the user gives none.
pub const DEFAULT_CLIENTS: u32 = 10;
/// The refusal of a console that was started without `--write`.
const READ_ONLY: &str = "Test clients need `lockscope --write` (or `lockscope contend` / `compare`).";

/// The last word of the input that makes chains look ahead.
const LOOKING_AHEAD: &str = "ahead";

/// The refusal of `ahead` for a queue that is not an exclusive chain.
const ONLY_A_CHAIN: &str = "Only the clients of an exclusive lock can look ahead: leave out `ahead`.";

/// The test clients that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientsWanted {
    /// The number of clients; of a pair, on each side.
    pub clients: u32,
    pub hold: Duration,
    /// Whether a chain should look ahead.
    pub looks_ahead: bool,
}

impl ClientsWanted {
    /// Parses `[N [HOLD]] [ahead]`. Defaults to [`DEFAULT_CLIENTS`] and no hold time. The error is
    /// a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().collect::<Vec<_>>();
        let looks_ahead = words.pop_if(|word| *word == LOOKING_AHEAD).is_some();
        let mut words = words.into_iter();
        let clients = words.next().map_or(Ok(DEFAULT_CLIENTS), |word| {
            let count = word.parse().ok().filter(|count| (1..=MAX_CLIENTS).contains(count));
            count.ok_or_else(|| {
                format!("`{word}` is not a number of clients: type 1 to {MAX_CLIENTS}, as in `20 50ms`.")
            })
        })?;
        let hold = words.next().map_or(Ok(Duration::ZERO), |word| {
            humantime::parse_duration(word)
                .map_err(|_| format!("`{word}` is not a hold time: type a number and its unit, as in 50ms."))
        })?;
        match words.next() {
            Some(more) => {
                Err(format!("`{more}` is one word too many: type a number of clients and how long each holds."))
            }
            None => Ok(Self { clients, hold, looks_ahead }),
        }
    }
}

impl App {
    /// Starts the test clients in `argument`, or asks how many to start. On Queue it always asks,
    /// with `argument` filled in, so that the user sees whose lock it is before clients join it.
    pub(in crate::tui::app) fn start(&mut self, argument: Option<&str>) -> Update {
        if let Some(why) = self.why_not() {
            self.show_failure(why);
            return Update::redraw();
        }
        match (self.navigation.screen, argument) {
            (Screen::Queue, _) => {
                self.footer.ask(PromptPurpose::ClientsIntoQueue, argument.unwrap_or_default());
            }
            (_, Some(text)) => return self.start_pair(text),
            (_, None) => self.footer.ask(PromptPurpose::Clients, ""),
        }
        Update::redraw()
    }

    /// Returns why this screen cannot start clients now; `None` if it can.
    fn why_not(&self) -> Option<String> {
        if !self.settings.write {
            return Some(READ_ONLY.to_owned());
        }
        if self.has_fleets() {
            return Some(
                self.settings.bindings.fill("Test clients already run: {stop} on Contend stops them, {join} adds one."),
            );
        }
        if self.navigation.screen != Screen::Queue {
            return None;
        }
        if !self.is_live() {
            return Some("The state of this queue is not known now: wait for the connection.".to_owned());
        }
        match self.destination() {
            None => Some("There is no lock here to join.".to_owned()),
            Some(Err(why)) => Some(why.to_string()),
            Some(Ok(_)) => None,
        }
    }

    /// Starts a herd beside a chain; with `ahead`, a chain beside one that looks ahead.
    pub(in crate::tui::app) fn start_pair(&mut self, text: &str) -> Update {
        let wanted = match ClientsWanted::parse(text) {
            Ok(wanted) => wanted,
            Err(why) => return self.refuse(why),
        };
        let parent = self.own_node();
        let scenario = |algorithm: Algorithm| {
            let plain = Scenario::new(algorithm, parent.child(algorithm.name()), wanted.clients);
            Scenario { hold: wanted.hold, ..plain }
        };
        let [left, right] = if wanted.looks_ahead {
            [Algorithm::Chain, Algorithm::ChainAhead]
        } else {
            [Algorithm::Herd, Algorithm::Chain]
        };
        self.launch(scenario(left), Some(scenario(right)))
    }

    /// Starts more contenders in the open queue.
    pub(in crate::tui::app) fn start_in_queue(&mut self, text: &str) -> Update {
        if let Some(why) = self.why_not() {
            return self.refuse(why);
        }
        let wanted = match ClientsWanted::parse(text) {
            Ok(wanted) => wanted,
            Err(why) => return self.refuse(why),
        };
        let Some(Ok(destination)) = self.destination() else { return Update::redraw() };
        let Destination { algorithm, path, naming, reads, .. } = destination;
        let algorithm = match algorithm {
            Algorithm::Chain if wanted.looks_ahead => Algorithm::ChainAhead,
            _ if wanted.looks_ahead => return self.refuse(ONLY_A_CHAIN.to_owned()),
            other => other,
        };
        let plain = Scenario::new(algorithm, path, wanted.clients);
        self.launch(Scenario { hold: wanted.hold, naming, reads, ..plain }, None)
    }

    fn launch(&mut self, left: Scenario, right: Option<Scenario>) -> Update {
        for scenario in [Some(&left), right.as_ref()].into_iter().flatten() {
            if let Err(error) = scenario.check() {
                return self.refuse(format!("{error}."));
            }
        }
        let effects = self.test_clients.start(left, right);
        self.cursors.clients = [Cursor::first(), Cursor::first()];
        self.go(Screen::Contend);
        Update { redraw: true, effects }
    }
}
