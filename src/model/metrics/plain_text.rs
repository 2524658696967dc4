//! Converts `OpenMetrics` to Prometheus' own, older text format. There a counter has the name of
//! its sample, and there are neither units nor an end marker.

/// Rewrites the lines that describe the families. Both formats share the samples.
pub(super) fn plain_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.split_inclusive('\n') {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.trim_end().split_once(' ').unwrap_or((typed, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                kind => ("", kind),
            };
            if let Some((_, help)) = help.take() {
                text.extend(["# HELP ", name, suffix, " ", help]);
            }
            text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with("# UNIT ") && !line.starts_with("# EOF") {
            text.push_str(line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_the_name_of_its_sample_and_an_info_is_a_gauge() {
        let open = "# HELP a_b Says \"a b\".\n# TYPE a_b counter\n# UNIT a_b b\na_b_total{x=\"# TYPE y\"} 1\n\
                    # HELP v What.\n# TYPE v info\nv_info{} 1\n# HELP g G.\n# TYPE g gauge\ng 2\n# EOF\n";
        let plain = "# HELP a_b_total Says \"a b\".\n# TYPE a_b_total counter\na_b_total{x=\"# TYPE y\"} 1\n\
                     # HELP v_info What.\n# TYPE v_info gauge\nv_info{} 1\n# HELP g G.\n# TYPE g gauge\ng 2\n";
        assert_eq!(plain_text(open), plain);
    }
}
