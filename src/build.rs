//! Sets jemalloc's options in the program, whoever builds it and wherever: an environment variable of the build, which jemalloc
//! would take as well, is set by `.cargo/config.toml` alone, and no package of crates carries that.

use std::path::PathBuf;
use std::{env, fs};

/// jemalloc uses one arena for all threads, because most data is allocated by one thread and kept by another. Unused pages return to
/// the system at once, so that the memory of a survey of all locks does not stay allocated.
const OPTIONS: &str = "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let source = out.join("malloc_conf.c");
    // jemalloc's own definition of this variable is weak: the linker takes this one. It is C, since Rust takes the definition of a
    // symbol for unsafe.
    let text = format!("const char *_rjem_malloc_conf = \"{OPTIONS}\";\n");
    fs::write(&source, text).expect("cargo's folder can be written to");
    for object in cc::Build::new().file(&source).compile_intermediates() {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
}
