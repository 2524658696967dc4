//! Names and sentences in a form that is safe on a page.

use crate::record::history::PastContender;
use lockscope_base::znode::Timestamp;
use lockscope_model::text::human::date_and_time;
use lockscope_model::text::{Charset, Keep, cut, fit};

/// The most columns of a name.
const NAME_COLUMNS: usize = 80;

/// The most columns of a sentence.
const SENTENCE_COLUMNS: usize = 600;

/// Returns a name from a znode or a server in a safe form: invisible characters are escaped as in
/// `\u{202e}`, and of a long name both ends are kept.
pub(super) fn name(text: &str) -> String {
    without_noncharacters(fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode))
}

/// Returns a sentence whose names are already escaped.
pub(super) fn sentence(text: &str) -> String {
    let harmless = if text.chars().any(|char| char != '\\' && lockscope_base::znode::must_be_escaped(char)) {
        lockscope_base::znode::escaped(text).into_owned()
    } else {
        text.to_owned()
    };
    without_noncharacters(cut(&harmless, SENTENCE_COLUMNS, Keep::Ends, Charset::Unicode).clone())
}

/// Escapes the noncharacters that XML forbids.
fn without_noncharacters(text: String) -> String {
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
    } else {
        text
    }
}

/// Returns a lock's path, with the name of the queue if its parent has several.
pub(super) fn lock(path: &str, own_name: Option<&str>) -> String {
    own_name.map_or_else(|| name(path), |own| format!("{} {}", name(path), name(own)))
}

/// Returns the known identity of a contender: `worker-3 (10.0.4.17:51586)`, or the known part of
/// it.
pub(super) fn client(past: &PastContender) -> String {
    match (past.client_name.as_deref(), past.client.as_deref(), past.session) {
        (Some(own), Some(address), _) if !address.starts_with(own) => format!("{} ({})", name(own), name(address)),
        (_, Some(address), _) => name(address),
        (Some(own), None, Some(session)) => format!("{} (session {session})", name(own)),
        (Some(own), None, None) => name(own),
        (None, None, Some(session)) => format!("session {session}"),
        (None, None, None) => format!("the owner of {}", name(&past.node)),
    }
}

/// Returns a time range such as `2026-05-01 02:00:00 to 02:30:00 UTC`; the day and zone appear once
/// when they are equal.
pub(super) fn period(from: Timestamp, to: Timestamp, utc: bool) -> String {
    let (from, to) = (date_and_time(from, utc), date_and_time(to, utc));
    let parts = |text: &str| text.splitn(3, ' ').map(str::to_owned).collect::<Vec<_>>();
    match (&parts(&from)[..], &parts(&to)[..]) {
        ([day, began, zone], [last_day, ended, last_zone]) if zone == last_zone => {
            let last_day = if day == last_day { String::new() } else { format!("{last_day} ") };
            format!("{day} {began} to {last_day}{ended} {zone}")
        }
        _ => format!("{from} to {to}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_names_an_equal_day_and_zone_once() {
        let began = Timestamp(1_714_574_467_000);
        let after = |minutes: i64| Timestamp(began.0 + minutes * 60_000);
        assert_eq!(period(began, after(30), true), "2024-05-01 14:41:07 to 15:11:07 UTC");
        assert_eq!(period(began, after(24 * 60), true), "2024-05-01 14:41:07 to 2024-05-02 14:41:07 UTC");
        assert!(period(Timestamp(i64::MIN), began, true).ends_with("2024-05-01 14:41:07 UTC"));
    }

    #[test]
    fn no_name_hides_or_reverses_the_text_beside_it() {
        assert_eq!(name("a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\n"), r"a\u{202e}b\0\u{1b}[2J\u{ffff}\n");
        assert!(name(&"x".repeat(5_000)).chars().count() <= NAME_COLUMNS);
        assert_eq!(sentence(r"it is \u{1b} escaped"), r"it is \u{1b} escaped");
        assert!(!sentence("a\u{202e}b").contains('\u{202e}'));
        assert!(sentence(&"long ".repeat(5_000)).chars().count() <= SENTENCE_COLUMNS);
    }
}
