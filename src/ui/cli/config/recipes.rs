//! The user's own recipes: `[[recipe]]`.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{field, is_known};
use super::mistake::Mistakes;
use lockscope_base::recipe::{BadRecipe, Definition, LockKind, NameRole, OwnRecipe, Recipe};
use lockscope_base::znode::ZnodePath;

/// The most recipes in one file.
const MAX_RECIPES: usize = 200;

const KEYS: [&str; 9] = ["name_from", "name", "pattern", "kind", "roles", "leases", "lock", "persistent", "below"];

/// Reads all `[[recipe]]` tables, in order.
pub(super) fn read(all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Vec<OwnRecipe> {
    let tables = all.get_ref().as_array().map(|array| array.iter().collect::<Vec<_>>());
    let Some(tables) = tables else {
        mistakes.record(all.span(), "recipe holds a list of tables: write [[recipe]], and its name and pattern below");
        return Vec::new();
    };
    let mut recipes: Vec<OwnRecipe> = Vec::new();
    for value in tables {
        if recipes.len() == MAX_RECIPES {
            mistakes.record(value.span(), &format!("{MAX_RECIPES} recipes are allowed"));
            break;
        }
        let Some(table) = value.get_ref().as_table() else {
            mistakes.record(value.span(), "a recipe is a table: write [[recipe]], and its name and pattern below");
            continue;
        };
        let Some(recipe) = read_one(table, value, mistakes) else { continue };
        if recipes.iter().any(|known| known.definition().name == recipe.definition().name) {
            let at = table.get("name").map_or_else(|| value.span(), Spanned::span);
            mistakes.record(at, &format!("name: there are two recipes {:?}", recipe.definition().name));
        } else {
            recipes.push(recipe);
        }
    }
    recipes
}

/// Reads one recipe. Returns `None` when any part is wrong: half a recipe would match other names.
fn read_one(table: &DeTable<'_>, all: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Option<OwnRecipe> {
    if !is_known(table, &KEYS, "a recipe", mistakes) {
        return None;
    }
    let lock = field::<bool>(table, "lock", mistakes).ok()?.unwrap_or(true);
    let roles = field::<BTreeMap<String, NameRole>>(table, "roles", mistakes).ok()?.unwrap_or_default();
    let (name, pattern, kind) = (
        field::<String>(table, "name", mistakes).ok()?,
        field::<String>(table, "pattern", mistakes).ok()?,
        field::<LockKind>(table, "kind", mistakes).ok()?,
    );
    let missing = |what: &str| format!("a recipe needs a {what}, as in {what} = {}", example(what));
    let mut needed = |value: Option<String>, what: &str| {
        if value.is_none() {
            mistakes.record(all.span(), &missing(what));
        }
        value
    };
    let (name, pattern) = (needed(name, "name")?, needed(pattern, "pattern")?);
    if kind.is_none() && lock {
        mistakes.record(all.span(), &missing("kind"));
        return None;
    }
    let definition = Definition {
        name,
        pattern,
        kind: kind.unwrap_or(LockKind::Exclusive),
        roles: roles.into_iter().collect(),
        lock,
        persistent: field(table, "persistent", mistakes).ok()?.unwrap_or(false),
        below: field::<ZnodePath>(table, "below", mistakes).ok()?,
        leases: field::<u32>(table, "leases", mistakes).ok()?,
        name_from: field::<String>(table, "name_from", mistakes).ok()?,
    };
    match Recipe::define(definition) {
        Ok(recipe) => Some(recipe),
        Err(error) => {
            let at = table.get(field_of(&error)).unwrap_or(all);
            mistakes.record(at.span(), &error.to_string());
            None
        }
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "name" => "\"my-lock\"",
        "kind" => "\"exclusive\"",
        _ => "\"my-{uuid}-{sequence}\"",
    }
}

/// Returns the key of the wrong entry.
fn field_of(error: &BadRecipe) -> &'static str {
    match error {
        BadRecipe::Name | BadRecipe::Taken(_) | BadRecipe::TooMany => "name",
        BadRecipe::NotNumbered | BadRecipe::Numbered => "kind",
        BadRecipe::Pattern(_) | BadRecipe::AnyName | BadRecipe::LockName => "pattern",
        BadRecipe::Roles | BadRecipe::TooManyRoles | BadRecipe::WrongRole(_) => "roles",
        BadRecipe::Leases | BadRecipe::LeasesOfOther | BadRecipe::LeasesAndRoles => "leases",
        BadRecipe::NameFrom => "name_from",
        BadRecipe::LongPath => "below",
    }
}
