//! Programs that delete other clients' nodes, or ask their owners to release, as the console does.

use std::sync::Arc;
use std::time::Duration;

use zookeeper_client::{Error, SessionState, Stat};

use super::again;
use super::facts::{Board, DeletionFact, DeletionOutcome, Doomed, Examination, ExaminationResult, LOCK, Stage};
use crate::library::{SharedLibrary, SimClient, lock, shared};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_live::admin::{
    Action, DeletePlan, DeletionSession, Ending, Examine, IntentLog, NodeOutcome, Permission, PlannedNode,
    execute_over, find_guards,
};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, ConnectionState, ContenderState, LockTable};
use lockscope_requests::Requests;

/// The time limit of a deletion after its examination, as the console sets it.
const PATIENCE: Duration = Duration::from_secs(15);

/// The time at which the table is looked at. No deletion depends on it.
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// What is done to which nodes, and how they are examined again before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleting {
    /// The first node is deleted. The confirmed facts count as still true.
    First,
    /// The same, and the node is read again.
    Reads,
    /// The last node is deleted, and an examination may find a difference, or fail.
    Changes,
    /// All nodes are deleted, or those up to where somebody stops the work.
    All,
    /// All nodes are deleted, and the log cannot always be written.
    Unlogged,
    /// The owner of the first node is asked to release it.
    Revokes,
}

impl Deleting {
    pub(super) const ALL: [Self; 6] =
        [Self::First, Self::Reads, Self::Changes, Self::All, Self::Unlogged, Self::Revokes];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::First => "delete",
            Self::Reads => "delete+reads",
            Self::Changes => "delete+changes",
            Self::All => "delete+all",
            Self::Unlogged => "delete+unlogged",
            Self::Revokes => "revoke",
        }
    }

    /// Returns the nodes of the plan, of those that are there, in their order.
    fn chosen(self, found: &[(ZnodePath, Node)]) -> Vec<ZnodePath> {
        let chosen = match self {
            Self::First | Self::Reads | Self::Revokes => &found[..1],
            Self::Changes => &found[found.len() - 1..],
            Self::All | Self::Unlogged => found,
        };
        chosen.iter().map(|(path, _)| path.clone()).collect()
    }
}

/// Looks for nodes `looks` times at most, and works on the first that it finds.
pub async fn run(deleting: Deleting, looks: u32, library: SharedLibrary, board: Board) {
    let client = shared(&library);
    board.change_deletion(|_| {});
    let ended = async {
        for _ in 0..looks {
            let found = find(&*client).await?;
            if !found.is_empty() {
                return delete(deleting, &library, found, &board).await;
            }
        }
        Ok("there is nothing to delete".to_owned())
    };
    let ended = ended.await.unwrap_or_else(|error: Error| error.to_string());
    board.show(Stage::Ended(Some(ended)));
}

