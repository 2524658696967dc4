//! A schedule as a story: one line a step, with what happened.
//!
//! A story is also a file that can be kept and run again:
//!
//! ```text
//! # What the story shows.
//! scenario: programs=mutex,mutex rounds=1 faults=2 waits=0 members=1 strangers
//! ends: client 0 deletes /lock, which is not its own (replaced-meanwhile)
//!
//! carry-out 0.0    the leader creates /lock for client 0
//! receive 0        client 0 learns that /lock was created, and holds with the token 2
//! ```
//!
//! The first words of a line are the step; the rest is for people. Lines with `#` are comments.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::ensemble::{
    LEADER, Link, LinkId, ReadOp, Refusal, Request, Response, SimulatedEventKind, SimulatedMessage, WriteOp,
};
use crate::program::Stage;
use crate::scenario::SimulatedScenario;
use crate::search::{Replayed, replay_with};
use crate::world::{Explored, SimulatedRun, Step};

/// The width of the column of steps.
const STEP_WIDTH: usize = 16;

/// A schedule that was written down.
#[derive(Clone, Debug)]
pub struct Story {
    /// The comment lines at its head.
    pub comments: Vec<String>,
    /// What is explored.
    pub scenario: SimulatedScenario,
    /// What the run comes to: `fine`, or a sentence.
    pub ends: String,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Story {
    /// Reads a story.
    ///
    /// # Errors
    ///
    /// A sentence that names the line that cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let (mut comments, mut scenario, mut ends, mut steps) = (Vec::new(), None, "fine".to_owned(), Vec::new());
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                comments.push(comment.trim().to_owned());
            } else if let Some(spec) = line.strip_prefix("scenario:") {
                scenario = Some(spec.parse::<SimulatedScenario>()?);
            } else if let Some(end) = line.strip_prefix("ends:") {
                end.trim().clone_into(&mut ends);
            } else {
                steps.push(line.get(..STEP_WIDTH).unwrap_or(line).trim().parse()?);
            }
        }
        let scenario = scenario.ok_or("the story names no scenario: add a line that begins with `scenario:`")?;
        Ok(Self { comments, scenario, ends, steps })
    }

    /// Runs the steps again, and returns the story with what happens now.
    ///
    /// # Errors
    ///
    /// A sentence, when a step is not possible.
    pub fn run(&self) -> Result<(Self, String), String> {
        let mut explored = Explored::new(self.scenario.clone());
        let (story, text) = tell(&mut explored, &self.steps, &self.comments);
        if story.steps.starts_with(&self.steps) {
            Ok((story, text))
        } else {
            let at = self.steps.iter().zip(&story.steps).position(|(kept, now)| kept != now);
            let step = at.or(Some(story.steps.len())).and_then(|at| self.steps.get(at));
            Err(format!("the step `{}` is not possible any more", step.map(Step::to_string).unwrap_or_default()))
        }
    }
}

/// Runs steps, and writes the story of them.
pub fn tell(explored: &mut Explored, steps: &[Step], comments: &[String]) -> (Story, String) {
    let mut lines = Vec::new();
    let mut met = BTreeSet::new();
    let Replayed { steps, violation } = replay_with(explored, steps, |explored, step, before, after| {
        let mut text = of(explored, step, before, after);
        if let Some(limit) = after.judge.met.filter(|limit| met.insert(*limit)) {
            text = format!("{text}: two hold ({limit})");
        }
        lines.push(format!("{:STEP_WIDTH$} {text}", step.to_string()));
    });
    let ends = violation.map_or_else(|| "fine".to_owned(), |violation| short(&violation.to_string()));
    let mut head: Vec<String> = comments.iter().map(|comment| format!("# {comment}")).collect();
    head.extend([format!("scenario: {}", explored.scenario), format!("ends: {ends}"), String::new()]);
    let text = format!("{}\n{}\n", head.join("\n"), lines.join("\n"));
    (Story { comments: comments.to_vec(), scenario: explored.scenario.clone(), ends, steps }, text)
}

