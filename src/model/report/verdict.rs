//! A verdict as JSON.

use std::time::Duration;

use serde::Serialize;

use super::contender::millis;
use crate::diagnose::{Code, Diagnosis, LastLook, OpenCheck, Severity};
use crate::verdict::{LookedAt, Needs, NotKnown, Unsought, Verdict};

/// What is known of the locks, and what is not.
#[derive(Serialize)]
pub(super) struct VerdictFacts<'a> {
    verdict: &'static str,
    /// What is wrong with the servers.
    trouble_because: Option<String>,
    /// Why it is not known whether the locks are well.
    unknown_because: Option<String>,
    /// How long the looks lasted, and how many there were.
    looked_ms: Option<u64>,
    looks: Option<u64>,
    unchecked: Vec<Unchecked<'a>>,
}

/// A check that is not decided: of one lock, or of all.
#[derive(Serialize)]
struct Unchecked<'a> {
    /// The lock; `null` for a kind that could be found at no lock.
    lock: Option<&'a str>,
    name: Option<&'a str>,
    check: Code,
    why: &'static str,
    known_in_ms: Option<u64>,
}

impl<'a> VerdictFacts<'a> {
    /// Lists the open checks whose findings would count, then the kinds that could not be found.
    pub(super) fn new(verdict: &Verdict, diagnosis: &'a Diagnosis, fail_on: Severity) -> Self {
        let looked = verdict.looked_at();
        let open = diagnosis.last_look().map_or(&[][..], LastLook::open).iter();
        let open = open.filter(|open| open.severity >= fail_on).map(Unchecked::of_lock);
        let kinds = looked.map_or(&[][..], LookedAt::unsought).iter();
        let lasted = looked.map(LookedAt::lasted).unwrap_or_default();
        Self {
            verdict: verdict.kind().id(),
            trouble_because: verdict.servers().map(ToString::to_string),
            unknown_because: verdict.not_known().map(NotKnown::sentence),
            looked_ms: looked.map(LookedAt::lasted).map(millis),
            looks: looked.map(LookedAt::rounds),
            unchecked: open.chain(kinds.map(|kind| Unchecked::of_kind(*kind, lasted))).collect(),
        }
    }
}

impl<'a> Unchecked<'a> {
    fn of_lock(open: &'a OpenCheck) -> Self {
        let (lock, name) = (Some(open.lock.path.as_str()), open.lock.name.as_deref());
        Self { lock, name, check: open.check, why: open.why.id(), known_in_ms: open.known_in.map(millis) }
    }

    fn of_kind(Unsought { code, needs }: Unsought, lasted: Duration) -> Self {
        let known_in_ms = match needs {
            Needs::Longer(needed) => Some(millis(needed.saturating_sub(lasted))),
            Needs::Servers | Needs::Past => None,
        };
        Self { lock: None, name: None, check: code, why: needs.id(), known_in_ms }
    }
}
