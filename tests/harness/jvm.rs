//! Programs on the JVM: the classes of `tests/foreign`, and Debian's jars.
//!
//! The classes are compiled once for each state of their sources. Beside them lies an archive of
//! loaded classes, which halves the time until a server serves.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// The folder of Debian's jars, from the packages that `tests/run` installs.
const JARS: &str = "/usr/share/java";

/// What servers, their AdminServer and the foreign clients need. All programs have one class path:
/// the archive is valid for that path only.
const NAMES: [&str; 30] = [
    "zookeeper",
    "zookeeper-jute",
    "zookeeper-recipes-lock",
    "curator-recipes",
    "curator-framework",
    "curator-client",
    "guava",
    "jetty9-server",
    "jetty9-servlet",
    "jetty9-http",
    "jetty9-io",
    "jetty9-security",
    "jetty9-util",
    "jetty9-util-ajax",
    "jackson-core",
    "jackson-databind",
    "jackson-annotations",
    "metrics-core",
    "snappy-java",
    "slf4j-api",
    "slf4j-simple",
    "netty-buffer",
    "netty-codec",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
    "netty-transport-native-epoll",
    "netty-transport-native-unix-common",
    "servlet-api",
];

/// Tuned for a fast start rather than a long run.
const OPTIONS: [&str; 5] = [
    "-Xshare:auto",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];

/// Returns the command for `java` with the class path; system properties, a class and its arguments
/// follow.
pub fn java(heap_mib: u32) -> Vec<String> {
    let folder = compiled();
    let archive = folder.join("classes.jsa");
    ["java"]
        .into_iter()
        .chain(OPTIONS)
        .map(str::to_owned)
        .chain([format!("-Xmx{heap_mib}m"), format!("-XX:SharedArchiveFile={}", archive.display())])
        .chain(["-cp".to_owned(), class_path(folder)])
        .collect()
}

/// Returns the command that starts a class of `tests/foreign`.
pub fn java_program(class: &str) -> Vec<String> {
    let mut command = java(256);
    command.push(class.to_owned());
    command
}

/// Writes down what started and how long that took, for `tests/run --times`.
pub fn note_start(what: &str, began: Instant) {
    if let Some(folder) = std::env::var_os("LOCKSCOPE_TEST_TIMES") {
        let line = format!("{what} {:.3}\n", began.elapsed().as_secs_f64());
        let file = OpenOptions::new().create(true).append(true).open(Path::new(&folder).join("starts"));
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the folder is writable");
    }
}

/// Returns the folder of the sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign")
}

/// Returns the folder with the compiled classes.
pub fn compiled() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let mut files: Vec<PathBuf> = fs::read_dir(sources())
            .expect("the sources are there")
            .map(|entry| entry.expect("it can be listed").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "java"))
            .collect();
        files.sort();
        let mut hasher = DefaultHasher::new();
        for file in &files {
            fs::read(file).expect("the source can be read").hash(&mut hasher);
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = target.join(format!("foreign-{:016x}", hasher.finish()));
        let lock = File::create(target.join("foreign.lock")).expect("the folder is writable");
        // Many tests start at once: one compiles, the others wait.
        lock.lock().expect("a file can be locked");
        if !folder.exists() {
            compile(&files, target, &folder);
        }
        folder
    })
}

fn class_path(folder: &Path) -> String {
    let mut paths = vec![folder.join("classes.jar")];
    paths.extend(NAMES.iter().map(|name| Path::new(JARS).join(name).with_extension("jar")));
    let words: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    words.join(":")
}

/// Compiles aside and renames, so that a broken compilation leaves nothing that looks whole.
fn compile(files: &[PathBuf], target: &Path, folder: &Path) {
    for name in NAMES {
        let jar = Path::new(JARS).join(name).with_extension("jar");
        let missing =
            || format!("{} is missing; `tests/run --install-only` installs what the tests need", jar.display());
        assert!(jar.exists(), "{}", missing());
    }
    let aside = tempfile::Builder::new().prefix("foreign-").tempdir_in(target).expect("a folder can be made");
    let classes = aside.path().join("classes");
    let mut javac = Command::new("javac");
    run(javac.args(["-nowarn", "-cp", &class_path(aside.path()), "-d"]).arg(&classes).args(files));
    let mut jar = Command::new("jar");
    run(jar.args(["--create", "--file"]).arg(aside.path().join("classes.jar")).arg("-C").arg(&classes).arg("."));
    fs::rename(aside.path(), folder).expect("nobody else makes it");
    // The archive names the jar by its path, so it is made in its place.
    let training = tempfile::tempdir().expect("a folder can be made");
    let mut java = Command::new("java");
    java.args(OPTIONS).arg(format!("-XX:ArchiveClassesAtExit={}", folder.join("classes.jsa").display()));
    run(java.args(["-cp", &class_path(folder), "Host", "--train"]).arg(training.path()));
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; `tests/run --install-only` installs what the tests need")
    });
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
}
