//! Pieces of a page.

use super::super::account::Verdict;
use super::super::lines::{Cell, Line};
use super::super::setting::Setting;
use crate::block::shell_word;
use std::fmt::{Display, Write};
use std::path::Path;

const STYLE: &str = include_str!("style.css");

/// `text` as the content of an element or of a quoted attribute. XML knows no control characters.
pub(in super::super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A page that is being written from top to bottom.
pub(super) struct Html {
    body: String,
    title: String,
}

impl Html {
    pub(super) fn new(title: &str) -> Self {
        Self { body: String::new(), title: title.to_owned() }
    }

    /// `markup` as it is.
    pub(super) fn push(&mut self, markup: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "{markup}");
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.push(format_args!("<h2>{}</h2>", escape(text)));
    }

    /// What was run, what was checked, and what failed.
    pub(super) fn setting(&mut self, setting: &Setting, verdict: &Verdict<'_>, failures: &[String]) {
        self.push("<section class=\"setting\"><dl>");
        for (name, lines) in &setting.facts {
            let lines: Vec<_> = lines.iter().map(|line| escape(line)).collect();
            self.push(format_args!("<dt>{name}</dt><dd>{}</dd>", lines.join("<br/>")));
        }
        self.push(format_args!("<dt>Command</dt><dd><code>{}</code></dd>", escape(&command_line())));
        self.push("</dl><ul class=\"checks\">");
        for (check, outcome, passed) in verdict.lines() {
            let (class, sign) = match passed {
                Some(true) => ("passed", "✓"),
                Some(false) => ("failed", "✗"),
                None => ("open", "–"),
            };
            let outcome = escape(&outcome);
            self.push(format_args!("<li class=\"{class}\"><span>{sign}</span> {check}: {outcome}</li>"));
        }
        for warning in failures.iter().chain(verdict.warnings.iter().copied()) {
            self.push(format_args!("<li class=\"failed\"><span>!</span> {}</li>", escape(warning)));
        }
        self.push("</ul></section>");
    }

    /// A plot under its title, with what its lines stand for and what it shows. `legend` are swatches and names.
    pub(super) fn figure(&mut self, id: &str, title: &str, legend: &[(String, String)], svg: &str, caption: &str) {
        self.push(format_args!("<figure id=\"{id}\"><h3>{}</h3>", escape(title)));
        if !legend.is_empty() {
            let entry = |(swatch, name): &(String, String)| {
                format!("<li><span class=\"swatch\">{swatch}</span>{}</li>", escape(name))
            };
            self.push(format_args!("<ul class=\"legend\">{}</ul>", legend.iter().map(entry).collect::<String>()));
        }
        self.push(format_args!("<div class=\"plot\">{svg}</div><figcaption>{}</figcaption></figure>", escape(caption)));
    }

    /// `lines` below each other, of which the first is the head.
    pub(super) fn table(&mut self, caption: &str, lines: &[Line]) {
        self.open_table(caption);
        for (i, line) in lines.iter().enumerate() {
            let cells: String = line.cells.iter().map(|cell| cell_markup(cell, i == 0)).collect();
            let name =
                if i == 0 && line.name.is_empty() { "<td></td>".to_owned() } else { name_markup(&line.name, i == 0) };
            self.push(match i {
                0 => format!("<thead><tr>{name}{cells}</tr></thead><tbody>"),
                _ => format!("<tr>{name}{cells}</tr>"),
            });
        }
        self.push("</tbody></table></div>");
    }

    /// `groups` of lines turned on their side: a row for what each was a column, headed by the group's name.
    pub(super) fn table_of_columns(&mut self, caption: &str, group_name: &str, groups: &[(String, Vec<Line>)]) {
        self.open_table(caption);
        let names = groups.first().map(|(_, lines)| lines.iter()).into_iter().flatten();
        let names: String = names.map(|line| format!("<th scope=\"col\">{}</th>", escape(line.name.trim()))).collect();
        self.push(format_args!("<thead><tr><th scope=\"col\">{group_name}</th>{names}</tr></thead>"));
        for (group, lines) in groups {
            self.push("<tbody>");
            let num_rows = lines.iter().map(|line| line.cells.len()).max().unwrap_or(0);
            for row in 0..num_rows {
                let cells = lines.iter().filter_map(|line| line.cells.get(row));
                let cells: String = cells.map(|cell| cell_markup(cell, false)).collect();
                self.push(format_args!("<tr>{}{cells}</tr>", name_markup(group, false)));
            }
            self.push("</tbody>");
        }
        self.push("</table></div>");
    }

    fn open_table(&mut self, caption: &str) {
        self.push("<div class=\"table\"><table>");
        if !caption.is_empty() {
            self.push(format_args!("<caption>{}</caption>", escape(caption)));
        }
    }

    /// The whole document.
    pub(super) fn finish(mut self) -> String {
        self.push(format_args!(
            "<footer>filterblock {} · format version {}</footer>",
            env!("CARGO_PKG_VERSION"),
            filterblock::FORMAT_VERSION
        ));
        let (title, body) = (escape(&self.title), self.body);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
        )
    }
}

/// A figure that says where the JSON document has it.
pub(super) fn figure_markup(cell: &Cell) -> String {
    format!("<span data-json=\"{}\">{}</span>", escape(&cell.pointer), escape(&cell.text))
}

fn cell_markup(cell: &Cell, is_head: bool) -> String {
    match is_head {
        true => format!("<th scope=\"col\">{}</th>", figure_markup(cell)),
        false => format!("<td>{}</td>", figure_markup(cell)),
    }
}

fn name_markup(name: &str, is_head: bool) -> String {
    let scope = if is_head { "col" } else { "row" };
    let class = if name.starts_with("  ") { " class=\"sub\"" } else { "" };
    format!("<th scope=\"{scope}\"{class}>{}</th>", escape(name.trim()))
}

/// What this process was called with, as one would type it.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| shell_word(Path::new(&word)));
    core::iter::once("filterblock".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_of_markup_survives_escaping() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(escape("a\u{1}b\u{7f}\nc\u{ffff}"), "a\u{fffd}b\u{fffd}\u{fffd}c\u{fffd}");
        assert_eq!(escape("naïve µs ✓"), "naïve µs ✓");
    }
}