/// Finds the lock's own node if a session owns it, or else the nodes below it that sessions own.
async fn find(client: &dyn Requests) -> Result<Vec<(ZnodePath, Node)>, Error> {
    let Some(own) = read(client, LOCK).await? else { return Ok(Vec::new()) };
    if own.1.stat.ephemeral_owner.is_some() {
        return Ok(vec![own]);
    }
    let mut names = match again(|| client.children(LOCK)).await {
        Ok((names, _)) => names,
        Err(Error::NoNode) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    names.sort_unstable();
    let mut all = Vec::new();
    for name in names {
        let found = read(client, &format!("{LOCK}/{name}")).await?;
        all.extend(found.filter(|(_, node)| node.stat.ephemeral_owner.is_some()));
    }
    Ok(all)
}

async fn read(client: &dyn Requests, path: &str) -> Result<Option<(ZnodePath, Node)>, Error> {
    match again(|| client.data(path)).await {
        Ok((data, stat)) => {
            let path = ZnodePath::new(path).expect("the servers have valid paths only");
            Ok(Some((path, Node { stat: stat_of(&stat), data: NodeData::keep(&data) })))
        }
        Err(Error::NoNode) => Ok(None),
        // Somebody who may not read a node may know it from elsewhere.
        Err(Error::NoAuth) => Ok(again(|| client.stat(path)).await?.map(|stat| {
            let path = ZnodePath::new(path).expect("the servers have valid paths only");
            (path, Node { stat: stat_of(&stat), data: NodeData::default() })
        })),
        Err(error) => Err(error),
    }
}

fn stat_of(stat: &Stat) -> ZnodeStat {
    let owner = Some(SessionId(stat.ephemeral_owner)).filter(|owner| owner.0 != 0);
    let new = ZnodeStat::of_new(Zxid(stat.czxid), Timestamp(stat.ctime), owner);
    ZnodeStat { mzxid: Zxid(stat.mzxid), version: stat.version, data_length: stat.data_length, ..new }
}

/// Plans the work on nodes, and carries it out. Returns the outcomes as sentences.
async fn delete(
    deleting: Deleting,
    library: &SharedLibrary,
    found: Vec<(ZnodePath, Node)>,
    board: &Board,
) -> Result<String, Error> {
    let client = shared(library);
    let chosen = deleting.chosen(&found);
    let Some(plan) = plan(deleting, client.session(), found, &chosen) else {
        return Ok("nobody can be asked".to_owned());
    };
    let plan = again(|| find_guards(&*client, plan.clone())).await?;
    board.change_deletion(|deletion| *deletion = shown(&plan, lock(library).next_request()));
    let session =
        SimSession { library: Arc::clone(library), client: SimClient(Arc::clone(library)), board: board.clone() };
    let mut examine = SimulatedExaminer { deleting, client: &*client, library, board };
    let mut log = MemoryLog { deleting, library: Arc::clone(library), board: board.clone() };
    let outcomes = execute_over(session, &Permission::unchecked(), &plan, &mut log, PATIENCE, &mut examine).await;
    board.change_deletion(|deletion| {
        deletion.is_over = true;
        for outcome in &outcomes {
            let node = deletion.nodes.iter_mut().find(|node| &*node.path == outcome.path.as_str());
            node.expect("the plan has the node").outcome = Some(outcome_of(outcome));
        }
    });
    let sentences: Vec<String> = outcomes.iter().map(NodeOutcome::sentence).collect();
    Ok(sentences.join("; "))
}

/// Plans the work from a table that shows these nodes alone.
fn plan(
    deleting: Deleting,
    session: SessionId,
    found: Vec<(ZnodePath, Node)>,
    chosen: &[ZnodePath],
) -> Option<DeletePlan> {
    let mut table = LockTable::new([]);
    let connected = Change::Connection(ConnectionState::Connected { session, recursive: true });
    table.apply(connected, NOW);
    table.apply(Change::Syncing, NOW);
    for (path, node) in found {
        table.apply(Change::Seen { path, node }, NOW);
    }
    table.apply(Change::Synced, NOW);
    let plan = DeletePlan::of(&TableAt::new(&table, NOW), chosen).expect("the nodes contend for a lock");
    if deleting == Deleting::Revokes { plan.revocation() } else { Some(plan) }
}

fn shown(plan: &DeletePlan, began: u32) -> DeletionFact {
    let doomed = |node: &PlannedNode| Doomed {
        path: node.path.as_str().into(),
        czxid: node.czxid.0,
        guard: node.guard.map_or("", lockscope_live::admin::RecreationGuard::id),
        position: node.position,
        intended: None,
        looks: Vec::new(),
        logged: None,
        outcome: None,
    };
    let nodes = plan.nodes().iter().map(doomed).collect();
    DeletionFact { asks: plan.action() == Action::Revoke, began, nodes, ..DeletionFact::default() }
}

/// Returns the facts of an outcome.
fn outcome_of(outcome: &NodeOutcome) -> DeletionOutcome {
    let other = if let Ending::ChangedHands { czxid } = &outcome.ending { Some(czxid.0) } else { None };
    DeletionOutcome {
        ending: outcome.ending.id(),
        window: matches!(outcome.ending, Ending::Deleted { window: true } | Ending::DeletedOther),
        other,
        raised: outcome.raised.as_ref().map(|raised| raised.as_str().into()),
        overwritten: outcome.overwritten,
        unaudited: outcome.unaudited.is_some(),
        sentence: outcome.sentence().into(),
    }
}

/// Changes what is shown of a node.
fn change_node(board: &Board, node: &ZnodePath, change: impl FnOnce(&mut Doomed)) {
    board.change_deletion(|deletion| {
        let shown = deletion.nodes.iter_mut().find(|shown| &*shown.path == node.as_str());
        change(shown.expect("the plan has the node"));
    });
}

/// The session of the work.
struct SimSession {
    library: SharedLibrary,
    client: SimClient,
    board: Board,
}

impl DeletionSession for SimSession {
    fn requests(&self) -> &dyn Requests {
        &self.client
    }

    async fn close(self) {
        let cut_off = lock(&self.library).awaits_write();
        self.board.change_deletion(|deletion| deletion.cut_off |= cut_off);
        lock(&self.library).end(SessionState::Closed);
    }
}

/// A log that is shown to the rules.
struct MemoryLog {
    deleting: Deleting,
    library: SharedLibrary,
    board: Board,
}

impl MemoryLog {
    /// Fails now and then, if the scenario wants that.
    fn try_write(&self) -> Result<(), String> {
        let fails = self.deleting == Deleting::Unlogged && fastrand::u8(..4) == 0;
        if fails { Err("the disk is full".to_owned()) } else { Ok(()) }
    }
}

impl IntentLog for MemoryLog {
    type Intent = ZnodePath;

    async fn intend(&mut self, _: Action, node: &PlannedNode) -> Result<ZnodePath, String> {
        self.try_write()?;
        let at = lock(&self.library).next_request();
        change_node(&self.board, &node.path, |node| node.intended = Some(at));
        Ok(node.path.clone())
    }

    async fn conclude(&mut self, intent: ZnodePath, outcome: &NodeOutcome) -> Result<(), String> {
        let at = lock(&self.library).next_request();
        let told_early = lock(&self.library).awaits_write();
        self.board.change_deletion(|deletion| deletion.told_early |= told_early);
        let written = self.try_write();
        let logged = DeletionOutcome { unaudited: written.is_err(), ..outcome_of(outcome) };
        change_node(&self.board, &intent, |node| node.logged = Some((at, logged)));
        written
    }
}

/// Examines nodes as the scenario wants it.
struct SimulatedExaminer<'a> {
    deleting: Deleting,
    client: &'a dyn Requests,
    library: &'a SharedLibrary,
    board: &'a Board,
}

