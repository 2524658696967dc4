//! A finding: what is wrong with a lock, how bad it is, and what may be done.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Code;
use crate::queue::{ClientIdentity, LockName};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; it may well be meant so.
    Info,
    /// Somebody should look.
    Warning,
    /// A lock will not be granted again before somebody does something.
    Critical,
}

impl Severity {
    /// The name in JSON and on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Why a lock is stuck, or may be: what was seen, and what may be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// With which lock.
    pub lock: LockName,
    /// With which of its nodes, where it is about one.
    pub node: Option<Arc<str>>,
    /// Who made that node, as far as that was known at the last look; of a `deadlock`, who holds it.
    pub client: Option<Arc<ClientIdentity>>,
    /// The evidence in one sentence. Names that come from the tree are escaped in it ([`escaped`](lockscope_base::znode::escaped)).
    pub summary: String,
    /// What is safe to do, in one sentence.
    pub remedy: Cow<'static, str>,
}

impl Finding {
    /// Whether it says that a lock stands still. Such findings of one lock have one headline,
    /// whatever is known of the cause.
    pub fn is_standstill(&self) -> bool {
        matches!(self.code, Code::Stuck | Code::StuckLease | Code::IdleHolder)
    }

    /// What it is, and the details of that, where there are any: `stuck 13m42s, 2 wait`, and who
    /// holds.
    pub fn headline(&self) -> (Cow<'_, str>, Option<&str>) {
        match self.summary.split_once(": ").filter(|(headline, _)| self.is_headline(headline)) {
            Some((headline, details)) => (headline.into(), Some(details)),
            None => (format!("{}: {}", self.code, self.summary).into(), None),
        }
    }

    /// All of it in one sentence.
    pub fn sentence(&self) -> Cow<'_, str> {
        if self.is_headline(&self.summary) { (&*self.summary).into() } else { self.headline().0 }
    }

    /// Older versions recorded findings of these kinds without one.
    fn is_headline(&self, text: &str) -> bool {
        self.is_standstill() && text.starts_with("stuck ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::LockId;
    use lockscope_base::znode::ZnodePath;

    #[test]
    fn names_in_json_are_those_of_the_severities() {
        for severity in [Severity::Info, Severity::Warning, Severity::Critical] {
            assert_eq!(serde_json::to_value(severity).expect("a name"), severity.id());
        }
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Critical);
    }

    #[test]
    fn a_headline_says_by_itself_what_is_wrong() {
        let of = |code, summary: &str| Finding {
            code,
            severity: Severity::Warning,
            lock: LockName { id: LockId(1), path: ZnodePath::root(), name: None },
            node: None,
            client: None,
            summary: summary.to_owned(),
            remedy: "wait".into(),
        };
        let stuck = of(Code::IdleHolder, "stuck 2m00s, 1 waits: a holds: it only sends heartbeats");
        assert_eq!(stuck.headline(), ("stuck 2m00s, 1 waits".into(), Some("a holds: it only sends heartbeats")));
        assert_eq!(stuck.sentence(), stuck.summary);
        for other in [of(Code::Ghost, "stuck: it is gone"), of(Code::Stuck, "a has held for 2m00s, and 1 waits")] {
            let whole = format!("{}: {}", other.code, other.summary);
            assert_eq!((other.headline(), other.sentence()), ((whole.as_str().into(), None), whole.as_str().into()));
        }
    }
}
