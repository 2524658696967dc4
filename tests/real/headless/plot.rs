//! `lockscope compare --plot`: the files contain the figures of the JSON, and a browser opens them
//! without complaints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use roxmltree::{Document, Node};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Running, lockscope, run};
use crate::harness::browser;
use crate::harness::zk;

/// Returns the output of `compare` that writes these files too.
async fn compared(root: &str, sizes: &str, files: &[&Path]) -> Value {
    let connect = zk::own_root(root).await;
    let mut arguments = vec!["compare", "--connect", &connect, "--path", "/<script>alert(1)</script>", "--rounds", "5"];
    arguments.extend(["--clients", sizes, "--hold", "1ms"]);
    for file in files {
        arguments.extend(["--plot", file.to_str().expect("a path")]);
    }
    run(lockscope(&arguments)).await.json()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Returns the outcome of a fleet in the JSON.
fn outcome<'a>(json: &'a Value, clients: &str, name: &str) -> &'a Value {
    let mut runs = json["runs"].as_array().expect("runs").iter();
    let run = runs.find(|run| run["clients"].as_u64() == clients.parse().ok());
    &run.unwrap_or_else(|| panic!("{clients} in {json}"))[name.replace('-', "_")]
}

/// Compares each figure in elements of one class or name with the JSON. Returns the names of the
/// figures found.
fn figures_are_those_of_the_json<'a>(
    elements: impl Iterator<Item = Node<'a, 'a>>,
    json: &Value,
) -> BTreeSet<(String, String, String)> {
    let mut found = BTreeSet::new();
    for element in elements {
        let (fleet, clients) = (element.attribute("data-fleet"), element.attribute("data-clients"));
        let (fleet, clients) = (fleet.expect("a fleet"), clients.expect("a number of clients"));
        for figure in element.descendants().filter(|node| node.has_attribute("data-value")) {
            let field = figure.attribute("data-field").expect("a field");
            if field == "model" {
                continue;
            }
            let path = format!("/{}", field.replace('.', "/"));
            let expected = outcome(json, clients, fleet).pointer(&path).unwrap_or(&Value::Null);
            // Parsed like the JSON, since that parser rounds the last digit.
            let drawn: f64 = serde_json::from_str(figure.attribute("data-value").expect("a figure")).expect("a number");
            assert_eq!(Some(drawn), expected.as_f64(), "{field} of {fleet} with {clients}");
            found.insert((fleet.to_owned(), clients.to_owned(), field.to_owned()));
        }
    }
    found
}

/// Returns the part of a page from the beginning of an element to its end, which is XML.
fn element<'a>(page: &'a str, name: &str) -> &'a str {
    let (start, end) = (page.find(&format!("<{name}")).expect(name), format!("</{name}>"));
    &page[start..page.rfind(&end).expect(name) + end.len()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_figure_of_a_plot_equals_the_json() {
    let folder = folder();
    let (picture, page) = (folder.path().join("a.svg"), folder.path().join("b.HTML"));
    let json = compared("plot-figures", "1,2,5", &[&picture, &page]).await;
    let picture = fs::read_to_string(&picture).expect("a picture");
    let document = Document::parse(&picture).unwrap_or_else(|error| panic!("{error} in {picture}"));
    let marks =
        document.descendants().filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("mark ")));
    let drawn = figures_are_those_of_the_json(marks, &json);
    assert_eq!(
        drawn.len(),
        3 * 3 * 6 + 3 * 2 * 2,
        "six of three fleets in three sizes, and the spread where two wait: {drawn:?}"
    );
    assert!(document.descendants().any(|node| node.has_attribute("data-model")), "there is a model");

    let page = fs::read_to_string(&page).expect("a page");
    let table = element(&page, "table");
    let table = Document::parse(table).unwrap_or_else(|error| panic!("{error} in {table}"));
    let rows = table.descendants().filter(|node| node.has_attribute("data-fleet"));
    let listed = figures_are_those_of_the_json(rows, &json);
    let missing: Vec<_> = drawn.difference(&listed).filter(|(_, _, field)| !field.contains("spread")).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let charts = format!("<div>{}</div>", element(&page, "figure"));
    let charts = Document::parse(&charts).unwrap_or_else(|error| panic!("{error} in {charts}"));
    let marks =
        charts.descendants().filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("mark ")));
    assert_eq!(figures_are_those_of_the_json(marks, &json), drawn);

    for text in [&picture, &page] {
        assert!(text.contains("ZooKeeper 3.") && text.contains("all runs were made") && text.contains("1ms"), "{text}");
        assert!(!text.contains("<script") && text.contains("/&lt;script&gt;alert"), "{text}");
    }
    let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(names.len(), 2, "nothing else is left: {names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_opens_both_without_a_message() {
    let folder = folder();
    let (picture, page) = (folder.path().join("a.svg"), folder.path().join("b.html"));
    compared("plot-browser", "2,5", &[&picture, &page]).await;
    // Checks first that the browser's complaints would be seen at all.
    let wrong = folder.path().join("wrong.html");
    fs::write(&wrong, "<script>console.error('seen')</script><img src='file:///none/none.png'>").expect("a page");
    let (light_picture, dark_picture, light_page, dark_page, wrong) = tokio::join!(
        browser::open(&picture, false),
        browser::open(&picture, true),
        browser::open(&page, false),
        browser::open(&page, true),
        browser::open(&wrong, false),
    );
    assert!(wrong.messages.iter().any(|message| message.contains("seen")), "{:?}", wrong.messages);
    for opened in [&light_picture, &dark_picture, &light_page, &dark_page] {
        assert_eq!(opened.messages, [""; 0]);
        assert!(opened.picture.len() > 10_000, "it shows something: {} bytes", opened.picture.len());
    }
    assert_ne!(light_picture.picture, dark_picture.picture);
    assert_ne!(light_page.picture, dark_page.picture);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_comparison_is_drawn_and_says_so() {
    let connect = zk::own_root("plot-signal").await;
    let folder = folder();
    let file = folder.path().join("plot.html");
    fs::write(&file, "what was there").expect("a file");
    let plot = file.to_str().expect("a path");
    let arguments = ["compare", "--connect", &connect, "--path", "/c", "--clients", "2,3", "--plot", plot];
    let running = Running::start(lockscope(&[&arguments[..], &["--rounds", "1000000"]].concat()));
    super::contend::is_contended(&connect, "/c/herd").await;
    assert_eq!(fs::read_to_string(&file).expect("a file"), "what was there");
    running.signal("INT");
    assert_eq!(running.ended().await.json()["interrupted"], true);
    let text = fs::read_to_string(&file).expect("a file");
    for part in ["The comparison was interrupted", "nothing to compare", "herd of 2 clients: ended before", "2, 3"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}
