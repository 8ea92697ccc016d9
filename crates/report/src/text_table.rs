//! Tables as aligned text for a terminal, as Markdown or as HTML.

use maud::{Markup, html};

/// How the cells of a column are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Rows under column headings.
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose first column is this one.
    pub fn new(heading: &str, align: Align) -> Table {
        Table {
            columns: vec![(heading.to_owned(), align)],
            rows: Vec::new(),
        }
    }

    /// Appends a column.
    pub fn column(mut self, heading: &str, align: Align) -> Table {
        self.columns.push((heading.to_owned(), align));
        self
    }

    /// Adds a row, with one cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The table as HTML.
    pub(crate) fn html(&self) -> Markup {
        let class = |align: &Align| (*align == Align::Left).then_some("left");
        html! {
            div.card.table tabindex="0" { table {
                tr { @for (heading, align) in &self.columns { th class=[class(align)] { (heading) } } }
                @for row in &self.rows {
                    tr {
                        @for (text, (_, align)) in row.iter().zip(&self.columns) { td class=[class(align)] { (text) } }
                    }
                }
            } }
        }
    }

    /// The table as text without a trailing newline.
    pub fn text(&self, markdown: bool) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| cell(&row[column], markdown));
            let heading = self.columns[column].0.chars().count();
            cells.map(|cell| cell.chars().count()).fold(heading, usize::max)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let headings: Vec<String> = self.columns.iter().map(|(heading, _)| heading.clone()).collect();
        let mut lines = vec![self.line(&headings, &widths, markdown)];
        lines.push(self.rule(&widths, markdown));
        lines.extend(self.rows.iter().map(|row| self.line(row, &widths, markdown)));
        lines.join("\n")
    }

    fn line(&self, cells: &[String], widths: &[usize], markdown: bool) -> String {
        let padded = cells
            .iter()
            .zip(widths)
            .zip(&self.columns)
            .map(|((text, &width), (_, align))| {
                let text = cell(text, markdown);
                match align {
                    Align::Left => format!("{text:<width$}"),
                    Align::Right => format!("{text:>width$}"),
                }
            });
        let padded: Vec<String> = padded.collect();
        match markdown {
            true => format!("| {} |", padded.join(" | ")),
            false => padded.join("  ").trim_end().to_owned(),
        }
    }

    fn rule(&self, widths: &[usize], markdown: bool) -> String {
        if !markdown {
            return "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));
        }
        let part = |(&width, (_, align)): (&usize, &(String, Align))| match align {
            Align::Left => format!("{}-", "-".repeat(width + 1)),
            Align::Right => format!("{}:", "-".repeat(width + 1)),
        };
        let parts: Vec<String> = widths.iter().zip(&self.columns).map(part).collect();
        format!("|{}|", parts.join("|"))
    }
}

/// A cell's text; Markdown escapes the cell separator.
fn cell(text: &str, markdown: bool) -> String {
    if markdown {
        text.replace('|', "\\|")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("player", Align::Left).column("Elo", Align::Right);
        table.row(vec!["a|b".to_owned(), "+7".to_owned()]);
        table.row(vec!["längster".to_owned(), "-1234".to_owned()]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let lines = [
            "player      Elo",
            "───────────────",
            "a|b          +7",
            "längster  -1234",
        ];
        assert_eq!(table().text(false), lines.join("\n"));
    }

    #[test]
    fn markdown_is_a_table() {
        let lines = [
            "| player   |   Elo |",
            "|----------|------:|",
            "| a\\|b     |    +7 |",
            "| längster | -1234 |",
        ];
        assert_eq!(table().text(true), lines.join("\n"));
    }
}