impl SimulatedExaminer<'_> {
    async fn look(&self, node: &PlannedNode) -> (ExaminationResult, Result<Option<PlannedNode>, String>) {
        match self.deleting {
            Deleting::Reads => match self.client.stat(node.path.as_str()).await {
                Err(error) => (ExaminationResult::Unknown, Err(error.to_string())),
                Ok(stat) => {
                    let is_same = stat.is_some_and(|stat| Zxid(stat.czxid) == node.czxid);
                    (ExaminationResult::Same, Ok(is_same.then(|| node.clone())))
                }
            },
            Deleting::Changes => match fastrand::u8(..6) {
                0 => (ExaminationResult::Unknown, Err("the servers do not answer".to_owned())),
                1 => (ExaminationResult::Same, Ok(None)),
                2 if node.state == Some(ContenderState::Waits) => (
                    ExaminationResult::Changed,
                    Ok(Some(PlannedNode { state: Some(ContenderState::Holds), ..node.clone() })),
                ),
                _ => (ExaminationResult::Same, Ok(Some(node.clone()))),
            },
            Deleting::Revokes if fastrand::u8(..6) == 0 => {
                (ExaminationResult::Changed, Ok(Some(PlannedNode { revocable: false, ..node.clone() })))
            }
            _ => (ExaminationResult::Same, Ok(Some(node.clone()))),
        }
    }
}

impl Examine for SimulatedExaminer<'_> {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        let now = || lock(self.library).next_request();
        let from = now();
        let began = Examination { from, to: None, verdict: ExaminationResult::Unknown };
        change_node(self.board, &node.path, |node| node.looks.push(began));
        let (verdict, found) = self.look(node).await;
        let ended = Examination { from, to: Some(now()), verdict };
        change_node(self.board, &node.path, |node| {
            node.looks.pop();
            node.looks.push(ended);
        });
        found
    }

    async fn may_go_on(&mut self, last: Option<&Ending>) -> bool {
        self.deleting != Deleting::All || last.is_none() || fastrand::u8(..4) > 0
    }
}
