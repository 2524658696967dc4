//! Tests of `generate`.

use super::*;

#[test]
fn the_manual_page_matches_the_definition() {
    let page = String::from_utf8(page().unwrap()).unwrap();
    insta::assert_snapshot!(page.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}
