//! What the node is: its stat, the queue that it stands in, and what the servers say about its owner.

use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use super::super::CliError;
use super::super::follow::Follower;
use super::super::settings::Settings;
use crate::admin::{DeletePlan, NoPlan};
use crate::diagnose::Sight;
use crate::queue::{Change, LockTable};
use crate::recipe::Shape;
use crate::server_view::ServerView;
use crate::zk::stat_of;
use crate::zk::survey::{SurveyOptions, survey_once};
use crate::znode::{Sequence, Timestamp, ZnodePath, ZnodeStat};

/// How often the servers are asked at most.
const SURVEYS: usize = 3;

/// The node's stat; `None` when there is no such node.
pub(super) async fn stat(
    client: &Client,
    path: &ZnodePath,
    settings: &Settings,
) -> Result<Option<ZnodeStat>, CliError> {
    match timeout(settings.timeout, client.check_stat(path.as_str())).await {
        Ok(Ok(stat)) => Ok(stat.as_ref().map(stat_of)),
        Ok(Err(Error::BadArguments(why))) => {
            Err(CliError::NotDeleted(format!("{path} cannot be sent to a server: {why}; correct the path")))
        }
        Ok(Err(error)) => Err(CliError::NotDeleted(format!("{path} cannot be read: {error}; try again"))),
        Err(_) => Err(CliError::NotDeleted(format!("{path} cannot be read: the server is silent; try again"))),
    }
}

/// The plan to delete it, with all that can be told of it now.
pub(super) async fn plan(settings: &Settings, path: &ZnodePath, stat: &ZnodeStat) -> Result<DeletePlan, CliError> {
    let table = look(settings, path).await?;
    let sight = Sight::new(&table, now());
    match DeletePlan::of(&sight, std::slice::from_ref(path)) {
        Err(NoPlan::NotFound(_)) if stat.ephemeral_owner.is_none() => {
            let now = table.server_time(sight.now());
            Ok(DeletePlan::of_empty_node(path, stat, now)?)
        }
        Err(NoPlan::NotFound(_)) => Err(CliError::NotDeleted(format!(
            "{path} is no contender of a lock that is known here: if it is a single-node lock, say so with --lock {path}"
        ))),
        planned => Ok(planned?),
    }
}

/// The lock's parent and what the servers say.
async fn look(settings: &Settings, path: &ZnodePath) -> Result<LockTable, CliError> {
    let options = settings.survey_options()?;
    let near = Settings { roots: near(path), ..settings.clone() };
    // The servers' lists have to be younger than the node to tell anything about its owner, and both are.
    let (table, view) = tokio::join!(read(&near), survey(&options));
    let mut table = table?;
    table.apply(Change::Surveyed { view: view.into() }, now());
    Ok(table)
}

/// What the servers say. While connections come and go a server counts and lists different ones, and its list cannot be taken
/// for whole: then it is asked again.
async fn survey(options: &SurveyOptions) -> ServerView {
    let mut view = ServerView::default();
    for _ in 0..SURVEYS {
        // A connect string that cannot be read was refused before.
        view = survey_once(options, false).await.unwrap_or_default();
        let in_part = view.members.iter().any(|member| member.connections.is_some() && !member.knows_connections());
        if !in_part {
            break;
        }
    }
    view
}

async fn read(settings: &Settings) -> Result<LockTable, CliError> {
    let mut follower = Follower::start(settings)?;
    while follower.synced().is_none() {
        if let Err(error) = follower.next().await {
            follower.stop().await;
            return Err(error);
        }
    }
    Ok(follower.stop().await.0)
}

/// Where the node's lock can be: its parent, and where a semaphore's other half would be.
fn near(path: &ZnodePath) -> Vec<ZnodePath> {
    let Some(parent) = path.parent() else { return vec![path.clone()] };
    if parent.is_root() && Sequence::split(path.name()).is_none() {
        // A single node at the top: the rest of the tree has nothing to do with it.
        return vec![path.clone()];
    }
    let mut near = vec![parent.clone()];
    if !parent.is_root() {
        near.extend(Shape::hints_beside(&parent));
        near.extend(Shape::hints_of(&parent));
        near.extend(Shape::regrouped_by(&parent));
    }
    near
}

fn now() -> Timestamp {
    Timestamp(chrono::Utc::now().timestamp_millis())
}
