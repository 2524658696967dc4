//! An argument of the config file with places for values.

use super::value::{OwnValue, OwnValues, known, like_an_option};

/// One argument with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(OwnValue),
}

impl Part {
    fn shown(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Value(value) => value.place(),
        }
    }
}

impl Template {
    /// Reads an argument. `{{` and `}}` stand for braces.
    pub fn read(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(letter) = rest.chars().next() {
            let brace = ["{{", "}}"].into_iter().find(|brace| rest.starts_with(brace));
            if brace.is_some() {
                plain.push(letter);
                rest = &rest[2..];
            } else if letter == '{' || letter == '}' {
                let found = OwnValue::ALL.into_iter().find(|value| rest.starts_with(value.place()));
                let value = found.ok_or_else(|| {
                    let known = OwnValue::ALL.map(OwnValue::place).join(", ");
                    format!("{text:?} has no value there: there are {known}, and {{{{ and }}}} stand for braces")
                })?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Value(value));
                rest = &rest[value.place().len()..];
            } else {
                plain.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    pub fn values(&self) -> impl Iterator<Item = OwnValue> {
        self.0.iter().filter_map(|part| if let Part::Value(value) = part { Some(*value) } else { None })
    }

    /// Returns the argument as the config file has it.
    pub fn shown(&self) -> String {
        self.0.iter().map(Part::shown).collect()
    }

    /// Returns the argument; the error says which value is not allowed there.
    pub fn fill(&self, values: &OwnValues) -> Result<String, String> {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Value(value) => {
                    let known = known(*value, values)?;
                    if filled.is_empty() && known.starts_with('-') {
                        return Err(like_an_option(*value, known));
                    }
                    filled.push_str(known);
                }
            }
        }
        Ok(filled)
    }
}
