//! A contender, or an empty lock parent, as a part of a plan: its owner, who acquires next, and the
//! sentences about both.

use std::collections::HashSet;
use std::time::Duration;

use super::{Action, Confirmation, DeletePlan, NextHolder, NoPlan, OwnerLiveness, PlannedNode, TargetKind, free_lock};
use lockscope_base::recipe::{LockKind, Recipe, RequestMode, Role};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid, escaped};
use lockscope_model::diagnose;
use lockscope_model::diagnose::{TableAt, Unaware};
use lockscope_model::queue::{ClientIdentity, Contender, ContenderRow, ContenderState, LockId, LockQueue, ParentNode};
use lockscope_model::server_view::{Liveness, ServerView};
use lockscope_model::text::human;

pub fn planned_contender<'a>(
    table_at: &TableAt<'a>,
    id: LockId,
    position: usize,
    to_delete: &HashSet<(LockId, usize)>,
    unaware: impl Fn(&LockQueue, &ContenderRow<'a>) -> Option<Unaware>,
) -> Result<PlannedNode, NoPlan> {
    let lock = table_at.table().lock(id).ok_or(NoPlan::Nothing)?;
    let row = lock.row(position).ok_or(NoPlan::Nothing)?;
    let contender = row.contender;
    if !contender.is_read() {
        return Err(NoPlan::Unread(lock.path_of(contender)));
    }
    let liveness = owner_liveness(table_at, contender);
    let unaware = unaware(lock, &row);
    let outlook = outlook(lock, to_delete);
    let connection = contender.session().and_then(|session| table_at.view().connection_of(session));
    Ok(PlannedNode {
        path: lock.path_of(contender),
        kind: TargetKind::Contender,
        lock: lock.path().clone(),
        lock_name: lock.name().map(str::to_owned),
        recipe: Some(lock.recipe()),
        sequence: contender.sequence,
        session: contender.session(),
        czxid: contender.czxid,
        version: contender.version,
        state: Some(row.state),
        liveness,
        unaware,
        client: connection.map(|(_, connection)| connection.client.clone()),
        evidence: evidence(table_at, lock, &row, liveness),
        then: then(table_at, lock, &row, &outlook),
        acquires_next: outlook.acquires,
        risks: risks(lock, &row, liveness, unaware),
        confirmation: confirmation(&row, liveness),
        guard: None,
        lacks: None,
        revocable: is_revocable(lock, &row, liveness) && !unaware.is_some_and(Unaware::ignores_requests),
        position,
        emptiness: None,
    })
}

/// Returns the owner's state as [`TableAt::owner_of`] does. If that is unknown, checks for evidence
/// that the owner is gone.
fn owner_liveness(table_at: &TableAt<'_>, contender: &Contender) -> OwnerLiveness {
    match table_at.owner_of(contender) {
        (diagnose::OwnerState::Ghost, _) => OwnerLiveness::Ghost,
        (diagnose::OwnerState::Ownerless, _) => OwnerLiveness::Ownerless,
        (diagnose::OwnerState::Expiring, within) => OwnerLiveness::Expiring { within },
        (diagnose::OwnerState::Live | diagnose::OwnerState::Silent, _) => OwnerLiveness::Live,
        (diagnose::OwnerState::Unknown, _) => {
            let liveness = contender.session().map(|session| table_at.view().liveness(session));
            match liveness {
                Some(Liveness::NoSession { .. } | Liveness::Exists { .. } | Liveness::Unproven) => {
                    OwnerLiveness::Suspect
                }
                _ => OwnerLiveness::Unknown,
            }
        }
    }
}

/// Returns the answer that a contender requires. A yes is not enough if the owner may be at work
/// and may hold the lock, or if the node was deleted before and perhaps only one member still shows
/// it.
fn confirmation(row: &ContenderRow<'_>, liveness: OwnerLiveness) -> Confirmation {
    let returned = row.contender.returned;
    if !returned && (!liveness.may_work() || row.state == ContenderState::Waits) {
        return Confirmation::Yes;
    }
    let contender = row.contender;
    Confirmation::SequenceNumber(match contender.sequence {
        Some(sequence) => sequence.0.to_string(),
        None => contender.node.to_string(),
    })
}

