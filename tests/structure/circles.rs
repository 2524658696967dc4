//! Files that import each other in a circle.
//!
//! A module's own file (`x/mod.rs` or `x.rs`) and the files below it may import each other in one
//! direction, because a parent may use its children, and children may use what the parent defines.
//! So the search runs twice: once without imports from an ancestor, once without imports from a
//! descendant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::imports::Imports;

/// A strongly connected set of files: each imports every other one, directly or through others of
/// the set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Circle {
    /// The files, relative to `src`.
    pub files: BTreeSet<String>,
    /// The imports within the set: the importing file, the imported file, the names.
    imports: Vec<(String, String, Vec<String>)>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} files import each other in a circle:", self.files.len())?;
        for (from, to, names) in &self.imports {
            writeln!(f, "  {from} -> {to}: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Returns all circles, from both searches.
pub fn circles(imports: &Imports) -> BTreeSet<Circle> {
    let downwards = circles_of(&imports.filter(|from, to| !is_below(from, to)));
    let upwards = circles_of(&imports.filter(|from, to| !is_below(to, from)));
    let all: BTreeSet<Circle> = downwards.into_iter().chain(upwards).collect();
    let is_greatest = |circle: &&Circle| {
        !all.iter().any(|other| other.files.len() > circle.files.len() && other.files.is_superset(&circle.files))
    };
    all.iter().filter(is_greatest).cloned().collect()
}

/// Returns whether `file` lies below the module whose own file is `parent`.
fn is_below(file: &str, parent: &str) -> bool {
    let folder = parent.strip_suffix("/mod.rs").or(parent.strip_suffix(".rs")).unwrap_or(parent);
    parent == "lib.rs" || file.strip_prefix(folder).is_some_and(|below| below.starts_with('/') && file != parent)
}

/// Returns the circles of one search.
pub fn circles_of(imports: &Imports) -> BTreeSet<Circle> {
    let all_reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.importers().map(|file| (file, reach(imports, file))).collect();
    let leads = |from: &str, to: &str| all_reached.get(from).is_some_and(|files| files.contains(to));
    let mut found = BTreeSet::new();
    for (file, reached) in &all_reached {
        if reached.contains(file) {
            let files: BTreeSet<String> =
                reached.iter().filter(|other| leads(other, file)).map(|&other| other.to_owned()).collect();
            found.insert(circle(imports, files));
        }
    }
    found
}

fn circle(imports: &Imports, files: BTreeSet<String>) -> Circle {
    let mut among = Vec::new();
    for from in &files {
        let within = imports.from(from).filter(|(to, _)| files.contains(*to));
        among.extend(within.map(|(to, names)| (from.clone(), to.to_owned(), names.iter().cloned().collect())));
    }
    Circle { files, imports: among }
}

/// Returns all files that `file` imports, directly or through others.
fn reach<'i>(imports: &'i Imports, file: &'i str) -> BTreeSet<&'i str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        open.extend(imports.from(file).map(|(to, _)| to).filter(|to| reached.insert(*to)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use crate::circles::circles;
    use crate::imports::{Imports, Reading};
    use crate::source::Source;

    /// Returns the files of each circle.
    fn found(files: &[(&str, &str)], reading: Reading) -> Vec<String> {
        let files = [("lib.rs", "")].iter().chain(files).copied();
        let imports = Imports::of(&Source::parse(files), reading);
        circles(&imports)
            .iter()
            .map(|circle| circle.files.iter().map(String::as_str).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn two_files_that_name_each_other_are_a_circle_however_they_do_it() {
        let ways = [
            "use crate::b::B;",
            "use super::b::B;",
            "use crate::{b::{B, b}};",
            "fn f() -> crate::b::B {}",
            "use crate::b; fn f() { b::b() }",
        ];
        for way in ways.into_iter().chain([
            "fn f() { vec![super::b::B] }",
            "use crate::b::*;\ntype C = B;",
            "impl super::b::B {}",
        ]) {
            let files = [("a.rs", way), ("b.rs", "pub struct B; fn b() { crate::a::f() }")];
            assert_eq!(found(&files, Reading::AsNamed), ["a.rs b.rs"], "{way}");
            assert_eq!(found(&files, Reading::AsDefined), ["a.rs b.rs"], "{way}");
        }
    }

    #[test]
    fn one_direction_alone_is_no_circle_nor_is_what_tests_and_comments_name() {
        let used = ("b.rs", "pub struct B;");
        let naming = "/// As [`crate::a::A`].\npub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }";
        let own_file = "pub struct B;\n#[cfg(test)]\nmod tests;";
        for user in [used, ("b.rs", naming), ("b.rs", own_file)] {
            let files = [("a.rs", "use crate::b::B; pub struct A(B);"), ("b/tests.rs", "use crate::a::A;"), user];
            assert_eq!(found(&files, Reading::AsNamed), [""; 0], "{user:?}");
        }
    }

    #[test]
    fn a_parent_and_the_children_that_it_uses_are_one_thing() {
        for parent in ["p/mod.rs", "p.rs"] {
            let files = [
                (parent, "mod x; mod y; pub struct P; fn f() { x::x() }"),
                ("p/x.rs", "pub fn x() { super::y::y() }"),
                ("p/y.rs", "use super::P; pub fn y() {}"),
            ];
            assert_eq!(found(&files, Reading::AsNamed), [""; 0], "{parent}");
        }
    }

    #[test]
    fn a_circle_that_leaves_the_family_counts() {
        let files = [
            ("p/mod.rs", "mod x; pub struct P; fn f() { x::x() }"),
            ("p/x.rs", "pub fn x() { crate::other::other() }"),
            ("other.rs", "use crate::p::P; pub fn other() {}"),
        ];
        assert_eq!(found(&files, Reading::AsNamed), ["other.rs p/mod.rs p/x.rs"]);
    }

    #[test]
    fn siblings_that_take_from_each_other_what_their_parent_hands_on_are_found_where_it_is_defined() {
        let files = [
            ("p/mod.rs", "mod x; mod y; pub use x::X; pub use y::Y; pub struct P;"),
            ("p/x.rs", "use super::Y; pub struct X(Y);"),
            ("p/y.rs", "pub struct Y(Box<crate::p::X>);"),
        ];
        assert_eq!(found(&files, Reading::AsNamed), [""; 0]);
        assert_eq!(found(&files, Reading::AsDefined), ["p/x.rs p/y.rs"]);
    }
}
