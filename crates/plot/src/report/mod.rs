//! Reports: one HTML file that holds everything — text, tables, data, style and script — and needs
//! no network, no server and no other file.

mod embed;

use std::fmt::Write;

use crate::figure::Figure;
use crate::svg;
use crate::text::escape;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// The outcome of a check, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// A value worth stating; nothing was checked.
    Info,
    /// Within limits.
    Ok,
    /// Usable, but to be looked at.
    Warn,
    /// Out of limits.
    Fail,
}

/// A table of text. Columns whose cells are all numbers are aligned to the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Text above the table; may be empty.
    pub caption: String,
    /// Column headings, with units.
    pub columns: Vec<String>,
    /// Rows; short rows are filled up with empty cells.
    pub rows: Vec<Vec<String>>,
}

/// A report, built block by block in the order of reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    title: String,
    facts: Vec<(String, String)>,
    warnings: Vec<String>,
    blocks: Vec<Block>,
    most_points: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Block {
    Section(String),
    Text(String),
    Preformatted(String),
    Verdicts(Vec<(String, String, Status)>),
    Table(Table),
    Figure(Figure),
    Picture(String),
}

impl Status {
    /// Class name in the style sheet, and the word that stands next to the colour.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Info => ("info", "info"),
            Self::Ok => ("ok", "ok"),
            Self::Warn => ("warn", "warning"),
            Self::Fail => ("fail", "failed"),
        }
    }
}

impl Table {
    /// An empty table with these column headings.
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = T>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets the text above the table.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a row.
    #[must_use]
    pub fn row<T: Into<String>>(mut self, cells: impl IntoIterator<Item = T>) -> Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), most_points: 200_000, ..Self::default() }
    }

    /// Adds a fact to the line under the title: model, version, date.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Adds a line to the verdict table at this place. The worst verdict of the whole report is
    /// shown next to the title.
    #[must_use]
    pub fn verdict(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
        status: Status,
    ) -> Self {
        let line = (name.into(), value.into(), status);
        match self.blocks.last_mut() {
            Some(Block::Verdicts(lines)) => lines.push(line),
            _ => self.blocks.push(Block::Verdicts(vec![line])),
        }
        self
    }

    /// Adds a warning to the list under the title.
    #[must_use]
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }

    /// Starts a section.
    #[must_use]
    pub fn section(mut self, heading: impl Into<String>) -> Self {
        self.blocks.push(Block::Section(heading.into()));
        self
    }

    /// Adds plain text; an empty line starts a new paragraph.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Adds text whose line breaks and spaces count: a model file, a log.
    #[must_use]
    pub fn preformatted(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Preformatted(text.into()));
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// Adds an interactive figure.
    #[must_use]
    pub fn figure(mut self, figure: Figure) -> Self {
        self.blocks.push(Block::Figure(figure));
        self
    }

    /// Adds a drawing that is no plot: an SVG element, which goes into the page as it is.
    #[must_use]
    pub fn picture(mut self, svg: impl Into<String>) -> Self {
        self.blocks.push(Block::Picture(svg.into()));
        self
    }

    /// Sets how many samples of a series are embedded (200 000 unless set); of longer series the
    /// extremes are kept, and the figure says so.
    #[must_use]
    pub fn most_points(mut self, most_points: usize) -> Self {
        self.most_points = most_points.max(10);
        self
    }

    /// The worst verdict, if any check was made.
    pub fn status(&self) -> Option<Status> {
        self.blocks
            .iter()
            .filter_map(|block| match block {
                Block::Verdicts(lines) => lines.iter().map(|line| line.2).max(),
                _ => None,
            })
            .max()
            .filter(|&status| status > Status::Info)
    }

    /// Writes the report as one HTML page.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let mut html = String::with_capacity(64 * 1024);
        let _ = write!(
            html,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}"
        );
        if let Some(status) = self.status() {
            let (class, _) = status.words();
            let word = match status {
                Status::Fail => "failed",
                Status::Warn => "passed with warnings",
                _ => "passed",
            };
            let _ = write!(html, " <span class=\"badge {class}\">{word}</span>");
        }
        html.push_str("</h1>\n");
        if !self.facts.is_empty() {
            html.push_str("<dl class=\"facts\">\n");
            for (name, value) in &self.facts {
                let _ = writeln!(
                    html,
                    "<div><dt>{}</dt> <dd>{}</dd></div>",
                    escape(name),
                    escape(value)
                );
            }
            html.push_str("</dl>\n");
        }
        html.push_str("</header>\n");
        self.write_warnings(&mut html);

        let mut data = embed::Data::new(self.most_points);
        for block in &self.blocks {
            write_block(&mut html, block, &mut data);
        }
        html.push_str("</main>\n");
        if !data.is_empty() {
            let _ = write!(
                html,
                "<script type=\"application/json\" id=\"fluxline-data\">{}</script>\n\
                 <script>\n{SCRIPT}</script>\n",
                data.into_json()
            );
        }
        html.push_str("</body>\n</html>\n");
        html
    }

    fn write_warnings(&self, html: &mut String) {
        if self.warnings.is_empty() {
            return;
        }
        let count = self.warnings.len();
        let noun = if count == 1 { "warning" } else { "warnings" };
        let _ = write!(html, "<section class=\"warnings\">\n<h2>{count} {noun}</h2>\n<ul>\n");
        for warning in &self.warnings {
            let _ = writeln!(html, "<li>{}</li>", escape(warning));
        }
        html.push_str("</ul>\n</section>\n");
    }
}

