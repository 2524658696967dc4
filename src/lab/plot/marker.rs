//! The marks of curves: each has a shape, so that they differ without colour.

use maud::{Markup, html};

use super::CurveLook;

impl CurveLook {
    /// The class of what has its colour.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Circle => "circle",
            Self::Triangle => "triangle",
        }
    }

    /// How far its marks stand beside their place where several would lie on one another, in pixels.
    pub(super) fn offset(self) -> f64 {
        match self {
            Self::Square => -7.0,
            Self::Circle => 0.0,
            Self::Triangle => 7.0,
        }
    }
}

/// A mark around a place.
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

/// A place, as exactly as it is drawn.
pub(super) fn tenth(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}
