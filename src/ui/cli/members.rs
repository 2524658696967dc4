//! `lockscope members`: compares the members of the ensemble.

use std::io::Write;
use std::pin::pin;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use tokio::time::timeout;

use super::exit_answer::ExitAnswer;
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{print, write_json};
use super::resolved::ResolvedOptions;
use lockscope_live::zk::compare_members;
use lockscope_live::zk::survey::survey_once;
use lockscope_model::members::ComparedNodes;
use lockscope_model::report::MembersFacts;
use lockscope_model::server_view::MemberView;

/// How long to wait for a session after the servers have said that none of them serves clients.
const MAX_WAIT_FOR_ELECTION: Duration = Duration::from_secs(2);

/// The options of `lockscope members`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct MembersOptions {
    /// How many requests a second each member gets for the comparison
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pace: u32,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Asks all members, compares what each has, prints it and ends the sessions. Where the nodes cannot
/// be read, prints what the servers said, and why the nodes were not compared.
pub(super) async fn run(
    settings: &ResolvedOptions,
    options: &MembersOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let survey = settings.survey_options()?;
    let mut asking = tokio::spawn(async move { survey_once(&survey, false).await });
    let mut live = LiveTable::start(settings)?;
    let (view, read) = {
        let mut reading = pin!(live.read_once());
        tokio::select! {
            read = &mut reading => (asking.await??, read),
            view = &mut asking => {
                let view = view??;
                let patience = if view.is_served() { Duration::MAX } else { MAX_WAIT_FOR_ELECTION };
                let read = timeout(patience, reading).await;
                (view, read.unwrap_or_else(|_| Err(anyhow!("no server serves clients"))))
            }
        }
    };
    let (table, ..) = live.stop().await;
    let facts = MembersFacts::new(&view);
    let facts = match read {
        Ok(_) => {
            let nodes = ComparedNodes::of(&table, &view, &settings.roots);
            facts.with_comparison(&compare_members(&settings.connect_options()?, &nodes, options.pace).await?)
        }
        Err(error) if view.members.iter().any(MemberView::answers) => facts.without_comparison(&format!("{error:#}")),
        Err(error) => return Err(error),
    };
    let answer = if facts.agree() { ExitAnswer::Yes } else { ExitAnswer::No };
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &facts),
        Format::Table => facts.write_table(out),
    })?;
    Ok(answer)
}
