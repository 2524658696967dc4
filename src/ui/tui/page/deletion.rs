//! The confirmation of a deletion: what would be done, and the possible answers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Columns, Page, PageWriter, Sign, Tone};
use lockscope_live::admin::{
    Action, Confirmation, DeletePlan, OwnerLiveness, PlannedNode, RecreationGuard, TargetKind,
};
use lockscope_model::queue::ContenderState;
use lockscope_model::text::human::{count, plural};
use lockscope_model::text::{Keep, fit};

/// A plan that awaits an answer.
#[derive(Clone, Debug)]
pub struct DeletionQuestion<'a> {
    pub plan: &'a DeletePlan,
    /// The context of the ensemble; `None` when no context is in force.
    pub context: Option<&'a str>,
    /// Why the plan cannot be confirmed now, as a sentence.
    pub obstacle: Option<String>,
    /// Whether the search for a guard against recreated nodes still runs.
    pub finding_out: bool,
    /// Why the last answer was rejected, as a sentence.
    pub refused: Option<&'a str>,
    /// Whether facts about the nodes changed while the plan was shown.
    pub changed: bool,
    pub keys: AnswerKeys,
}

/// The names of the keys that answer.
#[derive(Clone, Debug)]
pub struct AnswerKeys {
    pub yes: String,
    /// Behind what is typed.
    pub enter: String,
    pub leave: String,
    /// From deleting to asking the owner to release, and back; `None` when it cannot be asked.
    pub turn: Option<String>,
}

/// Builds the box of a plan. `new` is called twice: for the lines that scroll, and for those that
/// always show.
pub fn page(new: impl Fn() -> PageWriter, question: &DeletionQuestion<'_>) -> Page {
    let (plan, mut facts, mut below) = (question.plan, new(), new());
    // Several ensembles may have nodes of the same path.
    if let Some(context) = question.context {
        facts.fact("ensemble", context, Tone::Strong);
    }
    // The answer names the context; why it may be another ensemble is said before.
    if let Some(mark) = plan.production().filter(|mark| mark.doubt.is_some()) {
        write_careful(&mut facts, &mark.sentence());
    }
    match plan.nodes() {
        [only] => write_one(&mut facts, only, plan.action()),
        several_nodes => write_several(&mut facts, several_nodes, plan.action()),
    }
    write_answers(&mut below, question);
    let title = title(plan, &facts);
    Page { answers: below.lines(), ..Page::new(title, Columns::SIGNED_FACTS, facts.lines()) }
}

/// Returns the title. The node's path is shortened to fit, with a space on either side of the
/// title.
fn title(plan: &DeletePlan, page: &PageWriter) -> String {
    let room = Columns::SIGNED_FACTS.label + page.text_columns();
    let fit = |path: &str, words: &str| fit(path, room.saturating_sub(words.len()), Keep::Ends, page.charset());
    match (plan.action(), plan.nodes()) {
        (Action::Revoke, [only]) => {
            format!("Ask the owner of {} to release?", fit(only.path.as_str(), "Ask the owner of  to release?"))
        }
        (Action::Revoke, several) => format!("Ask the owners of {} nodes to release?", several.len()),
        (Action::Delete, [only]) if only.kind == TargetKind::EmptyParent => {
            format!("Delete the empty {}?", fit(only.path.as_str(), "Delete the empty ?"))
        }
        (Action::Delete, [only]) => format!("Delete {}?", fit(only.path.as_str(), "Delete ?")),
        (Action::Delete, several) => format!("Delete {} nodes?", several.len()),
    }
}

fn write_careful(page: &mut PageWriter, text: &str) {
    page.add(Some(Sign::Warning), Some("careful"), text, Tone::Careful);
}

fn write_ask(page: &mut PageWriter, text: &str) {
    page.add(Some(Sign::Ask), None, text, Tone::Ask);
}

/// Writes the node's path in one line. Its beginning and end are kept, since they tell most.
fn write_path(page: &mut PageWriter, node: &PlannedNode) {
    page.line("node", node.path.as_str(), Keep::Ends, Tone::Strong);
}

fn write_one(page: &mut PageWriter, node: &PlannedNode, action: Action) {
    write_path(page, node);
    page.fact("", &format!("czxid {}, version {}; {}", node.czxid, node.version, state(node)), Tone::Text);
    write_life(page, node);
    write_careful(page, &node.risks.join("; "));
    page.fact("then", &node.then, Tone::Text);
    if let Some(guard) = node.guard.filter(|_| action == Action::Delete) {
        write_guard(page, guard);
    }
}

