//! The contents of the Debian package: all files exist, the scripts are valid, and the unit starts
//! a command that the program accepts. `tests/package` builds and installs the package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

use crate::{home, ran};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn metadata_of(kind: &str) -> Table {
    let manifest: Table = text("Cargo.toml").parse().expect("TOML");
    manifest["package"]["metadata"][kind].as_table().expect("the package's table").clone()
}

fn metadata() -> Table {
    metadata_of("deb")
}

/// Returns the values of a key of the unit, in order.
fn values(key: &str) -> Vec<String> {
    let unit = text("assets/package/lockscope.service");
    let lines = unit.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(name, _)| *name == key).map(|(_, value)| value.to_owned()).collect()
}

#[test]
fn every_file_of_the_package_exists_and_the_config_files_are_among_them() {
    let metadata = metadata();
    let assets = metadata["assets"].as_array().expect("a list");
    let mut installed = Vec::new();
    for asset in assets {
        let [from, to] = [0, 1].map(|at| asset[at].as_str().expect("text"));
        let name = Path::new(from).file_name().expect("a name").to_str().expect("text");
        installed.push(if to.ends_with('/') { format!("/{to}{name}") } else { format!("/{to}") });
        if let Some(folder) = from.strip_suffix("/*.md") {
            assert!(repository().join(folder).is_dir(), "{from}");
        } else if !from.starts_with("target/") {
            assert!(repository().join(from).is_file(), "{from}");
        }
    }
    for file in metadata["conf-files"].as_array().expect("a list") {
        assert!(installed.iter().any(|path| Some(&**path) == file.as_str()), "{file:?} is not among {installed:?}");
    }
    let licence = metadata["license-file"].as_str().expect("text");
    assert!(repository().join(licence).is_file(), "{licence}");
}

/// Both packages have the same files: each is installed at the same path, or where a distribution
/// wants it.
#[test]
fn both_packages_have_the_same_files() {
    let sources = |kind: &str, of: fn(&Value) -> &Value| -> BTreeSet<String> {
        let assets = metadata_of(kind)["assets"].as_array().expect("a list").clone();
        assets.iter().map(|asset| of(asset).as_str().expect("text").to_owned()).collect()
    };
    let (deb, rpm) = (sources("deb", |asset| &asset[0]), sources("generate-rpm", |asset| &asset["source"]));
    // debhelper installs the unit, and the user is made by a script.
    let only_rpm: Vec<&String> = rpm.difference(&deb).collect();
    assert_eq!(only_rpm, ["LICENSE", "assets/package/lockscope.service", "assets/package/sysusers.conf"]);
    assert_eq!(deb.difference(&rpm).count(), 0);
    for source in rpm.iter().filter(|source| !source.starts_with("target/") && !source.contains('*')) {
        assert!(repository().join(source).is_file(), "{source}");
    }
}

#[test]
fn the_changelog_has_the_version_of_the_program_and_each_change() {
    let made = Command::new(repository().join("assets/package/build")).arg("--changelog").output().expect("bash");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let changelog = String::from_utf8(made.stdout).expect("text");
    let begin = format!("lockscope ({}-1) unstable; urgency=medium\n\n  * ", env!("CARGO_PKG_VERSION"));
    assert!(changelog.starts_with(&begin), "{changelog}");
    let count = |text: &str, begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    assert_eq!(count(&changelog, "  * "), count(&text("assets/docs/changes.md"), "- "));
    let maintainer = metadata()["maintainer"].as_str().expect("text").to_owned();
    assert_eq!(count(&changelog, &format!(" -- {maintainer}  ")), count(&changelog, "lockscope ("));
    assert!(changelog.lines().all(|line| line.chars().count() <= 80), "{changelog}");
}

