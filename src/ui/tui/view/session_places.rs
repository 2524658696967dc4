//! ```text
//! ┌ 10.0.4.17:51586  0x1…0001b ── holds 1 ── waits for 1 ────────────────────────┐
//! │  STATE    LOCK             FOR        SEQ  WAITS FOR        WATCHES            │
//! │▸ ● holds  /locks/billing   ≥14m      4711  128 wait behind                     │
//! │  ○ waits  /locks/orders     38s        31  ╰──▶ 7           ✓ its predecessor  │
//! ```

use super::View;
use super::list::{ListTitle, ListView};
use super::queue::{number, waits_for, watches};
use super::who::who_is;
use crate::tui::app::{PlaceColumn, SessionPlaceRow, SessionPlaces};
use crate::tui::columns::{MARK_WIDTH, Placed};
use crate::tui::widget::table::Cell;
use lockscope_model::queue::ContenderState;
use lockscope_model::text::human::{bounded, count, duration};
use lockscope_model::text::{Keep, session};

impl ListView for SessionPlaces {
    fn title(&self, view: View<'_>) -> ListTitle {
        let detail = view.app.world().session_detail();
        let room =
            usize::from(view.app.layout().map_or(80, |layout| layout.main.width)).saturating_sub(MARK_WIDTH.into());
        let name = detail.session().map_or_else(
            || "Session".to_owned(),
            |id| match who_is(view, id, (room / 2).min(60)) {
                name if name.starts_with("0x") => format!("Session {}", session(id, 18, view.theme.signs.charset)),
                name => name,
            },
        );
        let (holds, all) = (detail.holds(), detail.places().len());
        let before_filter = vec![
            (format!("holds {}", count(holds)), view.data(view.theme.good)),
            (format!("waits for {}", count(all - holds)), view.data(view.theme.wait)),
        ];
        ListTitle { name, before_filter, all, ..ListTitle::default() }
    }

    fn why_empty(&self, _: View<'_>, _: usize) -> Vec<String> {
        vec!["This session holds no lock and waits for none.".to_owned()]
    }

    fn cell(&self, view: View<'_>, row: &SessionPlaceRow<'_>, column: Placed<PlaceColumn>) -> Cell {
        cell(view, row, column)
    }
}

fn cell(view: View<'_>, row: &SessionPlaceRow<'_>, column: Placed<PlaceColumn>) -> Cell {
    let (theme, signs, app) = (view.theme, &view.theme.signs, view.app);
    let width = usize::from(column.width);
    let plain = view.data(theme.text);
    let table = app.world().table();
    if column.key == PlaceColumn::Lock {
        let name = row.lock.map_or_else(|| "gone".to_owned(), |lock| lock.lock_name().to_string());
        return Cell::new(view.fit(&name, width, Keep::End), view.data(theme.strong));
    }
    let Some((contender, facts)) = &row.contender else {
        // The waiters of a single node have no node in the tree.
        return match (column.key, &row.place.node) {
            (PlaceColumn::State, None) => Cell::new(format!("{} waits", signs.waits), view.data(theme.wait)),
            (PlaceColumn::State, Some(_)) => Cell::new("gone", theme.dim),
            (PlaceColumn::Watches, None) => Cell::new(format!("{} the node", signs.good), view.data(theme.good)),
            _ => Cell::new("", plain),
        };
    };
    let holds = contender.state == ContenderState::Holds;
    match column.key {
        PlaceColumn::State => match contender.state {
            _ if !app.shows_truth() => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
            ContenderState::Holds => Cell::new(format!("{} holds", signs.holds), theme.good),
            ContenderState::Waits => Cell::new(format!("{} waits", signs.waits), theme.wait),
            ContenderState::Unknown => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
        },
        PlaceColumn::For => {
            let held = table.hold_bounds(contender.contender, app.now()).filter(|_| holds);
            let waited = || duration(app.now().since(contender.contender.contends_since(table.clock_ahead_ms())));
            let text = held.map_or_else(waited, |held| bounded(held.at_least, held.at_most, signs.charset));
            Cell::new(text, plain)
        }
        PlaceColumn::Number => Cell::new(number(contender.contender.sequence), plain),
        PlaceColumn::WaitsFor => {
            let text = match row.lock {
                Some(lock) if holds && lock.waiting() > 0 => format!("{} behind it", count(lock.waiting())),
                Some(lock) if !holds => waits_for(view, lock, contender, facts, width),
                _ => String::new(),
            };
            Cell::new(view.fit(&text, width, Keep::Start), plain)
        }
        PlaceColumn::Watches => match watches(view, contender, facts) {
            Some((sign, words, style)) => Cell::new(view.fit(&format!("{sign} {words}"), width, Keep::Start), style),
            None => Cell::new("", plain),
        },
        PlaceColumn::Node => Cell::new(view.fit(&contender.contender.node, width, Keep::Ends), view.data(theme.dim)),
        PlaceColumn::Lock => Cell::new("", plain),
    }
}
