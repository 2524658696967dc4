//! The public interface of the lock library: a list, so that it changes on purpose only, and a
//! program outside of the workspace that uses all of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, Meta, TraitItem, UseTree, Visibility};

const OUTSIDE: &str = "tests/library/outside.rs";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An item of a crate's source, and the name of its file.
struct Defined {
    file: String,
    item: Item,
}

/// Returns the items of all files below a folder, but for the examples.
fn defined_in(folder: &str) -> Vec<Defined> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![root().join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() && !path.ends_with("examples") {
            let mut inside: Vec<_> =
                fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("it").path()).collect();
            inside.sort();
            open.extend(inside.into_iter().rev());
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let parsed = syn::parse_file(&fs::read_to_string(&path).expect("a source file")).expect("Rust");
            let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
            found.extend(parsed.items.into_iter().map(|item| Defined { file: file.clone(), item }));
        }
    }
    found
}

/// A line of the list, and what a program that uses it must contain.
struct Line {
    text: String,
    used_as: Option<String>,
}

/// Collects the public interface.
struct PublicApi {
    defined: Vec<Defined>,
    lines: Vec<Line>,
}

impl PublicApi {
    fn read() -> Self {
        let mut defined = defined_in("src/lock");
        let own = defined.len();
        defined.extend(["src/terms", "src/requests"].into_iter().flat_map(defined_in));
        let mut api = Self { defined, lines: Vec::new() };
        let mut face = api.places(|defined| defined.file == "lib" && is_public(&defined.item));
        face.retain(|at| *at < own);
        let (mut names, mut modules) = (Vec::new(), Vec::new());
        for at in face {
            match &api.defined[at].item {
                Item::Use(import) => names_of(&import.tree, &mut names),
                Item::Mod(module) => modules.push(module.ident.to_string()),
                _ => {}
            }
        }
        names.sort();
        for name in names {
            match *api.places(|defined| name_of(&defined.item) == Some(name.clone())) {
                [] => api.add(format!("crate {name}"), Some(format!("lockscope_lock::{name}"))),
                [at, ..] => api.add_item("", at),
            }
        }
        for module in modules {
            for at in api.places(|defined| defined.file == module && is_public(&defined.item)) {
                api.add_item(&format!("{module}::"), at);
            }
        }
        api
    }

    fn places(&self, wanted: impl Fn(&Defined) -> bool) -> Vec<usize> {
        (0..self.defined.len()).filter(|at| wanted(&self.defined[*at])).collect()
    }

    fn add(&mut self, text: String, used_as: Option<String>) {
        self.lines.push(Line { text, used_as });
    }

    fn member(&mut self, of: &str, name: &str, signature: &str) {
        self.add(format!("    {signature}"), Some(format!("{of}::{name}")));
    }

    fn add_item(&mut self, module: &str, at: usize) {
        let item = self.defined[at].item.clone();
        let Some(name) = name_of(&item) else { return };
        if let Item::Fn(item) = &item {
            return self.add(text(&item.sig), Some(name));
        }
        let (kind, attributes) = match &item {
            Item::Enum(item) => ("enum", &item.attrs),
            Item::Struct(item) => ("struct", &item.attrs),
            Item::Trait(item) => ("trait", &item.attrs),
            _ => ("item", &Vec::new()),
        };
        self.add(format!("{kind} {module}{name}{}", marks(attributes)), Some(name.clone()));
        match item {
            Item::Enum(item) => {
                for variant in item.variants {
                    let signature = format!("{}{}", variant.ident, text(&variant.fields));
                    self.member(&name, &variant.ident.to_string(), &signature);
                }
            }
            Item::Struct(item) => self.fields(&item.fields),
            Item::Trait(item) => {
                for part in item.items {
                    if let TraitItem::Fn(method) = part {
                        self.member(&name, &method.sig.ident.to_string(), &text(&method.sig));
                    }
                }
            }
            _ => {}
        }
        for at in self.places(|defined| matches!(&defined.item, Item::Impl(item) if text(&item.self_ty) == name)) {
            if let Item::Impl(item) = self.defined[at].item.clone() {
                self.implementation(&name, item);
            }
        }
    }

    fn fields(&mut self, fields: &Fields) {
        for (at, field) in fields.iter().enumerate().filter(|(_, field)| matches!(field.vis, Visibility::Public(_))) {
            let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
            self.add(format!("    {name}: {}", text(&field.ty)), Some(name));
        }
    }

