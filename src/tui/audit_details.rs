//! All that the audit log tells of one change, line by line. Pure.

use chrono::DateTime;

use super::app::App;
use super::details::{Detail, LABEL, Tone};
use crate::admin::audit::AuditEntry;
use crate::text::human::{date_and_time, exact_time};
use crate::text::{Charset, wrap_words};
use crate::znode::Timestamp;

/// What a change is called that nobody wrote the outcome of.
pub const NO_OUTCOME: &str = "no outcome";

/// A time of the log; `None` when it is none. Whoever can write the file can write anything.
pub fn time(text: &str) -> Option<Timestamp> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| Timestamp(time.timestamp_millis()))
}

/// How the change ended, in a word or two; nothing where it was not even tried is left out.
pub fn result(entry: &AuditEntry) -> &str {
    entry.outcome.as_ref().map_or(NO_OUTCOME, |told| told.result.as_str())
}

/// The change that is selected in Audit, in lines of `columns`; none when there is none.
pub fn lines(app: &App, columns: usize) -> Vec<Detail> {
    let Some(entry) = app.selected_entry() else { return Vec::new() };
    let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
    let mut page = Page { lines: Vec::new(), room: columns.saturating_sub(LABEL), charset, utc: app.settings().utc };
    page.result(entry);
    page.node(entry);
    page.who(entry);
    page.say("entry", &entry.id, Tone::Plain);
    page.lines
}

struct Page {
    lines: Vec<Detail>,
    room: usize,
    charset: Charset,
    utc: bool,
}

impl Page {
    fn say(&mut self, label: &'static str, text: &str, tone: Tone) {
        for (at, text) in wrap_words(text, self.room, self.charset).into_iter().enumerate() {
            self.lines.push(Detail { label: if at == 0 { label } else { "" }, text, tone });
        }
    }

    fn result(&mut self, entry: &AuditEntry) {
        match &entry.outcome {
            Some(told) => {
                let tone = if is_done(entry) { Tone::Plain } else { Tone::Careful };
                // The path stands in the next line.
                let reason = told.reason.strip_prefix(&entry.subject.path).unwrap_or(&told.reason).trim_start();
                let text = if reason == "is deleted" { String::new() } else { format!(": {reason}") };
                self.say("result", &format!("{}{text}", told.result), tone);
            }
            None => self.say(
                "result",
                "no outcome was written: the program was ended, or is still at it; whether it was done is not known, so \
                 look whether the node is there",
                Tone::Careful,
            ),
        }
    }

    fn node(&mut self, entry: &AuditEntry) {
        let subject = &entry.subject;
        self.say("path", &subject.path, Tone::Plain);
        let mut facts = vec![entry.action.clone()];
        if !subject.lock.is_empty() && subject.lock != subject.path {
            facts.push(format!("lock {}", subject.lock));
        }
        facts.extend(subject.sequence.map(|number| format!("number {number}")));
        facts.extend(subject.czxid.map(|czxid| format!("czxid {czxid}")));
        facts.extend(subject.version.map(|version| format!("version {version}")));
        self.say("what", &facts.join(", "), Tone::Plain);
        let owner = subject.owner.as_deref().map_or("no session".to_owned(), |owner| format!("session {owner}"));
        self.say("owner", &format!("{owner}, {}", subject.life), Tone::Plain);
        if !subject.evidence.is_empty() {
            self.say("evidence", &subject.evidence, Tone::Plain);
        }
    }

    fn who(&mut self, entry: &AuditEntry) {
        let who = &entry.who;
        let sudo = who.sudo_user.as_deref().map(|user| format!(", by sudo from {user}")).unwrap_or_default();
        self.say(
            "who",
            &format!("{} (uid {}{sudo}) on {}, process {}", who.user, who.uid, who.host, who.pid),
            Tone::Plain,
        );
        let known =
            if who.identities.is_empty() { "nobody in particular".to_owned() } else { who.identities.join(", ") };
        let session = who.own_session.as_deref().map(|session| format!(", session {session}")).unwrap_or_default();
        self.say("there as", &format!("{known}{session}, at {}", who.ensemble), Tone::Plain);
        let confirmed = entry.confirmed_by.as_deref();
        let confirmed = confirmed.map(|by| format!("; confirmed by {by}")).unwrap_or_default();
        let told = entry.outcome.as_ref().filter(|_| entry.intended);
        let done = told.map(|told| format!("; outcome at {}", self.moment(&told.at, exact_time))).unwrap_or_default();
        self.say("when", &format!("{}{confirmed}{done}", self.moment(&entry.at, date_and_time)), Tone::Plain);
    }

    fn moment(&self, text: &str, shown: fn(Timestamp, bool) -> String) -> String {
        time(text).map_or_else(|| text.to_owned(), |time| shown(time, self.utc))
    }
}

/// Whether what was asked for was done.
pub fn is_done(entry: &AuditEntry) -> bool {
    matches!(result(entry), "deleted" | "asked")
}
