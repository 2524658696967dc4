//! Finds which file imports which names from which file. A declaration (`mod x;`) is no import.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{MODULE_CRATES, Module, Names, Source};

/// The prefix of the crates' names: `lockscope`, `lockscope_model`.
const CRATE: &str = "lockscope";
/// The number of re-exports to follow before a path counts as unknown.
const MAX_REEXPORTS: usize = 16;

/// Decides to which file a path leads when the named module re-exports the item (`pub use`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The file of the named module. That file imports what it re-exports, unless it does nothing
    /// else.
    AsNamed,
    /// The file that defines the item. A re-export is no import.
    AsDefined,
}

/// The names that each file imports from each other file. Files are relative to `src`.
#[derive(Clone, Debug, Default)]
pub struct Imports(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Imports {
    /// Collects the imports and the inline paths of all modules.
    pub fn of(source: &Source, reading: Reading) -> Self {
        let mut imports = Self::default();
        for (at, module) in &source.modules {
            let resolver = Resolver { source, from: at, reading };
            let imports_all = reading == Reading::AsNamed && !module.items.is_empty();
            let handed_on = module.imports.values().filter(|_| imports_all);
            for path in module.private_imports.iter().chain(handed_on).chain(&module.globs).chain(&module.mentions) {
                if let Some((file, name)) = resolver.resolve(at, path, MAX_REEXPORTS) {
                    imports.add(&module.file, file, name);
                }
            }
        }
        imports
    }

    /// Adds a name that one file uses of another.
    pub fn add(&mut self, from: &str, to: &str, name: String) {
        if from != to {
            self.0.entry(from.to_owned()).or_default().entry(to.to_owned()).or_default().insert(name);
        }
    }

    /// Returns the imports for which `keeps(importing file, imported file)` is true.
    pub fn filter(&self, keeps: impl Fn(&str, &str) -> bool) -> Self {
        let mut kept = self.clone();
        for (from, targets) in &mut kept.0 {
            targets.retain(|to, _| keeps(from, to));
        }
        kept
    }

    /// Returns the files that import something.
    pub fn importers(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the imports of `file`: each other file, with the names.
    pub fn from(&self, file: &str) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.0.get(file).into_iter().flatten().map(|(to, names)| (to.as_str(), names))
    }
}

/// Resolves the paths of one module.
struct Resolver<'s> {
    source: &'s Source,
    from: &'s [String],
    reading: Reading,
}

impl<'s> Resolver<'s> {
    /// Returns the file and the name of the item that `path` names in the module `at`. Returns
    /// `None` for an item of another crate, and for a module, since naming a module imports nothing
    /// from it.
    fn resolve(&self, at: &[String], path: &[String], reexports: usize) -> Option<(&'s str, String)> {
        let (mut at, mut rest, is_ours) = start(at, path);
        let mut module = self.source.modules.get(&at)?;
        while let Some((name, after)) = rest.split_first() {
            let child: Names = at.iter().cloned().chain([name.clone()]).collect();
            let found = self.source.modules.get(&child);
            if let (false, Some(found)) = (after.is_empty(), found) {
                (at, module, rest) = (child, found, after);
                continue;
            }
            let is_made_by_a_macro = is_ours && found.is_none();
            let item = self.resolve_item(&at, module, rest, reexports);
            return item.or_else(|| is_made_by_a_macro.then(|| (module.file.as_str(), name.clone())));
        }
        None
    }

    /// Looks up the first name of `path` among the items and imports of `module`.
    fn resolve_item(
        &self,
        at: &[String],
        module: &'s Module,
        path: &[String],
        reexports: usize,
    ) -> Option<(&'s str, String)> {
        let (name, after) = path.split_first()?;
        let stops = self.reading == Reading::AsNamed && at != self.from;
        if module.items.contains(name) || (stops && module.imports.contains_key(name)) {
            return Some((&module.file, name.clone()));
        }
        let reexports = reexports.checked_sub(1)?;
        if let Some(import) = module.imports.get(name) {
            let path: Names = import.iter().chain(after).cloned().collect();
            return self.resolve(at, &path, reexports);
        }
        module.globs.iter().find_map(|glob| {
            let path: Names = glob.iter().chain(path).cloned().collect();
            self.resolve(at, &path, reexports).filter(|(file, name)| self.is_defined(file, name))
        })
    }

