//! The marks of curves. Each has its own shape, so that they differ without colour.

use maud::{Markup, html};

use super::CurveLook;
use lockscope_model::text::tenth;

impl CurveLook {
    /// Returns the CSS class of elements in the curve's colour.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Circle => "circle",
            Self::Triangle => "triangle",
        }
    }

    /// Returns the horizontal offset of the curve's marks where several would overlap, in pixels.
    pub(super) fn offset(self) -> f64 {
        match self {
            Self::Square => -7.0,
            Self::Circle => 0.0,
            Self::Triangle => 7.0,
        }
    }
}

/// Draws a mark centred at a place.
pub(super) fn marker(look: CurveLook, x: f64, y: f64) -> Markup {
    let around = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx, y + dy);
    let corners = match look {
        CurveLook::Circle => return html! { circle cx=(tenth(x)) cy=(tenth(y)) r="4.5" {} },
        CurveLook::Square => [(-4.2, -4.2), (4.2, -4.2), (4.2, 4.2), (-4.2, 4.2)].as_slice(),
        CurveLook::Triangle => [(0.0, -5.6), (5.2, 4.0), (-5.2, 4.0)].as_slice(),
    };
    let corners: Vec<String> = corners.iter().map(|(dx, dy)| around(*dx, *dy)).collect();
    html! { polygon points=(corners.join(" ")) {} }
}
