//! The sentences of a story.

use uuid::Uuid;

use crate::ensemble::{Answer, EventKind, LEADER, Link, LinkId, Message, ReadOp, Refusal, Request, WriteOp};
use crate::program::Stage;
use crate::world::{Explored, Step, World};

/// The numbers of attempts and clients whose ids are made short.
const SHORT: u64 = 10;

/// Returns the sentence of a step.
pub(super) fn of(explored: &Explored, step: Step, before: &World, after: &World) -> String {
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
pub(super) fn short(text: &str) -> String {
    let mut text = text.to_owned();
    for (attempt, client) in (1..SHORT).flat_map(|attempt| (0..SHORT).map(move |client| (attempt, client))) {
        let id = Uuid::from_u64_pair(attempt, client);
        let name = format!("client{client}.{attempt}");
        text = text.replace(&id.to_string(), &name).replace(&id.simple().to_string(), &name);
    }
    text
}

fn what(step: Step, before: &World) -> String {
    match step {
        Step::CarryOut(id) => match request_at(before, id) {
            Some((link, request)) => {
                let late = if link.broken { ", late" } else { "" };
                format!("{} carries out client {}'s {}{late}", member(link.member), id.client, request_text(request))
            }
            None => String::new(),
        },
        Step::Receive(client) => match before.next_message(client) {
            Some(Message::Reply { answer, .. }) => match answer {
                Ok(answer) => format!("client {client} learns: {}", answer_text(answer)),
                Err(code) => format!("client {client} learns: {code:?}"),
            },
            Some(Message::Event { kind, path, .. }) => {
                format!("client {client} learns that {path} {}", event_text(*kind))
            }
            Some(Message::Refused { why: Refusal::Garbled, .. }) => {
                format!("client {client} gets a reply that it cannot read")
            }
            Some(Message::Refused { .. }) => format!("client {client} learns of the refusal"),
            Some(Message::Closed) => format!("client {client} finds its connection closed"),
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

fn request_at(world: &World, id: LinkId) -> Option<(&Link, &Request)> {
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

fn answer_text(answer: &Answer) -> String {
    match answer {
        Answer::Done => "done".to_owned(),
        Answer::Created { path, .. } => format!("{path} is created"),
        Answer::Data { stat, .. } | Answer::Stat(Some(stat)) => format!("the node of transaction {}", stat.czxid),
        Answer::Stat(None) => "no node".to_owned(),
        Answer::Children { names, .. } if names.is_empty() => "no children".to_owned(),
        Answer::Children { names, .. } => names.join(", "),
        Answer::Count(count) => format!("{count} nodes"),
        Answer::Results(_) => "all done".to_owned(),
        Answer::Failed { index, code } => format!("refused at {index}: {code:?}"),
    }
}

fn event_text(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Created => "was created",
        EventKind::Deleted => "was deleted",
        EventKind::DataChanged => "has other data",
        EventKind::ChildrenChanged => "has other children",
    }
}