/// Returns whether Curator's request to release can reach the owner: only a holder of its mutexes
/// looks at its own data.
fn is_revocable(lock: &LockQueue, row: &ContenderRow<'_>, liveness: OwnerLiveness) -> bool {
    matches!(lock.recipe(), Recipe::CuratorMutex | Recipe::CuratorReadWrite)
        && row.contender.role == Role::Queue
        && row.state != ContenderState::Waits
        && liveness.may_work()
}

/// The maximum number of next holders that are named.
const MAX_NAMED: usize = 10;

/// The maximum number of waiters that are read to count the readers that acquire together.
const MAX_READERS: usize = 1_000;

/// The holders of a lock after some of its nodes are deleted.
struct Outlook {
    /// The contenders that acquire, at most [`MAX_NAMED`].
    acquires: Vec<NextHolder>,
    /// The number of further ones that acquire with them, at most about [`MAX_READERS`].
    more: usize,
    /// A holder whose node is not deleted.
    keeps: Option<NextHolder>,
}

/// Returns the holders after these positions are gone from the queue.
fn outlook(lock: &LockQueue, to_delete: &HashSet<(LockId, usize)>) -> Outlook {
    let is_deleted = |row: &ContenderRow<'_>| to_delete.contains(&(lock.id(), row.position));
    let freed = lock.rows(0..lock.holding()).filter(is_deleted).count();
    // Few nodes are to be deleted, and contenders behind the next holders make no difference.
    let window = lock.holding() + to_delete.len() + MAX_READERS;
    let mut left = lock.rows(0..window).filter(|row| !is_deleted(row));
    let holders: Vec<ContenderRow<'_>> = match lock.kind() {
        LockKind::SingleNode => Vec::new(),
        LockKind::Semaphore => left.filter(|row| row.position >= lock.holding()).take(freed).collect(),
        LockKind::ReadWrite => match left.next() {
            Some(first) if first.mode == RequestMode::Read => {
                std::iter::once(first).chain(left.take_while(|row| row.mode == RequestMode::Read)).collect()
            }
            first => first.into_iter().collect(),
        },
        LockKind::Exclusive | LockKind::Election => left.next().into_iter().collect(),
    };
    let acquire: Vec<&ContenderRow<'_>> = holders.iter().filter(|row| row.state != ContenderState::Holds).collect();
    Outlook {
        acquires: acquire.iter().take(MAX_NAMED).map(|row| next_holder(row)).collect(),
        more: acquire.len().saturating_sub(MAX_NAMED),
        keeps: lock.rows(0..lock.holding()).find(|row| !is_deleted(row)).map(|row| next_holder(&row)),
    }
}

fn next_holder(row: &ContenderRow<'_>) -> NextHolder {
    NextHolder { node: row.contender.node.clone(), session: row.contender.session() }
}

/// What a stat tells of a node without children. Whatever comes and goes there changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptiness {
    pzxid: Zxid,
    cversion: i32,
    num_children: i32,
    data_length: i32,
}

impl From<&ZnodeStat> for Emptiness {
    fn from(stat: &ZnodeStat) -> Self {
        let ZnodeStat { pzxid, cversion, num_children, data_length, .. } = *stat;
        Self { pzxid, cversion, num_children, data_length }
    }
}

pub fn planned_parent(table_at: &TableAt<'_>, path: &ZnodePath) -> Result<PlannedNode, NoPlan> {
    let lock = free_lock(table_at.table(), path)?;
    let (Some(lock), Some(node)) = (lock, table_at.table().parent(path)) else {
        return Err(NoPlan::NotFound(path.clone()));
    };
    let age = table_at.table().clock().server_time(table_at.now()).since(node.created_at);
    empty(path, node, 0, Some(lock.recipe()), age, lock.next_sequence())
}

