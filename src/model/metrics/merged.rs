//! Puts the series of several contexts into one text: the format wants all series of a family in
//! one place.

use std::fmt::Write;

/// The family of the process, which all contexts share, and its unit.
const OF_PROCESS: &str = "process_resident_memory_bytes";

/// A family: the lines that describe it, and its samples.
struct Family<'t> {
    name: &'t str,
    described: Vec<&'t str>,
    samples: Vec<&'t str>,
}

/// Merges texts in the `OpenMetrics` format. For a context that did not answer, only
/// `lockscope_up` is known.
pub(super) fn merged(texts: &[String], silent: &[String]) -> String {
    let mut families: Vec<Family<'_>> = Vec::new();
    for text in texts {
        let mut at = None;
        for line in text.lines().filter(|line| *line != "# EOF") {
            let described = ["# HELP ", "# TYPE ", "# UNIT "].iter().find_map(|word| line.strip_prefix(word));
            if let Some(name) = described.and_then(|described| described.split(' ').next()) {
                let place = families.iter().position(|family| family.name == name).unwrap_or_else(|| {
                    families.push(Family { name, described: Vec::new(), samples: Vec::new() });
                    families.len() - 1
                });
                at = Some(place);
                // Each text describes the family in the same words.
                if !families[place].described.contains(&line) {
                    families[place].described.push(line);
                }
            } else if let Some(family) = at.and_then(|at: usize| families.get_mut(at)) {
                family.samples.push(line);
            }
        }
    }
    let mut all = String::with_capacity(texts.iter().map(String::len).sum());
    for Family { name, described, samples } in families {
        add(&mut all, &described);
        if name == OF_PROCESS {
            let value = samples.iter().find_map(|sample| sample.rsplit_once(' '));
            all.extend(value.map(|(_, value)| format!("{OF_PROCESS} {value}\n")));
            continue;
        }
        add(&mut all, &samples);
        if name == "lockscope_up" {
            for context in silent {
                // Writing into a text does not fail.
                let _ = writeln!(all, "lockscope_up{{context=\"{}\"}} 0", escaped(context));
            }
        }
    }
    all + "# EOF\n"
}

fn add(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.extend([line, "\n"]);
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_stands_in_one_place_with_the_series_of_all_contexts() {
        let text = |context: &str, value: i32| {
            format!(
                "# HELP lockscope_up Up.\n# TYPE lockscope_up gauge\nlockscope_up{{context=\"{context}\"}} {value}\n\
                 # HELP {OF_PROCESS} Memory.\n# TYPE {OF_PROCESS} gauge\n{OF_PROCESS}{{context=\"{context}\"}} 7\n# EOF\n"
            )
        };
        let all = merged(&[text("a", 1), text("b", 0)], &["c\"".to_owned()]);
        let expected = "# HELP lockscope_up Up.\n# TYPE lockscope_up gauge\nlockscope_up{context=\"a\"} 1\nlockscope_up{context=\"b\"} 0\n\
                        lockscope_up{context=\"c\\\"\"} 0\n# HELP process_resident_memory_bytes Memory.\n\
                        # TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 7\n# EOF\n";
        assert_eq!(all, expected);
    }
}
