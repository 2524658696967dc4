//! Clients and sessions in a few columns, and whether they are alive.

use std::time::Duration;

use ratatui::style::Style;

use super::View;
use crate::tui::widget::table::Cell;
use lockscope_base::znode::SessionId;
use lockscope_model::diagnose::{Facts, OwnerState};
use lockscope_model::queue::ClientIdentity;
use lockscope_model::text::human::{countdown, silent};
use lockscope_model::text::width;

/// Minimum and maximum columns of a bar.
const BAR: (usize, usize) = (4, 8);
/// Columns of the longest countdown before a bar, with a blank.
const BEFORE_BAR: usize = 13;

/// Identifies a client in `columns` columns.
pub fn who(view: View<'_>, client: &ClientIdentity, columns: usize) -> String {
    client.fit(columns, view.theme.signs.charset)
}

/// Identifies a session's client in `columns` columns.
pub fn who_is(view: View<'_>, session: SessionId, columns: usize) -> String {
    who(view, &view.app.world().table().identity(session), columns)
}

/// Identifies a client whose session has a column of its own; a sign where nothing else is known.
pub fn client(view: View<'_>, client: &ClientIdentity, columns: usize) -> Cell {
    if client.name.is_none() && client.address.is_none() {
        return Cell::new(view.theme.signs.unknown, view.theme.dim);
    }
    let alone = ClientIdentity { session: None, ..client.clone() };
    Cell::new(who(view, &alone, columns), client_style(view, client))
}

/// Clients that are no longer connected stand out.
pub fn client_style(view: View<'_>, client: &ClientIdentity) -> Style {
    view.data(if client.last_listed.is_some() { view.theme.wait } else { view.theme.text })
}

/// Returns the state of a session that is not live, or the time until it expires; `None` when the
/// session is live or its state is unknown.
pub fn lifetime(life: OwnerState, expires_in: Option<Duration>) -> Option<String> {
    match (life, expires_in) {
        (OwnerState::Live | OwnerState::Unknown, _) => None,
        (OwnerState::Expiring, Some(left)) => Some(format!("expiring {}", countdown(left))),
        (life, _) => Some(life.id().to_owned()),
    }
}

/// Returns the countdown of a contender's owner in `columns` columns. Where there is room, a bar
/// follows that shrinks with the time left. The timeout of a disconnected client is that of its
/// last connection.
pub fn countdown_of(view: View<'_>, session: Option<SessionId>, facts: &Facts<'_>, columns: usize) -> Option<String> {
    let text = match (facts.owner, facts.silence) {
        (OwnerState::Silent, Some(silence)) => {
            let whole = silent(silence.lasted(view.app.now()), silence.timeout);
            if width(&whole) <= columns { whole } else { whole.split(" of ").next().unwrap_or_default().to_owned() }
        }
        (OwnerState::Silent | OwnerState::Expiring, _) => lifetime(facts.owner, facts.expires_in)?,
        _ => return None,
    };
    let last = || session.and_then(|session| view.app.world().table().last_connection(session)?.connection.timeout());
    let timeout = facts.silence.map(|silence| silence.timeout).or_else(last);
    let bar = facts.expires_in.zip(timeout).and_then(|(left, timeout)| drained(view, left, timeout, columns));
    let bar = bar.filter(|bar| width(&text) + 1 + width(bar) <= columns);
    Some(bar.map_or_else(|| text.clone(), |bar| format!("{text} {bar}")))
}

/// Returns a bar that is as full as the share of the time left; `None` where there is no room for
/// it.
fn drained(view: View<'_>, left: Duration, timeout: Duration, columns: usize) -> Option<String> {
    let [full, empty] = view.theme.signs.bar;
    let length = columns.saturating_sub(BEFORE_BAR).min(BAR.1);
    let cells = (left.as_millis() * length as u128).div_ceil(timeout.as_millis().max(1));
    let cells = usize::try_from(cells).unwrap_or(length).min(length);
    (length >= BAR.0).then(|| full.repeat(cells) + &empty.repeat(length - cells))
}

/// Returns the state of an owner and its style. Every state but `live` is marked.
pub fn life(view: View<'_>, owner: OwnerState, expires_in: Option<Duration>) -> (String, Style) {
    let theme = view.theme;
    match owner {
        OwnerState::Live => ("live".to_owned(), view.data(theme.good)),
        OwnerState::Unknown => (theme.signs.unknown.to_owned(), theme.dim),
        OwnerState::Silent | OwnerState::Expiring | OwnerState::Ownerless => {
            (lifetime(owner, expires_in).unwrap_or_default(), view.data(theme.wait))
        }
        OwnerState::Ghost => (lifetime(owner, expires_in).unwrap_or_default(), view.data(theme.bad)),
    }
}
