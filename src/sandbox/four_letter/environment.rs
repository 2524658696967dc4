//! `envi`: the properties of Java and of the machine, under a real server's names.

use std::env::consts;
use std::fmt::Write;

use super::BoundedText;
use crate::machine::Machine;

/// The text that Java prints for a property that is not set.
const ABSENT: &str = "<NA>";

/// The Java properties that a real server prints. The sandbox has none of them.
const JAVA: [&str; 7] = [
    "java.version",
    "java.vendor",
    "java.home",
    "java.class.path",
    "java.library.path",
    "java.io.tmpdir",
    "java.compiler",
];

/// Appends a real server's names in their order. The memory figures are those of the sandbox's
/// bound for nodes and watches.
pub(super) fn envi(text: &mut BoundedText, machine: &Machine) {
    text.push_str("Environment:\n");
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a `BoundedText` cannot fail.
        let _ = writeln!(text, "{name}={value}");
    };
    line("zookeeper.version", &machine.version());
    line("host.name", &"localhost");
    for name in JAVA {
        line(name, &ABSENT);
    }
    line("os.name", &consts::OS);
    line("os.arch", &consts::ARCH);
    for name in ["os.version", "user.name", "user.home", "user.dir"] {
        line(name, &ABSENT);
    }
    let most = machine.options.max_memory;
    line("os.memory.free", &mebibytes(most.saturating_sub(machine.memory())));
    line("os.memory.max", &mebibytes(most));
    line("os.memory.total", &mebibytes(most));
}

fn mebibytes(bytes: usize) -> String {
    format!("{}MB", bytes >> 20)
}
