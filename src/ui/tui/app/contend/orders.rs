//! What is done to test clients while they run.

use std::time::Duration;

use super::{FleetSide, FleetView, Phase};
use crate::tui::app::{App, Cursor, Effect, Fleets, Update};
use crate::tui::keymap::Command;
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetCommand, MAX_CLIENTS};
use lockscope_lock::Algorithm;
use lockscope_model::diagnose::WatchTarget;
use lockscope_model::queue::{ContenderRow, ContenderState, LockQueue};

/// The delays that `d` goes through.
const DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];
/// The word for whoever holds the lock at that moment.
const HOLDER: &str = "holder";

/// What the command line said: which client, and how long.
#[derive(Default)]
struct ClientArgument<'a> {
    client: Option<&'a str>,
    delay: Option<Duration>,
}

impl<'a> ClientArgument<'a> {
    fn parse(argument: Option<&'a str>, takes_delay: bool) -> Result<Self, String> {
        let mut said = Self::default();
        for word in argument.unwrap_or_default().split_whitespace() {
            let delay = humantime::parse_duration(word).ok().filter(|_| takes_delay && word.parse::<u32>().is_err());
            match delay {
                Some(delay) if said.delay.is_none() => said.delay = Some(delay),
                None if said.client.is_none() => said.client = Some(word),
                _ => return Err(format!("`{word}` is too much after this command.")),
            }
        }
        Ok(said)
    }
}

impl App {
    /// What the screen shows of the fleets: as they are, or as they were when the screen was paused.
    pub fn fleets(&self) -> &Fleets {
        self.shown.fleets(&self.test_clients.fleets)
    }

    /// What a waiter watches that is one of this console's test clients; `None` of others. No server need be asked.
    pub(in crate::tui::app) fn watched_by_own_clients(
        &self,
        lock: &LockQueue,
        row: &ContenderRow<'_>,
    ) -> Option<WatchTarget> {
        let session = row.contender.session().filter(|_| row.state == ContenderState::Waits)?;
        let fleets = self.fleets().each().filter(|(_, fleet)| fleet.scenario().path == *lock.path());
        let mut own = fleets.filter(|(_, fleet)| fleet.has_session(session));
        Some(match own.next()?.1.scenario().algorithm {
            Algorithm::Herd => WatchTarget::Parent,
            // The second in the queue has nobody else before it.
            Algorithm::ChainAhead if row.position > 1 => WatchTarget::TwoBefore,
            Algorithm::Chain | Algorithm::ChainAhead => WatchTarget::Predecessor,
            _ => return None,
        })
    }

    /// How many test clients live, paused or not.
    pub fn living_clients(&self) -> usize {
        self.test_clients.fleets.living()
    }

    /// Whether there are test clients to stop, paused or not.
    pub fn has_fleets(&self) -> bool {
        self.test_clients.fleets.is_active()
    }

    /// The side whose clients are listed.
    pub fn side(&self) -> FleetSide {
        self.test_clients.side
    }

    pub fn client_cursor(&self) -> &Cursor<ClientId> {
        &self.cursors.clients[self.test_clients.side as usize]
    }

    pub fn selected_client(&self) -> Option<&ClientStatus> {
        self.fleets().clients(self.test_clients.side).get(self.client_cursor().rank())
    }

    pub(in crate::tui::app) fn turn_side(&mut self) {
        if self.test_clients.fleets.is_pair() {
            self.test_clients.side = self.test_clients.side.other();
        }
    }

    /// Does to the fleet of the chosen side what the command says.
    pub(in crate::tui::app) fn order(&mut self, command: Command, argument: Option<&str>) -> Update {
        if !self.test_clients.fleets.fleet(self.test_clients.side).is_some_and(|fleet| *fleet.phase() == Phase::Running)
        {
            return self.refuse("No test clients run here: c starts some.".to_owned());
        }
        let order = match command {
            Command::Join => self.join(argument),
            _ => self.order_for_client(command, argument),
        };
        match order {
            Ok(order) => Update::effect(Effect::Order { side: self.test_clients.side, order }),
            Err(why) => self.refuse(why),
        }
    }

