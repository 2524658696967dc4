//! Sample pages for tests.

use super::{Curve, CurveLook, CurvePoint, LineChart, PlotPage, PlotRow, PlotTable, PlotUnit, PlotValue};

fn value(field: &'static str, exact: f64) -> PlotValue {
    PlotValue { field, exact, shown: format!("{exact}/s") }
}

fn curve(name: &str, look: CurveLook, is_model: bool, sizes: &[u32]) -> Curve {
    let point = |clients: &u32| CurvePoint {
        clients: *clients,
        value: value("rate", 100.0 / f64::from(*clients)),
        others: if is_model { Vec::new() } else { vec![value("more", 200.0)] },
    };
    Curve { name: name.to_owned(), look, is_model, points: sizes.iter().map(point).collect() }
}

/// Returns a page with one chart of these sizes.
pub(super) fn page(sizes: &[u32]) -> PlotPage {
    let rows = sizes.iter().map(|clients| PlotRow {
        clients: *clients,
        name: "herd".to_owned(),
        values: vec![Some(value("rate", 1.0)), None],
    });
    PlotPage {
        title: "Herd and chain".to_owned(),
        summary: "A herd costs more.".to_owned(),
        warnings: vec!["one run failed".to_owned()],
        charts: vec![LineChart {
            id: "rate",
            title: "Acquisitions a second".to_owned(),
            description: "How many.".to_owned(),
            unit: PlotUnit::Number,
            calculated: "at most",
            curves: vec![
                curve("herd", CurveLook::Square, false, sizes),
                curve("chain", CurveLook::Circle, false, sizes),
                curve("herd", CurveLook::Square, true, sizes),
            ],
        }],
        table: PlotTable {
            caption: "All figures.".to_owned(),
            columns: vec!["Clients", "Fleet", "Rate", "None"],
            rows: rows.collect(),
        },
        conditions: vec![("Servers".to_owned(), "ZooKeeper 3.9".to_owned())],
    }
}

/// Returns a page whose names contain markup, direction changes and characters that XML does not
/// allow.
pub(super) fn hostile() -> PlotPage {
    let bad = |text: &mut String| {
        text.push_str("<script>alert(1)</script>\" onload=\"x\u{202e}\u{0}\u{1b}]0;\u{ffff}&<img src=x>");
    };
    let mut page = page(&[1, 10]);
    bad(&mut page.title);
    bad(&mut page.summary);
    page.warnings.iter_mut().for_each(bad);
    for chart in &mut page.charts {
        bad(&mut chart.title);
        bad(&mut chart.description);
        for curve in &mut chart.curves {
            bad(&mut curve.name);
            curve.points.iter_mut().for_each(|point| bad(&mut point.value.shown));
        }
    }
    bad(&mut page.table.caption);
    page.table.rows.iter_mut().for_each(|row| bad(&mut row.name));
    for (name, value) in &mut page.conditions {
        bad(name);
        bad(value);
    }
    page
}