/// Writes how the deletion is guarded, and what other clients see of the guard.
fn write_guard(page: &mut PageWriter, guard: RecreationGuard) {
    let unguarded = guard == RecreationGuard::Unguarded;
    let (sign, tone) = if unguarded { (Some(Sign::Warning), Tone::Careful) } else { (None, Tone::Text) };
    page.add(sign, Some("guard"), &guard.sentence(), tone);
}

fn write_life(page: &mut PageWriter, node: &PlannedNode) {
    // The evidence already names the session and, for a live one, the client.
    let client = node.client.as_deref().filter(|client| !node.evidence.contains(client));
    let client = client.map(|client| format!("; its client is {client}")).unwrap_or_default();
    let life = if node.kind == TargetKind::EmptyParent { "empty" } else { node.liveness.id() };
    page.fact(life, &format!("{}{client}", node.evidence), Tone::Text);
}

/// The most nodes that are described in several lines each.
const MAX_DESCRIBED: usize = 10;

/// The most different consequences and risks that are written.
const MAX_TEXTS: usize = 10;

fn write_several(page: &mut PageWriter, nodes: &[PlannedNode], action: Action) {
    page.fact("all", &summary(nodes), Tone::Strong);
    // A risk or a consequence that several nodes share is written once.
    let (risks, more_risks) = once(nodes.iter().flat_map(|node| node.risks.iter().map(String::as_str)));
    for risk in risks {
        write_careful(page, risk);
    }
    let consequences = consequences(nodes);
    let (thens, more_thens) = once(consequences.iter().map(|then| &**then));
    for then in thens {
        page.fact("then", then, Tone::Text);
    }
    if more_risks + more_thens > 0 {
        page.fact("", &format!("and {} more", plural(more_risks + more_thens, "sentence", "sentences")), Tone::Text);
    }
    let guards: BTreeMap<String, RecreationGuard> =
        nodes.iter().filter_map(|node| node.guard.map(|guard| (guard.sentence(), guard))).collect();
    for guard in guards.into_values().filter(|_| action == Action::Delete) {
        write_guard(page, guard);
    }
    for node in nodes {
        write_path(page, node);
        if nodes.len() <= MAX_DESCRIBED {
            let state = node.state.map_or("an empty lock parent", ContenderState::id);
            page.fact("", &format!("czxid {}, version {}; {state}", node.czxid, node.version), Tone::Text);
            write_life(page, node);
        }
    }
}

/// Returns what happens then. Of several locks, only those that somebody acquires are named.
fn consequences(nodes: &[PlannedNode]) -> Vec<Cow<'_, str>> {
    let is_of_several = nodes.iter().any(|node| node.lock != nodes[0].lock || node.lock_name != nodes[0].lock_name);
    let acquired = || nodes.iter().filter(|node| !node.acquires_next.is_empty());
    if !is_of_several {
        return nodes.iter().map(|node| Cow::Borrowed(&*node.then)).collect();
    }
    if acquired().next().is_none() {
        return vec![Cow::Borrowed("nobody acquires")];
    }
    acquired().map(|node| Cow::Owned(format!("{}: {}", node.lock, node.then))).collect()
}

/// Says how many nodes of how many locks there are, and how their owners are.
fn summary(nodes: &[PlannedNode]) -> String {
    let locks: BTreeSet<_> = nodes.iter().map(|node| (&node.lock, &node.lock_name)).collect();
    let mut owners: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        *owners.entry(owner(node)).or_default() += 1;
    }
    let what = format!("{} of {}", plural(nodes.len(), "node", "nodes"), plural(locks.len(), "lock", "locks"));
    let owners: Vec<String> = match owners.len() {
        1 => owners.into_keys().map(|owner| format!("all {owner}")).collect(),
        _ => owners.into_iter().map(|(owner, nodes)| format!("{} {owner}", count(nodes))).collect(),
    };
    let holding = nodes.iter().filter(|node| node.state == Some(ContenderState::Holds)).count();
    let holding = match holding {
        0 => String::new(),
        1 => "; 1 of them holds".to_owned(),
        many => format!("; {} of them hold", count(many)),
    };
    format!("{what}, {}{holding}", owners.join(", "))
}

