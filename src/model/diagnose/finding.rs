//! A finding: what is wrong with a lock, how severe it is, and what to do.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Code;
use crate::queue::{ClientIdentity, LockName};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, and possibly intended.
    Info,
    /// A person should look.
    Warning,
    /// The lock will not be granted again unless somebody acts.
    Critical,
}

impl Severity {
    /// Returns the name in JSON and on the command line.
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

/// A reason why a lock is or may be stuck: the evidence and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of the finding.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The lock.
    pub lock: LockName,
    /// The lock's node, where the finding is about one.
    pub node: Option<Arc<str>>,
    /// The client of that node, as of the last look. For a `deadlock`, the client that holds the
    /// lock.
    pub client: Option<Arc<ClientIdentity>>,
    /// The evidence in one sentence. Names from the tree are
    /// [escaped](lockscope_base::znode::escaped).
    pub summary: String,
    /// A safe action, in one sentence.
    pub remedy: Cow<'static, str>,
}

impl Finding {
    /// Returns whether the finding tells that a lock stands still, or may do so. All such findings of a lock
    /// share one headline, whatever the cause.
    pub fn is_standstill(&self) -> bool {
        matches!(self.code, Code::Stuck | Code::StuckLease | Code::IdleHolder | Code::MayBeStuck)
    }

    /// Returns the headline, such as `stuck 13m42s, 2 wait`, and the details behind it, if any,
    /// which name the holders.
    pub fn headline(&self) -> (Cow<'_, str>, Option<&str>) {
        match self.summary.split_once(": ").filter(|(headline, _)| self.is_headline(headline)) {
            Some((headline, details)) => (headline.into(), Some(details)),
            None => (format!("{}: {}", self.code, self.summary).into(), None),
        }
    }

    /// Returns the whole finding in one sentence.
    pub fn sentence(&self) -> Cow<'_, str> {
        if self.is_headline(&self.summary) { (&*self.summary).into() } else { self.headline().0 }
    }

    /// Returns whether the text is a headline. Older versions recorded such findings without one.
    fn is_headline(&self, text: &str) -> bool {
        self.is_standstill() && (text.starts_with("stuck ") || text.starts_with("may be stuck, "))
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
    fn a_headline_is_complete_by_itself() {
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
        let doubt = of(Code::MayBeStuck, "may be stuck, 1 waits: a holds");
        assert_eq!(doubt.headline(), ("may be stuck, 1 waits".into(), Some("a holds")));
        for other in [of(Code::Ghost, "stuck: it is gone"), of(Code::Stuck, "a has held for 2m00s, and 1 waits")] {
            let whole = format!("{}: {}", other.code, other.summary);
            assert_eq!((other.headline(), other.sentence()), ((whole.as_str().into(), None), whole.as_str().into()));
        }
    }
}