/// What is installed is optimized as a whole, and holds little memory. Cargo forgets `strip` when a
/// profile has an entry for the package of the program.
#[test]
fn what_is_installed_is_optimized_and_stripped() {
    let manifest: Table = text("Cargo.toml").parse().expect("TOML");
    let profile = &manifest["profile"]["dist"];
    assert_eq!(
        (profile["opt-level"].as_integer(), profile["lto"].as_str(), profile["strip"].as_bool()),
        (Some(3), Some("fat"), Some(true))
    );
    for name in ["release", "dist"] {
        let packages = manifest["profile"][name].get("package");
        assert!(packages.is_none_or(|packages| packages.get("lockscope").is_none()), "{name}");
    }
    assert!(text("assets/package/build").contains("cargo zigbuild --profile dist "));
    for page in ["README.md", "assets/docs/security.md"] {
        let page = text(page);
        let installs: Vec<&str> = page.lines().filter(|line| line.starts_with("cargo install --path ")).collect();
        assert!(!installs.is_empty() && installs.iter().all(|line| line.contains(" --profile dist")), "{installs:?}");
    }
}

/// jemalloc prints its options at the end of the program when it is asked to.
#[test]
fn the_allocator_has_one_arena_and_returns_unused_pages_at_once() {
    let home = home();
    let mut command = crate::lockscope(home.path(), &["--version"]);
    command.env("_RJEM_MALLOC_CONF", "stats_print:true");
    let (code, _, options) = ran(command);
    assert_eq!(code, 0, "{options}");
    for option in ["narenas: 1", "dirty_decay_ms: 0", "muzzy_decay_ms: 0"] {
        assert!(options.lines().any(|line| line.trim().starts_with(&format!("opt.{option}"))), "{option}: {options}");
    }
}

#[test]
fn shells_can_read_the_scripts_of_the_package() {
    for (shell, script) in [
        ("sh", "assets/package/postinst"),
        ("sh", "assets/package/postrm"),
        ("bash", "assets/package/build"),
        ("bash", "tests/package"),
    ] {
        let read = Command::new(shell).arg("-n").arg(repository().join(script)).output().expect("a shell");
        assert!(read.status.success(), "{script}: {}", String::from_utf8_lossy(&read.stderr));
    }
    for script in ["postinst", "postrm"] {
        assert!(text(&format!("assets/package/{script}")).contains("\n#DEBHELPER#\n"), "{script} leaves the unit out");
    }
}

#[test]
fn the_unit_starts_a_command_with_options_that_the_program_accepts() {
    let [start] = &values("ExecStart")[..] else { panic!("one command") };
    let default = text("assets/package/default");
    let options = default.lines().find_map(|line| line.strip_prefix("RECORD_OPTIONS=")).expect("its options");
    let start = start.replace("$RECORD_OPTIONS", options.trim_matches('"'));
    let words: Vec<&str> = start.split(' ').collect();
    assert_eq!(words[0], "/usr/bin/lockscope");
    let home = home();
    let mut command = crate::lockscope(home.path(), &words[1..]);
    command.arg("--help");
    assert_eq!(ran(command).0, 0, "{start}");
    // A path that the unit may not access would prevent its start on other machines, but not here.
    let state = PathBuf::from("/var/lib").join(&values("StateDirectory")[0]);
    assert!(
        words.iter().any(|word| Path::new(word).starts_with(&state)),
        "{start} records outside {}",
        state.display()
    );
    assert_eq!(values("ExecReload"), ["/bin/kill -HUP $MAINPID"]);
    assert_eq!((values("User"), values("Group")), (vec!["lockscope".to_owned()], vec!["lockscope".to_owned()]));
    let installer = text("assets/package/postinst");
    assert!(installer.contains("adduser") && installer.contains(state.to_str().expect("text")), "{installer}");
}

#[test]
fn the_config_of_the_service_is_valid_with_each_commented_line_enabled() {
    let home = home();
    let config = text("assets/package/config.toml");
    let all: Vec<&str> = config
        .lines()
        .map(|line| {
            line.strip_prefix('#')
                .filter(|rest| rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')))
                .unwrap_or(line)
        })
        .collect();
    for text in [config.clone(), all.join("\n")] {
        let path = home.path().join("config.toml");
        fs::write(&path, &text).expect("it is written");
        let (code, out, stderr) =
            ran(crate::lockscope(home.path(), &["--config", path.to_str().expect("text"), "--config-check"]));
        assert_eq!(code, 0, "{out}{stderr}");
        let entries: Table = text.parse().expect("TOML");
        assert!(entries.contains_key("connect"));
    }
    assert!(all.join("\n").parse::<Table>().expect("TOML").len() > 5);
}
