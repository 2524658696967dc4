//! What each server tells about itself, what it does not, and what to change there: line by line. Pure.

use super::app::App;
use crate::server_view::{AskedBy, Load, MemberView, ServerMode, ServerView};
use crate::text::human::{self, count, duration, plural};
use crate::text::{Charset, Keep, fit, wrap_words};

/// Columns that are not text: the border, and a space on either side.
pub const AROUND: u16 = 4;

/// What a line is, for its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A server that told everything.
    Telling,
    /// A server that did not.
    Missing,
    /// What it told.
    Plain,
    /// What to do.
    Careful,
    /// What may be overlooked.
    Aside,
}

/// A line and its tone; the text is harmless to a terminal.
pub type Said = (Tone, String);

/// The whole page in lines of `columns`.
pub fn lines(app: &App, columns: usize) -> Vec<Said> {
    let page = Page { app, columns, charset: if app.settings().ascii { Charset::Ascii } else { Charset::Unicode } };
    let view = app.world().table().view();
    if !app.settings().asks_servers {
        return page.words(Tone::Plain, NOT_ASKED);
    }
    if view.members.is_empty() {
        return page.words(Tone::Plain, "No server was asked yet.");
    }
    let mut lines = Vec::new();
    for member in &view.members {
        lines.extend(page.member(member));
    }
    if !view.members_known {
        lines.extend(page.words(Tone::Careful, MEMBERS_UNKNOWN));
    }
    lines.push((Tone::Aside, String::new()));
    if view.provenance().can_prove() {
        lines.extend(page.words(Tone::Plain, known(view)));
    } else {
        lines.extend(page.words(Tone::Careful, UNPROVEN));
    }
    lines.extend(page.words(Tone::Aside, &page.load(view)));
    lines
}

const NOT_ASKED: &str = "The servers are not asked about themselves (--server-view off). Who holds and who waits is read from the \
                         znodes alone: whether anybody still lives, from where, and what it watches is not known, and nothing is \
                         claimed of it.";
const MEMBERS_UNKNOWN: &str = "The ensemble's own config could not be read: there may be servers that nobody asked, so nobody is \
                               called a ghost, or disconnected.";

const UNPROVEN: &str = "The session is over TLS, and what servers tell in plain text proves nothing beside that: whoever sits between \
                        could have written it. Nobody is called a ghost, expired or disconnected, and no deletion becomes easier by \
                        it. To have it believed, name every server in the connect string with its port for TLS.";

/// What can be said with what was told.
fn known(view: &ServerView) -> &'static str {
    let nobody = view.members.iter().all(|member| member.asked_by == AskedBy::None);
    match (nobody, view.every_member_answered(), view.sessions_as_of().is_some()) {
        (true, ..) => {
            "No server tells anything: locks are shown from the znodes alone, and nothing is claimed of clients, their life or \
             their watches."
        }
        (_, true, true) => {
            "Every server tells who is connected, so it is known who lives, who expires, and who is a ghost."
        }
        (_, true, false) => {
            "Every server tells who is connected, but not which sessions there are: it is not known when one expires."
        }
        (_, false, _) => {
            "Not every server tells who is connected: a client that is not found may be at one of the others."
        }
    }
}

struct Page<'a> {
    app: &'a App,
    columns: usize,
    charset: Charset,
}

impl Page<'_> {
    fn words(&self, tone: Tone, text: &str) -> Vec<Said> {
        wrap_words(text, self.columns, self.charset).into_iter().map(|line| (tone, line)).collect()
    }

    fn member(&self, member: &MemberView) -> Vec<Said> {
        let now = self.app.now();
        let by = match (member.asked_by, member.provenance.can_prove()) {
            (AskedBy::Words, true) => "by words",
            (AskedBy::Words, false) => "by words, in plain text",
            (AskedBy::Http, true) => "by AdminServer",
            (AskedBy::Http, false) => "by AdminServer, in plain text",
            (AskedBy::None, _) => "told nothing",
        };
        let heard = member.answered_at.map(|at| format!("{} ago", duration(now.since(at))));
        let version = member.version.as_deref().map(|version| {
            // What stands behind the first dash is how it was built.
            fit(version.split('-').next().unwrap_or(version), 16, Keep::Start, self.charset)
        });
        let parts = [Some(member.address.clone()), member.mode.map(ServerMode::name).map(str::to_owned), version];
        let parts: Vec<String> = parts.into_iter().flatten().chain([by.to_owned()]).chain(heard).collect();
        let tone = if member.error.is_none() { Tone::Telling } else { Tone::Missing };
        let mut lines = vec![(tone, fit(&parts.join("  "), self.columns, Keep::Start, self.charset))];
        if let Some(told) = told(member) {
            lines.extend(self.indented(Tone::Plain, &told));
        }
        if let Some(error) = &member.error {
            lines.extend(self.indented(Tone::Careful, error));
        }
        lines
    }

    fn indented(&self, tone: Tone, text: &str) -> Vec<Said> {
        let lines = wrap_words(text, self.columns.saturating_sub(4), self.charset);
        lines.into_iter().map(|line| (tone, format!("    {line}"))).collect()
    }

    /// What asking costs the servers.
    fn load(&self, view: &ServerView) -> String {
        let Load { requests, bytes, .. } = view.asked;
        let all =
            format!("Asking cost {} and {} so far", plural(requests, "question", "questions"), human::bytes(bytes));
        let Some((recent, during)) = self.app.world().watch_event_rates().recent_load() else {
            return format!("{all}.");
        };
        let each = during.saturating_mul(view.members.len() as u64).max(1);
        // In hundredths of a percent.
        let share = recent.time_ms.saturating_mul(10_000) / each;
        let spent = duration(std::time::Duration::from_millis(during));
        format!("{all}; of each server's time within the last {spent} it took {}.{:02} %.", share / 100, share % 100)
    }
}

fn told(member: &MemberView) -> Option<String> {
    let connections = member.connections.as_ref().map(|listing| {
        let more = if listing.whole { "" } else { ", not all of them" };
        format!("{}{more}", plural(listing.items().len(), "connection", "connections"))
    });
    let sessions = member.sessions.as_ref().map(|listing| plural(listing.items().len(), "session", "sessions"));
    let watched = member.watched.as_ref().map(|listing| {
        let within = plural(listing.items().len(), "watched path", "watched paths");
        format!("{within} of ours")
    });
    let all = member.watch_count.map(|number| match number {
        1 => "1 watch in all".to_owned(),
        _ => format!("{} watches in all", count(number)),
    });
    let parts: Vec<String> = [connections, sessions, watched, all].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How many servers tell everything, of how many.
pub fn telling(view: &ServerView) -> String {
    let all = view.members.len();
    format!("{} of {} tell everything", count(all - view.missing().count()), plural(all, "server", "servers"))
}