impl DeletePlan {
    /// Creates the plan to delete an empty node whose locks are no longer known, from one read of
    /// it. A node that has data and never had children is not a lock parent.
    pub fn of_empty_node(path: &ZnodePath, stat: &ZnodeStat, now: Timestamp) -> Result<Self, NoPlan> {
        if stat.num_children > 0 {
            return Err(NoPlan::NotEmpty(path.clone()));
        }
        if stat.cversion == 0 && stat.data_length > 0 {
            return Err(NoPlan::NoParent(path.clone(), "it holds data and never had children"));
        }
        let node = ParentNode { czxid: stat.czxid, created_at: stat.ctime, ephemeral: stat.ephemeral_owner.is_some() };
        let next = stat.next_sequence();
        let planned = empty(path, node, stat.version, None, now.since(stat.ctime), next)?;
        let planned = PlannedNode { emptiness: Some(stat.into()), ..planned };
        Ok(Self { action: Action::Delete, nodes: vec![planned], production: None, by_count: false })
    }

    /// Joins plans of empty nodes into one that the number of nodes confirms. A person reads only the
    /// first of so many.
    #[must_use]
    pub(in crate::admin) fn joined(plans: Vec<Self>) -> Self {
        let nodes = plans.into_iter().flat_map(|plan| plan.nodes).collect();
        Self { action: Action::Delete, nodes, production: None, by_count: true }
    }
}

fn empty(
    path: &ZnodePath,
    node: ParentNode,
    version: i32,
    recipe: Option<Recipe>,
    age: Duration,
    next_sequence: Option<i64>,
) -> Result<PlannedNode, NoPlan> {
    if node.ephemeral {
        return Err(NoPlan::NoParent(path.clone(), "a session owns it"));
    }
    let of_keeper = path.as_str().strip_prefix("/keeper").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if path.is_root() || path.as_str() == "/zookeeper" || path.is_servers_own() || of_keeper {
        return Err(NoPlan::NoParent(path.clone(), "the ensemble keeps it"));
    }
    Ok(PlannedNode {
        path: path.clone(),
        kind: TargetKind::EmptyParent,
        lock: path.clone(),
        lock_name: None,
        recipe,
        sequence: None,
        session: None,
        czxid: node.czxid,
        version,
        state: None,
        liveness: OwnerLiveness::Ownerless,
        unaware: None,
        client: None,
        evidence: of_empty(age, next_sequence),
        acquires_next: Vec::new(),
        then: "nobody contends there, so nobody acquires".to_owned(),
        risks: risks_of_empty(),
        confirmation: Confirmation::Yes,
        guard: None,
        lacks: None,
        revocable: false,
        position: 0,
        emptiness: None,
    })
}

/// Up to this number, the session's other nodes are named: more would hide what follows from the
/// deletion.
const MAX_OTHERS: usize = 3;

/// The remark on an answer that came in plain text while our own session uses TLS.
const IN_PLAIN_TEXT: &str = "in plain text, which proves nothing beside TLS";

/// Returns the evidence about a contender's owner, and the evidence that the node is orphaned.
fn evidence(table_at: &TableAt<'_>, lock: &LockQueue, row: &ContenderRow<'_>, liveness: OwnerLiveness) -> String {
    let mut known = vec![of_owner(table_at, row.contender, liveness)];
    known.extend(table_at.suspicions(lock, row));
    known.join("; ")
}

/// Names the other nodes of the owner's session. They stay when this node is deleted, and go when the
/// client is ended instead.
fn others_of_session(table_at: &TableAt<'_>, lock: &LockQueue, contender: &Contender) -> Option<String> {
    let owned = table_at.view().ephemerals()?.of(contender.session()?)?;
    let others = owned.count.checked_sub(1).filter(|others| *others > 0)?;
    let own = lock.path_of(contender);
    let named = owned.paths.iter().filter(|path| **path != own).take(MAX_OTHERS);
    let named: Vec<String> = named.map(|path| escaped(path.as_str()).to_string()).collect();
    let which = if named.len() == others { format!(" ({})", named.join(", ")) } else { String::new() };
    let (nodes, verb) = if others == 1 { ("node of the session", "stays") } else { ("nodes of the session", "stay") };
    Some(format!("{} other {nodes} {verb}{which}, until its client ends", human::count(others)))
}

