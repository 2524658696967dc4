//! ```text
//! ┌ Audit ── 3 changes ────────────────────────────────────────────────────── following ┐
//! │   TIME                 RESULT           WHO       ENSEMBLE         NODE              │
//! │▸  2024-05-01 14:41:07  ● deleted        ann@ops1  zk1:2181,zk2…    /locks/b…004711   │
//! └ /home/ann/.local/state/lockscope/audit.jsonl ───────────────────────────────────────┘
//! ```

use super::View;
use super::list::{ListTitle, ListView};
use crate::tui::app::{AuditColumn, AuditEntries, ListScreen, Rows};
use crate::tui::columns::Placed;
use crate::tui::page::audit_entry::{self, is_done, result};
use crate::tui::widget::table::Cell;
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::text::human::{date_and_time, plural};
use lockscope_model::text::{Keep, wrap_words};

/// Columns of date and time without the time zone.
const TIME_WIDTH: usize = 19;

impl ListView for AuditEntries {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (app, theme) = (view.app, view.theme);
        let (audit, history) = (app.audit(), app.audit().history());
        let all = history.entries.len();
        let mut after_filter = Vec::new();
        if history.damaged > 0 {
            after_filter.push((plural(history.damaged, "damaged line", "damaged lines"), theme.wait));
        }
        if history.cut {
            after_filter.push(("older ones are not shown".to_owned(), theme.dim));
        }
        ListTitle {
            name: "Audit".to_owned(),
            before_filter: vec![(plural(all, "change", "changes"), theme.text)],
            all,
            after_filter,
            right: (!audit.is_empty()).then(|| view.following(self.cursor(app).follows_last())),
            uncounted: 0,
            bottom: app.audit().path().map(|path| view.bottom(&path.to_string_lossy(), theme.dim, Keep::End)),
        }
    }

    fn trouble<'a>(&self, view: View<'a>) -> Option<&'a str> {
        let audit = view.app.audit();
        audit.failed().filter(|_| !audit.is_empty()).or(audit.unwritable())
    }

    fn why_empty(&self, view: View<'_>, columns: usize) -> Vec<String> {
        let (app, audit) = (view.app, view.app.audit());
        let sentence = match (app.audit().path(), audit.failed()) {
            (None, _) => "No audit log is set, so nothing can be changed: name one with --audit-log FILE.",
            (_, Some(failed)) => failed,
            _ if !audit.was_read() => "Reading the audit log.",
            _ if !audit.history().entries.is_empty() => return view.nothing_contains("No change"),
            _ => "Nothing was changed yet: this screen will list each deletion, its author, reason and outcome.",
        };
        wrap_words(sentence, columns, view.theme.signs.charset)
    }

    fn cell(&self, view: View<'_>, entry: &&AuditEntry, column: Placed<AuditColumn>) -> Cell {
        cell(view, entry, column)
    }
}

fn cell(view: View<'_>, entry: &AuditEntry, column: Placed<AuditColumn>) -> Cell {
    let theme = view.theme;
    let width = usize::from(column.width);
    let fit = |text: &str, keep| view.fit(text, width, keep);
    match column.key {
        AuditColumn::Time => {
            let known = audit_entry::time(&entry.at).map(|time| date_and_time(time, view.app.settings().utc));
            let shown = known.map_or_else(|| entry.at.clone(), |time| time.chars().take(TIME_WIDTH).collect());
            Cell::new(fit(&shown, Keep::Start), theme.dim)
        }
        AuditColumn::Action => Cell::new(fit(&entry.action, Keep::Start), theme.text),
        AuditColumn::Result => {
            let (sign, style) = match &entry.outcome {
                None => (theme.signs.unknown, theme.unsure),
                Some(_) if is_done(entry) => (theme.signs.holds, theme.good),
                Some(outcome) if outcome.result == "not-known" => (theme.signs.unknown, theme.unsure),
                Some(_) => (theme.signs.bad, theme.bad),
            };
            Cell::new(fit(&format!("{sign} {}", result(entry)), Keep::Start), style)
        }
        AuditColumn::Owner => Cell::new(fit(&entry.subject.life, Keep::Start), theme.text),
        AuditColumn::Who => Cell::new(fit(&format!("{}@{}", entry.who.user, entry.who.host), Keep::Start), theme.text),
        AuditColumn::Ensemble => Cell::new(fit(&entry.who.ensemble, Keep::Start), theme.text),
        AuditColumn::Node => Cell::new(fit(&entry.subject.path, Keep::Ends), theme.strong),
    }
}
