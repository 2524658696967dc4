//! Which software a server runs, as far as its answers tell.

use super::{MemberView, ServerView};

/// The beginning of a version of `ClickHouse` Keeper.
pub(super) const KEEPER: &str = "ClickHouse Keeper";

/// The software of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Software {
    /// Apache `ZooKeeper`.
    ZooKeeper,
    /// `ClickHouse` Keeper.
    Keeper,
    /// The server did not answer.
    Unknown,
}

impl Software {
    /// Returns the software that reports this version.
    pub fn of_version(version: Option<&str>) -> Self {
        match version {
            Some(version) if version.starts_with(KEEPER) => Self::Keeper,
            Some(_) => Self::ZooKeeper,
            None => Self::Unknown,
        }
    }

    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::ZooKeeper => "zookeeper",
            Self::Keeper => "clickhouse-keeper",
            Self::Unknown => "unknown",
        }
    }
}

impl MemberView {
    /// Returns which software the server runs.
    pub fn software(&self) -> Software {
        Software::of_version(self.version.as_deref())
    }

    /// Returns the version without what describes the build: `3.8.0`, `ClickHouse Keeper 25.12`.
    pub fn short_version(&self) -> Option<String> {
        let version = self.version.as_deref()?;
        let Some(keepers) = version.strip_prefix(KEEPER) else {
            return Some(version.split('-').next().unwrap_or(version).to_owned());
        };
        let numbers: Vec<&str> = keepers.trim_start().trim_start_matches('v').split(['.', '-']).take(2).collect();
        Some(format!("{KEEPER} {}", numbers.join(".")))
    }
}

impl ServerView {
    /// Returns whether a server says that it is `ClickHouse` Keeper.
    pub fn runs_keeper(&self) -> bool {
        self.members.iter().any(|member| member.software() == Software::Keeper)
    }

    /// Returns `ClickHouse Keeper 25.12` if a server says that it is one.
    pub fn keeper_version(&self) -> Option<String> {
        self.members.iter().find(|member| member.software() == Software::Keeper)?.short_version()
    }
}

#[cfg(test)]
mod tests {
    use super::super::four_letter;
    use super::*;

    #[test]
    fn keeper_is_recognized_by_its_version_which_is_shortened() {
        let version = four_letter::srvr("ClickHouse Keeper version: v25.12.1.1-testing-abc\nMode: leader\n").version;
        let member = MemberView { version, ..MemberView::unasked("ch1:9181".to_owned()) };
        let view = ServerView { members: vec![MemberView::default(), member], ..ServerView::default() };
        assert_eq!((view.runs_keeper(), view.keeper_version().as_deref()), (true, Some("ClickHouse Keeper 25.12")));
        assert!(!ServerView::default().runs_keeper());
        let zookeeper = MemberView { version: Some("3.8.0-x".to_owned()), ..MemberView::default() };
        assert_eq!(zookeeper.software().id(), "zookeeper");
        assert_eq!(MemberView::default().software(), Software::Unknown);
    }
}
