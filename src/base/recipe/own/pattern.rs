//! Patterns of node names in the users' notation: `zlock#{uuid}#{sequence}`.

use super::super::terms;
use crate::znode::Sequence;

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 200;

/// The placeholders, for error messages.
const PLACEHOLDERS: &str = "{sequence}, {uuid}, {hex32}, {session}, {digits}, {role}, {lock} and {text}";

/// The reason why a pattern is invalid. Each message is a part of a sentence that says what is
/// allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// The pattern is empty or too long.
    #[error("a pattern has from 1 to {MAX_PATTERN_BYTES} bytes")]
    Length,
    /// The pattern contains a slash.
    #[error("a pattern is that of a node's name, which has no slash; `below` names the nodes that it is for")]
    Slash,
    /// A brace is not paired.
    #[error("a brace stands alone: write {{{{ or }}}} for a brace of the name itself")]
    Brace,
    /// The placeholder is unknown.
    #[error("there is no placeholder {{{0}}}: {PLACEHOLDERS} are allowed")]
    Unknown(String),
    /// `{sequence}` is not at the end.
    #[error("{{sequence}} stands at the end of a pattern, as the server writes it, and only there")]
    SequenceInside,
    /// More than one part can have any length.
    #[error("only one {{text}} or {{lock}} can stand in a pattern: the boundary between them would be ambiguous")]
    TwoTexts,
    /// The border between two parts is ambiguous.
    #[error("two placeholders stand side by side: put what stands between them in the names there")]
    SideBySide,
    /// `{session}`, which is read from the left, follows a part of any length.
    #[error("{{session}} cannot stand behind {{text}} or {{lock}}: put it in front")]
    SessionBehind,
    /// A placeholder occurs twice.
    #[error("{{{0}}} stands there twice")]
    Twice(&'static str),
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPart {
    Literal(String),
    /// 36 characters, with dashes.
    Uuid,
    /// A UUID without dashes.
    Hex32,
    /// A session's id, decimal or hexadecimal.
    Session,
    Digits,
    /// One of the words with a role.
    Role,
    /// At least one character: the name of the lock.
    Lock,
    /// At least one character.
    Text,
}

impl PatternPart {
    fn of_placeholder(name: &str) -> Result<Self, BadPattern> {
        Ok(match name {
            "uuid" => Self::Uuid,
            "hex32" => Self::Hex32,
            "session" => Self::Session,
            "digits" => Self::Digits,
            "role" => Self::Role,
            "lock" => Self::Lock,
            "text" => Self::Text,
            _ => return Err(BadPattern::Unknown(name.to_owned())),
        })
    }

    fn is_of_any_length(&self) -> bool {
        matches!(self, Self::Lock | Self::Text)
    }

    /// Returns how many bytes at the start of a text match this part.
    fn at_front(&self, text: &str, roles: &[&str]) -> Option<usize> {
        let length = match self {
            Self::Literal(literal) => return text.starts_with(&**literal).then_some(literal.len()),
            Self::Role => return roles.iter().filter(|role| text.starts_with(**role)).map(|role| role.len()).max(),
            Self::Uuid => 36,
            Self::Hex32 => 32,
            Self::Digits => text.bytes().take_while(u8::is_ascii_digit).count(),
            Self::Session => {
                let sign = usize::from(text.starts_with('-'));
                let digit = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'x';
                sign + text.bytes().skip(sign).take_while(digit).count()
            }
            Self::Lock | Self::Text => text.len(),
        };
        self.is(text.get(..length)?).then_some(length)
    }

    /// Returns how many bytes at the end of a text match this part.
    fn at_back(&self, text: &str, roles: &[&str]) -> Option<usize> {
        let length = match self {
            Self::Literal(literal) => return text.ends_with(&**literal).then_some(literal.len()),
            Self::Role => return roles.iter().filter(|role| text.ends_with(**role)).map(|role| role.len()).max(),
            Self::Uuid => 36,
            Self::Hex32 => 32,
            Self::Digits => text.bytes().rev().take_while(u8::is_ascii_digit).count(),
            Self::Session | Self::Lock | Self::Text => text.len(),
        };
        self.is(text.get(text.len().checked_sub(length)?..)?).then_some(length)
    }

    fn is(&self, text: &str) -> bool {
        match self {
            Self::Uuid => terms::is_uuid(text),
            Self::Hex32 => terms::is_hex32(text),
            Self::Session => terms::is_decimal_session(text) || terms::is_hex_session(text),
            Self::Literal(_) | Self::Role | Self::Digits | Self::Lock | Self::Text => !text.is_empty(),
        }
    }
}

/// The parts of a name that a pattern found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::recipe) struct Matched<'n> {
    pub sequence: Option<Sequence>,
    pub attempt: Option<&'n str>,
    pub lock: Option<&'n str>,
    pub role: Option<&'n str>,
}

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPattern {
    /// The parts that are matched from the left.
    front: Vec<PatternPart>,
    /// The part between the two, which can have any length.
    middle: Option<PatternPart>,
    /// The parts that are matched from the right, the last part first.
    back: Vec<PatternPart>,
    /// Whether the server numbers the nodes.
    pub numbered: bool,
}