/// The numbers of attempts and clients whose ids are made short.
const SHORT: u64 = 10;

/// Returns the sentence of a step.
fn of(explored: &Explored, step: Step, before: &SimulatedRun, after: &SimulatedRun) -> String {
    let what = short(&what(step, before));
    let Some(client) = step.client() else { return what };
    let (was, is) = (&before.output(explored, client).facts, &after.output(explored, client).facts);
    if is.stage == was.stage {
        return if was.holds == is.holds { what } else { format!("{what}, and takes its lock for lost") };
    }
    match &is.stage {
        Stage::Works => what,
        Stage::Holds => {
            let tokens: Vec<String> = is.holds.iter().map(|hold| hold.token.to_string()).collect();
            format!("{what}, and holds with the token {}", tokens.join(" and "))
        }
        Stage::Idle => format!("{what}, and shows the locks"),
        Stage::Ended(None) => format!("{what}, and ends"),
        Stage::Ended(Some(error)) => format!("{what}, and ends: {}", short(error)),
    }
}

/// Makes the ids of attempts short: client and number of the attempt.
fn short(text: &str) -> String {
    let mut text = text.to_owned();
    for (attempt, client) in (1..SHORT).flat_map(|attempt| (0..SHORT).map(move |client| (attempt, client))) {
        let id = Uuid::from_u64_pair(attempt, client);
        let name = format!("client{client}.{attempt}");
        text = text.replace(&id.to_string(), &name).replace(&id.simple().to_string(), &name);
    }
    text
}

fn what(step: Step, before: &SimulatedRun) -> String {
    match step {
        Step::CarryOut(id) => match request_at(before, id) {
            Some((link, request)) => {
                let late = if link.broken { ", late" } else { "" };
                format!("{} carries out client {}'s {}{late}", member(link.member), id.client, request_text(request))
            }
            None => String::new(),
        },
        Step::Receive(client) => match before.next_message(client) {
            Some(SimulatedMessage::Reply { answer, .. }) => match answer {
                Ok(answer) => format!("client {client} learns: {}", answer_text(answer)),
                Err(code) => format!("client {client} learns: {code:?}"),
            },
            Some(SimulatedMessage::Event { kind, path, .. }) => {
                format!("client {client} learns that {path} {}", event_text(*kind))
            }
            Some(SimulatedMessage::Refused { why: Refusal::Garbled, .. }) => {
                format!("client {client} gets a reply that it cannot read")
            }
            Some(SimulatedMessage::Refused { .. }) => format!("client {client} learns of the refusal"),
            Some(SimulatedMessage::Closed) => format!("client {client} finds its connection closed"),
            None => String::new(),
        },
        Step::Continue(client) => format!("client {client} goes on"),
        Step::Connect(client, to) => format!("client {client} connects to {}", member(to)),
        Step::Apply(at) => format!("{} applies a transaction", member(at)),
        Step::Wait(1) => "a second passes".to_owned(),
        Step::Wait(seconds) => format!("up to {seconds} seconds pass"),
        Step::Unstall(client) => format!("the messages of client {client} move again"),
        Step::Resume(client) => format!("the process of client {client} goes on"),
        Step::Break(client, 0) => format!("the connection of client {client} breaks"),
        Step::Break(client, arrived) => {
            format!("the connection of client {client} breaks; {arrived} of its requests have arrived")
        }
        Step::Stall(client) => format!("no message of client {client} moves any more"),
        Step::Stop(client) => format!("the process of client {client} is stopped"),
        Step::Expire(client) => format!("the servers end the session of client {client}"),
        Step::GiveUp(client) => format!("client {client} drops its future or its guard"),
        Step::Lag(at) => format!("{} lags from now on", member(at)),
        Step::MoveBack(id) => format!("a late attempt to connect moves the session of client {} back", id.client),
        Step::DeleteNode(client, _) => format!("a stranger deletes the node of client {client}"),
        Step::Overwrite(client, _) => format!("a stranger overwrites the node of client {client}"),
        Step::Refuse(id, why) => {
            let what = request_at(before, id).map_or_else(String::new, |(_, request)| request_text(request));
            match why {
                Refusal::Throttled => {
                    format!("client {}'s {what} is refused: the server has too much to do", id.client)
                }
                Refusal::Quota => format!("client {}'s {what} is refused: it would exceed a quota", id.client),
                Refusal::Garbled => format!("client {}'s {what} is carried out, and its reply is spoilt", id.client),
            }
        }
        Step::Linger(client) => format!("the servers end the session of client {client} as late as they may"),
        Step::Reap => "the servers delete the lock parent, an empty container".to_owned(),
        Step::Raze => "a stranger deletes the lock parent and all below it".to_owned(),
    }
}

