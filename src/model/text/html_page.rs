//! A page to hand over: one file of HTML that loads nothing and runs nothing, whatever a text in it says.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Nothing is loaded and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The page as the text of a file. Titles and bodies are escaped by `maud`; `rules` are CSS of ours.
pub fn html_page(title: &str, rules: &str, body: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without one, a browser asks the server for it.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(rules)) }
            }
            body { (body) }
        }
    };
    document.into_string() + "\n"
}
