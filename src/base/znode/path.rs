//! Absolute paths of znodes.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that is not a znode path, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a znode path: {1}")]
pub struct BadPath(String, &'static str);

/// An absolute znode path below the chroot: `/`, or `/a/b` without a slash at its end. Cheap to
/// clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ZnodePath(Arc<str>);

impl ZnodePath {
    /// Returns the path `/`: the root of the ensemble, or the chroot of the session.
    #[must_use]
    pub fn root() -> Self {
        Self("/".into())
    }

    /// Parses a path. Names may contain any character but the slash and the null character. The
    /// server has checked names that it holds.
    ///
    /// # Errors
    ///
    /// [`BadPath`] when the text does not start with a slash, ends with one (but for `/`), or has
    /// an empty name, `.`, `..` or a null character in it.
    pub fn new(path: &str) -> Result<Self, BadPath> {
        let bad = |why| Err(BadPath(path.to_owned(), why));
        if path == "/" {
            return Ok(Self::root());
        }
        let Some(rest) = path.strip_prefix('/') else { return bad("it does not start with a slash") };
        if rest.ends_with('/') {
            return bad("it ends with a slash");
        }
        for name in rest.split('/') {
            match name {
                "" => return bad("a name in it is empty"),
                "." | ".." => return bad("it is relative"),
                _ if name.contains('\0') => return bad("it contains a null character"),
                _ => {}
            }
        }
        Ok(Self(path.into()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is `/`.
    pub fn is_root(&self) -> bool {
        &*self.0 == "/"
    }

    /// Returns the last name; empty for `/`.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the parent; `None` for `/`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.parent_str().map(|parent| Self(parent.into()))
    }

    /// Returns the parent as text, without an allocation; `None` for `/`.
    pub fn parent_str(&self) -> Option<&str> {
        match self.0.rfind('/') {
            _ if self.is_root() => None,
            Some(0) | None => Some("/"),
            Some(at) => Some(&self.0[..at]),
        }
    }

    /// Returns the child with that name. The name is not checked: it comes from a listing.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let above = if self.is_root() { "" } else { &self.0 };
        Self([above, "/", name].concat().into())
    }

    /// Returns whether this is `ancestor` or is below it.
    pub fn is_within(&self, ancestor: &ZnodePath) -> bool {
        ancestor.is_root()
            || self.0.strip_prefix(&*ancestor.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns whether the servers keep the node for themselves: the configuration and the quotas.
    /// Applications may keep anything else below `/zookeeper`.
    pub fn is_servers_own(&self) -> bool {
        let name = self.0.strip_prefix("/zookeeper/").and_then(|rest| rest.split('/').next());
        matches!(name, Some("config" | "quota"))
    }
}

impl fmt::Display for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Borrow<str> for ZnodePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ZnodePath {
    type Err = BadPath;

    fn from_str(path: &str) -> Result<Self, BadPath> {
        Self::new(path)
    }
}

impl TryFrom<String> for ZnodePath {
    type Error = BadPath;

    fn try_from(path: String) -> Result<Self, BadPath> {
        Self::new(&path)
    }
}

impl From<ZnodePath> for String {
    fn from(path: ZnodePath) -> Self {
        path.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text).expect("a valid path")
    }

    #[test]
    fn paths_that_zookeeper_would_refuse_are_refused_with_a_reason() {
        for text in ["", "a", "/a/", "//", "/a//b", "/a/./b", "/..", "/a\0"] {
            assert!(ZnodePath::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn parents_and_children_of_the_root_have_one_slash() {
        assert_eq!(path("/a").parent(), Some(ZnodePath::root()));
        assert_eq!(ZnodePath::root().parent(), None);
        assert_eq!(ZnodePath::root().child("a"), path("/a"));
        assert_eq!(path("/a/b").parent_str(), Some("/a"));
        assert_eq!(path("/a/b").name(), "b");
        assert_eq!(ZnodePath::root().name(), "");
    }

    #[test]
    fn a_sibling_with_a_common_prefix_is_not_within() {
        assert!(path("/a/b").is_within(&path("/a")));
        assert!(path("/a").is_within(&path("/a")));
        assert!(!path("/ab").is_within(&path("/a")));
        assert!(path("/ab").is_within(&ZnodePath::root()));
    }
}
