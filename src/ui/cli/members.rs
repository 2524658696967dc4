//! `lockscope members`: compares the members of the ensemble.

use std::io::Write;

use clap::Args;

use super::exit_answer::ExitAnswer;
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{print, write_json};
use super::resolved::ResolvedOptions;
use lockscope_live::zk::compare_members;
use lockscope_live::zk::survey::survey_once;
use lockscope_model::members::ComparedNodes;
use lockscope_model::report::MembersFacts;

/// The options of `lockscope members`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct MembersOptions {
    /// How many requests a second each member gets for the comparison
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pace: u32,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Asks all members, compares what each has, prints it and ends the sessions.
pub(super) async fn run(
    settings: &ResolvedOptions,
    options: &MembersOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let survey = settings.survey_options()?;
    let asking = tokio::spawn(async move { survey_once(&survey, false).await });
    let mut live = LiveTable::start(settings)?;
    let read = live.read_once().await;
    let (table, ..) = live.stop().await;
    read?;
    let view = asking.await??;
    let nodes = ComparedNodes::of(&table, &view, &settings.roots);
    let comparison = compare_members(&settings.connect_options()?, &nodes, options.pace).await?;
    let facts = MembersFacts::new(&view).with_comparison(&comparison);
    let answer = if facts.agree() { ExitAnswer::Yes } else { ExitAnswer::No };
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &facts),
        Format::Table => facts.write_table(out),
    })?;
    Ok(answer)
}