fn request_at(world: &SimulatedRun, id: LinkId) -> Option<(&Link, &Request)> {
    let link = world.ensemble.link(id)?;
    Some((link, link.requests.front().map(|(_, request)| request)?))
}

fn member(at: usize) -> String {
    if at == LEADER { "the leader".to_owned() } else { format!("member {at}") }
}

fn request_text(request: &Request) -> String {
    match request {
        Request::Write(write) => write_text(write),
        Request::Multi(writes) => {
            let writes: Vec<String> = writes.iter().map(write_text).collect();
            format!("transaction ({})", writes.join(", "))
        }
        Request::Read { read, watch } => format!("{}{}", if *watch { "watched " } else { "" }, read_text(read)),
        Request::Reads(reads) => {
            let reads: Vec<String> = reads.iter().map(read_text).collect();
            format!("reads ({})", reads.join(", "))
        }
        Request::Sync => "sync".to_owned(),
        Request::WatchRecursively(root) => format!("recursive watch of {root}"),
        Request::SetWatches { .. } => "watches of before".to_owned(),
        Request::RemoveWatch(..) | Request::RemoveRecursive(_) => "removal of a watch".to_owned(),
    }
}

fn write_text(write: &WriteOp) -> String {
    match write {
        WriteOp::Create(create) => format!("create of {}", create.path),
        WriteOp::Delete { path, version: None } => format!("delete of {path}"),
        WriteOp::Delete { path, version: Some(version) } => format!("delete of {path} at version {version}"),
        WriteOp::SetData { path, .. } => format!("write to {path}"),
        WriteOp::Check { path, version } => format!("check of {path} at version {version}"),
    }
}

fn read_text(read: &ReadOp) -> String {
    match read {
        ReadOp::Data(path) => format!("read of {path}"),
        ReadOp::Stat(path) => format!("look at {path}"),
        ReadOp::Children(path) => format!("listing of {path}"),
        ReadOp::Count(path) => format!("count below {path}"),
    }
}

fn answer_text(answer: &Response) -> String {
    match answer {
        Response::Done => "done".to_owned(),
        Response::Created { path, .. } => format!("{path} is created"),
        Response::Data { stat, .. } | Response::Stat(Some(stat)) => format!("the node of transaction {}", stat.czxid),
        Response::Stat(None) => "no node".to_owned(),
        Response::Children { names, .. } if names.is_empty() => "no children".to_owned(),
        Response::Children { names, .. } => names.join(", "),
        Response::Count(count) => format!("{count} nodes"),
        Response::Results(_) => "all done".to_owned(),
        Response::Failed { index, code } => format!("refused at {index}: {code:?}"),
    }
}

fn event_text(kind: SimulatedEventKind) -> &'static str {
    match kind {
        SimulatedEventKind::Created => "was created",
        SimulatedEventKind::Deleted => "was deleted",
        SimulatedEventKind::DataChanged => "has other data",
        SimulatedEventKind::ChildrenChanged => "has other children",
    }
}
