//! The first two lines: the ensemble, the connection, the session, and the tabs of the screens.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::View;
use crate::tui::app::{Recording, Replay, ReplayedFile};
use crate::tui::page::Sign;
use crate::tui::theme::Theme;
use crate::tui::widget::write::write_line;
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::queue::ConnectionState;
use lockscope_model::report::ReportedEnsemble;
use lockscope_model::text::human::{count, date_and_time, plural, time_of_day};
use lockscope_model::text::{Keep, session, width};

/// The program's name, with a blank on either side.
const PROGRAM: &str = " lockscope ";
/// Columns of the short and the long form of a session's id.
const SESSION: usize = 9;
const LONG_SESSION: usize = 18;
/// Minimum columns of the ensemble's name, unless the name is shorter.
const MIN_CONNECT: usize = 7;
/// Minimum columns of the terminal for the longer forms.
const ROOMY: u16 = 100;
/// Minimum columns of the terminal at which the own session is shown.
const WITH_SESSION: u16 = 76;
/// Maximum columns of a context's name on a narrow and on a wide terminal.
const SHORT_CONTEXT: usize = 10;
const LONG_CONTEXT: usize = 24;
/// Minimum columns of a recording's name.
const MIN_NAME: usize = 12;
/// Minimum and maximum columns of a lagging member's name.
const MEMBER: (usize, usize) = (10, 32);
/// Columns of the text about a lagging member, the longest form first.
const LAGGING: [usize; 3] = [49, 30, 17];
/// Columns of the clock, with a blank on either side.
const TIME: usize = 10;

/// Which parts the header shows, and how long each is.
#[derive(Clone, Copy)]
struct HeaderForm {
    /// Whether the terminal is wide enough for the longer forms.
    roomy: bool,
    /// Columns of the own session; 0 leaves the session out.
    session: usize,
    past: bool,
    clock: bool,
    /// Minimum columns of the ensemble's name.
    connect: usize,
    /// Columns of the text about a lagging member.
    lagging: usize,
}

impl HeaderForm {
    const BARE: Self =
        Self { roomy: false, session: 0, past: true, clock: true, connect: MIN_CONNECT, lagging: LAGGING[0] };
    const LEAST: Self = Self { past: false, clock: false, connect: 0, lagging: LAGGING[2], ..Self::BARE };

    /// Returns the forms from the longest to the shortest. All forms show the state of the
    /// connection and whether the console may write; the own session is left out first.
    fn all(columns: u16, has_past: bool) -> impl Iterator<Item = Self> {
        let roomy = Self { roomy: true, ..Self::BARE };
        let wide = [Self { session: LONG_SESSION, ..roomy }, Self { session: SESSION, ..roomy }, roomy];
        // How far back the past reaches is more useful than the session.
        let narrow = (columns >= WITH_SESSION && !has_past).then_some(Self { session: SESSION, ..Self::BARE });
        let without_clock = Self { past: false, clock: false, ..Self::BARE };
        let nameless = Self { connect: 0, ..without_clock };
        let least = [
            Self::BARE,
            Self { past: false, ..Self::BARE },
            without_clock,
            Self { lagging: LAGGING[1], ..without_clock },
            nameless,
            Self { lagging: LAGGING[1], ..nameless },
            Self::LEAST,
        ];
        wide.into_iter().filter(move |_| columns >= ROOMY).chain(narrow).chain(least)
    }
}

/// Draws the program's name, the ensemble, the connection, the session, and the clock while it
/// runs.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let app = view.app;
    if let Some(replay) = app.replay() {
        return draw_replay(view, replay, area, buffer);
    }
    let connect = ReportedEnsemble::new(&app.settings().connect, None).connect().to_owned();
    let columns = usize::from(area.width);
    let fits = |parts: &Parts| parts.columns(view.theme) + width(&connect).min(parts.form.connect) <= columns;
    let mut forms = HeaderForm::all(area.width, !past(view).is_empty()).map(|form| Parts::new(view, form));
    let parts = forms.find(fits).unwrap_or_else(|| Parts::new(view, HeaderForm::LEAST));
    let connect = view.fit(&connect, columns.saturating_sub(parts.columns(view.theme)), Keep::Ends);
    let clock = Line::styled(parts.clock.clone(), view.theme.text).right_aligned();
    write_line(parts.spans(view, &connect), area, buffer);
    if parts.form.clock {
        write_line(clock, right(area, TIME), buffer);
    }
}

