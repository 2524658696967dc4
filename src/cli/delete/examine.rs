//! What the node is: its stat, the queue that it stands in, and what the servers say about its owner.

use tokio::time::timeout;
use zookeeper_client::{Client, Error, Stat};

use super::super::CliError;
use super::super::follow::Follower;
use super::super::settings::Settings;
use crate::admin::{DeletePlan, NoPlan};
use crate::diagnose::Sight;
use crate::queue::{Change, LockTable};
use crate::recipe::Shape;
use crate::server_view::ServerView;
use crate::zk::survey::{SurveyOptions, survey_once};
use crate::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

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
    let survey = SurveyOptions::new(settings.connect_options()?);
    let near = Settings { roots: near(path), ..settings.clone() };
    // The servers' lists have to be younger than the node to tell anything about its owner, and both are.
    let (table, view) = tokio::join!(read(&near), survey_once(&survey, false));
    let mut table = table?;
    // A connect string that cannot be read was refused before.
    let view = view.unwrap_or_else(|_| ServerView::default());
    table.apply(Change::Surveyed { view: view.into() }, now());
    Ok(table)
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
    let mut near = vec![parent.clone()];
    if !parent.is_root() {
        near.extend(Shape::hints_beside(&parent));
        near.extend(Shape::hints_of(&parent));
        near.extend(Shape::regrouped_by(&parent));
    }
    near
}

fn stat_of(stat: &Stat) -> ZnodeStat {
    ZnodeStat {
        czxid: Zxid(stat.czxid),
        mzxid: Zxid(stat.mzxid),
        pzxid: Zxid(stat.pzxid),
        ctime: Timestamp(stat.ctime),
        mtime: Timestamp(stat.mtime),
        version: stat.version,
        cversion: stat.cversion,
        aversion: stat.aversion,
        ephemeral_owner: (stat.ephemeral_owner != 0).then_some(SessionId(stat.ephemeral_owner)),
        data_length: stat.data_length,
        num_children: stat.num_children,
    }
}

fn now() -> Timestamp {
    Timestamp(chrono::Utc::now().timestamp_millis())
}