/// Says how the owner of a node is, behind the words "3 nodes".
fn owner(node: &PlannedNode) -> &'static str {
    match node.liveness {
        _ if node.kind == TargetKind::EmptyParent => "without contenders",
        OwnerLiveness::Ownerless => "without an owner",
        OwnerLiveness::Ghost => "whose session is gone",
        OwnerLiveness::Expiring { .. } => "whose session expires",
        OwnerLiveness::Suspect => "whose session may be gone",
        OwnerLiveness::Live => "with a live owner",
        OwnerLiveness::Unknown => "whose owner is unknown",
    }
}

fn write_answers(page: &mut PageWriter, question: &DeletionQuestion<'_>) {
    let (plan, AnswerKeys { yes, enter, leave, turn }) = (question.plan, &question.keys);
    if let Some(obstacle) = &question.obstacle {
        page.add(Some(Sign::Bad), None, obstacle, Tone::Bad);
        return;
    }
    if question.finding_out {
        write_ask(page, &format!("Checking how the deletion can be guarded. {leave} leaves."));
        return;
    }
    if let Some(refused) = question.refused {
        page.add(Some(Sign::Bad), None, refused, Tone::Bad);
    } else if question.changed {
        page.add(Some(Sign::Warning), None, "The plan changed while it was open.", Tone::Careful);
    }
    let alone = plan.nodes().len() == 1;
    let back = turn.as_ref().map(|turn| format!(" {turn} goes back to the deletion.")).unwrap_or_default();
    match (plan.action(), plan.confirmation()) {
        (Action::Revoke, wanted @ Confirmation::Context { .. }) => {
            let name = wanted.typed().unwrap_or_default();
            write_ask(page, &format!("PRODUCTION: type {name} and {enter} to ask; nothing is deleted.{back}"));
        }
        (Action::Revoke, _) => write_ask(page, &format!("{yes} asks; nothing is deleted.{back}")),
        (Action::Delete, ref wanted) => {
            if let Some(turn) = turn {
                write_ask(page, &format!("{turn} asks its owner to release, in Curator's way: gentler, try it first."));
            }
            let answer = match wanted {
                Confirmation::Context { .. } => {
                    let name = wanted.typed().unwrap_or_default();
                    let may_work = plan.nodes().iter().any(PlannedNode::may_be_live_holder);
                    let owner = if may_work { "its owner may be at work, and " } else { "" };
                    let what = if alone { "that very node" } else { "them" };
                    let depend = if plan.production().is_some_and(|mark| mark.doubt.is_some()) {
                        "may depend"
                    } else {
                        "depend"
                    };
                    format!(
                        "PRODUCTION: {owner}people {depend} on this ensemble: type {name} and {enter} to delete {what}."
                    )
                }
                Confirmation::Yes if alone => format!("{yes} deletes it, if it is still that very node."),
                Confirmation::Yes => format!("{yes} deletes them, each if it is still that very node."),
                Confirmation::NodeCount(count) => format!("type {count} and {enter} to delete them all."),
                Confirmation::SequenceNumber(name) if !plan.nodes().iter().any(PlannedNode::may_be_live_holder) => {
                    format!("Nothing guards this deletion: type {name} and {enter} to delete it anyway.")
                }
                Confirmation::SequenceNumber(name) if alone => {
                    format!("Its owner may be at work: type {name} and {enter} to delete that very node.")
                }
                Confirmation::SequenceNumber(name) => {
                    format!("The owner of {name} may be at work: type {name} and {enter} to delete them all.")
                }
            };
            write_ask(page, &answer);
        }
    }
}

/// Names the node's lock and the node's role in it.
fn state(node: &PlannedNode) -> String {
    let name = node.lock_name.as_deref().map(|name| format!(" [{name}]")).unwrap_or_default();
    let recipe = node.recipe.map_or("no known recipe", lockscope_base::recipe::Recipe::title);
    let lock = format!("{}{name}, {recipe}", node.lock);
    match (node.kind, node.state) {
        (TargetKind::EmptyParent, _) | (_, None) => format!("a lock parent, {recipe}"),
        (_, Some(ContenderState::Unknown)) => format!("it may hold {lock}"),
        (_, Some(ContenderState::Holds)) => format!("holds {lock}"),
        (_, Some(ContenderState::Waits)) => format!("waits for {lock}"),
    }
}

/// Returns the first distinct texts in the original order, and how many more there are.
fn once<'a>(texts: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, usize) {
    let (mut known, mut first) = (HashSet::new(), Vec::new());
    for text in texts.filter(|text| known.insert(*text)) {
        if first.len() < MAX_TEXTS {
            first.push(text);
        }
    }
    let more = known.len() - first.len();
    (first, more)
}