/// The parts of the header in one form, without the ensemble's name.
struct Parts {
    form: HeaderForm,
    context: (String, Style),
    state: (String, Style),
    /// `ClickHouse Keeper 25.12`; empty on `ZooKeeper`.
    software: String,
    own: String,
    mode: (&'static str, Style),
    past: String,
    clock: String,
    gap: &'static str,
}

impl Parts {
    fn new(view: View<'_>, form: HeaderForm) -> Self {
        let (app, theme) = (view.app, view.theme);
        let signs = &theme.signs;
        let own = match app.link() {
            ConnectionState::Connected { session: id, .. } if form.session == LONG_SESSION => {
                format!("session {}", session(*id, LONG_SESSION, signs.charset))
            }
            ConnectionState::Connected { session: id, .. } if form.session > 0 => {
                session(*id, form.session, signs.charset)
            }
            _ => String::new(),
        };
        // A clock that is not redrawn each second would show a wrong time, so it is shown only
        // while the app counts seconds.
        let counts = form.clock && app.counts_seconds() && app.paused().is_none();
        let zone = if app.settings().utc { "Z" } else { "" };
        let clock = counts.then(|| format!("{}{zone} ", time_of_day(app.clock(), app.settings().utc)));
        Self {
            form,
            context: context(view, form.roomy),
            state: state(view, form),
            software: app.world().table().view().keeper_version().unwrap_or_default(),
            own,
            mode: if app.settings().write { ("may write", theme.wait) } else { ("read-only", theme.dim) },
            past: if form.past { past(view) } else { String::new() },
            clock: clock.unwrap_or_default(),
            gap: if form.roomy { "   " } else { "  " },
        }
    }

    /// Returns the parts to the right of the ensemble's name.
    fn behind_name(&self, theme: &Theme) -> impl Iterator<Item = (&str, Style)> {
        let software = (&*self.software, theme.wait);
        let parts =
            [(&*self.state.0, self.state.1), software, (&*self.own, theme.dim), self.mode, (&*self.past, theme.dim)];
        parts.into_iter().filter(|(text, _)| !text.is_empty())
    }

    /// Returns the columns of all parts, with the blanks before them.
    fn columns(&self, theme: &Theme) -> usize {
        let parts: usize = self.behind_name(theme).map(|(text, _)| self.gap.len() + width(text)).sum();
        // A hidden clock keeps its room, and so does the gap before the session.
        let session = if self.own.is_empty() && self.form.clock { self.gap.len() } else { 0 };
        let clock = if self.form.clock { TIME + 1 } else { 1 };
        PROGRAM.len() + width(&self.context.0) + 1 + parts + session + clock
    }

