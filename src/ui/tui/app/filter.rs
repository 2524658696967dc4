//! Filters for rows, and searches in lines: words, excluded words and patterns.
//!
//! ```text
//! billing !kazoo /lock-00\d+/     all three must hold; each word may match in any column
//! ```
//!
//! A row is matched text by text, including those of columns that do not fit on the screen, and
//! only until the result is decided. Texts that few words can match, such as figures and ids, are
//! built only for those words.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::tui::app::TimelineEntry;
use crate::tui::page::entries::NO_OUTCOME;
use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{Sequence, SessionId, Timestamp};
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::diagnose::{Diagnosis, TableAt};
use lockscope_model::queue::{ClientIdentity, Contender, ContenderRow, ContenderState, LockName, LockQueue, LockTable};
use lockscope_model::text::Charset;
use lockscope_model::text::human::{bounded, count, date_and_time, duration, exact_time, rate};

/// A filter. A row passes when each word matches in some column, ignoring case. An empty filter
/// passes every row.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    typed: String,
    words: Vec<FilterWord>,
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
        let (words, wrong) = match read_words(typed) {
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
        self.words.iter().any(FilterWord::may_be_of_figures)
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

/// The words of a filter, and which of them occur in the texts of one row that were searched so
/// far.
pub struct Matching<'f> {
    words: &'f [FilterWord],
    /// One bit per word, set once the word was found.
    found: u32,
}

impl<'f> Matching<'f> {
    /// Creates the state before any text was searched.
    fn new(words: &'f [FilterWord]) -> Self {
        Self { words, found: 0 }
    }
    /// Searches a text for the words that were not found yet.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for (at, word) in self.words.iter().enumerate() {
            if self.found & (1 << at) == 0 && word.is_in(text) {
                self.found |= 1 << at;
            }
        }
        self
    }

    pub fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> &mut Self {
        texts.into_iter().for_each(|text| {
            self.text(text);
        });
        self
    }

    /// Searches a text, which is built only if the result is still open.
    pub fn made(&mut self, text: impl FnOnce() -> String) -> &mut Self {
        if !self.is_decided() {
            self.text(&text());
        }
        self
    }

    /// Searches a figure or a time, which is built only if a missing word can match one. Most words
    /// cannot.
    pub fn figure(&mut self, text: impl FnOnce() -> String) -> &mut Self {
        if self.missing().any(FilterWord::may_be_of_figures) {
            self.made(text);
        }
        self
    }

    /// Searches a session's id.
    pub fn session(&mut self, session: Option<SessionId>) -> &mut Self {
        // Most words cannot occur in a session's id, which has only `x` and hex digits. The id is
        // not formatted for them.
        let may_be = |word: &FilterWord| match &word.pattern {
            FilterPattern::Text(text) => text.bytes().all(|byte| byte == b'x' || byte.is_ascii_hexdigit()),
            FilterPattern::Regex(_) => true,
        };
        match session.filter(|_| self.missing().any(may_be)) {
            Some(session) => self.made(|| session.to_string()),
            None => self,
        }
    }

    /// Searches a client's names and address.
    pub fn client(&mut self, client: &ClientIdentity) -> &mut Self {
        self.texts(client.name.iter().chain(&client.given).chain(&client.address).map(|text| &**text))
    }

    /// Searches bytes that may be text. Replaces invalid UTF-8 before the search.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(text),
            Err(_) => self.text(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Returns whether no further text can change the result.
    pub fn is_decided(&self) -> bool {
        let is_found = |at: usize| self.found & (1 << at) != 0;
        let mut words = self.words.iter().enumerate();
        words.clone().any(|(at, word)| word.inverse && is_found(at))
            || words.all(|(at, word)| !word.inverse && is_found(at))
    }

    /// Returns whether the row passes, judged by the texts that were searched so far.
    pub fn passes(&self) -> bool {
        self.words.iter().enumerate().all(|(at, word)| (self.found & (1 << at) != 0) != word.inverse)
    }

    fn missing(&self) -> impl Iterator<Item = &FilterWord> {
        self.words.iter().enumerate().filter(|(at, _)| self.found & (1 << at) == 0).map(|(_, word)| word)
    }
}

