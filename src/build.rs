//! Links jemalloc's options into the program, so that they hold in every build. An environment
//! variable of the build would set them too, but only `.cargo/config.toml` could set that variable,
//! and no package of crates carries this file.
//!
//! The program also gets the time of its sources, for the manual pages: `SOURCE_DATE_EPOCH`, or that
//! of the commit, so that two builds of one commit are equal.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// jemalloc uses one arena for all threads, because most data is allocated by one thread and kept
/// by another. Unused pages return to the system at once, so that the memory of a survey of all
/// locks does not stay allocated.
const OPTIONS: &str = "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0";

fn main() {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let commit = || Command::new("git").args(["log", "-1", "--format=%ct"]).output().ok();
    // A package of crates may lie in somebody's own repository, whose commits say nothing of it.
    let is_clone = ["HEAD", "logs/HEAD"].map(|file| {
        let file = PathBuf::from(".git").join(file);
        file.exists().then(|| println!("cargo::rerun-if-changed={}", file.display()))
    });
    let commit = || is_clone[0].and_then(|()| commit());
    let of_commit = || commit().and_then(|told| String::from_utf8(told.stdout).ok());
    if let Some(seconds) = env::var("SOURCE_DATE_EPOCH").ok().or_else(of_commit) {
        println!("cargo::rustc-env=LOCKSCOPE_BUILT_FROM={}", seconds.trim());
    }
    println!("cargo::rerun-if-changed=src/build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let source = out.join("malloc_conf.c");
    // jemalloc's own definition of this variable is weak, so the linker uses this one. It is C,
    // because Rust counts defining a symbol as unsafe.
    let text = format!("const char *_rjem_malloc_conf = \"{OPTIONS}\";\n");
    fs::write(&source, text).expect("cargo's folder can be written to");
    for object in cc::Build::new().file(&source).compile_intermediates() {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
}