fn of_owner(table_at: &TableAt<'_>, contender: &Contender, liveness: OwnerLiveness) -> String {
    let Some(session) = contender.session() else {
        return "no session owns it, so it stays until somebody deletes it".to_owned();
    };
    let view = table_at.view();
    // Includes the address from which the session was connected.
    let who = || ClientIdentity { name: None, ..table_at.identity(contender) }.in_sentence(table_at.now());
    match liveness {
        OwnerLiveness::Ghost => {
            format!("every server answered, and none lists {}: nobody can release this node", who())
        }
        OwnerLiveness::Ownerless => "no session owns it, so it stays until somebody deletes it".to_owned(),
        OwnerLiveness::Expiring { within: Some(within) } => format!(
            "{} has no connection to any server: the servers delete the node in {}, unless its client reconnects",
            who(),
            human::countdown(within)
        ),
        OwnerLiveness::Expiring { within: None } => format!(
            "{} has no connection to any server: the servers delete the node when the session expires, unless its client \
             reconnects",
            who()
        ),
        OwnerLiveness::Live => of_live(view, session),
        OwnerLiveness::Suspect => of_suspect(view, session),
        OwnerLiveness::Unknown => {
            format!("the servers said too little about session {session} to say whether its client lives")
        }
    }
}

fn of_live(view: &ServerView, session: SessionId) -> String {
    match view.connection_of(session) {
        Some((member, connection)) => {
            let client = format!("session {session} is connected from {} to {}", connection.client, member.address);
            if member.provenance.can_prove() {
                client
            } else {
                format!("{client}, but the server says so {IN_PLAIN_TEXT}")
            }
        }
        None => format!("session {session} is connected"),
    }
}

fn of_suspect(view: &ServerView, session: SessionId) -> String {
    let silent: Vec<&str> =
        view.members.iter().filter(|member| !member.knows_connections()).map(|member| &*member.address).collect();
    let lacking = match (&*silent, view.members_known) {
        ([], true) => "that list is hardly newer than the node".to_owned(),
        ([], false) => "it is not known whether these are all the servers".to_owned(),
        (silent, _) => format!("there is no complete list from {}", silent.join(", ")),
    };
    match view.liveness(session) {
        Liveness::NoSession { .. } => format!("session {session} is in no list of sessions, but {lacking}"),
        Liveness::Unproven => {
            format!("no server knows a client of session {session}, but they say so {IN_PLAIN_TEXT}")
        }
        _ => format!("no server that answered holds a connection of session {session}, but {lacking}"),
    }
}

/// Returns the sentence about the next holders, and about the other nodes of the session.
fn then(table_at: &TableAt<'_>, lock: &LockQueue, row: &ContenderRow<'_>, outlook: &Outlook) -> String {
    let next = next_holders(table_at, lock, row, outlook);
    let others = others_of_session(table_at, lock, row.contender);
    [Some(next), others].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn next_holders(table_at: &TableAt<'_>, lock: &LockQueue, row: &ContenderRow<'_>, outlook: &Outlook) -> String {
    if lock.kind() == LockKind::SingleNode {
        return "the lock is free, and whoever creates the node first acquires it".to_owned();
    }
    if let Some(first) = outlook.acquires.first() {
        let with = match outlook.acquires.len() - 1 + outlook.more {
            0 => String::new(),
            others => format!(", and {others} more with it"),
        };
        return match first.session {
            Some(session) => {
                let who = table_at.table().identity_at(lock.id(), &first.node, session).in_sentence(table_at.now());
                format!("{}, of {who}, acquires next{with}", first.node)
            }
            None => format!("{} (owned by no session) acquires next{with}", first.node),
        };
    }
    match &outlook.keeps {
        Some(holder) => format!("nobody acquires: {} still holds", holder.node),
        None if row.state == ContenderState::Holds => {
            "nobody acquires: the lock is free, and nobody waits for it".to_owned()
        }
        None => "nobody acquires".to_owned(),
    }
}

/// Returns the risks.
fn risks(lock: &LockQueue, row: &ContenderRow<'_>, liveness: OwnerLiveness, unaware: Option<Unaware>) -> Vec<String> {
    let mut risks = match (unaware, client_of_unaware(liveness)) {
        (Some(unaware), Some(client)) => vec![of_unaware(unaware, client)],
        _ => of_owner_liveness(lock, row, liveness),
    };
    if row.contender.returned {
        risks.push(
            "it was deleted before and is there again: the member that this console is connected to disagrees with the others; \
             restart that member instead"
                .to_owned(),
        );
    }
    risks
}

/// Returns the beginning of a sentence about what a client does not know; `None` if there is no
/// such client.
fn client_of_unaware(liveness: OwnerLiveness) -> Option<&'static str> {
    match liveness {
        OwnerLiveness::Live => Some("its client is connected, but"),
        OwnerLiveness::Suspect | OwnerLiveness::Unknown => Some("even if its client is alive,"),
        OwnerLiveness::Expiring { .. } => Some("even if its client reconnects,"),
        OwnerLiveness::Ghost | OwnerLiveness::Ownerless => None,
    }
}

