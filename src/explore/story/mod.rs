//! A schedule as a story: one line a step, with what happened.
//!
//! A story is also a file that can be kept and run again:
//!
//! ```text
//! # What the story shows.
//! scenario: programs=mutex,mutex rounds=1 faults=2 waits=0 members=1 strangers
//! ends: client 0 deletes /lock, which is not its own (replaced-meanwhile)
//!
//! carry-out 0.0    the leader creates /lock for client 0
//! receive 0        client 0 learns that /lock was created, and holds with the token 2
//! ```
//!
//! The first words of a line are the step; the rest is for people. Lines with `#` are comments.

mod text;

use std::collections::BTreeSet;

use crate::scenario::Scenario;
use crate::search::{Replayed, replay_with};
use crate::world::{Explored, Step};

/// The width of the column of steps.
const STEP_WIDTH: usize = 16;

/// A schedule that was written down.
#[derive(Clone, Debug)]
pub struct Story {
    /// The comment lines at its head.
    pub comments: Vec<String>,
    /// What is explored.
    pub scenario: Scenario,
    /// What the run comes to: `fine`, or a sentence.
    pub ends: String,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Story {
    /// Reads a story.
    ///
    /// # Errors
    ///
    /// A sentence that names the line that cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let (mut comments, mut scenario, mut ends, mut steps) = (Vec::new(), None, "fine".to_owned(), Vec::new());
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(comment) = line.strip_prefix('#') {
                comments.push(comment.trim().to_owned());
            } else if let Some(spec) = line.strip_prefix("scenario:") {
                scenario = Some(spec.parse::<Scenario>()?);
            } else if let Some(end) = line.strip_prefix("ends:") {
                end.trim().clone_into(&mut ends);
            } else {
                steps.push(line.get(..STEP_WIDTH).unwrap_or(line).trim().parse()?);
            }
        }
        let scenario = scenario.ok_or("the story names no scenario: add a line that begins with `scenario:`")?;
        Ok(Self { comments, scenario, ends, steps })
    }

    /// Runs the steps again, and returns the story with what happens now.
    ///
    /// # Errors
    ///
    /// A sentence, when a step is not possible.
    pub fn run(&self) -> Result<(Self, String), String> {
        let mut explored = Explored::new(self.scenario.clone());
        let (story, text) = tell(&mut explored, &self.steps, &self.comments);
        if story.steps.starts_with(&self.steps) {
            Ok((story, text))
        } else {
            let at = self.steps.iter().zip(&story.steps).position(|(kept, now)| kept != now);
            let step = at.or(Some(story.steps.len())).and_then(|at| self.steps.get(at));
            Err(format!("the step `{}` is not possible any more", step.map(Step::to_string).unwrap_or_default()))
        }
    }
}

/// Runs steps, and writes the story of them.
pub fn tell(explored: &mut Explored, steps: &[Step], comments: &[String]) -> (Story, String) {
    let mut lines = Vec::new();
    let mut met = BTreeSet::new();
    let Replayed { steps, violation } = replay_with(explored, steps, |explored, step, before, after| {
        let mut text = text::of(explored, step, before, after);
        if let Some(limit) = after.judge.met.filter(|limit| met.insert(*limit)) {
            text = format!("{text}: two hold ({limit})");
        }
        lines.push(format!("{:STEP_WIDTH$} {text}", step.to_string()));
    });
    let ends = violation.map_or_else(|| "fine".to_owned(), |violation| text::short(&violation.to_string()));
    let mut head: Vec<String> = comments.iter().map(|comment| format!("# {comment}")).collect();
    head.extend([format!("scenario: {}", explored.scenario), format!("ends: {ends}"), String::new()]);
    let text = format!("{}\n{}\n", head.join("\n"), lines.join("\n"));
    (Story { comments: comments.to_vec(), scenario: explored.scenario.clone(), ends, steps }, text)
}
