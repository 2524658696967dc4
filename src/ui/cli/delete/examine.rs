//! Examines the node: its stat, its queue, and what the servers report about its owner.

use anyhow::bail;
use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use super::super::live_table::LiveTable;
use super::super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::{ZnodePath, ZnodeStat};
use lockscope_live::admin::examine::{lock_places, survey};
use lockscope_live::admin::{DeletePlan, NoPlan};
use lockscope_live::zk::stat_of;
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, LockTable};

/// Why there is no plan at this moment.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotPlanned(pub String);

/// Returns the node's stat; `None` when it does not exist.
pub(super) async fn stat(
    client: &Client,
    path: &ZnodePath,
    settings: &ResolvedOptions,
) -> anyhow::Result<Option<ZnodeStat>> {
    match timeout(settings.timeout, client.check_stat(path.as_str())).await {
        Ok(Ok(stat)) => Ok(stat.as_ref().map(stat_of)),
        Ok(Err(Error::BadArguments(why))) => bail!("{path} cannot be sent to a server: {why}; correct the path"),
        Ok(Err(error)) => bail!("{path} cannot be read: {error}; try again"),
        Err(_) => bail!("{path} cannot be read: the server is silent; try again"),
    }
}

/// Returns the plan of the deletion, with everything known about the node now.
pub(super) async fn plan(
    client: &Client,
    settings: &ResolvedOptions,
    path: &ZnodePath,
    stat: &ZnodeStat,
) -> anyhow::Result<DeletePlan> {
    let table = read_and_survey(settings, path).await?;
    let table_at = TableAt::new(&table, now());
    let planned = DeletePlan::of(&table_at, std::slice::from_ref(path));
    if matches!(planned, Err(NoPlan::NotFound(_)))
        && let Some(unreadable) = unreadable(client, settings, path).await
    {
        bail!(NotPlanned(format!(
            "what {path} is cannot be seen: the READ permission on {unreadable} is missing; give an identity that has it with \
             --auth-file"
        )));
    }
    match planned {
        Err(NoPlan::NotFound(_)) if stat.ephemeral_owner.is_none() => {
            let now = table.server_time(table_at.now());
            Ok(DeletePlan::of_empty_node(path, stat, now)?)
        }
        Err(NoPlan::NotFound(_)) => bail!(NotPlanned(format!(
            "{path} is no contender of a lock that is known here: if it is a single-node lock, say so with --lock {path}"
        ))),
        planned => Ok(planned?),
    }
}

/// Reads the lock's parent and asks the servers.
async fn read_and_survey(settings: &ResolvedOptions, path: &ZnodePath) -> anyhow::Result<LockTable> {
    let options = settings.survey_options()?;
    let near = ResolvedOptions { roots: lock_places(path), ..settings.clone() };
    // The servers' lists must be younger than the node to say something about its owner. Both
    // requests start now, so they are.
    let (table, view) = tokio::join!(read(&near), survey(&options));
    let mut table = table?;
    table.apply(Change::Surveyed { view: view.into() }, now());
    Ok(table)
}

/// Returns the node that cannot be read, among those that identify a contender: the node itself and
/// its parent.
async fn unreadable(client: &Client, settings: &ResolvedOptions, path: &ZnodePath) -> Option<ZnodePath> {
    let data = timeout(settings.timeout, client.get_data(path.as_str())).await;
    if matches!(data, Ok(Err(Error::NoAuth))) {
        return Some(path.clone());
    }
    let parent = path.parent()?;
    let listed = timeout(settings.timeout, client.list_children(parent.as_str())).await;
    matches!(listed, Ok(Err(Error::NoAuth))).then_some(parent)
}

async fn read(settings: &ResolvedOptions) -> anyhow::Result<LockTable> {
    let mut live = LiveTable::start(settings)?;
    let read = live.read_once().await;
    let (table, ..) = live.stop().await;
    read.map(|_| table)
}
