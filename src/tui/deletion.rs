//! What stands in the box before something is deleted. Pure.

use std::collections::BTreeMap;

use super::app::{App, Deletion};
use crate::admin::{Action, Confirmation, DeletePlan, PlannedNode, RecreationGuard, TargetKind};
use crate::queue::ContenderState;
use crate::text::{Charset, Keep, fit, wrap_words};

/// Columns of the labels.
pub const LABEL: usize = 10;
/// Lines of the list that stay in sight above the box.
const IN_SIGHT: u16 = 6;
/// Lines of the plan that show at the least.
const LEAST: u16 = 4;

/// How a line is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What it is about.
    Strong,
    /// A fact.
    Plain,
    /// Something to be careful about; it has a sign.
    Careful,
    /// Why it cannot be done; it has a sign.
    Bad,
    /// What to do now.
    Ask,
}

/// One line, harmless to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its label, empty where the line before goes on; `None` for a sentence over the whole width.
    pub label: Option<&'static str>,
    /// What it says.
    pub text: String,
    /// How it is to be read.
    pub tone: Tone,
    /// Whether it is the first of what it says, so that a sign stands before it.
    pub first: bool,
}

/// The box: what would be done, and below it, always in sight, what can be answered.
#[derive(Clone, Debug)]
pub struct Page {
    /// The title.
    pub title: String,
    /// What would be done.
    pub plan: Vec<Line>,
    /// What can be answered, or why nothing can.
    pub asks: Vec<Line>,
    /// Lines of the box, with its border.
    pub height: u16,
}

impl Page {
    /// The box over the plan that is open; `None` when none is, or when there is no room for anything.
    pub fn of(app: &App) -> Option<Self> {
        let (deletion, layout) = (app.deletion()?, app.layout()?);
        let plan = deletion.plan();
        let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
        let mut text = Text { lines: Vec::new(), room: usize::from(layout.main.width).saturating_sub(7), charset };
        match plan.nodes() {
            [only] => text.one(only, plan.action()),
            several => text.several(several, plan.action()),
        }
        let plan_lines = std::mem::take(&mut text.lines);
        text.asks(deletion, &plan);
        let body = layout.footer.y.saturating_sub(layout.tabs.y + layout.tabs.height);
        let asks = u16::try_from(text.lines.len()).unwrap_or(u16::MAX);
        let wanted = u16::try_from(plan_lines.len()).unwrap_or(u16::MAX).saturating_add(asks).saturating_add(2);
        let most = body.saturating_sub(IN_SIGHT).max(asks.saturating_add(2 + LEAST)).min(body);
        // The box below a list is covered as a whole: its upper border alone would look broken.
        let height = wanted.min(most).max(layout.side.height);
        Some(Self { title: title(&plan, charset), plan: plan_lines, asks: text.lines, height })
    }

    /// How many lines of the plan show.
    pub fn shown(&self) -> usize {
        usize::from(self.height).saturating_sub(2 + self.asks.len())
    }

    /// The furthest that the plan can be scrolled.
    pub fn scroll_end(&self) -> usize {
        self.plan.len().saturating_sub(self.shown())
    }
}

fn title(plan: &DeletePlan, charset: Charset) -> String {
    let name = match plan.nodes() {
        [only] => match only.sequence {
            Some(sequence) => sequence.0.to_string(),
            None => fit(only.path.as_str(), 40, Keep::End, charset),
        },
        several => format!("{} nodes", several.len()),
    };
    match (plan.action(), plan.nodes()) {
        (Action::Revoke, [_]) => format!("Ask the owner of {name} to release?"),
        (Action::Revoke, _) => format!("Ask the owners of {name} to release?"),
        (Action::Delete, [only]) if only.kind == TargetKind::EmptyParent => format!("Delete the empty {name}?"),
        (Action::Delete, _) => format!("Delete {name}?"),
    }
}

struct Text {
    lines: Vec<Line>,
    room: usize,
    charset: Charset,
}

