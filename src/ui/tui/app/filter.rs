//! Filters for rows, and searches in lines: words, excluded words and patterns.
//!
//! ```text
//! billing !kazoo /lock-00\d+/     all three must hold; each word may match in any column
//! ```

mod matching;
mod rows;
mod word;

pub use self::matching::Matching;
use self::word::{Word, read};

/// A filter. A row passes when each word matches in some column, ignoring case. An empty filter
/// passes every row.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    typed: String,
    words: Vec<Word>,
    wrong: Option<String>,
}

/// Filters are equal when their typed texts are.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.typed == other.typed
    }
}

impl Eq for Filter {}

impl Filter {
    /// Returns a filter that every row passes.
    pub const fn none() -> Self {
        Self { typed: String::new(), words: Vec::new(), wrong: None }
    }

    /// Parses a typed filter. A text with an error filters nothing, and [`wrong`](Self::wrong) says
    /// why.
    pub fn new(typed: &str) -> Self {
        let (words, wrong) = match read(typed) {
            Ok(words) => (words, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Self { typed: typed.to_owned(), words, wrong }
    }

    /// Returns the typed text.
    pub fn text(&self) -> &str {
        &self.typed
    }

    /// Returns the error in the typed text, as a sentence.
    pub fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }

    /// Returns whether every row passes.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether every row that passes this filter also passes `other`. An empty `other` does
    /// not count.
    pub fn narrows(&self, other: &Filter) -> bool {
        !other.is_empty() && other.words.iter().all(|known| self.words.iter().any(|word| word.implies(known)))
    }

    /// Returns whether the filter may match a figure, such as a duration, which can change with
    /// time alone.
    pub fn may_be_of_figures(&self) -> bool {
        self.words.iter().any(Word::may_be_of_figures)
    }

    /// Starts to match the texts of a row.
    pub fn matching(&self) -> Matching<'_> {
        Matching::new(&self.words)
    }

    /// Returns whether a single text passes.
    pub fn takes(&self, text: &str) -> bool {
        let mut matching = self.matching();
        matching.text(text);
        matching.passes()
    }

    /// Returns the byte ranges where the required words match in a text, sorted by their start.
    /// Ranges may overlap. Each word contributes at most `most` ranges.
    pub fn places(&self, text: &str, most: usize) -> Vec<std::ops::Range<usize>> {
        let mut places = Vec::new();
        for word in self.words.iter().filter(|word| !word.inverse) {
            places.extend(word.places(text, most));
        }
        places.sort_unstable_by_key(|range| range.start);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_ignores_case_also_beyond_ascii() {
        assert!(Filter::new("BILL").takes("/locks/billing"));
        assert!(Filter::new("größe").takes("/GRÖSSE/Größe"));
        assert!(!Filter::new("orders").takes("/locks/billing"));
        assert!(Filter::new("").takes("anything"));
    }

    #[test]
    fn bytes_that_are_not_utf8_do_not_stop_the_search() {
        let filter = Filter::new("host");
        let mut matching = filter.matching();
        assert!(matching.bytes(b"\xff\xfeHOST-1\xff").passes());
    }

    fn passes(filter: &str, row: &[&str]) -> bool {
        let filter = Filter::new(filter);
        let mut matching = filter.matching();
        matching.texts(row.iter().copied());
        matching.passes()
    }

    #[test]
    fn a_row_passes_with_all_words_and_no_excluded_word() {
        let row = ["/locks/billing", "Curator mutex", "14m02s"];
        for (filter, expected) in [
            ("bill", true),
            ("bill curator", true),
            ("curator bill", true),
            ("bill kazoo", false),
            ("!kazoo", true),
            ("!bill", false),
            ("bill !kazoo", true),
            ("bill !curator", false),
            ("! bill", false),
            ("!", true),
            ("   ", true),
            (r"/m\d\ds$/", true),
            (r"/^curator MUTEX$/", true),
            (r"/^mutex/", false),
            (r"!/^mutex/ 14m", true),
            (r"!/o.*r/", false),
            (r"/locks\/b/", true),
            ("/locks/bill", true),
            ("/locks/", true),
            ("/", true),
            ("//", false),
        ] {
            assert_eq!(passes(filter, &row), expected, "{filter}");
        }
    }

    #[test]
    fn an_invalid_pattern_filters_nothing_and_says_why() {
        for pattern in ["/lock(/", "/a{99999999}/", "!/[/", "ok /*/"] {
            let filter = Filter::new(pattern);
            assert!(filter.is_empty() && filter.takes("anything"), "{pattern}");
            let why = filter.wrong().unwrap();
            assert!(why.ends_with('.') && !why.contains('\n'), "{why}");
        }
        assert_eq!(Filter::new("/lock(/").wrong(), Some("/lock(/ is not a pattern yet: unclosed group."));
        let (long, many) = (format!("/{}/", "a".repeat(2000)), "a ".repeat(40));
        assert!(Filter::new(&long).wrong().is_some() && Filter::new(&many).wrong().is_some());
    }

    #[test]
    fn a_longer_word_narrows_and_a_shorter_excluded_word_narrows() {
        for (now, before, expected) in [
            ("bill", "bil", true),
            ("bil", "bill", false),
            ("bill cur", "bill", true),
            ("!bi", "!bil", true),
            ("!bil", "!bi", false),
            ("/a/ b", "/a/", true),
            ("a", "", false),
            ("/a/", "a", false),
        ] {
            assert_eq!(Filter::new(now).narrows(&Filter::new(before)), expected, "{now} after {before}");
        }
    }

    #[test]
    fn match_ranges_cover_the_matched_letters() {
        let places = |filter: &str, text: &str| Filter::new(filter).places(text, 9);
        assert_eq!(places("LO !x", "lock in /lo"), [0..2, 9..11]);
        assert_eq!(places("ö", "Größe Ö"), [2..4, 8..10]);
        assert_eq!(places(r"/o+/", "foo bo"), [1..3, 5..6]);
        assert!(places("x*", "none").is_empty() && places("longer than", "it").is_empty());
    }
}
