//! Turns commands of the user into orders to running test clients.

use std::time::Duration;

use super::{Phase, TestClients};
use crate::tui::app::event::Effect;
use crate::tui::keymap::{Bindings, Command};
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetCommand, MAX_CLIENTS};

/// The link delays that `d` cycles through.
const DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];
/// The argument that names the client that holds the lock now.
const HOLDER: &str = "holder";

/// The parsed argument of a command on one client.
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
                _ => return Err(format!("`{word}` is one word too many after this command.")),
            }
        }
        Ok(said)
    }
}

impl TestClients {
    /// Returns the order that a command means for the fleet of the listed side. The order goes to
    /// the client named in `argument`, or else to the selected one. The error is a sentence.
    pub fn order(
        &self,
        command: Command,
        argument: Option<&str>,
        selected: Option<ClientId>,
        bindings: &Bindings,
    ) -> Result<Effect, String> {
        if !self.fleets.fleet(self.side).is_some_and(|fleet| *fleet.phase() == Phase::Running) {
            return Err(bindings.fill("No test clients run here: {start} starts some."));
        }
        let order = match command {
            Command::Join => self.join(argument)?,
            _ => self.order_for_client(command, argument, selected)?,
        };
        Ok(Effect::Order { side: self.side, order })
    }

    fn join(&self, argument: Option<&str>) -> Result<FleetCommand, String> {
        let more = argument.map_or(Ok(1), |text| {
            text.parse().ok().filter(|more| *more > 0).ok_or_else(|| format!("`{text}` is not a number of clients."))
        })?;
        let there = self.fleets.clients(self.side).len();
        let all = u32::try_from(there).unwrap_or(u32::MAX).saturating_add(more);
        if all > MAX_CLIENTS {
            return Err(format!("{all} clients would be too many: a fleet has at most {MAX_CLIENTS}."));
        }
        Ok(FleetCommand::Join(more))
    }

    fn order_for_client(
        &self,
        command: Command,
        argument: Option<&str>,
        selected: Option<ClientId>,
    ) -> Result<FleetCommand, String> {
        let said = ClientArgument::parse(argument, command == Command::Delay)?;
        let client = self.find(said.client, selected)?;
        let id = client.id;
        if command == Command::Leave {
            return Ok(FleetCommand::Leave(id));
        }
        match client.state {
            ClientState::Crashed => return Err(format!("Client {id} has crashed: nothing more can be done to it.")),
            ClientState::Leaving => return Err(format!("Client {id} is leaving already.")),
            ClientState::Failed => return Err(format!("Client {id} has failed: nothing can be done to it.")),
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

    /// Returns the client with the number `word`, the holder for `holder`, or the selected client
    /// without a word. The error is a sentence.
    fn find(&self, word: Option<&str>, selected: Option<ClientId>) -> Result<&ClientStatus, String> {
        let fleet = self.fleets.fleet(self.side);
        match word {
            None => {
                let client = selected.and_then(|id| fleet?.client(id));
                client.ok_or_else(|| "No client is selected.".to_owned())
            }
            Some(HOLDER) => fleet
                .and_then(|fleet| fleet.client(fleet.holder()?.0))
                .ok_or_else(|| "Nobody holds the lock right now.".to_owned()),
            Some(word) => {
                let id =
                    word.parse().map_err(|_| format!("`{word}` is not a client: give its number, or `{HOLDER}`."))?;
                fleet.and_then(|fleet| fleet.client(ClientId(id))).ok_or_else(|| format!("There is no client {id}."))
            }
        }
    }
}

fn next_delay(now: Duration) -> Duration {
    DELAYS.into_iter().find(|delay| *delay > now).unwrap_or_default()
}