    fn join(&self, argument: Option<&str>) -> Result<FleetCommand, String> {
        let more = argument.map_or(Ok(1), |text| {
            text.parse().ok().filter(|more| *more > 0).ok_or_else(|| format!("`{text}` is no number of clients."))
        })?;
        let there = self.test_clients.fleets.clients(self.test_clients.side).len();
        let all = u32::try_from(there).unwrap_or(u32::MAX).saturating_add(more);
        if all > MAX_CLIENTS {
            return Err(format!("{all} clients would be too many: a fleet has at most {MAX_CLIENTS}."));
        }
        Ok(FleetCommand::Join(more))
    }

    fn order_for_client(&self, command: Command, argument: Option<&str>) -> Result<FleetCommand, String> {
        let said = ClientArgument::parse(argument, command == Command::Delay)?;
        let client = self.meant(said.client)?;
        let id = client.id;
        if command == Command::Leave {
            return Ok(FleetCommand::Leave(id));
        }
        match client.state {
            ClientState::Crashed => return Err(format!("Client {id} has crashed: nothing more can be done to it.")),
            ClientState::Leaving => return Err(format!("Client {id} is leaving already.")),
            ClientState::Failed => return Err(format!("Client {id} got no session: nothing can be done to it.")),
            _ => {}
        }
        Ok(match command {
            Command::Crash => FleetCommand::Crash(id),
            Command::Freeze if client.frozen => FleetCommand::Thaw(id),
            Command::Freeze => FleetCommand::Freeze(id),
            Command::Cut => FleetCommand::Cut(id),
            Command::Heal => FleetCommand::Heal(id),
            _ => FleetCommand::Delay(id, said.delay.unwrap_or_else(|| next_delay(client.delay))),
        })
    }

    /// The client that was meant: by its number, as the holder, or the selected one.
    fn meant(&self, word: Option<&str>) -> Result<&ClientStatus, String> {
        let fleet = self.test_clients.fleets.fleet(self.test_clients.side);
        match word {
            None => {
                let selected = self.selected_client().map(|client| client.id);
                let client = selected.and_then(|id| fleet?.client(id));
                client.ok_or_else(|| "There is no client to do that to.".to_owned())
            }
            Some(HOLDER) => fleet
                .and_then(|fleet| fleet.client(fleet.holder()?.0))
                .ok_or_else(|| "Nobody holds the lock right now.".to_owned()),
            Some(word) => {
                let id = word.parse().map_err(|_| format!("`{word}` is no client: give its number, or `{HOLDER}`."))?;
                fleet.and_then(|fleet| fleet.client(ClientId(id))).ok_or_else(|| format!("There is no client {id}."))
            }
        }
    }

    pub(in crate::tui::app) fn select_holder(&mut self) {
        let Some((id, _)) = self.fleets().fleet(self.test_clients.side).and_then(FleetView::holder) else {
            return self.show_failure("Nobody holds the lock right now.".to_owned());
        };
        self.cursors.clients[self.test_clients.side as usize] = Cursor::on(id);
    }

    pub(in crate::tui::app) fn stop_fleets(&mut self) -> Update {
        let mut effects = Vec::new();
        for side in FleetSide::BOTH {
            if let Some(fleet) =
                self.test_clients.fleets.fleet_mut(side).filter(|fleet| *fleet.phase() == Phase::Running)
            {
                fleet.phase = Phase::Stopping;
                effects.push(Effect::StopFleet(side));
            }
        }
        if effects.is_empty() {
            return self.refuse("No test clients run.".to_owned());
        }
        Update { redraw: true, effects }
    }
}

fn next_delay(now: Duration) -> Duration {
    DELAYS.into_iter().find(|delay| *delay > now).unwrap_or_default()
}
