//! A writer of Prometheus' text exposition format, version 0.0.4.
//!
//! Source: *Exposition formats*, prometheus.io/docs/instrumenting/exposition_formats. HELP and TYPE precede the samples
//! of a metric, once; label values escape backslash, quote and line feed, HELP backslash and line feed; the last line
//! ends with a line feed.

use core::fmt::{self, Write};

/// A writer of Prometheus' text exposition format, for metrics beside those of the ledger.
///
/// ```
/// use filterblock::ledger::Exposition;
///
/// let mut out = Exposition::default();
/// out.metric("engine_tables", "Tables.", [0, 1].map(|level| (vec![("level", level.to_string())], 3 * level)));
/// out.single("engine_flushes_total", "Flushes.", 7);
/// assert!(out.into_text().contains("engine_tables{level=\"1\"} 3\n"));
/// ```
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Appends a metric and its samples, each with its labels. As the format's naming rules ask, a name that ends in
    /// `_total` is a counter's, every other a gauge's.
    pub fn metric<'a, V: fmt::Display>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, String)>, V)>,
    ) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
        for (labels, value) in samples {
            let label = |(label, value): (&str, String)| format!("{label}=\"{}\"", escaped(&value));
            let labels: Vec<String> = labels.into_iter().map(label).collect();
            match labels.is_empty() {
                true => self.line(format_args!("{name} {value}")),
                false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
            }
        }
    }

    /// Appends a metric with one sample and no labels.
    pub fn single(&mut self, name: &str, help: &str, value: u64) {
        self.metric(name, help, [(Vec::new(), value)]);
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    /// The text, to be served as `text/plain; version=0.0.4`.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::{Exposition, escaped};

    #[test]
    fn label_values_are_escaped() {
        assert_eq!(escaped("a\\b\"c\nd"), r#"a\\b\"c\nd"#);
        let mut out = Exposition::default();
        let labels = vec![("a", "x\"y".to_owned()), ("b", "\n".to_owned())];
        out.metric("m_total", "back\\slash\nfeed \"quote\"", [(labels, 7)]);
        out.metric("n", "n", [(Vec::new(), 0.5)]);
        let expected = "# HELP m_total back\\\\slash\\nfeed \"quote\"\n# TYPE m_total counter\n\
                        m_total{a=\"x\\\"y\",b=\"\\n\"} 7\n# HELP n n\n# TYPE n gauge\nn 0.5\n";
        assert_eq!(out.into_text(), expected);
    }
}
