//! Whether the members of the ensemble have the same nodes.

use super::{Sign, Tone, Writer};
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::server_view::{Difference, MemberComparison};
use lockscope_model::text::human::{count, duration, plural};

/// The most differences that are written.
const MAX_DIFFERENCES: usize = 20;

const NOT_YET: &str = "The trees of the members are being compared.";
const ONE_SERVER: &str =
    "The trees of the members are not compared: the connect string names one server. Name all of them there.";

/// Writes the last comparison of the members.
pub fn write(page: &mut Writer, compared: Option<&MemberComparison>, now: Timestamp) {
    page.blank();
    let Some(compared) = compared else { return page.sentence(NOT_YET, Tone::Dim) };
    if compared.members.len() < 2 {
        return page.sentence(ONE_SERVER, Tone::Careful);
    }
    let read = compared.members.iter().filter(|member| member.error.is_none()).count();
    let where_ = format!(
        "the children of {} on {}, {} ago",
        plural(compared.parents, "node", "nodes"),
        plural(read, "member", "members"),
        duration(now.since(compared.at))
    );
    if compared.differences.is_empty() {
        page.add(Some(Sign::Good), None, &format!("No difference in {where_}"), Tone::Text);
    } else {
        let found = plural(compared.differences.len(), "difference", "differences");
        page.add(Some(Sign::Bad), None, &format!("{found} in {where_}"), Tone::Strong);
    }
    for difference in compared.differences.iter().take(MAX_DIFFERENCES) {
        page.fact("", &describe(difference), Tone::Text);
    }
    let hidden = compared.differences.len().saturating_sub(MAX_DIFFERENCES);
    if hidden > 0 {
        page.fact("", &format!("and {} more", count(hidden)), Tone::Dim);
    }
    for member in &compared.members {
        if let Some(why) = &member.error {
            let text = format!("{} was not compared: {}", escaped(&member.address), escaped(why));
            page.add(Some(Sign::Warning), None, &text, Tone::Careful);
        }
    }
    if compared.left_out > 0 {
        page.fact("", &format!("{} were left out", plural(compared.left_out, "node", "nodes")), Tone::Careful);
    }
}

fn describe(difference: &Difference) -> String {
    let has = if difference.has { "has" } else { "lacks" };
    let others = if difference.has { "most do not have it" } else { "most have it" };
    let czxid = difference.czxid.map_or_else(String::new, |czxid| format!(", czxid {czxid}"));
    format!("{} {has} {}{czxid}; {others}", escaped(&difference.member), escaped(difference.path.as_str()))
}
