//! A self-contained HTML page, and places in its pictures. The page loads and runs nothing,
//! whatever its texts contain.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Forbids loading and scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Returns the page as the text of a file. `maud` escapes titles and bodies. `rules` is trusted
/// CSS.
pub fn html_page(title: &str, rules: &str, body: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without an icon, a browser would request one from the server.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(rules)) }
            }
            body { (body) }
        }
    };
    document.into_string() + "\n"
}

/// Rounds a place in a picture to a tenth of a pixel.
pub fn tenth(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// Converts a number of things in a picture, to calculate places.
#[expect(clippy::cast_precision_loss, reason = "a pixel is coarser than the rounding")]
pub fn whole(number: usize) -> f64 {
    number as f64
}