    fn is_defined(&self, file: &str, name: &str) -> bool {
        self.source.modules.values().any(|module| module.file == file && module.items.contains(name))
    }
}

/// Returns the module in which a path starts, and the rest of the path. The flag is true when the
/// path certainly belongs to this crate.
fn start<'p>(at: &[String], path: &'p [String]) -> (Names, &'p [String], bool) {
    let mut at = at.to_vec();
    let mut rest = path;
    let mut is_ours = false;
    while let Some((name, after)) = rest.split_first() {
        match name.as_str() {
            "crate" => at.truncate(usize::from(at.first().is_some_and(|first| MODULE_CRATES.contains(&&**first)))),
            name if name.starts_with(CRATE) => {
                let member = name[CRATE.len()..].trim_start_matches('_');
                at =
                    MODULE_CRATES.iter().filter(|&&module| module == member).map(|&module| module.to_owned()).collect();
            }
            "super" => drop(at.pop()),
            "self" => {}
            _ => break,
        }
        (rest, is_ours) = (after, true);
    }
    (at, rest, is_ours)
}

#[cfg(test)]
mod tests {
    use super::{Imports, Reading};
    use crate::source::Source;

    /// Returns `file: name name` for each file from which `a.rs` imports. Another file defines `B`
    /// and `b`, and re-exports `C`.
    fn imported(code: &str, reading: Reading) -> Vec<String> {
        let b = "mod c; pub use c::C; pub enum B { One } pub fn b() {} made_by_a_macro! {}";
        let files = [("lib.rs", ""), ("a.rs", code), ("b/mod.rs", b), ("b/c.rs", "pub struct C; pub const D: u8 = 1;")];
        let imports = Imports::of(&Source::parse(files), reading);
        imports
            .from("a.rs")
            .map(|(file, names)| format!("{file}: {}", names.iter().cloned().collect::<Vec<_>>().join(" ")))
            .collect()
    }

    #[test]
    fn a_path_leads_to_the_file_of_its_module_or_to_the_one_that_defines_the_item() {
        for code in [
            "use crate::b::C;",
            "fn f(c: crate::b::C) {}",
            "use crate::b; fn f() { b::C::new() }",
            "use crate::b as d; type T = d::C;",
        ] {
            assert_eq!(imported(code, Reading::AsNamed), ["b/mod.rs: C"], "{code}");
            assert_eq!(imported(code, Reading::AsDefined), ["b/c.rs: C"], "{code}");
        }
        assert_eq!(
            imported("use lockscope::b::{B::{self, One}, c::D, b as f};", Reading::AsDefined),
            ["b/c.rs: D", "b/mod.rs: B b"]
        );
        assert_eq!(imported("use crate::b::Made;", Reading::AsDefined), ["b/mod.rs: Made"]);
        assert_eq!(imported("use crate::b::*; type T = C;", Reading::AsDefined), ["b/c.rs: C"]);
    }

    #[test]
    fn a_module_and_what_other_crates_define_are_no_imports() {
        for code in [
            "use crate::b;",
            "use b::B;",
            "use std::fmt::Debug as B; type T = dyn B;",
            "mod b {}",
            "#[cfg(test)] use crate::b::B;",
        ] {
            assert_eq!(imported(code, Reading::AsDefined), [""; 0], "{code}");
        }
    }

    #[test]
    fn arguments_of_macros_and_attributes_are_read() {
        for code in ["fn f() { println!(\"{}\", crate::b::b()) }", "#[arg(value_parser = crate::b::b)] struct S;"] {
            assert_eq!(imported(code, Reading::AsDefined), ["b/mod.rs: b"], "{code}");
        }
    }
}
