//! Checks that every stored snapshot is compared with a scene.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

use super::{KEPT, MIDDLE, TOO_SMALL};

/// Returns the names of the snapshots that the calls of `show`, `show_once` and `show_at` compare.
fn compared(source: &str) -> Vec<String> {
    let call = Regex::new(r#"show(_once)?\(\s*"([a-z-]+)"|show_at\(\s*&\[\((\d+), (\d+)\)\],\s*"([a-z-]+)""#).unwrap();
    let pictures = call.captures_iter(source).flat_map(|call| match (call.get(2), call.get(1)) {
        (None, _) => vec![format!("{}-{}x{}", &call[5], &call[3], &call[4])],
        (Some(scene), None) => KEPT.map(|size| name(scene.as_str(), size)).to_vec(),
        (Some(scene), Some(_)) => vec![name(scene.as_str(), MIDDLE)],
    });
    pictures.collect()
}

fn name(scene: &str, (columns, lines): (u16, u16)) -> String {
    format!("{scene}-{columns}x{lines}")
}

#[test]
fn each_stored_snapshot_belongs_to_a_scene() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/tui/view");
    let tests = fs::read_dir(folder.join("tests")).unwrap().map(|file| file.unwrap().path());
    let sources = tests.chain([folder.join("tests.rs")]).map(|file| fs::read_to_string(file).unwrap());
    let mut scenes: BTreeSet<_> = sources.flat_map(|source| compared(&source)).collect();
    scenes.extend(TOO_SMALL.map(|size| name("too-small", size)));
    let kept = fs::read_dir(folder.join("snapshots")).unwrap().map(|file| file.unwrap().file_name());
    let kept = kept.map(|file| file.into_string().unwrap().replace("lockscope__tui__view__tests__", ""));
    let kept = kept.filter_map(|file| file.strip_suffix(".snap").map(str::to_owned)).collect();
    let lacking: Vec<_> = scenes.symmetric_difference(&kept).collect();
    assert!(lacking.is_empty(), "without a scene, or without a picture: {lacking:#?}");
}
