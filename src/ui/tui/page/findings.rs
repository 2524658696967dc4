//! The findings about the open lock, and their remedies.

use super::{Sign, Tone, Writer};
use lockscope_model::diagnose::{Finding, OpenCheck, Severity};
use lockscope_model::server_view::ServerView;
use lockscope_model::text::human::duration;

/// Writes the findings of a lock: first those about the selected contender, then by severity.
pub fn write(page: &mut Writer, mut findings: Vec<&Finding>, selected: Option<&str>) {
    findings.sort_by_key(|finding| finding.node.is_none() || finding.node.as_deref() != selected);
    // Several idle holders of one lock are one standstill, and thus one entry.
    let is_same = |one: &&Finding, next: &&Finding| one.is_standstill() && one.headline().0 == next.headline().0;
    for same in findings.chunk_by(is_same) {
        let Some(first) = same.first() else { continue };
        let sign = match first.severity {
            Severity::Critical => Sign::Bad,
            Severity::Warning => Sign::Warning,
            Severity::Info => Sign::Info,
        };
        page.add(Some(sign), None, &first.headline().0, Tone::Strong);
        for details in same.iter().filter_map(|finding| finding.headline().1) {
            page.sentence(details, Tone::Text);
        }
        page.sentence(&format!("what to do: {}", first.remedy), Tone::Text);
    }
}

/// Writes that there is no finding, and how reliable that is. `open`: the checks of the lock that are
/// not decided. `servers`: what the servers report;
/// `None` when they are not asked. `why` is the key of the screen with the details.
pub fn write_none<'a>(
    page: &mut Writer,
    live: bool,
    open: impl Iterator<Item = &'a OpenCheck>,
    servers: Option<&ServerView>,
    why: &str,
) {
    if !live {
        return page.sentence("Not in step with the ensemble: the lock's state is not known.", Tone::Text);
    }
    page.sentence("No finding at this lock.", Tone::Text);
    for OpenCheck { check, known_in, .. } in open {
        let when = known_in.map(|known_in| format!(" (known in {})", duration(known_in))).unwrap_or_default();
        page.sentence(&format!("Not decided yet: {check}{when}."), Tone::Unsure);
    }
    let unknown = match servers {
        None => format!("The servers are not asked, so it is not known whether the clients are alive ({why})."),
        Some(view) if !view.provenance().can_prove() => {
            format!("The session uses TLS, but the servers answer in plain text: dead clients are not known ({why}).")
        }
        Some(view) if !view.every_member_answered() => {
            format!("Not every server reports its connections ({why}: what to change).")
        }
        Some(_) => return,
    };
    page.sentence(&unknown, Tone::Text);
}
