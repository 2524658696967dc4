//! Which paths a server accepts, and their parents.

use crate::wire::ErrorCode;

/// The path of a node's parent, as the server finds it: what stands before the last slash. The root's children have an
/// empty one, as the root itself has.
pub fn parent(path: &str) -> Result<&str, ErrorCode> {
    match path.rfind('/') {
        Some(at) if !path.contains('\0') => Ok(&path[..at]),
        _ => Err(ErrorCode::BadArguments),
    }
}

/// The path by which the tree knows a parent.
pub fn known(parent: &str) -> &str {
    if parent.is_empty() { "/" } else { parent }
}

/// The last name.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Whether the server lets a node bear it.
pub fn validate(path: &str) -> Result<(), ErrorCode> {
    let Some(rest) = path.strip_prefix('/') else { return Err(ErrorCode::BadArguments) };
    if rest.is_empty() {
        return Ok(());
    }
    let good = rest.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains(is_refused);
    if good { Ok(()) } else { Err(ErrorCode::BadArguments) }
}

/// Control characters, private ones, specials, and all that Java writes as two surrogates.
fn is_refused(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_server_refuses_are_refused() {
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
    fn a_parent_is_what_stands_before_the_last_slash() {
        assert_eq!(parent("/a"), Ok(""));
        assert_eq!(parent("/a/b/"), Ok("/a/b"));
        assert_eq!(parent("a"), Err(ErrorCode::BadArguments));
        assert_eq!(parent("/a\0"), Err(ErrorCode::BadArguments));
        assert_eq!((known(""), known("/a"), name("/a/b")), ("/", "/a", "b"));
    }
}
