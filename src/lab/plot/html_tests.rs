//! Tests of `html`.

use super::testing::{hostile, page};
use super::*;

#[test]
fn a_page_has_no_script_and_no_external_references() {
    let text = html(&page(&[1, 2, 10]));
    for part in ["<script", "http:", "https:", "src=", "@import", "url("] {
        assert!(!text.contains(part), "{part} in {text}");
    }
    assert_eq!(text.matches("<figure>").count(), text.matches("</figure>").count());
    assert!(text.contains("<th scope=\"row\"") && text.contains("<caption>"), "{text}");
}

#[test]
fn hostile_names_stay_text() {
    let text = html(&hostile());
    assert!(!text.contains("<script") && !text.contains("<img") && text.contains("&lt;script&gt;"), "{text}");
    assert!(!text.contains("\" onload=") && text.contains("&quot; onload="), "{text}");
    assert!(!text.contains(['\u{202e}', '\0', '\u{1b}']), "{text}");
}

#[test]
fn a_page_without_any_figure_says_so_and_has_no_table() {
    let mut empty = page(&[]);
    empty.charts.clear();
    empty.table.rows.clear();
    let text = html(&empty);
    assert!(!text.contains("<table") && !text.contains("<svg") && text.contains("Conditions"), "{text}");
}