    fn implementation(&mut self, of: &str, item: ItemImpl) {
        if let Some((_, of_trait, _)) = item.trait_ {
            return self.add(format!("    impl {}", text(&of_trait)), None);
        }
        for part in item.items {
            match part {
                ImplItem::Fn(method) if is_shown(&method.vis, &method.attrs) => {
                    self.member(of, &method.sig.ident.to_string(), &text(&method.sig));
                }
                ImplItem::Const(value) if is_shown(&value.vis, &value.attrs) => {
                    self.member(of, &value.ident.to_string(), &format!("{}: {}", value.ident, text(&value.ty)));
                }
                _ => {}
            }
        }
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Enum(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        _ => return None,
    })
}

fn is_public(item: &Item) -> bool {
    match item {
        Item::Enum(item) => is_shown(&item.vis, &item.attrs),
        Item::Struct(item) => is_shown(&item.vis, &item.attrs),
        Item::Trait(item) => is_shown(&item.vis, &item.attrs),
        Item::Type(item) => is_shown(&item.vis, &item.attrs),
        Item::Fn(item) => is_shown(&item.vis, &item.attrs),
        Item::Use(item) => is_shown(&item.vis, &item.attrs),
        Item::Mod(item) => is_shown(&item.vis, &item.attrs),
        _ => false,
    }
}

fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_hidden = |attribute: &Attribute| matches!(&attribute.meta, Meta::List(list) if list.path.is_ident("doc") && list.tokens.to_string() == "hidden");
    matches!(visibility, Visibility::Public(_)) && !attributes.iter().any(is_hidden)
}

fn names_of(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => names_of(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names_of(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        other => panic!("the list does not know {}", text(other)),
    }
}

/// Returns what is derived, and whether more may be added.
fn marks(attributes: &[Attribute]) -> String {
    let mark = |attribute: &Attribute| match &attribute.meta {
        Meta::Path(path) if path.is_ident("non_exhaustive") || path.is_ident("must_use") => format!(", {}", text(path)),
        Meta::List(list) if list.path.is_ident("derive") => format!(": {}", tidy(&list.tokens.to_string())),
        _ => String::new(),
    };
    attributes.iter().map(mark).collect()
}

fn text(tokens: &impl ToTokens) -> String {
    tidy(&without_attributes(&tokens.to_token_stream().to_string()))
}

/// Leaves out the documentation of fields and arguments.
fn without_attributes(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("# [") {
        kept.push_str(before);
        // The text of an attribute is a string, in which a bracket may be.
        let end = after.find("\"]").map(|at| at + 2).or_else(|| after.find(']').map(|at| at + 1));
        rest = &after[end.unwrap_or(after.len())..];
    }
    kept + rest
}

fn tidy(text: &str) -> String {
    let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pairs = [
        (" :: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" :", ":"),
        (" ; ", "; "),
        ("->(", "-> ("),
        (", }", " }"),
        ("{ ", " { "),
    ];
    pairs.iter().fold(spaced, |text, (from, to)| text.replace(from, to))
}

#[test]
fn the_public_interface_is_as_it_was_reviewed() {
    let lines: Vec<String> = PublicApi::read().lines.into_iter().map(|line| line.text).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_program_outside_of_the_workspace_uses_all_of_it_with_one_dependency() {
    let program = fs::read_to_string(root().join(OUTSIDE)).expect("the program");
    let unused: Vec<String> = PublicApi::read()
        .lines
        .into_iter()
        .filter(|line| line.used_as.as_ref().is_some_and(|used_as| !contains(&program, used_as)))
        .map(|line| line.text)
        .collect();
    assert!(unused.is_empty(), "{OUTSIDE} does not use\n{}", unused.join("\n"));

    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    fs::create_dir_all(&project).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[[bin]]\nname = \"outside\"\npath = {:?}\n\n\
         [dependencies]\nlockscope-lock = {{ path = {:?} }}\ntokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n\n\
         [workspace]\n",
        root().join(OUTSIDE),
        root().join("src/lock"),
    );
    fs::write(project.join("Cargo.toml"), manifest).expect("a manifest");
    // The versions that the workspace is tested with.
    fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).expect("a lock file");
    let mut check = Command::new(env!("CARGO"));
    check.args(["check", "--offline", "--quiet"]).current_dir(&project).env("CARGO_TARGET_DIR", project.join("target"));
    let checked = check.output().expect("cargo runs");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

/// Returns whether a program contains a name, not only as a part of a longer one.
fn contains(program: &str, name: &str) -> bool {
    let is_part =
        |character: Option<char>| character.is_some_and(|character| character.is_alphanumeric() || character == '_');
    program.match_indices(name).any(|(at, _)| {
        !is_part(program[..at].chars().next_back()) && !is_part(program[at + name.len()..].chars().next())
    })
}