    fn spans(&self, view: View<'_>, connect: &str) -> Vec<Span<'static>> {
        let theme = view.theme;
        let mut spans = vec![
            Span::styled(PROGRAM, theme.accent),
            Span::styled(self.context.0.clone(), self.context.1),
            Span::styled(format!(" {connect}"), theme.text),
        ];
        spans.extend(self.behind_name(theme).map(|(text, style)| Span::styled(format!("{}{text}", self.gap), style)));
        spans
    }
}

/// Returns the state of the connection to the ensemble.
fn state(view: View<'_>, form: HeaderForm) -> (String, Style) {
    let (app, theme) = (view.app, view.theme);
    let signs = &theme.signs;
    match app.link() {
        _ if app.is_live() => live(view, form.roomy),
        ConnectionState::Refused { .. } => (format!("{} refused", signs.bad), theme.bad),
        ConnectionState::Lagging { member, .. } => (lagging(view, member, form.lagging), theme.bad),
        ConnectionState::Silent { since } => (no_answer(view, *since, form.roomy), theme.bad),
        ConnectionState::Overloaded { .. } => (format!("{} too many events", signs.bad), theme.bad),
        ConnectionState::Connected { .. } if app.is_observing() => (format!("{} reading", signs.busy), theme.wait),
        ConnectionState::Connecting { reason: None, .. } if app.is_observing() => {
            (format!("{} connecting", signs.busy), theme.wait)
        }
        ConnectionState::Connecting { .. } => (format!("{} no connection", signs.bad), theme.bad),
        _ => (format!("{} cut off", signs.bad), theme.bad),
    }
}

/// Says that the ensemble does not answer, and since when where there is room. Without the time the
/// banner below has it.
fn no_answer(view: View<'_>, since: Timestamp, roomy: bool) -> String {
    let bad = view.theme.signs.bad;
    if roomy {
        format!("{bad} no answer since {}", time_of_day(since, view.app.settings().utc))
    } else {
        format!("{bad} no answer")
    }
}

/// Says in `columns` that the connected member lags behind the ensemble.
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

/// Returns the context in use. A production ensemble is marked by a word too, for readers who see
/// no colours. Empty where neither is known.
fn context(view: View<'_>, roomy: bool) -> (String, Style) {
    let (settings, theme) = (view.app.settings(), view.theme);
    let most = if roomy { LONG_CONTEXT } else { SHORT_CONTEXT };
    match (&settings.production, &settings.context) {
        (Some(mark), _) => {
            let sure = if mark.doubt.is_none() { "" } else { "?" };
            (format!(" PRODUCTION{sure} {} ", view.fit(&mark.context, most, Keep::Start)), theme.mark)
        }
        (None, Some(name)) => (format!(" {} ", view.fit(name, most, Keep::Start)), theme.strong),
        (None, None) => (String::new(), theme.text),
    }
}

/// Returns how far back the replay can go; empty where there is no past. The unit is minutes,
/// because nothing redraws the header for this text alone.
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

/// Draws the header of a recording: the time shown, the file and the ensemble.
fn draw_replay(view: View<'_>, replay: &Replay, area: Rect, buffer: &mut Buffer) {
    let (theme, utc, roomy) = (view.theme, view.app.settings().utc, area.width >= ROOMY);
    let moment = format!("  {} ", date_and_time(replay.at(), utc));
    // The state of the connection that the recorder noted at that time.
    let (state, style) = match view.app.is_live() {
        true => (String::new(), theme.text),
        false if view.app.knows_nothing() => (format!("  {} nothing read yet", theme.signs.busy), theme.wait),
        false if matches!(view.app.link(), ConnectionState::Silent { .. }) => {
            (format!("  {} no answer", theme.signs.bad), theme.bad)
        }
        false if area.width < WITH_SESSION => (format!("  {} cut off", theme.signs.bad), theme.bad),
        false if replay.is_of_live() => (format!("  {} this console was cut off", theme.signs.bad), theme.bad),
        false => (format!("  {} the recorder was cut off", theme.signs.bad), theme.bad),
    };
    let (badge, of) = if let Some(ReplayedFile { name, connect }) = replay.file() {
        (" REPLAY ", format!("{} of {}", escaped(name), ReportedEnsemble::new(connect, None).connect()))
    } else {
        let (since, or_more) = view.app.events_since();
        let least = if or_more { "at least " } else { "" };
        let since = if roomy || !or_more {
            format!("{least}{} since", plural(since, "event", "events"))
        } else {
            format!("{least}{} since", count(since))
        };
        let back = view.sentence(if roomy { "{live} goes back to live" } else { "{live}: live" });
        (" REWOUND ", format!("{since}; {back}"))
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

/// Returns `live`, and how many of the servers answered all questions about themselves.
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
        // The state is as live as with all servers; only the missing servers' answers are not
        // known.
        (format!("{} live {}{reporting}/{all}{word}", theme.signs.holds, theme.signs.warning), theme.wait)
    }
}

/// Draws the tabs of the screens and, on the right, whether the screen is paused.
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