/// Maximum number of words in a filter. `Matching` has one bit of a `u32` for each.
const MAX_WORDS: usize = 32;

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_LENGTH: usize = 500;

/// Memory limit of a compiled pattern, in bytes. A search may use as much again.
const MAX_PATTERN_MEMORY: usize = 1 << 20;

#[derive(Clone, Debug)]
struct FilterWord {
    /// Whether a row with the word does not pass.
    pub inverse: bool,
    pub pattern: FilterPattern,
}

#[derive(Clone, Debug)]
enum FilterPattern {
    /// A literal text, in lower case.
    Text(String),
    Regex(Regex),
}

impl FilterWord {
    /// Returns whether every row that passes this word also passes `other`.
    pub fn implies(&self, other: &Self) -> bool {
        match (&self.pattern, &other.pattern) {
            (FilterPattern::Text(own), FilterPattern::Text(known)) if self.inverse && other.inverse => {
                known.contains(own)
            }
            (FilterPattern::Text(own), FilterPattern::Text(known)) if !self.inverse && !other.inverse => {
                own.contains(known)
            }
            (FilterPattern::Regex(own), FilterPattern::Regex(known)) => {
                self.inverse == other.inverse && own.as_str() == known.as_str()
            }
            _ => false,
        }
    }

    pub fn may_be_of_figures(&self) -> bool {
        match &self.pattern {
            FilterPattern::Text(text) => text.bytes().any(|byte| byte.is_ascii_digit()),
            FilterPattern::Regex(_) => true,
        }
    }

    /// Returns the byte ranges where the word matches in a text, at most `most` of them.
    pub fn places(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        match &self.pattern {
            FilterPattern::Regex(regex) => {
                let found = regex.find_iter(text).map(|found| found.range());
                found.filter(|range| !range.is_empty()).take(most).collect()
            }
            FilterPattern::Text(folded) => places_of(folded, text).take(most).collect(),
        }
    }

