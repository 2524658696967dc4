//! Tests of `path`.

use super::*;

#[test]
fn invalid_paths_are_refused() {
    for path in
        ["", "a", "/a/", "//", "/a//b", "/.", "/a/../b", "/a\u{1}", "/\u{85}", "/\u{e000}", "/\u{fffd}", "/\u{1f600}"]
    {
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
