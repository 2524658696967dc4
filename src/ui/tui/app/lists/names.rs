//! Shortens paths that stand one below the other, so that those that differ look different. Pure.
//!
//! ```text
//! /prod/eu/warehouse/locks/catalog-0200    /prod/eu/w…/catalog-0200
//! /prod/eu/warehouse/locks/catalog-0201    /prod/eu/w…/catalog-0201
//!
//! /prod/eu/warehouse-1/locks/catalog       /prod/eu/…1/…/catalog
//! /prod/eu/warehouse-2/locks/catalog       /prod/eu/…2/…/catalog
//! ```
//!
//! The middle is left out, unless paths that differ would look alike. Then goes what all paths have
//! in common at a place, and then the letters at the beginning and the end of a component that all
//! components at that place share. The last component keeps its end.

use rustc_hash::FxHashSet;

use lockscope_model::text::{Charset, Keep, cut, fit, width};

/// Minimum columns of the end of a path.
const MIN_END: usize = 4;

/// Shortens the paths that need more than `columns` columns.
pub fn shorten(paths: &[&str], columns: usize, charset: Charset) -> Vec<String> {
    let whole: Vec<_> = paths.iter().map(|path| fit(path, usize::MAX, Keep::End, charset)).collect();
    let fits = |path: &String| width(path) <= columns;
    let middles =
        whole.iter().map(|path| if fits(path) { path.clone() } else { without_middle(path, columns, charset) });
    let middles: Vec<_> = middles.collect();
    let distinct: FxHashSet<_> = middles.iter().zip(&whole).collect();
    let looks: FxHashSet<_> = middles.iter().collect();
    if looks.len() == distinct.len() {
        return middles;
    }
    let split: Vec<Vec<&str>> = whole.iter().map(|path| path.split('/').collect()).collect();
    let depth = split.iter().map(Vec::len).max().unwrap_or(0);
    let shared: Vec<_> =
        (0..depth).map(|at| Shared::of(split.iter().filter_map(|parts| parts.get(at).copied()))).collect();
    let short = |(path, parts): (&String, &Vec<&str>)| {
        if fits(path) { path.clone() } else { in_columns(parts, &shared, columns, charset) }
    };
    whole.iter().zip(&split).map(short).collect()
}

/// Keeps as much of the beginning as there is room for, and the last component.
fn without_middle(path: &str, columns: usize, charset: Charset) -> String {
    let name = path.rfind('/').map_or(path, |at| &path[at..]);
    let room = columns.saturating_sub(width(name));
    if room <= 1 {
        return cut(path, columns, Keep::End, charset);
    }
    cut(&path[..path.len() - name.len()], room, Keep::Start, charset) + name
}

/// What the components of several paths at one place have in common.
struct Shared<'a> {
    /// The component, if all paths have the same one.
    whole: Option<&'a str>,
    /// The letters in common at the beginning and at the end, in bytes.
    start: usize,
    end: usize,
}

impl<'a> Shared<'a> {
    fn of(mut parts: impl Iterator<Item = &'a str>) -> Self {
        let first = parts.next().unwrap_or_default();
        let mut shared =
            Self { whole: Some(first).filter(|first| !first.is_empty()), start: first.len(), end: first.len() };
        let mut shortest = first.len();
        for part in parts {
            let same = |(one, other): &(char, char)| one == other;
            let bytes = |(letter, _): (char, char)| letter.len_utf8();
            let start = first.chars().zip(part.chars()).take_while(same).map(bytes).sum();
            let end = first.chars().rev().zip(part.chars().rev()).take_while(same).map(bytes).sum();
            shared.whole = shared.whole.filter(|whole| *whole == part);
            (shared.start, shared.end) = (shared.start.min(start), shared.end.min(end));
            shortest = shortest.min(part.len());
        }
        // A letter in common at both ends counts once.
        shared.end = shared.end.min(shortest.saturating_sub(shared.start));
        shared
    }

