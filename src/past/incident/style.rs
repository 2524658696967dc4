//! Colours and layout. The page is light unless a screen asks for dark, so that paper is always
//! light. Colour alone carries no information.

use maud::{Markup, html};

/// Returns the style sheet of the page.
pub(super) fn rules() -> String {
    let text = "body{background:PAPER;color:INK}.muted,.label,.time,dt,caption{fill:MUTED;color:MUTED}text{fill:INK}\
        .label{fill:INK}.time{fill:MUTED}th,td{border-color:GRID}.grid{stroke:GRID}\
        .hold{fill:HOLD}.hold.all{opacity:.55}.wait{fill:WAIT}.queue{fill:WAIT;opacity:.7}.unsure{fill:none;stroke:HOLD;stroke-dasharray:3 3}\
        .gap{fill:url(#gap)}.hatch{stroke:MUTED}.finding.critical{fill:BAD}.finding.warning{fill:WARN}.finding.info{fill:MUTED}\
        .deletion{stroke:BAD}.end{fill:BAD}.standstill{border-color:BAD}";
    let with = |colours: [(&str, &str); 8]| {
        colours.iter().fold(text.to_owned(), |rules, (name, colour)| rules.replace(name, colour))
    };
    let light = with([
        ("PAPER", "#ffffff"),
        ("INK", "#1b1f24"),
        ("MUTED", "#505a64"),
        ("GRID", "#dde1e6"),
        ("HOLD", "#0b6bc2"),
        ("WAIT", "#d08a2e"),
        ("BAD", "#a3210f"),
        ("WARN", "#9a6700"),
    ]);
    let dark = with([
        ("PAPER", "#0f141a"),
        ("INK", "#e8ecf0"),
        ("MUTED", "#a9b4c0"),
        ("GRID", "#2c343d"),
        ("HOLD", "#5aa9ff"),
        ("WAIT", "#e0a95c"),
        ("BAD", "#ff8f7d"),
        ("WARN", "#e3b341"),
    ]);
    format!("{LAYOUT}{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

/// Returns the hatching of gaps.
pub(super) fn hatching() -> Markup {
    html! {
        svg class="patterns" width="0" height="0" aria-hidden="true" {
            pattern id="gap" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                line class="hatch" x1="0" y1="0" x2="0" y2="6" stroke-width="1.5" {}
            }
        }
    }
}

const LAYOUT: &str = "\
:root{color-scheme:light dark}\
body{margin:0 auto;padding:1.5rem;max-width:76rem;font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\
\"Liberation Sans\",Arial,sans-serif}\
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}\
.standstill{font-size:1.1rem;margin:.75rem 0;padding-left:.75rem;border-left:4px solid;overflow-wrap:anywhere}\
.calm{border-left-style:none;padding-left:0}\
svg.patterns{position:absolute}figure{margin:1rem 0;break-inside:avoid}figure svg{display:block;width:100%;height:auto}figcaption{font-size:.9rem;overflow-wrap:anywhere}\
svg text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation Sans\",Arial,sans-serif;font-size:12px}\
.end{font-size:14px;font-weight:600}.deletion{stroke-width:2}.grid{stroke-width:1;stroke-dasharray:2 4}\
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}\
caption{text-align:left;padding-bottom:.4rem}\
th,td{padding:.2rem .6rem;border-bottom:1px solid;text-align:left;vertical-align:top;overflow-wrap:anywhere}\
td.number,th.number{text-align:right;white-space:nowrap}td.whole{white-space:nowrap}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0}dd{margin:0;overflow-wrap:anywhere}\
@page{size:A4 landscape;margin:10mm}\
@media print{:root{font-size:11px}body{padding:0;max-width:none;font-size:1rem}.table{overflow:visible}\
h2{break-after:avoid;margin-top:1rem}thead{display:table-header-group}tr{break-inside:avoid}\
.hold,.wait,.queue,.finding,.gap{print-color-adjust:exact}}";
