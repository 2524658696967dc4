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
    /// The evidence in one sentence. Names that come from the tree are escaped in it ([`escaped`](crate::znode::escaped)).
    pub summary: String,
    /// What is safe to do, in one sentence.
    pub remedy: Cow<'static, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_are_those_of_the_severities() {
        for severity in [Severity::Info, Severity::Warning, Severity::Critical] {
            assert_eq!(serde_json::to_value(severity).expect("a name"), severity.id());
        }
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Critical);
    }
}
