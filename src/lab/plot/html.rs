//! A page with the charts, the table of their figures, and the conditions.

use maud::{Markup, html};

use super::chart::chart;
use super::style;
use super::text::harmless;
use super::{PlotPage, PlotTable};
use lockscope_model::text::html_page;

/// Returns the page as the text of an HTML file.
pub fn html(page: &PlotPage) -> String {
    let PlotPage { title, summary, warnings, charts, table, conditions } = page;
    let body = html! {
        main {
            h1 { (harmless(title)) }
            p class="summary" { (harmless(summary)) }
            @for warning in warnings { p class="warning" { (harmless(warning)) } }
            div class="charts" {
                @for line_chart in charts { figure { (chart(line_chart, (0.0, 0.0))) } }
            }
            @if !table.rows.is_empty() {
                h2 { "Figures" }
                div class="table" { (figures(table)) }
            }
            h2 { "Conditions" }
            dl {
                @for (name, value) in conditions { dt { (harmless(name)) } dd { (harmless(value)) } }
            }
            @if !charts.is_empty() { (what_is_drawn(page)) }
        }
    };
    html_page(&harmless(title), &style::of_page(), &body)
}

/// Describes each chart for readers who do not see it, and its model's assumptions for all.
fn what_is_drawn(page: &PlotPage) -> Markup {
    html! {
        h2 { "What is drawn" }
        dl {
            @for chart in &page.charts { dt { (harmless(&chart.title)) } dd { (harmless(&chart.description)) } }
        }
    }
}

fn figures(table: &PlotTable) -> Markup {
    let begins_size = |at: usize| at == 0 || table.rows[at - 1].clients != table.rows[at].clients;
    html! {
        table {
            caption { (harmless(&table.caption)) }
            thead {
                tr {
                    @for (at, column) in table.columns.iter().enumerate() {
                        th scope="col" class=[(at == 1).then_some("name")] { (column) }
                    }
                }
            }
            tbody {
                @for (at, row) in table.rows.iter().enumerate() {
                    tr class=[begins_size(at).then_some("first")] data-fleet=(harmless(&row.name)) data-clients=(row.clients) {
                        td { (lockscope_model::text::human::count(row.clients)) }
                        th scope="row" class="name" { (harmless(&row.name)) }
                        @for value in &row.values {
                            @match value {
                                Some(value) => td data-field=(value.field) data-value=(value.exact) { (harmless(&value.shown)) },
                                None => td { "-" },
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hostile, page};
    use super::*;

    #[test]
    fn a_page_has_no_script_and_no_external_references() {
        let text = html(&page(&[1, 2, 10]));
        for part in ["<script", "http:", "https:", "src=", "@import", "url("] {
            assert!(!text.contains(part), "{part} in {text}");
        }
        assert_eq!(text.matches("<figure>").count(), text.matches("</figure>").count());
        assert!(text.contains("<th scope=\"row\"") && text.contains("<caption>"), "{text}");
    }

    #[test]
    fn hostile_names_stay_text() {
        let text = html(&hostile());
        assert!(!text.contains("<script") && !text.contains("<img") && text.contains("&lt;script&gt;"), "{text}");
        assert!(!text.contains("\" onload=") && text.contains("&quot; onload="), "{text}");
        assert!(!text.contains(['\u{202e}', '\0', '\u{1b}']), "{text}");
    }

    #[test]
    fn a_page_without_any_figure_says_so_and_has_no_table() {
        let mut empty = page(&[]);
        empty.charts.clear();
        empty.table.rows.clear();
        let text = html(&empty);
        assert!(!text.contains("<table") && !text.contains("<svg") && text.contains("Conditions"), "{text}");
    }
}
