//! Patterns of paths, for settings that concern several locks.

use crate::znode::{BadPath, ZnodePath};

/// A path in which `*` stands for any part of one name: `/druid/*/leader`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct PathPattern(String);

impl PathPattern {
    /// Creates a pattern.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is no path even with its stars.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        ZnodePath::new(text).map(|path| Self(path.as_str().to_owned()))
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the pattern matches a path. The cost is at most the product of both lengths.
    pub fn matches(&self, path: &ZnodePath) -> bool {
        let (mut patterns, mut names) = (self.0.split('/'), path.as_str().split('/'));
        loop {
            match (patterns.next(), names.next()) {
                (None, None) => return true,
                (Some(pattern), Some(name)) if name_matches(pattern, name) => {}
                _ => return false,
            }
        }
    }
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_of_one_name() {
        let matches =
            |pattern: &str, path: &str| PathPattern::new(pattern).unwrap().matches(&ZnodePath::new(path).unwrap());
        for (pattern, path) in [
            ("/a/b", "/a/b"),
            ("/a/*", "/a/b"),
            ("/*/leader", "/druid/leader"),
            ("/a-*-c", "/a-b-b-c"),
            ("/*b*b*", "/abxb"),
            ("/", "/"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("/a/*", "/a/b/c"), ("/a/*", "/a"), ("/a*c", "/ab"), ("/a*a", "/a"), ("/*b*b", "/ab")] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(PathPattern::new("a/*").is_err() && PathPattern::new("/a//b").is_err());
    }
}
