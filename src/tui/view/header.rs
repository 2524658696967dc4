//! The first two lines: ensemble, connection, session, and the screens.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::View;
use crate::queue::ConnectionState;
use crate::report::Ensemble;
use crate::text::human::{date_and_time, plural, time_of_day};
use crate::text::{Keep, session, width};
use crate::tui::app::{Recording, Replay, ReplayedFile};
use crate::tui::page::Sign;
use crate::tui::widget::write::write_line;
use crate::znode::escaped;

/// Columns of a session's id in the header.
const SESSION: usize = 9;
/// From how many columns on there is room for more than the bare facts.
const ROOMY: u16 = 100;
/// From how many columns on there is room for the own session.
const WITH_SESSION: u16 = 76;
/// Columns of a context's name where there is little room, and where there is more.
const SHORT_CONTEXT: usize = 10;
const LONG_CONTEXT: usize = 24;
/// Columns of a recording's name at the least.
const MIN_NAME: usize = 12;
/// Columns of the ensemble's name at the least.
const MIN_CONNECT: usize = 8;
/// Columns of the name of a member that lags, at the least and at the most.
const MEMBER: (usize, usize) = (10, 32);
/// Columns of the time, with a space on either side.
const TIME: usize = 10;

/// Program, ensemble, connection, session, and the time as long as it is kept.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    if let Some(replay) = app.replay() {
        return draw_replay(view, replay, area, buffer);
    }
    let signs = &theme.signs;
    let roomy = area.width >= ROOMY;
    let gap = if roomy { "   " } else { "  " };
    let mode = if app.settings().write { "may write" } else { "read-only" };
    let past = past(view);
    let past_columns = if past.is_empty() { 0 } else { gap.len() + width(&past) };
    let (context, context_style) = context(view, roomy);
    let (state, style) = match app.link() {
        _ if app.is_live() => live(view, area.width >= ROOMY),
        ConnectionState::Refused { .. } => (format!("{} refused", signs.bad), theme.bad),
        ConnectionState::Lagging { member, .. } => {
            let others =
                " lockscope  ".len() + width(&context) + MIN_CONNECT + 2 * gap.len() + mode.len() + past_columns;
            (lagging(view, member, usize::from(area.width).saturating_sub(others)), theme.bad)
        }
        ConnectionState::Overloaded { .. } => (format!("{} too many events", signs.bad), theme.bad),
        ConnectionState::Connected { .. } if app.is_observing() => (format!("{} reading", signs.busy), theme.wait),
        ConnectionState::Connecting { reason: None, .. } if app.is_observing() => {
            (format!("{} connecting", signs.busy), theme.wait)
        }
        ConnectionState::Connecting { .. } => (format!("{} no connection", signs.bad), theme.bad),
        _ => (format!("{} cut off", signs.bad), theme.bad),
    };
    // The own session says least: it gives way first.
    let own = match app.link() {
        ConnectionState::Connected { session: id, .. } if roomy => {
            format!("session {}", session(*id, 18, signs.charset))
        }
        // How far back the past reaches says more.
        ConnectionState::Connected { session: id, .. } if area.width >= WITH_SESSION && past.is_empty() => {
            session(*id, SESSION, signs.charset)
        }
        _ => String::new(),
    };
    let used = " lockscope  ".len()
        + width(&context)
        + 3 * gap.len()
        + width(&state)
        + width(&own)
        + mode.len()
        + past_columns
        + TIME
        + 1;
    let room = usize::from(area.width).saturating_sub(used);
    let connect = view.fit(Ensemble::new(&app.settings().connect, None).connect(), room.max(MIN_CONNECT), Keep::Ends);
    let mut spans = vec![
        Span::styled(" lockscope ", theme.accent),
        Span::styled(context, context_style),
        Span::styled(format!(" {connect}"), theme.text),
        Span::styled(format!("{gap}{state}"), style),
    ];
    if !own.is_empty() {
        spans.push(Span::styled(format!("{gap}{own}"), theme.dim));
    }
    spans.push(Span::styled(format!("{gap}{mode}"), if app.settings().write { theme.wait } else { theme.dim }));
    if !past.is_empty() {
        spans.push(Span::styled(format!("{gap}{past}"), theme.dim));
    }
    write_line(spans, area, buffer);
    // A clock that is not kept would show a wrong time: it is there only while the seconds are counted.
    if app.counts_seconds() && app.paused().is_none() {
        let zone = if app.settings().utc { "Z" } else { "" };
        let time = format!("{}{zone} ", time_of_day(app.clock(), app.settings().utc));
        write_line(Line::styled(time, theme.text).right_aligned(), right(area, TIME), buffer);
    }
}

/// That the member lags which answers, in so many columns.
fn lagging(view: View<'_>, member: &str, columns: usize) -> String {
    let bad = view.theme.signs.bad;
    for begin in ["live, but ", ""] {
        let room = columns.saturating_sub(width(bad) + " ".len() + begin.len() + " lags".len());
        if room >= MEMBER.0 {
            return format!("{bad} {begin}{} lags", view.fit(&escaped(member), room.min(MEMBER.1), Keep::Start));
        }
    }
    format!("{bad} lags")
}

