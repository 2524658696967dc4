//! Shows the plan to people.

use std::io::{self, Write};

use lockscope_base::recipe::Recipe;
use lockscope_base::znode::escaped;
use lockscope_live::admin::{Action, DeletePlan};
use lockscope_model::queue::ContenderState;

/// Writes the plan, one fact per line.
pub(super) fn plan(out: &mut impl Write, plan: &DeletePlan) -> io::Result<()> {
    if let Some(context) = plan.production() {
        writeln!(out, "PRODUCTION: people depend on this ensemble, which the context {context} names.")?;
    }
    for node in plan.nodes() {
        let verb = match plan.action() {
            Action::Delete => "Delete",
            Action::Revoke => "Ask the owner to release",
        };
        writeln!(out, "{verb}: {}", escaped(node.path.as_str()))?;
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<9} {}", escaped(text));
        let recipe = node.recipe.map_or("no known recipe", Recipe::title);
        let name = node.lock_name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        line("lock", &format!("{}{name}   {recipe}", node.lock))?;
        if let Some(sequence) = node.sequence {
            line("number", &sequence.0.to_string())?;
        }
        line("state", node.state.map_or("nobody contends", ContenderState::id))?;
        let session = node.session.map_or_else(|| "none".to_owned(), |session| session.to_string());
        let client = node.client.as_ref().map_or_else(String::new, |client| format!("   {client}"));
        line("session", &format!("{session}{client}"))?;
        line("czxid", &format!("{}   version {}", node.czxid, node.version))?;
        line("owner", node.liveness.id())?;
        line("evidence", &node.evidence)?;
        line("then", &node.then)?;
        for risk in &node.risks {
            line("careful", risk)?;
        }
        if let (Action::Delete, Some(guard)) = (plan.action(), node.guard) {
            line("guard", &guard.sentence())?;
        }
        if let Some(lacks) = node.lacks {
            line("missing", lacks)?;
        }
    }
    if plan.revocation().is_some() {
        writeln!(out, "  Its owner can be asked to release first, with --revoke.")?;
    }
    Ok(())
}
