//! Shows the plan to people.

use std::io::{self, Write};
use std::time::Duration;

use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{ZnodePath, escaped};
use lockscope_live::admin::empties::{Empties, EmptiesReport, Group};
use lockscope_live::admin::{Action, DeletePlan};
use lockscope_model::queue::ContenderState;
use lockscope_model::text::human;

/// Writes the plan, one fact per line.
pub(super) fn plan(out: &mut impl Write, plan: &DeletePlan) -> io::Result<()> {
    production(out, plan)?;
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

/// Writes the plan to delete empty lock parents: how many are deleted, how many are left and why,
/// and the first few of each.
pub(super) fn empties(
    out: &mut impl Write,
    empties: &Empties,
    below: &ZnodePath,
    older_than: Duration,
) -> io::Result<()> {
    production(out, &empties.plan)?;
    let age = human::duration(older_than);
    let (chosen, below) = (empties.chosen(), escaped(below.as_str()));
    writeln!(out, "Delete: {} empty below {below}, whose last child went {age} ago or earlier", parents(chosen.count))?;
    first(out, &chosen)?;
    if let Some(node) = empties.plan.nodes().first() {
        writeln!(out, "  then      {}", node.then)?;
        for risk in &node.risks {
            writeln!(out, "  careful   {risk}")?;
        }
        if let Some(guard) = node.guard {
            writeln!(out, "  guard     {}", guard.sentence())?;
        }
    }
    for (why, group) in &empties.left {
        writeln!(out, "Left: {}: {}", human::count(group.count), why.reason())?;
        first(out, group)?;
    }
    Ok(())
}

/// Writes the result for empty lock parents.
pub(super) fn emptied(out: &mut impl Write, report: &EmptiesReport) -> io::Result<()> {
    for (group, says) in report.left.values() {
        writeln!(out, "Left: {}: each {says}", human::count(group.count))?;
        first(out, group)?;
    }
    for (name, group) in
        [("Not known", &report.not_known), ("Overwritten", &report.overwritten), ("Raised", &report.raised)]
    {
        if group.count > 0 {
            writeln!(out, "{name}: {}", human::count(group.count))?;
            first(out, group)?;
        }
    }
    // Failures are reported on standard error.
    if report.failed { Ok(()) } else { writeln!(out, "{}", escaped(&report.sentence())) }
}

fn first(out: &mut impl Write, group: &Group) -> io::Result<()> {
    for path in &group.first {
        writeln!(out, "  {}", escaped(path.as_str()))?;
    }
    if group.count > group.first.len() { writeln!(out, "  ...") } else { Ok(()) }
}

fn parents(count: usize) -> String {
    if count == 1 {
        "1 lock parent that is".to_owned()
    } else {
        format!("{} lock parents that are", human::count(count))
    }
}

fn production(out: &mut impl Write, plan: &DeletePlan) -> io::Result<()> {
    match plan.production() {
        Some(name) => writeln!(out, "PRODUCTION: people depend on this ensemble, which the context {name} names."),
        None => Ok(()),
    }
}
