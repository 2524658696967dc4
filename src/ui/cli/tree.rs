//! `lockscope tree`: one node and its children, whether it is a lock or not.

use std::io::Write;

use anyhow::{anyhow, bail};
use clap::Args;
use tokio::time::timeout;
use zookeeper_client::{Client, Error};

use super::options::{EnsembleOptions, Format, OutputOptions, SharedOptions};
use super::output::{ExitAnswer, print, write_json};
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::{ZnodePath, escaped};
use lockscope_live::zk;
use lockscope_live::zk::{ChildrenReader, NodeReading};
use lockscope_model::report::{ChildFacts, TreeFacts};

/// The options of `lockscope tree`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct TreeOptions {
    /// The node
    #[arg(value_name = "PATH")]
    pub path: ZnodePath,
    /// Read at most this many children, the first by name
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub limit: u32,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl TreeOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let Self { output, ensemble, .. } = self.clone();
        SharedOptions { output, ensemble, ..SharedOptions::default() }
    }
}

/// Reads the node and its children, prints them, and ends the session.
pub async fn run(
    settings: &ResolvedOptions,
    options: &TreeOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let client = zk::connect(&settings.connect_options()?).await?;
    let read = read(&client, settings, options).await;
    zk::close_session(client).await;
    let (node, children, left_out) = read?;
    let NodeReading { stat, data, .. } = &node;
    let data = data.as_deref().map_err(|_| may_not_read(&options.path))?;
    let facts = TreeFacts::new(&options.path, stat, data, now()).with_children(children, left_out);
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &facts),
        Format::Table => facts.write_table(out),
    })?;
    Ok(ExitAnswer::Yes)
}

/// Returns the node, its first children by name, and the number of the others.
async fn read(
    client: &Client,
    settings: &ResolvedOptions,
    options: &TreeOptions,
) -> anyhow::Result<(NodeReading, Vec<ChildFacts>, usize)> {
    let path = &options.path;
    let Some(node) = answered(path, settings, zk::read_node(client, path)).await? else { bail!(no_node(path)) };
    let mut reader = answered(path, settings, ChildrenReader::list(client.clone(), path.clone())).await?;
    let wanted = reader.left().min(options.limit as usize);
    let left_out = reader.left() - wanted;
    let mut children = Vec::new();
    while reader.left() > left_out {
        reader.turn().await;
        let slice = answered(path, settings, reader.slice(reader.left() - left_out)).await?;
        let read_at = now();
        children.extend(slice.into_iter().map(|(name, stat)| ChildFacts::new(name, &stat, read_at)));
    }
    Ok((node, children, left_out))
}

/// Waits for an answer, and says what to do where there is none.
async fn answered<T>(
    path: &ZnodePath,
    settings: &ResolvedOptions,
    request: impl Future<Output = Result<T, Error>>,
) -> anyhow::Result<T> {
    match timeout(settings.timeout, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Error::NoNode)) => bail!(no_node(path)),
        Ok(Err(Error::NoAuth)) => Err(may_not_read(path)),
        Ok(Err(Error::BadArguments(why))) => bail!("{path} cannot be sent to a server: {why}; correct the path"),
        Ok(Err(error)) => bail!("{path} cannot be read: {}; try again", escaped(&error.to_string())),
        Err(_) => bail!("{path} cannot be read: the server is silent; try again"),
    }
}

fn no_node(path: &ZnodePath) -> String {
    let above = path.parent().map_or_else(String::new, |parent| format!(", or look at {parent}"));
    format!("there is no node {path}: correct the path{above}")
}

fn may_not_read(path: &ZnodePath) -> anyhow::Error {
    anyhow!("{path} cannot be read: the READ permission is missing; give an identity that has it with --auth-file")
}