/// The context in force, and that people depend on the ensemble: in words, for those who see no colours. Empty where neither is known.
fn context(view: View<'_>, roomy: bool) -> (String, Style) {
    let (settings, theme) = (view.app.settings(), view.theme);
    let most = if roomy { LONG_CONTEXT } else { SHORT_CONTEXT };
    match (&settings.production, &settings.context) {
        (Some(name), _) => (format!(" PRODUCTION {} ", view.fit(name, most, Keep::Start)), theme.mark),
        (None, Some(name)) => (format!(" {} ", view.fit(name, most, Keep::Start)), theme.strong),
        (None, None) => (String::new(), theme.text),
    }
}

/// How far one can go back; empty where one cannot. In minutes, because nothing redraws the header for the sake of this.
fn past(view: View<'_>) -> String {
    let Some(since) = view.app.recording().and_then(Recording::since) else { return String::new() };
    let minutes = view.app.clock().since(since).as_secs() / 60;
    match (minutes, minutes / 60, minutes / 60 / 24) {
        (0, ..) => "past <1m".to_owned(),
        (1..60, ..) => format!("past {minutes}m"),
        (_, hours @ 1..48, _) => format!("past {hours}h{:02}m", minutes % 60),
        (_, _, days) => format!("past {days}d"),
    }
}

/// That it is a recording, of which moment, in which file, and of which ensemble.
fn draw_replay(view: View<'_>, replay: &Replay, area: Rect, buffer: &mut Buffer) {
    let (theme, utc, roomy) = (view.theme, view.app.settings().utc, area.width >= ROOMY);
    let moment = format!("  {} ", date_and_time(replay.at(), utc));
    // What the recorder knew of the ensemble at that time.
    let (state, style) = match view.app.is_live() {
        true => (String::new(), theme.text),
        false if area.width < WITH_SESSION => (format!("  {} cut off", theme.signs.bad), theme.bad),
        false if replay.is_of_live() => (format!("  {} this console was cut off", theme.signs.bad), theme.bad),
        false => (format!("  {} the recorder was cut off", theme.signs.bad), theme.bad),
    };
    let (badge, of) = if let Some(ReplayedFile { name, connect }) = replay.file() {
        (" REPLAY ", format!("{} of {}", escaped(name), Ensemble::new(connect, None).connect()))
    } else {
        let changes = plural(usize::try_from(replay.missed()).unwrap_or(usize::MAX), "change", "changes");
        let of = if roomy { format!("{changes} since; F goes back to live") } else { format!("{changes}; F: live") };
        (" REWOUND ", of)
    };
    let used = " lockscope  ".len() + badge.len() + width(&moment) + width(&state);
    let room = usize::from(area.width).saturating_sub(used + 2);
    let mut spans = vec![
        Span::styled(" lockscope  ", theme.accent),
        Span::styled(badge, theme.mark),
        Span::styled(moment, theme.strong),
        Span::styled(state, style),
    ];
    if room >= MIN_NAME {
        spans.push(Span::styled(format!("  {}", view.fit(&of, room, Keep::Ends)), theme.dim));
    }
    write_line(spans, area, buffer);
}

/// `live`, and how many of the servers reported everything about themselves.
fn live(view: View<'_>, roomy: bool) -> (String, Style) {
    let (app, theme) = (view.app, view.theme);
    let servers = app.world().table().view();
    let all = servers.members.len();
    if all == 0 {
        return (format!("{} live", theme.signs.holds), theme.good);
    }
    let reporting = all - servers.missing().count();
    let word = match (roomy, all) {
        (false, _) => "",
        (true, 1) => " server",
        (true, _) => " servers",
    };
    if reporting == all && servers.members_known {
        (format!("{} live {reporting}/{all}{word}", theme.signs.holds), theme.good)
    } else {
        // It is as live as the others; what the missing ones could report is not known.
        (format!("{} live {}{reporting}/{all}{word}", theme.signs.holds, theme.signs.warning), theme.wait)
    }
}

/// The screens, and on the right whether the screen stands still.
pub fn draw_tabs(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let tabs = view.app.tabs().into_iter().map(|(screen, text)| {
        let style = if view.app.screen() == screen { theme.selected } else { theme.dim };
        Span::styled(text, style)
    });
    let mut spans: Vec<_> = tabs.collect();
    spans.extend(view.app.badges().into_iter().map(|(sign, text)| match sign {
        Sign::Busy => Span::styled(format!("  {} {text}", theme.signs.busy), theme.wait),
        _ => Span::styled(format!("  {} {text}", theme.signs.warning), theme.wait),
    }));
    let used: usize = spans.iter().map(Span::width).sum();
    write_line(spans, area, buffer);
    let room = usize::from(area.width).saturating_sub(used);
    if let Some(text) = view.app.pause_texts().into_iter().find(|text| width(text) <= room) {
        let area = right(area, width(&text));
        write_line(Line::styled(text, theme.mark).right_aligned(), area, buffer);
    }
}

fn right(area: Rect, columns: usize) -> Rect {
    let columns = u16::try_from(columns).unwrap_or(u16::MAX).min(area.width);
    Rect { x: area.right() - columns, width: columns, ..area }
}
