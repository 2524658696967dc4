//! Finds files that call each other through the methods of one type, which no `use` line shows.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, ImplItem, ItemImpl, Type};

use crate::circles::{Circle, circles_of};
use crate::imports::Imports;
use crate::source::is_for_tests;

/// The methods of the types of one module, and the files that call each of them on `self`.
#[derive(Default)]
pub struct Methods {
    /// For each type and method, the files that define it.
    defined: BTreeMap<(String, String), BTreeSet<String>>,
    /// For each type, the calls on `self`: the calling file and the method.
    called: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl Methods {
    /// Reads one more file. A type is identified by its module and its name.
    pub fn read(&mut self, file: &str, parsed: &syn::File) {
        let module = file.split('/').next().unwrap_or_default();
        Reader { methods: self, file, module, of: None }.visit_file(parsed);
    }

    /// Returns the circles of each type.
    pub fn circles(&self) -> Vec<(String, Circle)> {
        let mut found = Vec::new();
        for (of, calls) in &self.called {
            let mut graph = Imports::default();
            for (file, method) in calls {
                for definer in self.defined.get(&(of.clone(), method.clone())).into_iter().flatten() {
                    graph.add(file, definer, method.clone());
                }
            }
            found.extend(circles_of(&graph).into_iter().map(|circle| (of.clone(), circle)));
        }
        found
    }
}

struct Reader<'m> {
    methods: &'m mut Methods,
    file: &'m str,
    module: &'m str,
    /// The type whose methods are read.
    of: Option<String>,
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        let Type::Path(path) = &*block.self_ty else { return };
        let Some(name) = path.path.segments.last() else { return };
        if is_for_tests(&block.attrs) {
            return;
        }
        let of = format!("{}::{}", self.module, name.ident);
        for item in &block.items {
            if let ImplItem::Fn(function) = item
                && !is_for_tests(&function.attrs)
            {
                let method = (of.clone(), function.sig.ident.to_string());
                self.methods.defined.entry(method).or_default().insert(self.file.to_owned());
                self.of = Some(of.clone());
                self.visit_block(&function.block);
                self.of = None;
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let is_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        if let (true, Some(of)) = (is_self, &self.of) {
            let call = (self.file.to_owned(), call.method.to_string());
            self.methods.called.entry(of.clone()).or_default().insert(call);
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::Methods;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut methods = Methods::default();
        for (name, text) in files {
            methods.read(name, &syn::parse_file(text).expect("Rust"));
        }
        let circles = methods.circles();
        circles.iter().map(|(of, circle)| format!("{of}: {:?}", circle.files)).collect()
    }

    #[test]
    fn files_that_call_each_others_methods_of_one_type_are_a_circle() {
        let a = ("m/a.rs", "impl T { fn a(&self) { self.b(); } }");
        let b = ("m/b.rs", "impl<'x> T<'x> { fn b(&self) { if true { self.a() } } }");
        assert_eq!(found(&[a, b]), [r#"m::T: {"m/a.rs", "m/b.rs"}"#]);
    }

    #[test]
    fn one_direction_another_type_and_tests_are_no_circle() {
        let a = ("m/a.rs", "impl T { fn a(&self) { self.b(); } }");
        for b in [
            "impl T { fn b(&self) {} }",
            "impl U { fn b(&self) { self.a() } }",
            "impl T { fn b(&self) { self.other.a() } }",
            "impl T { fn b(&self) {} #[cfg(test)] fn c(&self) { self.a() } }",
            "impl T { fn b(&self) {} } #[cfg(test)] mod tests { impl T { fn c(&self) { self.a() } } }",
        ] {
            assert_eq!(found(&[a, ("m/b.rs", b)]), [""; 0], "{b}");
        }
        assert_eq!(found(&[a, ("n/b.rs", "impl T { fn b(&self) { self.a() } }")]), [""; 0]);
    }
}
