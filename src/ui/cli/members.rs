//! `lockscope members`: compares the members of the ensemble.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use clap::Args;
use tokio::time::sleep;

use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{print, write_json};
use super::resolved::ResolvedOptions;
use super::verdict::Verdict;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::MemberSessions;
use lockscope_live::zk::survey::survey_once;
use lockscope_model::members::{Difference, MemberReading, differences, lasting, suspects};
use lockscope_model::queue::LockTable;
use lockscope_model::report::{Compared, MembersFacts};

/// The options of `lockscope members`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct MembersOptions {
    /// How many requests a second each member gets for the comparison
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pace: u32,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Maximum number of nodes whose children are compared.
const MAX_PARENTS: usize = 2_000;

/// Maximum number of single-node locks that are compared.
const MAX_SINGLE_NODES: usize = 1_000;

/// How long to wait until a difference is read again. Members apply a transaction within
/// milliseconds.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The nodes to compare.
struct Chosen {
    parents: BTreeSet<ZnodePath>,
    singles: BTreeSet<ZnodePath>,
    left_out: usize,
}

impl Chosen {
    /// Chooses the parents of the locks, the nodes above them, and the roots: a lock whose parent
    /// one member lacks shows above it.
    fn of(table: &LockTable, roots: &[ZnodePath]) -> Self {
        let mut parents: BTreeSet<ZnodePath> = roots.iter().cloned().collect();
        let (mut singles, mut left_out) = (BTreeSet::new(), 0);
        for lock in table.locks() {
            if lock.kind() == LockKind::SingleNode {
                if singles.len() < MAX_SINGLE_NODES {
                    singles.insert(lock.path().clone());
                } else {
                    left_out += 1;
                }
                continue;
            }
            for parent in lock.parents() {
                if parents.len() >= MAX_PARENTS && !parents.contains(&parent) {
                    left_out += 1;
                    continue;
                }
                let above = parent.parent().filter(|above| roots.iter().any(|root| above.is_within(root)));
                parents.extend(above);
                parents.insert(parent);
            }
        }
        Self { parents, singles, left_out }
    }
}

/// Asks all members, compares what each has, prints it and ends the sessions.
pub(super) async fn run(
    settings: &ResolvedOptions,
    options: &MembersOptions,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let survey = settings.survey_options()?;
    let asking = tokio::spawn(async move { survey_once(&survey, false).await });
    let mut live = LiveTable::start(settings)?;
    let read = live.read_once().await;
    let (table, ..) = live.stop().await;
    read?;
    let mut facts = MembersFacts::new(&asking.await??);
    let chosen = Chosen::of(&table, &settings.roots);
    let mut sessions = MemberSessions::connect(&settings.connect_options()?, options.pace).await?;
    facts.differences = compare(&mut sessions, &chosen, &mut facts).await;
    sessions.close().await;
    facts.compared = Compared { parents: chosen.parents.len(), left_out: chosen.left_out };
    let verdict = if facts.agree() { Verdict::Yes } else { Verdict::No };
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &facts),
        Format::Table => facts.write_table(out),
    })?;
    Ok(verdict)
}

/// Returns the differences that three readings show, and notes which members were read.
async fn compare(sessions: &mut MemberSessions, chosen: &Chosen, facts: &mut MembersFacts) -> Vec<Difference> {
    let first = sessions.children(&chosen.parents).await;
    note_readings(facts, &first);
    let mut suspected = suspects(&first);
    suspected.extend(chosen.singles.iter().cloned());
    let mut found: Option<Vec<Difference>> = None;
    while !suspected.is_empty() {
        sleep(READ_AGAIN_AFTER).await;
        let mut nodes = sessions.nodes(&suspected).await;
        note_readings(facts, &nodes);
        put_leader_first(facts, &mut nodes);
        let now = lasting(&suspected, differences(&nodes));
        match found {
            None => {
                suspected = now.iter().map(|difference| difference.path.clone()).collect();
                found = Some(now);
            }
            Some(before) => return now.into_iter().filter(|difference| before.contains(difference)).collect(),
        }
    }
    found.unwrap_or_default()
}

fn put_leader_first<T>(facts: &MembersFacts, readings: &mut [MemberReading<T>]) {
    let leader = facts.leader().map(|leader| facts.members[leader].address.clone());
    readings.sort_by_key(|reading| Some(&reading.member) != leader.as_ref());
}

/// Notes for each member whether it was read, and the first reason why it was not.
fn note_readings<T>(facts: &mut MembersFacts, readings: &[MemberReading<T>]) {
    for reading in readings {
        let Some(member) = facts.members.iter_mut().find(|member| member.address == reading.member) else { continue };
        match &reading.seen {
            Ok(_) => member.synced = Some(member.synced.unwrap_or(true)),
            Err(why) => {
                member.synced = Some(false);
                member.error.get_or_insert_with(|| format!("its nodes were not read: {why}"));
            }
        }
    }
}
