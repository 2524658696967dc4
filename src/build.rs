//! Links jemalloc's options into the program, so that they hold in every build. An environment
//! variable of the build would set them too, but only `.cargo/config.toml` could set that variable,
//! and no package of crates carries this file.

use std::path::PathBuf;
use std::{env, fs};

/// jemalloc uses one arena for all threads, because most data is allocated by one thread and kept
/// by another. Unused pages return to the system at once, so that the memory of a survey of all
/// locks does not stay allocated.
const OPTIONS: &str = "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0";

fn main() {
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
