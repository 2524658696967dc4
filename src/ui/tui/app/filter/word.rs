//! One word of a filter, and the parser.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// Maximum number of words in a filter. `Matching` has one bit of a `u32` for each.
const MAX_WORDS: usize = 32;
/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_LENGTH: usize = 500;
/// Memory limit of a compiled pattern, in bytes. A search may use as much again.
const MAX_PATTERN_MEMORY: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Whether a row with the word does not pass.
    pub inverse: bool,
    pub pattern: Pattern,
}

#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// A literal text, in lower case.
    Text(String),
    Regex(Regex),
}

impl Word {
    /// Returns whether every row that passes this word also passes `other`.
    pub fn implies(&self, other: &Self) -> bool {
        match (&self.pattern, &other.pattern) {
            (Pattern::Text(own), Pattern::Text(known)) if self.inverse && other.inverse => known.contains(own),
            (Pattern::Text(own), Pattern::Text(known)) if !self.inverse && !other.inverse => own.contains(known),
            (Pattern::Regex(own), Pattern::Regex(known)) => {
                self.inverse == other.inverse && own.as_str() == known.as_str()
            }
            _ => false,
        }
    }

    pub fn may_be_of_figures(&self) -> bool {
        match &self.pattern {
            Pattern::Text(text) => text.bytes().any(|byte| byte.is_ascii_digit()),
            Pattern::Regex(_) => true,
        }
    }

    /// Returns the byte ranges where the word matches in a text, at most `most` of them.
    pub fn places(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        match &self.pattern {
            Pattern::Regex(regex) => {
                let found = regex.find_iter(text).map(|found| found.range());
                found.filter(|range| !range.is_empty()).take(most).collect()
            }
            Pattern::Text(folded) => places_of(folded, text).take(most).collect(),
        }
    }

    pub fn is_in(&self, text: &str) -> bool {
        match &self.pattern {
            Pattern::Regex(regex) => regex.is_match(text),
            Pattern::Text(folded) if text.is_ascii() => {
                let needle = folded.as_bytes();
                text.len() >= needle.len()
                    && text.as_bytes().windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle))
            }
            Pattern::Text(folded) => text.to_lowercase().contains(folded),
        }
    }
}

/// Returns the byte ranges where a lower-case word occurs in a text.
fn places_of<'a>(folded: &'a str, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let letters = folded.chars().count();
    let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    starts.push(text.len());
    let windows = (0..(starts.len()).saturating_sub(letters)).map(move |at| starts[at]..starts[at + letters]);
    windows.filter(move |range| text[range.clone()].chars().flat_map(char::to_lowercase).eq(folded.chars()))
}

/// Parses the words of a filter. Blanks separate words; a pattern between slashes may contain
/// blanks.
pub(super) fn read(typed: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = typed.trim_start();
    while !rest.is_empty() {
        let (inverse, behind) = rest.strip_prefix('!').map_or((false, rest), |behind| (true, behind.trim_start()));
        let (pattern, left) = if let Some(end) = pattern_end(behind) {
            (Some(compile(&behind[1..end])?), &behind[end + 1..])
        } else {
            let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
            let text = behind[..end].to_lowercase();
            ((!text.is_empty()).then_some(Pattern::Text(text)), &behind[end..])
        };
        words.extend(pattern.map(|pattern| Word { inverse, pattern }));
        rest = left.trim_start();
    }
    if words.len() > MAX_WORDS {
        return Err(format!("A filter has at most {MAX_WORDS} words."));
    }
    Ok(words)
}

/// Returns the position of the slash that closes the pattern at the start of `text`.
///
/// The closing slash is not escaped, and a blank or the end of the text follows it. So the path
/// `/a/b` is no pattern, but `/a/` is the pattern `a`.
fn pattern_end(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('/')?;
    let closes = |at: &usize| {
        let before = inside[..*at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        let behind = inside[at + 1..].chars().next();
        *at > 0 && before % 2 == 0 && behind.is_none_or(char::is_whitespace)
    };
    inside.match_indices('/').map(|(at, _)| at).find(closes).map(|at| at + 1)
}

fn compile(pattern: &str) -> Result<Pattern, String> {
    if pattern.len() > MAX_PATTERN_LENGTH {
        return Err(format!("A pattern has at most {MAX_PATTERN_LENGTH} bytes."));
    }
    let built = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(MAX_PATTERN_MEMORY)
        .dfa_size_limit(MAX_PATTERN_MEMORY)
        .build();
    built.map(Pattern::Regex).map_err(|error| {
        let said = error.to_string();
        // The last line says what is wrong; the lines before it mark the position.
        let why = said.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("/{pattern}/ is not a pattern yet: {why}.")
    })
}
