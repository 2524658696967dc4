//! What the pages and the alerts must name: every metric, every bound, every finding.

use lockscope_model::diagnose::Code;

use super::root;

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_page_names_every_metric_and_every_bound() {
    let documented = text("assets/docs/metrics.md");
    let series =
        text("src/model/metrics/snapshots/lockscope_model__metrics__tests__the_series_are_named_as_documented.snap");
    let families: Vec<_> = series.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(families.len() > 30, "{families:?}");
    for family in families {
        assert!(documented.contains(&format!("| `{family}` |")), "{family} stands in no table of metrics.md");
    }
    let bounds = series.split("le=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
    let mut bounds: Vec<f64> = bounds.filter(|bound| bound.is_finite()).collect();
    bounds.dedup();
    assert!(bounds.len() > 5, "{bounds:?}");
    for bound in bounds {
        assert!(documented.contains(&format!("`{bound}`")), "{bound} is not among the buckets of metrics.md");
    }
}

#[test]
fn every_finding_that_can_be_worse_than_info_has_an_alert() {
    let alerts = text("assets/alerts.yml");
    let named: Vec<&str> = alerts.split(['"', '|']).collect();
    let only_info = [Code::AdoptedNode, Code::HeadChangedByExpiry, Code::EmptyParent, Code::Churning];
    for code in Code::ALL.into_iter().filter(|code| !only_info.contains(code)) {
        assert!(named.contains(&code.id()), "{code}");
    }
}