impl Text {
    fn say(&mut self, label: &'static str, text: &str, tone: Tone) {
        for (at, text) in wrap_words(text, self.room.saturating_sub(LABEL), self.charset).into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.lines.push(Line { label: Some(label), text, tone, first: at == 0 });
        }
    }

    /// A sentence that is not about one thing of the node.
    fn tell(&mut self, text: &str, tone: Tone) {
        let wrapped = wrap_words(text, self.room, self.charset).into_iter().enumerate();
        self.lines.extend(wrapped.map(|(at, text)| Line { label: None, text, tone, first: at == 0 }));
    }

    /// The whole path where it fits: of a node with a long name both ends tell most.
    fn path(&mut self, node: &PlannedNode) {
        let text = fit(node.path.as_str(), self.room.saturating_sub(LABEL), Keep::Ends, self.charset);
        self.lines.push(Line { label: Some("node"), text, tone: Tone::Strong, first: true });
    }

    fn one(&mut self, node: &PlannedNode, action: Action) {
        self.path(node);
        self.say("", &format!("czxid {}, version {}; {}", node.czxid, node.version, state(node)), Tone::Plain);
        self.life(node);
        self.say("careful", &node.risks.join("; "), Tone::Careful);
        self.say("then", &node.then, Tone::Plain);
        if let Some(guard) = node.guard.filter(|_| action == Action::Delete) {
            self.guard(guard);
        }
    }

    /// How it is made sure of, and what others see of that.
    fn guard(&mut self, guard: RecreationGuard) {
        let tone = if guard == RecreationGuard::Unguarded { Tone::Careful } else { Tone::Plain };
        self.say("guard", &guard.sentence(), tone);
    }

    fn life(&mut self, node: &PlannedNode) {
        // The evidence names the session, and of a living one its client.
        let client = node.client.as_deref().filter(|client| !node.evidence.contains(client));
        let client = client.map(|client| format!("; its client is {client}")).unwrap_or_default();
        let life = if node.kind == TargetKind::EmptyParent { "empty" } else { node.life.id() };
        self.say(life, &format!("{}{client}", node.evidence), Tone::Plain);
    }

    fn several(&mut self, nodes: &[PlannedNode], action: Action) {
        for node in nodes {
            self.path(node);
            let state = node.state.map_or("an empty lock parent", ContenderState::id);
            self.say("", &format!("czxid {}, version {}; {state}", node.czxid, node.version), Tone::Plain);
            self.life(node);
        }
        // What holds for many is said once.
        for risk in once(nodes.iter().flat_map(|node| node.risks.iter().map(String::as_str))) {
            self.say("careful", risk, Tone::Careful);
        }
        for then in once(nodes.iter().map(|node| node.then.as_str())) {
            self.say("then", then, Tone::Plain);
        }
        let guards: BTreeMap<String, RecreationGuard> =
            nodes.iter().filter_map(|node| node.guard.map(|guard| (guard.sentence(), guard))).collect();
        for guard in guards.into_values().filter(|_| action == Action::Delete) {
            self.guard(guard);
        }
    }

    fn asks(&mut self, deletion: &Deletion, plan: &DeletePlan) {
        if let Some(obstacle) = deletion.obstacle() {
            self.tell(&obstacle, Tone::Bad);
            return;
        }
        if deletion.is_finding_out() {
            self.tell("Finding out what may be done to make sure of it. Esc leaves.", Tone::Ask);
            return;
        }
        if let Some(refused) = deletion.refused() {
            self.tell(refused, Tone::Bad);
        } else if deletion.has_changed() {
            self.tell("What is known of it changed while this was open.", Tone::Careful);
        }
        let alone = plan.nodes().len() == 1;
        match (plan.action(), plan.confirmation()) {
            (Action::Revoke, _) => self.tell("y asks; nothing is deleted. r goes back to the deletion.", Tone::Ask),
            (Action::Delete, wanted) => {
                if deletion.can_turn() {
                    self.tell("r asks its owner to release, in Curator's way: gentler, try it first.", Tone::Ask);
                }
                let ask = match wanted {
                    Confirmation::Yes if alone => "y deletes it, if it is still that very node.".to_owned(),
                    Confirmation::Yes => "y deletes them, each if it is still that very node.".to_owned(),
                    Confirmation::SequenceNumber(name) if !plan.nodes().iter().any(PlannedNode::may_be_live_holder) => {
                        format!("Nothing can make sure of it: type {name} and Enter to delete it all the same.")
                    }
                    Confirmation::SequenceNumber(name) if alone => {
                        format!("Its owner may be at work: type {name} and Enter to delete that very node.")
                    }
                    Confirmation::SequenceNumber(name) => {
                        format!("The owner of {name} may be at work: type {name} and Enter to delete them all.")
                    }
                };
                self.tell(&ask, Tone::Ask);
            }
        }
    }
}

/// Of which lock it is, and what it does there.
fn state(node: &PlannedNode) -> String {
    let name = node.lock_name.as_deref().map(|name| format!(" [{name}]")).unwrap_or_default();
    let recipe = node.recipe.map_or("no known recipe", crate::recipe::Recipe::title);
    let lock = format!("{}{name}, {recipe}", node.lock);
    match (node.kind, node.state) {
        (TargetKind::EmptyParent, _) | (_, None) => format!("a lock parent, {recipe}"),
        (_, Some(ContenderState::Unknown)) => format!("it may hold {lock}"),
        (_, Some(ContenderState::Holds)) => format!("holds {lock}"),
        (_, Some(ContenderState::Waits)) => format!("waits for {lock}"),
    }
}

/// Each text once, in order.
fn once<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}
