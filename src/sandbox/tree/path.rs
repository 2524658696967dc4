//! Validation of paths, and their parents and names.

use lockscope_base::wire::ErrorCode;

/// Returns the parent's path as a server computes it: the text before the last slash. It is empty
/// for the root's children and for the root itself.
pub fn parent(path: &str) -> Result<&str, ErrorCode> {
    match path.rfind('/') {
        Some(at) if !path.contains('\0') => Ok(&path[..at]),
        _ => Err(ErrorCode::BadArguments),
    }
}

/// Returns the key of a parent in the tree: `/` in place of an empty path.
pub fn known(parent: &str) -> &str {
    if parent.is_empty() { "/" } else { parent }
}

/// Returns the last name of a path.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Checks that a node may have this path.
pub fn validate(path: &str) -> Result<(), ErrorCode> {
    let Some(rest) = path.strip_prefix('/') else { return Err(ErrorCode::BadArguments) };
    if rest.is_empty() {
        return Ok(());
    }
    let good = rest.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains(is_refused);
    if good { Ok(()) } else { Err(ErrorCode::BadArguments) }
}

/// Returns whether a character is a control character, private, special, or outside of the basic
/// plane, where Java needs two surrogates.
fn is_refused(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_paths_are_refused() {
        for path in [
            "",
            "a",
            "/a/",
            "//",
            "/a//b",
            "/.",
            "/a/../b",
            "/a\u{1}",
            "/\u{85}",
            "/\u{e000}",
            "/\u{fffd}",
            "/\u{1f600}",
        ] {
            assert_eq!(validate(path), Err(ErrorCode::BadArguments), "{path:?}");
        }
        for path in ["/", "/a", "/a/b.c/..d", "/é", "/\u{d7ff}", "/\u{f900}", "/ ", "/a:b"] {
            assert_eq!(validate(path), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn a_parent_is_the_text_before_the_last_slash() {
        assert_eq!(parent("/a"), Ok(""));
        assert_eq!(parent("/a/b/"), Ok("/a/b"));
        assert_eq!(parent("a"), Err(ErrorCode::BadArguments));
        assert_eq!(parent("/a\0"), Err(ErrorCode::BadArguments));
        assert_eq!((known(""), known("/a"), name("/a/b")), ("/", "/a", "b"));
    }
}
