//! A self-contained HTML page. It loads and runs nothing, whatever its texts contain.

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