fn of_unaware(unaware: Unaware, client: &str) -> String {
    match unaware {
        Unaware::OfNode => format!(
            "{client} it does not know of this node: nobody releases it before the session ends, and its deletion takes nothing \
             from the client that it knows of"
        ),
        Unaware::OfNodeSuspected => format!(
            "{client} it may not know of this node, and then nobody releases it before the session ends; if it does \
             wait with it, with some libraries it then waits forever"
        ),
        Unaware::OfTurn => format!(
            "{client} it does not know that it holds: it waits for a wake-up that was lost, and with some libraries it then \
             waits forever"
        ),
        Unaware::OfTurnToCome => format!(
            "{client} it watches nothing here: it gave up and left this node, or it lost its wake-up and waits forever, with this \
             node or without"
        ),
    }
}

/// Returns the risks that come from a node's client, as far as it is alive.
fn of_owner_liveness(lock: &LockQueue, row: &ContenderRow<'_>, liveness: OwnerLiveness) -> Vec<String> {
    let waits = row.state == ContenderState::Waits;
    let mut risks = Vec::new();
    let mut say = |risk: &str| risks.push(risk.to_owned());
    match liveness {
        OwnerLiveness::Live if waits => {
            say("its client is connected: with some libraries it then waits forever");
        }
        OwnerLiveness::Live => {
            say(
                "its client is connected and goes on as if it held the lock, together with the next holder: stop it first",
            );
        }
        OwnerLiveness::Suspect | OwnerLiveness::Unknown if !waits => {
            say("if its client is alive, it goes on as if it held the lock, together with the next holder");
        }
        OwnerLiveness::Suspect | OwnerLiveness::Unknown => {
            say("if its client is alive, it may then wait forever");
        }
        OwnerLiveness::Expiring { .. } if !waits => {
            say(
                "its client may reconnect before the session expires and go on as if it held the lock: waiting is safer",
            );
        }
        OwnerLiveness::Expiring { .. } => {}
        OwnerLiveness::Ghost => say("a ghost is a sign of a faulty server: compare the members before you delete it"),
        OwnerLiveness::Ownerless if lock.recipe() == Recipe::Hive => {
            say("Hive creates such nodes on purpose: check that the query has ended");
        }
        OwnerLiveness::Ownerless => say("an application may keep it on purpose: ask who created it"),
    }
    risks
}

/// Returns the evidence about an empty parent of that age.
fn of_empty(age: Duration, next_sequence: Option<i64>) -> String {
    let age = human::duration(age);
    match next_sequence {
        Some(1..) => format!("it has no children; it was created {age} ago, and contenders came and went"),
        _ => format!("it has no children; it was created {age} ago, and no contender is known to have been there"),
    }
}

fn risks_of_empty() -> Vec<String> {
    [
        "if it is a container, the servers delete it by themselves some minutes after its last child is gone",
        "when it is created again, sequence numbers start from 0: this misleads programs that compare them over time",
    ]
    .map(str::to_owned)
    .into()
}

/// Returns the node with the sentences for a request to release.
pub fn asked(node: PlannedNode) -> PlannedNode {
    let risks = ["only an application that made its lock revocable reacts; any other keeps the lock".to_owned()];
    let then = format!("its owner is asked to release; when it does, {}", node.then);
    PlannedNode { risks: risks.into(), then, lacks: None, ..node }
}