    /// Returns a component without what all have in common. The last component of a path keeps its
    /// end.
    fn without(&self, part: &str, is_last: bool, charset: Charset) -> String {
        let mark = |bytes: usize| if bytes > 1 { charset.ellipsis() } else { "" };
        let start = if self.start > 1 { self.start } else { 0 };
        let end = if self.end > 1 && !is_last { part.len() - self.end } else { part.len() };
        if self.whole == Some(part) {
            return if is_last { part.to_owned() } else { charset.ellipsis().to_owned() };
        }
        format!("{}{}{}", mark(start), &part[start..end], mark(part.len() - end))
    }
}

/// Leaves out parts of a path until it fits, the least telling first.
fn in_columns(parts: &[&str], shared: &[Shared<'_>], columns: usize, charset: Charset) -> String {
    let last = parts.len().saturating_sub(1);
    let mut shown: Vec<_> = parts.iter().map(|part| (*part).to_owned()).collect();
    let is_same = |at: &usize| shared[*at].whole == Some(parts[*at]);
    // The beginning tells more than the middle, so what is the same is left out from the end on.
    let same = (0..last).rev().filter(is_same);
    let other = (0..=last).filter(|at| !is_same(at));
    for at in same.chain(other) {
        shown[at] = shared[at].without(parts[at], at == last, charset);
        let text = joined(&shown, charset);
        if width(&text) <= columns {
            return text;
        }
    }
    let text = joined(&shown, charset);
    // At last goes the beginning of the last component.
    let more = width(&text) - columns;
    match shown.last_mut().map(|name| (width(name), name)) {
        Some((all, name)) if all >= more + MIN_END => {
            *name = cut(name, all - more, Keep::End, charset);
            joined(&shown, charset)
        }
        _ => without_middle(&text, columns, charset),
    }
}

/// Joins the components. Several that are left out one after another are one sign.
fn joined(shown: &[String], charset: Charset) -> String {
    let mut parts: Vec<&str> = shown.iter().map(String::as_str).collect();
    parts.dedup_by(|one, before| *one == charset.ellipsis() && one == before);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn short(paths: &[&str], columns: usize) -> Vec<String> {
        shorten(paths, columns, Charset::Unicode)
    }

    #[test]
    fn the_middle_is_left_out_unless_paths_would_look_alike() {
        let paths = ["/prod/eu/warehouse/locks/catalog-0200", "/prod/eu/warehouse/locks/catalog-0201", "/short"];
        assert_eq!(short(&paths, 24), ["/prod/eu/w…/catalog-0200", "/prod/eu/w…/catalog-0201", "/short"]);
        let paths = ["/prod/eu/warehouse-1/locks/catalog", "/prod/eu/warehouse-2/locks/catalog"];
        assert_eq!(short(&paths, 24), ["/…/warehouse-1/…/catalog", "/…/warehouse-2/…/catalog"]);
        assert_eq!(short(&paths, 18), ["/…/…1/…/catalog", "/…/…2/…/catalog"]);
        assert_eq!(short(&["/prod/a\u{1b}b/catalog"], 12), ["/pr…/catalog"]);
        assert_eq!(short(&["/prod/分布式锁/订单-0001"], 12), ["/…/订单-0001"]);
    }

    #[test]
    fn paths_that_differ_in_any_component_look_different_and_fit() {
        let path = |variant: usize, number: usize| {
            let mut parts =
                ["production", "region-000", "team-blue-000", "locks-of-0000", "queue-000"].map(str::to_owned);
            parts[variant] = format!("{}{number:03}", &parts[variant][..parts[variant].len() - 3]);
            format!("/{}", parts.join("/"))
        };
        let paths: Vec<_> = (0..200).map(|number| path(number % 5, number + 1)).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        for columns in 27..60 {
            let short = shorten(&paths, columns, Charset::Ascii);
            assert!(short.iter().all(|path| width(path) <= columns), "{short:?}");
            assert_eq!(short.iter().collect::<HashSet<_>>().len(), 200, "{columns}: {short:#?}");
        }
    }
}