    pub fn is_in(&self, text: &str) -> bool {
        match &self.pattern {
            FilterPattern::Regex(regex) => regex.is_match(text),
            FilterPattern::Text(folded) if text.is_ascii() => {
                let needle = folded.as_bytes();
                text.len() >= needle.len()
                    && text.as_bytes().windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle))
            }
            FilterPattern::Text(folded) => text.to_lowercase().contains(folded),
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
fn read_words(typed: &str) -> Result<Vec<FilterWord>, String> {
    let mut words = Vec::new();
    let mut rest = typed.trim_start();
    while !rest.is_empty() {
        let (inverse, behind) = rest.strip_prefix('!').map_or((false, rest), |behind| (true, behind.trim_start()));
        let (pattern, left) = if let Some(end) = pattern_end(behind) {
            (Some(compile_pattern(&behind[1..end])?), &behind[end + 1..])
        } else {
            let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
            let text = behind[..end].to_lowercase();
            ((!text.is_empty()).then_some(FilterPattern::Text(text)), &behind[end..])
        };
        words.extend(pattern.map(|pattern| FilterWord { inverse, pattern }));
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

fn compile_pattern(pattern: &str) -> Result<FilterPattern, String> {
    if pattern.len() > MAX_PATTERN_LENGTH {
        return Err(format!("A pattern has at most {MAX_PATTERN_LENGTH} bytes."));
    }
    let built = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(MAX_PATTERN_MEMORY)
        .dfa_size_limit(MAX_PATTERN_MEMORY)
        .build();
    built.map(FilterPattern::Regex).map_err(|error| {
        let said = error.to_string();
        // The last line says what is wrong; the lines before it mark the position.
        let why = said.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("/{pattern}/ is not a pattern yet: {why}.")
    })
}

/// Maximum number of holders and first waiters of a lock that are searched.
pub const MAX_SEARCHED_CONTENDERS: usize = 100;

impl Matching<'_> {
    /// Searches the name of a lock as the screens show it.
    pub fn lock(&mut self, lock: &LockName) -> &mut Self {
        match &lock.name {
            Some(_) => self.made(|| lock.to_string()),
            None => self.text(lock.path.as_str()),
        }
    }

    fn time(&mut self, at: Timestamp) -> &mut Self {
        self.figure(|| exact_time(at, true)).figure(|| exact_time(at, false))
    }

    /// Searches the current or last known address of a session's client, and the name that the user gave
    /// it.
    fn address_of(&mut self, session: Option<SessionId>, table: &LockTable) -> &mut Self {
        let clients = table.clients();
        self.texts(session.and_then(|session| clients.given_name(session)));
        self.texts(session.and_then(|session| clients.address_of(session)))
    }

    /// Searches what does not depend on the contender's position: its node, session, data and
    /// client address.
    fn contender(&mut self, contender: &Contender, table: &LockTable) -> &mut Self {
        self.text(&contender.node)
            .session(contender.session())
            .bytes(contender.data.bytes())
            .address_of(contender.session(), table)
    }
}

/// Maximum number of nodes that a waiter waits for and that are searched. Lists show no more.
const MAX_SHOWN_BLOCKERS: usize = 5;

impl Filter {
    /// Returns whether a lock passes by its path and name alone.
    pub fn takes_name_of(&self, lock: &LockName) -> bool {
        let mut matching = self.matching();
        matching.lock(lock);
        matching.passes()
    }

    /// Returns whether a contender passes, by its lock, node, session, data and address.
    pub fn takes_who(&self, lock: &LockName, contender: &Contender, table: &LockTable) -> bool {
        let mut matching = self.matching();
        if !matching.lock(lock).is_decided() {
            matching.contender(contender, table);
        }
        matching.passes()
    }

    /// Returns whether a lock passes, by its path, name, recipe, contenders, findings and figures.
    pub fn takes_lock(&self, lock: &LockQueue, at: TableAt<'_>, diagnosis: &Diagnosis, now: Timestamp) -> bool {
        let mut matching = self.matching();
        if self.is_empty() || matching.lock(&lock.lock_name()).is_decided() {
            return matching.passes();
        }
        matching.text(lock.recipe().title()).text(lock.recipe().id());
        let table = at.table();
        for row in lock.rows(0..lock.len().min(MAX_SEARCHED_CONTENDERS)) {
            if !matching.is_decided() {
                matching.contender(row.contender, table);
            }
        }
        for finding in diagnosis.of(lock.id()) {
            matching
                .text(finding.code.id())
                .text(finding.code.title())
                .text(finding.severity.id())
                .text(&finding.summary);
            if let Some(mute) = &finding.muted {
                matching.text("muted").text(&mute.note).text(&mute.by);
            }
        }
        if lock.is_assumed() {
            matching.text("assumed");
        }
        if lock.is_empty() {
            matching.text("free");
        }
        if let Some(bounds) = lock.first_holder().and_then(|holder| table.clock().hold_bounds(holder, now)) {
            matching.figure(|| bounded(bounds.at_least, bounds.at_most, Charset::Unicode));
        }
        if let Some(waiter) = lock.first_waiter() {
            matching.figure(|| duration(table.clock().server_time(now).since(waiter.created_at)));
        }
        let rates = lock.rates(now);
        for figure in [rates.acquisitions, rates.herd, rates.chain] {
            matching.figure(|| rate(figure));
        }
        matching.figure(|| count(lock.waiting())).figure(|| count(lock.holding()));
        matching.passes()
    }

    /// Returns whether a contender passes, by its node, session, data (which can hold the client's
    /// name), client address, state and mode, the liveness of its owner, what it watches and waits
    /// for, and its figures.
    pub fn takes_contender(&self, lock: &LockQueue, row: &ContenderRow<'_>, at: TableAt<'_>, now: Timestamp) -> bool {
        self.takes_contender_of(std::iter::empty(), lock, row, at, now)
    }

    /// Returns whether a contender passes with these texts besides its own.
    pub fn takes_contender_of<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
        lock: &LockQueue,
        row: &ContenderRow<'_>,
        at: TableAt<'_>,
        now: Timestamp,
    ) -> bool {
        let mut matching = self.matching();
        matching.texts(texts);
        if self.is_empty() || matching.contender(row.contender, at.table()).is_decided() {
            return matching.passes();
        }
        matching.text(row.state.id()).texts(match row.mode {
            RequestMode::Exclusive => None,
            RequestMode::Read => Some("read"),
            RequestMode::Write => Some("write"),
            RequestMode::Lease => Some("lease"),
        });
        let created = row.contender.created_at;
        matching.figure(|| duration(at.table().clock().server_time(now).since(created)));
        matching.figure(|| date_and_time(created, true)).figure(|| date_and_time(created, false));
        matching.figure(|| row.contender.czxid.to_string());
        if !matching.is_decided() {
            let facts = at.facts(lock, row);
            matching.text(facts.owner.id());
            if row.state == ContenderState::Waits {
                matching.text(facts.watching.id());
                for node in facts.blockers(lock, row, MAX_SHOWN_BLOCKERS) {
                    matching.made(|| {
                        Sequence::split(node).map_or_else(|| node.to_owned(), |(_, Sequence(at))| at.to_string())
                    });
                }
            } else if let Some(bounds) = at.table().clock().hold_bounds(row.contender, now) {
                matching.figure(|| format!("held {}", bounded(bounds.at_least, bounds.at_most, Charset::Unicode)));
            }
        }
        matching.passes()
    }

    /// Returns whether an entry of the audit log passes, by its action, its subject (node, lock,
    /// owner, evidence), the ensemble, the user, its time and id, and the outcome.
    pub fn takes_audit_entry(&self, entry: &AuditEntry) -> bool {
        let (subject, who) = (&entry.subject, &entry.who);
        let texts =
            [&entry.at, &entry.action, &subject.path, &subject.lock, &subject.life, &subject.evidence, &entry.id];
        let mut matching = self.matching();
        matching.texts(texts.into_iter().chain(&subject.owner).chain(&who.identities).map(String::as_str));
        matching.text(&who.ensemble).made(|| format!("{}@{}", who.user, who.host));
        if let Some(time) = crate::tui::page::entries::time(&entry.at) {
            matching.figure(|| date_and_time(time, true)).figure(|| date_and_time(time, false));
        }
        match &entry.outcome {
            Some(outcome) => matching.text(&outcome.result).text(&outcome.reason),
            None => matching.text(NO_OUTCOME),
        };
        matching.passes()
    }

    /// Returns whether a timeline entry passes, by its kind, time, lock, node, client, finding and
    /// figures.
    pub fn takes_timeline_entry(&self, entry: &TimelineEntry, table: &LockTable) -> bool {
        let mut matching = self.matching();
        if self.is_empty() || matching.text(entry.event()).is_decided() {
            return matching.passes();
        }
        matching.time(entry.at()).texts(entry.node().map(|node| &**node));
        if let Some(lock) = entry.lock() {
            matching.lock(lock);
        }
        match entry {
            // When the event happened, no server had listed the client of a new session yet.
            TimelineEntry::Happening(happening) => {
                matching.session(happening.session).client(&happening.client);
                if happening.client.address.is_none() {
                    matching.address_of(happening.session, table);
                }
                for millis in happening.waited_ms.iter().chain(&happening.held_ms) {
                    matching.figure(|| duration(std::time::Duration::from_millis(*millis)));
                }
                if happening.lock.is_some() {
                    for events in [happening.watch_events.herd, happening.watch_events.chain] {
                        matching.figure(|| count(events));
                    }
                }
            }
            TimelineEntry::Deletion { client, ending, .. } => {
                matching.session(client.session).client(client).text(ending.id()).made(|| ending.to_string());
            }
            TimelineEntry::Finding { finding, raised, .. } => {
                matching.text(finding.code.id()).text(&finding.summary).text(finding.severity.id());
                matching.text(if *raised { "raised" } else { "cleared" });
                if let Some(client) = &finding.client {
                    matching.client(client);
                }
            }
        }
        matching.passes()
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
