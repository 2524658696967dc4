//! The pane below Locks: the watch events that the changes of the last minute would cost if every
//! lock were a herd and if every lock were a chain, and those that the servers sent.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::View;
use crate::tui::widget::panel::Panel;
use crate::tui::widget::spark;
use crate::tui::widget::write::write_line;
use lockscope_model::text::human::rate;
use lockscope_model::text::{Charset, width};

/// Seconds over which the figure beside a sparkline is averaged.
const AVERAGED: usize = 10;
/// Columns of a sparkline: one for each second of the history.
const SPARK: usize = 60;

/// Draws the sparklines on one scale, so that their heights can be compared.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = view.theme;
    let title = ("Watch events, all locks, last 60 s".to_owned(), theme.strong);
    let inner = Panel { left: vec![title], ..Panel::default() }.draw(area, buffer, theme);
    let seconds = view.app.world().table().totals().history.seconds(view.app.now());
    let herd: Vec<_> = seconds.iter().map(|second| second.watch_events.herd).collect();
    let chain: Vec<_> = seconds.iter().map(|second| second.watch_events.chain).collect();
    let sent = view.app.world().watch_event_rates().seconds().map(whole);
    let highest = herd.iter().chain(&chain).chain(sent.iter().flatten()).copied().max().unwrap_or(0);
    let rows = [
        ("herd-style ", Some(herd), theme.wait, "had every waiter watched the parent"),
        ("chain-style", Some(chain), theme.good, "had each watched its predecessor"),
        ("server     ", sent, theme.text, "sent to all, by the servers' own count"),
    ];
    for ((label, values, style, meaning), y) in rows.into_iter().zip(inner.top()..inner.bottom()) {
        let area = Rect { y, height: 1, ..inner };
        let Some(values) = values else {
            let asks = view.app.settings().asks_servers;
            let why = view.sentence(if asks { "not reported ({servers}: why)" } else { "not asked" });
            let line = vec![Span::styled(format!(" {label} "), theme.text), Span::styled(why, theme.dim)];
            write_line(line, area, buffer);
            continue;
        };
        let figure = format!("{:>7}/s", rate(average(&values)));
        let room = usize::from(inner.width).saturating_sub(label.len() + 3 + width(&figure));
        let line = spark::line(&values, room.min(SPARK), highest, &theme.signs.levels);
        let mut spans = vec![
            Span::styled(format!(" {label} "), view.data(theme.text)),
            Span::styled(line, view.data(if highest == 0 { theme.dim } else { style })),
            Span::styled(figure, view.data(theme.strong)),
        ];
        if room > SPARK + meaning.len() + 3 {
            let dash = if theme.signs.charset == Charset::Ascii { "" } else { "  " };
            spans.push(Span::styled(format!("{dash} {meaning}"), theme.dim));
        }
        write_line(spans, area, buffer);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are never negative, and the cast saturates"
)]
fn whole(seconds: Vec<f64>) -> Vec<u64> {
    seconds.into_iter().map(|events| events.round() as u64).collect()
}

/// Returns the average of the full seconds. The current second would lower it.
#[expect(clippy::cast_precision_loss, reason = "a sparkline's figure is rounded anyway")]
fn average(values: &[u64]) -> f64 {
    let full = &values[..values.len().saturating_sub(1)];
    let last = &full[full.len().saturating_sub(AVERAGED)..];
    last.iter().sum::<u64>() as f64 / last.len().max(1) as f64
}
