//! Checks the structure of the workspace: crates and modules use only what the architecture page
//! allows, and no files import each other in a circle.

mod circles;
mod documented;
mod imports;
mod keys;
mod layers;
mod links;
mod methods;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use circles::circles;
use imports::{Imports, Reading};
use layers::{CLOCKS, IMPURE_CRATES, Layer, PURE_PARTS, TUI, TUI_RUNTIME, belongs};
use methods::Methods;
use source::{Module, Names, Source};

/// The most lines of a file in `src`, without its unit tests. A file is a chapter: what is read
/// together stands together, and a longer one has more than one subject.
const MAX_LINES: usize = 800;

/// The most lines of unit tests within a file. More of them stand in a file of their own.
const MAX_TEST_LINES: usize = 150;

static SOURCE: LazyLock<Source> = LazyLock::new(|| Source::read(&src()));

static LAYERS: LazyLock<Vec<Layer>> =
    LazyLock::new(|| layers::layers(&architecture()).unwrap_or_else(|error| panic!("{ARCHITECTURE}: {error}")));

/// The page that has the tables of crates and modules.
const ARCHITECTURE: &str = "assets/docs/architecture.md";

/// The script of the guided tour.
const TOUR: &str = "src/lab/demo/tour.toml";

fn architecture() -> String {
    fs::read_to_string(root().join(ARCHITECTURE)).expect("the page about the architecture")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn src() -> PathBuf {
    root().join("src")
}

/// Returns the modules below a path in the tree. At least one must exist.
fn modules(of: &str) -> Vec<&'static Module> {
    let found: Vec<_> = SOURCE.modules.values().filter(|module| belongs(&module.file, of)).collect();
    assert!(
        !found.is_empty(),
        "the module {of} is empty: mend {ARCHITECTURE}, or the rules in tests/structure/layers.rs"
    );
    found
}

/// Returns whether a path names an item of a crate or module, written as in `std::fs`.
fn is_of(path: &Names, module: &str) -> bool {
    let module: Vec<&str> = module.split("::").collect();
    path.len() >= module.len() && path.iter().zip(module).all(|(name, part)| name == part)
}