fn write_block(html: &mut String, block: &Block, data: &mut embed::Data) {
    match block {
        Block::Section(heading) => {
            let _ = writeln!(html, "<h2>{}</h2>", escape(heading));
        }
        Block::Text(text) => {
            let text = text.replace("\r\n", "\n");
            for paragraph in text.split("\n\n").filter(|p| !p.trim().is_empty()) {
                let _ = writeln!(html, "<p>{}</p>", escape(paragraph.trim()));
            }
        }
        Block::Preformatted(text) => {
            let lines: Vec<String> = text.lines().map(escape).collect();
            let _ = writeln!(html, "<pre>{}</pre>", lines.join("\n"));
        }
        Block::Verdicts(lines) => {
            html.push_str("<table class=\"verdicts\">\n<tbody>\n");
            for (name, value, status) in lines {
                let (class, word) = status.words();
                let _ = writeln!(
                    html,
                    "<tr class=\"{class}\"><th scope=\"row\">{}</th><td>{}</td>\
                     <td><span class=\"badge {class}\">{word}</span></td></tr>",
                    escape(name),
                    escape(value)
                );
            }
            html.push_str("</tbody>\n</table>\n");
        }
        Block::Table(table) => write_table(html, table),
        Block::Picture(svg) => {
            let _ = writeln!(html, "<figure>\n{svg}</figure>");
        }
        Block::Figure(figure) => {
            let (width, height) = figure.natural_size();
            let number = data.add(figure);
            let _ = write!(
                html,
                "<figure class=\"plot\" data-figure=\"{number}\">\n<noscript>\n{}</noscript>\n\
                 </figure>\n",
                svg::draw(figure, width, height, svg::Place::Inline)
            );
        }
    }
}

fn write_table(html: &mut String, table: &Table) {
    let columns = table.rows.iter().map(Vec::len).chain([table.columns.len()]).max().unwrap_or(0);
    let class = |column: usize| {
        let mut cells = table
            .rows
            .iter()
            .filter_map(|row| row.get(column))
            .filter(|cell| !cell.is_empty())
            .peekable();
        let numbers = cells.peek().is_some() && cells.all(|cell| is_number(cell));
        if numbers { " class=\"number\"" } else { "" }
    };
    let classes: Vec<&str> = (0..columns).map(class).collect();
    html.push_str("<div class=\"scroll\"><table>\n");
    if !table.caption.is_empty() {
        let _ = writeln!(html, "<caption>{}</caption>", escape(&table.caption));
    }
    let mut row = |cells: &[String], tag: &str| {
        html.push_str("<tr>");
        for (column, class) in classes.iter().enumerate() {
            let text = cells.get(column).map_or(String::new(), |cell| escape(cell));
            let _ = write!(html, "<{tag}{class}>{text}</{tag}>");
        }
        html.push_str("</tr>\n");
    };
    if !table.columns.is_empty() {
        row(&table.columns, "th");
    }
    for cells in &table.rows {
        row(cells, "td");
    }
    html.push_str("</table></div>\n");
}

fn is_number(cell: &str) -> bool {
    let cell = cell.trim().trim_end_matches('%').trim_end();
    cell == "–" || cell.replace('−', "-").parse::<f64>().is_ok()
}
