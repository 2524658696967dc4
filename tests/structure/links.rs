//! Checks the documents: every relative link leads to an existing file, and to a heading in it.

use std::fs;
use std::path::{Path, PathBuf};

/// The README fits on two screens.
const MAX_README_LINES: usize = 90;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let alone = ["README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md", "assets/docs/upstream/README.md"];
    let mut found = alone.map(|path| root().join(path)).to_vec();
    let entries = fs::read_dir(root().join("assets/docs")).expect("a folder");
    found.extend(entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()));
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the targets of the links and images in a Markdown text, without its code.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code
    });
    let targets = prose.flat_map(|line| {
        let pictures = ["src=\"", "srcset=\""].into_iter().flat_map(|start| line.split(start).skip(1));
        let pictures = pictures.filter_map(|rest| rest.split('"').next());
        line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).chain(pictures).collect::<Vec<_>>()
    });
    targets.map(str::to_owned).collect()
}

/// Returns the anchors of a text's headings, as GitHub forms them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let name = line.trim_start_matches('#').trim().to_lowercase();
        name.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .collect::<String>()
            .replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// Returns the problem of a link in `document`, if any.
fn fault(document: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { document.to_path_buf() } else { document.parent()?.join(file) };
    if !target.exists() {
        return Some(format!("{}: {link}: there is no such file", document.display()));
    }
    let anchor = anchor?;
    let is_there = anchors(&text(&target)).iter().any(|other| other == anchor);
    (!is_there).then(|| format!("{}: {link}: there is no such heading", document.display()))
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut faults = Vec::new();
    for document in documents() {
        faults.extend(links(&text(&document)).iter().filter_map(|link| fault(&document, link)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_to_nothing_are_found() {
    let readme = root().join("README.md");
    assert!(!links(&text(&readme)).is_empty());
    assert_eq!(links("[a](b.md#c), `x`\n```\n[d](e)\n```\n![f](g.svg)"), ["b.md#c", "g.svg"]);
    assert_eq!(links("<source srcset=\"h.svg\"><img src=\"i.svg\">"), ["i.svg", "h.svg"]);
    assert!(fault(&readme, "assets/none.md").is_some());
    assert!(fault(&readme, "assets/docs/using.md#none").is_some());
    assert_eq!(fault(&readme, "assets/docs/using.md#keys"), None);
    assert_eq!(anchors("# It's `code`, and more"), ["its-code-and-more"]);
}

#[test]
fn every_page_is_linked_from_readme_which_fits_on_two_screens() {
    let readme = text(&root().join("README.md"));
    assert!(readme.lines().count() <= MAX_README_LINES, "{} lines", readme.lines().count());
    for document in documents() {
        let name = document.strip_prefix(root()).expect("below the root").display().to_string();
        assert!(name == "README.md" || readme.contains(&format!("]({name})")), "{name} is not linked");
    }
}

/// What an alert's runbook is, before the anchor: where the package installs the page.
const RUNBOOKS: &str = "runbook_url: file:///usr/share/doc/lockscope/metrics.md#";

#[test]
fn each_alert_has_a_section_that_its_runbook_names_and_a_row_with_its_time() {
    let page = text(&root().join("assets/docs/metrics.md"));
    let rules = text(&root().join("assets/alerts.yml"));
    let alerts: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    assert!(alerts.len() >= 14, "{}", alerts.len());
    for alert in alerts {
        let lines: Vec<&str> = alert.lines().map(str::trim).collect();
        let after = |start: &str| lines.iter().find_map(|line| line.strip_prefix(start));
        let (name, anchor) = (lines[0], after(RUNBOOKS));
        assert!(anchor.is_some_and(|anchor| anchors(&page).iter().any(|other| other == anchor)), "{name}: {anchor:?}");
        assert_eq!(anchor, Some(name.to_lowercase().as_str()));
        let waits = match after("for: ") {
            None => "at once".to_owned(),
            Some("1m") => "1 minute".to_owned(),
            Some(minutes) => minutes.replace('m', " minutes"),
        };
        let row = format!("| [`{name}`](#{}) | {waits} | ", name.to_lowercase());
        assert!(page.contains(&row), "no row {row}");
    }
}

/// The compiler checks the program as an example, and its test runs among those of the library.
#[test]
fn the_tutorial_has_the_whole_program_of_the_example_and_its_test() {
    let page = text(&root().join("assets/docs/rust-locks-tutorial.md"));
    for file in ["src/lock/examples/sell_seats.rs", "tests/library/with_the_sandbox.rs"] {
        let program = text(&root().join(file));
        assert!(page.contains(&format!("```rust\n{program}```\n")), "copy {file} into the page");
    }
}

/// The fuzzer includes modules of the sandbox by their paths, which must exist.
#[test]
fn what_the_fuzzer_includes_exists() {
    let folder = root().join("tests/fuzz/src");
    let source = text(&folder.join("main.rs"));
    let included: Vec<_> =
        source.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]")).collect();
    assert!(!included.is_empty());
    for path in included {
        let target = folder.join(path);
        assert!(target.exists(), "{}", target.display());
    }
}
