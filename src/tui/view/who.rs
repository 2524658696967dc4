//! Who a session is, in a few columns: its client's address where that is known, and whether it lives.

use std::time::Duration;

use ratatui::style::Style;

use super::View;
use crate::diagnose::{Facts, OwnerState};
use crate::text::human::{countdown, silent};
use crate::text::{Keep, session, width};
use crate::znode::SessionId;

/// Columns of a bar.
const BAR: usize = 8;

/// Columns of a session's id that follows an address.
const SHORT: usize = 9;

/// The client's address and the session's id, as far as they fit; the id alone where no server reported the address.
pub fn who(view: View<'_>, id: SessionId, columns: usize) -> String {
    let charset = view.theme.signs.charset;
    let Some(client) = client(view, id) else { return session(id, columns.min(18), charset) };
    let host = host(client);
    let shown = if width(client) + 2 + SHORT <= columns { client } else { host };
    let shown = view.fit(shown, columns, Keep::Start);
    let room = columns.saturating_sub(width(&shown) + 2);
    if room >= SHORT { format!("{shown}  {}", session(id, SHORT, charset)) } else { shown }
}

/// The client's address, with as much of its port as fits; `None` where no server reported it.
pub fn client(view: View<'_>, id: SessionId) -> Option<&str> {
    let (_, connection) = view.app.world().table().view().connection_of(id)?;
    Some(connection.client.as_str())
}

/// An address without its port.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// That somebody does not live, or how long it will; `None` for who lives, and where that is not known.
pub fn lifetime((life, expires_in): (OwnerState, Option<Duration>)) -> Option<String> {
    match (life, expires_in) {
        (OwnerState::Live | OwnerState::Unknown, _) => None,
        (OwnerState::Expiring, Some(left)) => Some(format!("expiring {}", countdown(left))),
        (life, _) => Some(life.id().to_owned()),
    }
}

/// The countdown of a contender's owner in so many columns: in words, with a bar that drains where there is room.
pub fn countdown_of(view: View<'_>, facts: &Facts<'_>, columns: usize) -> Option<String> {
    let text = match (facts.owner, facts.silence) {
        (OwnerState::Silent, Some(silence)) => {
            let whole = silent(silence.lasted(view.app.now()), silence.timeout);
            if width(&whole) <= columns { whole } else { whole.split(" of ").next().unwrap_or_default().to_owned() }
        }
        (OwnerState::Silent | OwnerState::Expiring, _) => lifetime((facts.owner, facts.expires_in))?,
        _ => return None,
    };
    let timeout = facts.silence.map(|silence| silence.timeout);
    let bar = facts.expires_in.zip(timeout).filter(|_| width(&text) + 1 + BAR <= columns);
    Some(bar.map_or_else(|| text.clone(), |(left, timeout)| format!("{text} {}", drained(view, left, timeout))))
}

/// A bar that is as full as there is time left.
fn drained(view: View<'_>, left: Duration, timeout: Duration) -> String {
    let [full, empty] = view.theme.signs.bar;
    let cells = left.as_millis() * BAR as u128 / timeout.as_millis().max(1);
    let cells = usize::try_from(cells).unwrap_or(BAR).min(BAR);
    full.repeat(cells) + &empty.repeat(BAR - cells)
}

/// How somebody's life looks: with a sign where it is in danger.
pub fn life(view: View<'_>, known: (OwnerState, Option<Duration>)) -> (String, Style) {
    let theme = view.theme;
    match known.0 {
        OwnerState::Live => ("live".to_owned(), view.data(theme.good)),
        OwnerState::Unknown => (theme.signs.unknown.to_owned(), theme.dim),
        OwnerState::Silent | OwnerState::Expiring | OwnerState::Ownerless => {
            (lifetime(known).unwrap_or_default(), view.data(theme.wait))
        }
        OwnerState::Ghost => (lifetime(known).unwrap_or_default(), view.data(theme.bad)),
    }
}
