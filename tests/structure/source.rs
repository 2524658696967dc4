//! Reads source files: the modules, and what each of them defines, imports and names.
//!
//! The crates of the workspace are read as one tree. A crate of several modules contributes its
//! modules; a crate that is one module contributes itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, UseTree, Visibility};

/// The crates that are one module each. Their `lib.rs` is the module's own file.
pub const MODULE_CRATES: [&str; 5] = ["explore", "files", "lock", "requests", "sandbox"];

/// The names of a path such as `crate::queue::LockTable`, as written.
pub type Names = Vec<String>;

/// One module: a file, or a block in one.
#[derive(Debug, Default)]
pub struct Module {
    /// The file that contains the module, as named by [`file_in_tree`].
    pub file: String,
    /// The names of the items that the module defines.
    pub items: BTreeSet<String>,
    /// The imports of the module: the local name, and the path that it stands for.
    pub imports: BTreeMap<String, Names>,
    /// The imports that the module uses itself. The other imports are only re-exported.
    pub private_imports: Vec<Names>,
    /// The modules that are imported with `*`.
    pub globs: Vec<Names>,
    /// The paths in the module's code, without the imports.
    pub mentions: Vec<Names>,
}

impl Module {
    /// Returns the paths in the code and the imports. A path that begins with an imported name is
    /// expanded.
    pub fn paths(&self) -> impl Iterator<Item = Names> {
        let mentioned = self.mentions.iter().map(|path| {
            let (name, after) = path.split_first().expect("a path of at least one name");
            self.imports.get(name).map_or(path.clone(), |import| import.iter().chain(after).cloned().collect())
        });
        mentioned.chain(self.imports.values().cloned()).chain(self.globs.iter().cloned())
    }
}

/// The modules of all crates except tests, by their path from the root of the tree.
#[derive(Debug, Default)]
pub struct Source {
    /// The modules.
    pub modules: BTreeMap<Names, Module>,
    /// Modules that are compiled only for tests.
    test_modules: BTreeSet<Names>,
}

impl Source {
    /// Reads every file of every crate below `root`, the folder of the crates, except the examples.
    pub fn read(root: &Path) -> Self {
        let files = files(root);
        Self::parse(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Reads files given by their name in the tree and their text.
    pub fn parse<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let mut source = Self::default();
        for (name, text) in files {
            let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let at = module_of(name);
            let module = source.modules.entry(at.clone()).or_default();
            name.clone_into(&mut module.file);
            Reader { source: &mut source, at }.visit_file(&parsed);
        }
        let tests = source.test_modules.clone();
        source.modules.retain(|at, _| !(1..=at.len()).any(|length| tests.contains(&at[..length])));
        source
    }
}

/// Returns the names in the tree and the texts of every file of every crate below `root`, the
/// folder of the crates, except the examples. The exploration is a crate of the tests beside it.
pub fn files(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let explore = root.with_file_name("tests").join("explore");
    let mut open = vec![root.to_path_buf(), explore];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            if path.ends_with("examples") {
                continue;
            }
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).or(path.strip_prefix(root.with_file_name("tests")));
            let name = name.expect("a path below a root").to_string_lossy().into_owned();
            files.push((file_in_tree(&name), fs::read_to_string(&path).expect("a readable source file")));
        }
    }
    files
}

/// Returns the name of a file in the tree: `model/queue/apply.rs` becomes `queue/apply.rs`, and
/// `lock/lib.rs` becomes `lock/mod.rs`.
pub fn file_in_tree(file: &str) -> String {
    match file.split_once('/') {
        Some((member, "lib.rs")) if MODULE_CRATES.contains(&member) => format!("{member}/mod.rs"),
        Some((member, _)) if MODULE_CRATES.contains(&member) => file.to_owned(),
        Some((_, rest)) => rest.to_owned(),
        None => file.to_owned(),
    }
}

/// Returns the module of a file: `queue::apply` for `queue/apply.rs` and for `queue/apply/mod.rs`.
fn module_of(file: &str) -> Names {
    let mut names: Names = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib")) {
        names.pop();
    }
    names
}

struct Reader<'s> {
    source: &'s mut Source,
    at: Names,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.source.modules.get_mut(&self.at).expect("the module that is read")
    }

    fn import(&mut self, tree: &UseTree, before: &Names, is_private: bool) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Names>();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), is_private),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before, is_private)),
            UseTree::Name(name) if name.ident == "self" => {
                self.bring(before.last().cloned(), before.clone(), is_private);
            }
            UseTree::Name(name) => self.bring(Some(name.ident.to_string()), with(&name.ident), is_private),
            UseTree::Rename(rename) if rename.ident == "self" => {
                self.bring(Some(rename.rename.to_string()), before.clone(), is_private);
            }
            UseTree::Rename(rename) => self.bring(Some(rename.rename.to_string()), with(&rename.ident), is_private),
            UseTree::Glob(_) => self.module().globs.push(before.clone()),
        }
    }

    /// Adds the local name `name` for `path`.
    fn bring(&mut self, name: Option<String>, path: Names, is_private: bool) {
        let module = self.module();
        if is_private {
            module.private_imports.push(path.clone());
        }
        module.imports.extend(name.map(|name| (name, path)));
    }

    /// Adds the paths in the arguments of a macro or an attribute, which are tokens without syntax.
    fn mention_tokens(&mut self, tokens: &str) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let joined = tokens.replace(" :: ", "::").replace(":: ", "::").replace(" ::", "::");
        for word in joined.split(|c: char| !is_part(c)) {
            let path: Names = word.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if path.first().is_some_and(|name| !name.starts_with(|c: char| c.is_ascii_digit())) {
                self.module().mentions.push(path);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            self.module().items.extend(name(item));
            visit::visit_item(self, item);
        } else if let Item::Mod(module) = item {
            let test = self.at.iter().cloned().chain([module.ident.to_string()]).collect();
            self.source.test_modules.insert(test);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if is_for_tests(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let Some((_, items)) = &module.content else {
            return;
        };
        let file = self.module().file.clone();
        self.at.push(module.ident.to_string());
        self.source.modules.insert(self.at.clone(), Module { file, ..Module::default() });
        for item in items {
            self.visit_item(item);
        }
        self.at.pop();
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        self.import(&import.tree, &Names::new(), matches!(import.vis, Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.module().mentions.push(names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        visit::visit_macro(self, called);
        self.mention_tokens(&called.tokens.to_string());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.mention_tokens(&list.tokens.to_string());
        }
    }
}

/// Returns the number of lines of the modules in a file that are compiled only for tests.
pub fn lines_of_tests(text: &str) -> usize {
    let mut count = 0;
    let mut is_in_tests = false;
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let begins = line.ends_with('{') && line.contains("mod ") && at > 0 && lines[at - 1] == "#[cfg(test)]";
        is_in_tests |= begins;
        count += usize::from(is_in_tests);
        is_in_tests &= *line != "}";
    }
    count
}

/// Returns whether an item is compiled only for tests.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns the name that an item defines. Modules have their own entries.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