#[test]
fn every_module_uses_only_those_below_it() {
    let imports = Imports::of(&SOURCE, Reading::AsNamed);
    let layer_of = |file: &str| LAYERS.iter().find(|layer| belongs(file, &layer.name));
    let mut broken = Vec::new();
    for file in imports.importers() {
        for (used, names) in imports.from(file) {
            if let (Some(layer), Some(below)) = (layer_of(file), layer_of(used))
                && layer != below
                && !layer.allowed.contains(&below.name)
            {
                broken.push(format!("{file} uses {names:?} of {used}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_page_names_every_module() {
    let top: BTreeSet<&str> = SOURCE.modules.keys().filter_map(|at| at.first()).map(String::as_str).collect();
    let known: BTreeSet<&str> = LAYERS.iter().map(|layer| layer.name.as_str()).chain(["build", "main"]).collect();
    assert_eq!(top, known, "{ARCHITECTURE} says of every module what it is for and which others it may use");
}

/// The compiler enforces the manifests: a crate cannot name a crate that its manifest lacks.
#[test]
fn every_crate_depends_on_what_the_page_says() {
    for member in layers::members(&architecture()) {
        let folder = member.name.trim_start_matches("lockscope-");
        let folder = [src(), root().join("tests")].map(|above| above.join(folder).join("Cargo.toml"));
        let manifest = folder.iter().find_map(|file| fs::read_to_string(file).ok()).expect("the manifest of a crate");
        let manifest: toml::Table = manifest.parse().expect("TOML");
        let dependencies = manifest["dependencies"].as_table().expect("a table");
        let ours = dependencies.keys().filter(|name| name.starts_with("lockscope-")).cloned().collect();
        assert_eq!(member.uses, ours, "{}", member.name);
        let forbidden: Vec<_> = dependencies.keys().filter(|name| member.never.contains(*name)).collect();
        assert!(forbidden.is_empty(), "{} must not know {forbidden:?}", member.name);
    }
}

#[test]
fn the_pure_modules_know_no_runtime_no_screen_no_client_and_no_clock() {
    let mut broken = Vec::new();
    let pure_layers = LAYERS.iter().filter(|layer| layer.is_pure).map(|layer| layer.name.as_str());
    for module in pure_layers.chain(PURE_PARTS).flat_map(modules) {
        for path in module.paths() {
            let reads_a_clock = CLOCKS.iter().any(|clock| path.ends_with(&clock.map(str::to_owned)));
            if reads_a_clock || IMPURE_CRATES.iter().any(|name| is_of(&path, name)) {
                broken.push(format!("{}: {}", module.file, path.join("::")));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn each_part_of_the_screen_knows_only_what_it_needs() {
    let imports = Imports::of(&SOURCE, Reading::AsNamed);
    let mut broken = Vec::new();
    for (part, forbidden_modules, forbidden_paths) in TUI {
        for module in modules(part) {
            let used = imports.from(&module.file);
            let used = used.filter(|(used, _)| forbidden_modules.iter().any(|module| belongs(used, module)));
            broken.extend(used.map(|(used, names)| format!("{} uses {names:?} of {used}", module.file)));
            let paths = module.paths().filter(|path| forbidden_paths.iter().any(|module| is_of(path, module)));
            broken.extend(paths.map(|path| format!("{}: {}", module.file, path.join("::"))));
        }
    }
    for part in TUI_RUNTIME {
        modules(part);
    }
    for module in modules("tui") {
        let is_runtime = TUI_RUNTIME.iter().any(|part| belongs(&module.file, part));
        if !is_runtime && module.paths().any(|path| is_of(&path, "tokio") || is_of(&path, "tokio_util")) {
            broken.push(format!("{} uses tokio", module.file));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Checks both readings: a path leads to the named module, or through re-exports to the file that
/// defines the item.
#[test]
fn no_files_import_each_other_in_a_circle() {
    for reading in [Reading::AsNamed, Reading::AsDefined] {
        let found: Vec<String> = circles(&Imports::of(&SOURCE, reading)).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{reading:?}: {}", found.join("\n"));
    }
}

#[test]
fn no_files_call_each_other_in_a_circle_through_the_methods_of_one_type() {
    let mut methods = Methods::default();
    let is_of_tests = |name: &str| name.contains("/tests") || name.contains("/testing");
    for (name, text) in source::files(&src()).iter().filter(|(name, _)| !is_of_tests(name)) {
        methods.read(name, &syn::parse_file(text).expect("Rust"));
    }
    let found: Vec<String> = methods.circles().iter().map(|(of, circle)| format!("{of}: {circle}")).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for_and_is_short() {
    let mut files: Vec<PathBuf> = vec![src(), root().join("tests/explore")];
    let (mut undescribed, mut long) = (Vec::new(), Vec::new());
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a readable source file");
            if !text.starts_with("//!") && !text.starts_with("#![doc") {
                undescribed.push(path.display().to_string());
            }
            let of_tests = source::lines_of_tests(&text);
            let lines = text.lines().count() - of_tests;
            if lines > MAX_LINES || of_tests > MAX_TEST_LINES {
                long.push(format!("{}: {lines} lines, and {of_tests} of tests", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
    assert!(undescribed.is_empty(), "these files begin without a //! line:\n{}", undescribed.join("\n"));
}

/// Users may rebind keys, so sentences take key names from `Bindings` or `FixedKey`.
#[test]
fn no_sentence_of_the_screen_has_the_name_of_a_key_in_it() {
    let is_of_screen = |name: &str| name.starts_with("tui/") || name.starts_with("diagnose/");
    let is_of_tests = |name: &str| ["/tests", "/testing"].iter().any(|part| name.contains(part));
    let mut broken = Vec::new();
    for (name, text) in source::files(&src()).iter().filter(|(name, _)| is_of_screen(name) && !is_of_tests(name)) {
        let found = keys::sentences_with_keys(&syn::parse_file(text).expect("Rust"));
        broken.extend(found.into_iter().map(|sentence| format!("{name}: {sentence:?}")));
    }
    let script: toml::Table = fs::read_to_string(root().join(TOUR)).expect("the tour").parse().expect("TOML");
    let scenes = script["scene"].as_array().expect("scenes").iter();
    let captions = scenes.flat_map(|scene| scene["step"].as_array().expect("steps")).map(|step| &step["caption"]);
    let captions = captions.filter_map(toml::Value::as_str).filter(|caption| keys::names_a_key(caption));
    broken.extend(captions.map(|caption| format!("{TOUR}: {caption:?}")));
    assert!(broken.is_empty(), "write the name of the command in braces: {}", broken.join("\n"));
}

#[test]
fn json_is_written_in_one_place_which_escapes_what_a_terminal_could_obey() {
    let writers =
        ["to_string", "to_string_pretty", "to_writer", "to_writer_pretty", "to_vec", "to_vec_pretty", "Serializer"];
    let mut broken = Vec::new();
    for module in SOURCE.modules.values().filter(|module| module.file != "report/json.rs") {
        for path in module.paths() {
            if is_of(&path, "serde_json") && path[1..].iter().any(|name| writers.contains(&name.as_str())) {
                broken.push(format!("{}: {}", module.file, path.join("::")));
            }
        }
    }
    assert!(broken.is_empty(), "use report::json: {}", broken.join("\n"));
}
