//! The steps of a run, and their text.

use std::fmt;
use std::str::FromStr;

use crate::ensemble::{LinkId, Refusal};

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A member carries out the oldest request of a connection.
    CarryOut(LinkId),
    /// A client receives its oldest message.
    Receive(usize),
    /// A program that holds goes on, mostly to its release.
    Continue(usize),
    /// A client connects to this member.
    Connect(usize, usize),
    /// A lagging member applies one more transaction.
    Apply(usize),
    /// Seconds pass, as many or until something else must happen.
    Wait(u32),
    /// The messages of a connection move again.
    Unstall(usize),
    /// A stopped process goes on.
    Resume(usize),
    /// A fault: a client's connection breaks. Its member has received this many of the requests
    /// under way.
    Break(usize, usize),
    /// A fault: no message of a client moves, and it cannot connect.
    Stall(usize),
    /// A fault: a process is stopped.
    Stop(usize),
    /// A fault: the servers end a session.
    Expire(usize),
    /// A fault: a program drops its future or its guard, and ends.
    GiveUp(usize),
    /// A fault: a member lags from now on.
    Lag(usize),
    /// A fault: a member receives a late attempt of a client to connect.
    MoveBack(LinkId),
    /// A fault: a stranger deletes a node of a client. Counted from the greatest path down.
    DeleteNode(usize, usize),
    /// A fault: a stranger overwrites a node of a client. Counted as for a deletion.
    Overwrite(usize, usize),
    /// A fault: a member refuses the oldest request of a connection, or spoils its reply.
    Refuse(LinkId, Refusal),
    /// A fault: the servers end the next silent session of a client as late as they may.
    Linger(usize),
    /// A fault: the servers delete the lock parent, an empty container.
    Reap,
    /// A fault: a stranger deletes the lock parent and all nodes below it.
    Raze,
}

impl Step {
    /// Returns whether the step is a fault.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Break(..)
                | Self::Stall(_)
                | Self::Stop(_)
                | Self::Expire(_)
                | Self::GiveUp(_)
                | Self::Lag(_)
                | Self::MoveBack(_)
                | Self::DeleteNode(..)
                | Self::Overwrite(..)
                | Self::Refuse(..)
                | Self::Linger(_)
                | Self::Reap
                | Self::Raze
        )
    }
}

impl Step {
    /// Returns the client whose step it is.
    pub fn client(self) -> Option<usize> {
        match self {
            Self::CarryOut(link) | Self::MoveBack(link) | Self::Refuse(link, _) => Some(link.client),
            Self::Receive(client)
            | Self::Continue(client)
            | Self::Connect(client, _)
            | Self::Unstall(client)
            | Self::Resume(client)
            | Self::Break(client, _)
            | Self::Stall(client)
            | Self::Stop(client)
            | Self::Expire(client)
            | Self::GiveUp(client)
            | Self::Linger(client)
            | Self::DeleteNode(client, _)
            | Self::Overwrite(client, _) => Some(client),
            Self::Apply(_) | Self::Wait(_) | Self::Lag(_) | Self::Reap | Self::Raze => None,
        }
    }
}

fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::Throttled => "throttle",
        Refusal::Quota => "exceed",
        Refusal::Garbled => "garble",
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CarryOut(link) => write!(f, "carry-out {}.{}", link.client, link.number),
            Self::Receive(client) => write!(f, "receive {client}"),
            Self::Continue(client) => write!(f, "continue {client}"),
            Self::Connect(client, member) => write!(f, "connect {client} {member}"),
            Self::Apply(member) => write!(f, "apply {member}"),
            Self::Wait(seconds) => write!(f, "wait {seconds}"),
            Self::Unstall(client) => write!(f, "unstall {client}"),
            Self::Resume(client) => write!(f, "resume {client}"),
            Self::Break(client, arrived) => write!(f, "break {client} {arrived}"),
            Self::Stall(client) => write!(f, "stall {client}"),
            Self::Stop(client) => write!(f, "stop {client}"),
            Self::Expire(client) => write!(f, "expire {client}"),
            Self::GiveUp(client) => write!(f, "give-up {client}"),
            Self::Lag(member) => write!(f, "lag {member}"),
            Self::MoveBack(link) => write!(f, "move-back {}.{}", link.client, link.number),
            Self::DeleteNode(client, 0) => write!(f, "delete-node {client}"),
            Self::DeleteNode(client, node) => write!(f, "delete-node {client} {node}"),
            Self::Overwrite(client, 0) => write!(f, "overwrite {client}"),
            Self::Overwrite(client, node) => write!(f, "overwrite {client} {node}"),
            Self::Refuse(link, why) => write!(f, "{} {}.{}", refusal(*why), link.client, link.number),
            Self::Linger(client) => write!(f, "linger {client}"),
            Self::Reap => f.write_str("reap"),
            Self::Raze => f.write_str("raze"),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let numbers: Vec<&str> = words.flat_map(|word| word.split('.')).collect();
        let number = |at: usize| {
            numbers.get(at).and_then(|number| number.parse::<u32>().ok()).ok_or_else(|| format!("not a step: {text}"))
        };
        let place = |at| number(at).map(|number| number as usize);
        let link = || Ok::<_, String>(LinkId { client: place(0)?, number: number(1)? });
        Ok(match name {
            "carry-out" => Self::CarryOut(link()?),
            "receive" => Self::Receive(place(0)?),
            "continue" => Self::Continue(place(0)?),
            "connect" => Self::Connect(place(0)?, place(1)?),
            "apply" => Self::Apply(place(0)?),
            "wait" => Self::Wait(number(0)?),
            "unstall" => Self::Unstall(place(0)?),
            "resume" => Self::Resume(place(0)?),
            "break" => Self::Break(place(0)?, place(1)?),
            "stall" => Self::Stall(place(0)?),
            "stop" => Self::Stop(place(0)?),
            "expire" => Self::Expire(place(0)?),
            "give-up" => Self::GiveUp(place(0)?),
            "lag" => Self::Lag(place(0)?),
            "move-back" => Self::MoveBack(link()?),
            "delete-node" => Self::DeleteNode(place(0)?, place(1).unwrap_or(0)),
            "overwrite" => Self::Overwrite(place(0)?, place(1).unwrap_or(0)),
            "throttle" => Self::Refuse(link()?, Refusal::Throttled),
            "exceed" => Self::Refuse(link()?, Refusal::Quota),
            "garble" => Self::Refuse(link()?, Refusal::Garbled),
            "linger" => Self::Linger(place(0)?),
            "reap" => Self::Reap,
            "raze" => Self::Raze,
            _ => return Err(format!("not a step: {text}")),
        })
    }
}
