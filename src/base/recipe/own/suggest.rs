//! A recipe for the nodes of one parent that look like those of a lock, and that no recipe reads.

use super::{Definition, understand};
use crate::recipe::terms::{LockKind, is_hex32, is_uuid};
use crate::recipe::{Classifier, Recipe, is_named_election};
use crate::znode::{Sequence, ZnodePath, must_be_escaped};

/// The most names that are looked at.
const MAX_LOOKED_AT: usize = 1_000;

/// The longest part of a recipe's name that is taken from the name of the parent.
const MAX_PARENT_NAME: usize = 12;

impl Classifier {
    /// Returns a recipe that reads the children of a node, if all of them are numbered by the server,
    /// have names of one pattern, and belong to no recipe that is known.
    pub fn suggested<'n>(&self, parent: &ZnodePath, names: impl Iterator<Item = &'n str>) -> Option<Definition> {
        let mut pattern = None;
        for name in names.take(MAX_LOOKED_AT) {
            if self.classify(&parent.child(name))?.recipe != Recipe::UnknownQueue {
                return None;
            }
            let own = pattern_of(name)?;
            if *pattern.get_or_insert_with(|| own.clone()) != own {
                return None;
            }
        }
        let word = parent.name().chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
        let word: String = word.take(MAX_PARENT_NAME).collect();
        let name = format!("own-{}", word.trim_matches('-').to_ascii_lowercase());
        let kind = if is_named_election(parent) { LockKind::Election } else { LockKind::Exclusive };
        let definition = Definition {
            name: name.trim_end_matches('-').to_owned(),
            pattern: pattern?,
            kind,
            roles: Vec::new(),
            lock: true,
            persistent: false,
            below: Some(parent.clone()),
            leases: None,
            name_from: None,
        };
        understand(&definition).is_ok().then_some(definition)
    }
}

/// Returns the pattern of a numbered name, in which the id of an attempt is a placeholder. `None`
/// where nothing stands before the number.
fn pattern_of(name: &str) -> Option<String> {
    let (head, _) = Sequence::split(name).filter(|(head, _)| !head.is_empty())?;
    let literal = |text: &str| text.replace('{', "{{").replace('}', "}}");
    let id_at = |length: usize, is_id: fn(&str) -> bool| {
        (0..head.len()).find(|at| head.get(*at..at + length).is_some_and(is_id)).map(|at| (at, at + length))
    };
    let ids = [(36, is_uuid as fn(&str) -> bool, "{uuid}"), (32, is_hex32, "{hex32}")];
    let found = ids.into_iter().find_map(|(length, is_id, place)| Some((id_at(length, is_id)?, place)));
    Some(match found {
        Some(((from, to), place)) => format!("{}{place}{}{{sequence}}", literal(&head[..from]), literal(&head[to..])),
        None => format!("{}{{sequence}}", literal(head)),
    })
}

impl Definition {
    /// Returns the definition as the config file has it, in lines. `None` where a text could not be
    /// typed: it has control or invisible characters.
    pub fn in_config(&self) -> Option<Vec<String>> {
        let below = self.below.as_ref().map(ZnodePath::as_str);
        let texts = [
            ("name", Some(&*self.name)),
            ("pattern", Some(&*self.pattern)),
            ("kind", Some(self.kind.id())),
            ("below", below),
        ];
        let mut lines = vec!["[[recipe]]".to_owned()];
        for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
            if text.chars().any(|letter| letter != '\\' && must_be_escaped(letter)) {
                return None;
            }
            lines.push(format!("{key} = \"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")));
        }
        lines.extend(self.persistent.then(|| "persistent = true".to_owned()));
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(names: &[&str]) -> Option<String> {
        let parent = ZnodePath::new("/apps/Tickets").unwrap();
        let found = Classifier::default().suggested(&parent, names.iter().copied());
        found.map(|definition| definition.pattern)
    }

    #[test]
    fn numbered_names_of_one_pattern_that_no_recipe_reads_suggest_one() {
        let id = "5c1d4f7e-9a3b-4d2c-8e6f-8a1b0c00001b";
        assert_eq!(suggested(&["ticket-0000000001", "ticket-0000000007"]).unwrap(), "ticket-{sequence}");
        assert_eq!(suggested(&[&format!("a{{b-{id}-0000000001")]).unwrap(), "a{{b-{uuid}-{sequence}");
        assert_eq!(suggested(&["ticket-0000000001", "tocket-0000000007"]), None, "two prefixes");
        assert_eq!(suggested(&["ticket-0000000001", "config"]), None, "not numbered");
        assert_eq!(suggested(&[&format!("_c_{id}-lock-0000000001")]), None, "Curator's mutex is known");
        assert_eq!(suggested(&["0000000001"]), None, "a number alone");
        assert_eq!(suggested(&[]), None);
    }

    #[test]
    fn a_suggestion_is_written_as_in_the_config_file() {
        let parent = ZnodePath::new("/apps/Tick\"ets").unwrap();
        let names = ["t\\x-0000000001"];
        let definition = Classifier::default().suggested(&parent, names.into_iter()).unwrap();
        let lines = Definition { persistent: true, ..definition }.in_config().unwrap();
        let expected = [
            "[[recipe]]",
            "name = \"own-tick-ets\"",
            r#"pattern = "t\\x-{sequence}""#,
            "kind = \"exclusive\"",
            r#"below = "/apps/Tick\"ets""#,
            "persistent = true",
        ];
        assert_eq!(lines, expected);
        let hidden = ["t\u{202e}-0000000001"];
        let hidden = Classifier::default().suggested(&parent, hidden.into_iter()).unwrap();
        assert_eq!(hidden.in_config(), None);
    }
}