impl OwnPattern {
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES {
            return Err(BadPattern::Length);
        }
        if text.contains('/') {
            return Err(BadPattern::Slash);
        }
        let head = text.strip_suffix("{sequence}");
        let parts = parts(head.unwrap_or(text))?;
        check(&parts, head.is_some())?;
        let middle = parts.iter().position(PatternPart::is_of_any_length);
        let mut front = parts;
        let mut back = middle.map_or_else(Vec::new, |at| front.split_off(at));
        back.reverse();
        Ok(Self { middle: back.pop(), front, back, numbered: head.is_some() })
    }

    /// Returns whether the pattern has `{role}`.
    pub fn has_role(&self) -> bool {
        self.parts().any(|part| *part == PatternPart::Role)
    }

    /// Returns whether the pattern has `{lock}`.
    pub fn names_lock(&self) -> bool {
        self.parts().any(|part| *part == PatternPart::Lock)
    }

    /// Returns whether any part tells matching names from other names.
    pub fn is_particular(&self) -> bool {
        self.parts().any(|part| !part.is_of_any_length() && *part != PatternPart::Digits)
    }

    fn parts(&self) -> impl Iterator<Item = &PatternPart> {
        self.front.iter().chain(&self.middle).chain(&self.back)
    }

    /// Matches a name. Returns `None` if it does not fit. The cost is linear in the length of the
    /// name.
    pub fn read<'n>(&self, name: &'n str, roles: &[&str]) -> Option<Matched<'n>> {
        let (mut rest, sequence) = match Sequence::split(name) {
            Some((head, sequence)) if self.numbered => (head, Some(sequence)),
            _ if self.numbered => return None,
            _ => (name, None),
        };
        let mut matched = Matched { sequence, ..Matched::default() };
        for part in &self.front {
            let (taken, after) = rest.split_at(part.at_front(rest, roles)?);
            matched.add_part(part, taken);
            rest = after;
        }
        for part in &self.back {
            let (before, taken) = rest.split_at(rest.len() - part.at_back(rest, roles)?);
            matched.add_part(part, taken);
            rest = before;
        }
        match &self.middle {
            None if !rest.is_empty() => return None,
            None => {}
            Some(_) if rest.is_empty() => return None,
            Some(part) => matched.add_part(part, rest),
        }
        Some(matched)
    }
}

impl<'n> Matched<'n> {
    fn add_part(&mut self, part: &PatternPart, text: &'n str) {
        match part {
            PatternPart::Uuid | PatternPart::Hex32 | PatternPart::Session => self.attempt = Some(text),
            PatternPart::Lock => self.lock = Some(text),
            PatternPart::Role => self.role = Some(text),
            PatternPart::Literal(_) | PatternPart::Digits | PatternPart::Text => {}
        }
    }
}

fn parts(mut text: &str) -> Result<Vec<PatternPart>, BadPattern> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    while let Some(letter) = text.chars().next() {
        let rest = &text[letter.len_utf8()..];
        text = match letter {
            '{' | '}' if rest.starts_with(letter) => {
                literal.push(letter);
                &rest[1..]
            }
            '}' => return Err(BadPattern::Brace),
            '{' => {
                let (name, after) = rest.split_once('}').ok_or(BadPattern::Brace)?;
                if name == "sequence" {
                    return Err(BadPattern::SequenceInside);
                }
                parts.extend(
                    Some(std::mem::take(&mut literal)).filter(|text| !text.is_empty()).map(PatternPart::Literal),
                );
                parts.push(PatternPart::of_placeholder(name)?);
                after
            }
            letter => {
                literal.push(letter);
                rest
            }
        };
    }
    parts.extend(Some(literal).filter(|text| !text.is_empty()).map(PatternPart::Literal));
    Ok(parts)
}

/// Checks that the borders of all parts are unambiguous and no meaning occurs twice.
fn check(parts: &[PatternPart], numbered: bool) -> Result<(), BadPattern> {
    let texts = parts.iter().filter(|part| part.is_of_any_length()).count();
    if texts > 1 {
        return Err(BadPattern::TwoTexts);
    }
    let attempt = |part: &&PatternPart| matches!(part, PatternPart::Uuid | PatternPart::Hex32 | PatternPart::Session);
    if parts.iter().filter(attempt).count() > 1 {
        return Err(BadPattern::Twice("uuid}, {hex32} or {session"));
    }
    if parts.iter().filter(|part| **part == PatternPart::Role).count() > 1 {
        return Err(BadPattern::Twice("role"));
    }
    let grows =
        |part: &PatternPart| matches!(part, PatternPart::Digits | PatternPart::Session) || part.is_of_any_length();
    let touches = parts.windows(2).any(|pair| grows(&pair[0]) && grows(&pair[1]));
    let before_number = parts.last().filter(|_| numbered);
    if touches || before_number.is_some_and(|last| matches!(last, PatternPart::Digits | PatternPart::Session)) {
        return Err(BadPattern::SideBySide);
    }
    let text = parts.iter().position(PatternPart::is_of_any_length);
    if text.is_some_and(|at| parts[at..].contains(&PatternPart::Session)) {
        return Err(BadPattern::SessionBehind);
    }
    Ok(())
}
