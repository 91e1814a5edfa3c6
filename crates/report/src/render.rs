//! A report as text, in one of four forms: aligned table, Markdown, CSV, JSON.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::table::{Cell, Readers, Report, Table};

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns
    Table,
    /// Markdown
    Markdown,
    /// Comma-separated values; lines that begin with `#` are remarks
    Csv,
    /// JSON, one object
    Json,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Table, Format::Markdown, Format::Csv, Format::Json];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Json => "json",
        }
    }

    fn is_for(self, readers: Readers) -> bool {
        match readers {
            Readers::All => true,
            Readers::People => matches!(self, Format::Table | Format::Markdown),
            Readers::Programs => matches!(self, Format::Csv | Format::Json),
        }
    }
}

/// Where figures come from (program, commit, machine, seed, command line), by name and in order: a
/// time means nothing without them. Values are strings or numbers.
pub type Origin = [(&'static str, Value)];

/// Renders a report.
pub fn render(report: &Report, origin: &Origin, format: Format) -> String {
    let tables = report.tables.iter();
    let tables: Vec<&Table> = tables
        .filter(|table| format.is_for(table.readers))
        .collect();
    match format {
        Format::Table => for_people(report, origin, &tables, false),
        Format::Markdown => for_people(report, origin, &tables, true),
        Format::Csv => csv(report, origin, &tables),
        Format::Json => json(report, origin, &tables),
    }
}

fn for_people(report: &Report, origin: &Origin, tables: &[&Table], is_markdown: bool) -> String {
    let mut out = String::new();
    for (name, value) in origin {
        let value = text(value);
        let _ = match is_markdown {
            true => writeln!(out, "- {name}: {value}"),
            false => writeln!(out, "{name:<8} {value}"),
        };
    }
    for table in tables {
        let _ = match is_markdown {
            true => write!(out, "\n### {}\n\n{}", table.name, markdown(table)),
            false => write!(out, "\n{}\n\n{}", table.name, aligned(table)),
        };
        let marks = table.marks();
        if !marks.is_empty() {
            out.push('\n');
        }
        for mark in marks {
            let _ = writeln!(out, "{}  {}", mark.sign().trim(), mark.meaning());
        }
    }
    for plot in &report.plots {
        let fence = if is_markdown { "```\n" } else { "" };
        let _ = write!(out, "\n{fence}{plot}{fence}");
    }
    if !report.notes.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn aligned(table: &Table) -> String {
    let shown: Vec<Vec<String>> = table.rows.iter().map(|row| shown(row)).collect();
    let width = |column: usize| {
        let cells = shown.iter().map(|row| row[column].chars().count());
        let title = table.columns[column].chars().count();
        cells.max().unwrap_or(0).max(title)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let is_right = right_sides(table);
    let mut out = String::new();
    let mut line = |cells: &[String]| {
        let mut text = String::new();
        for ((cell, &width), &is_right) in cells.iter().zip(&widths).zip(&is_right) {
            let _ = match is_right {
                true => write!(text, "{cell:>width$}  "),
                false => write!(text, "{cell:<width$}  "),
            };
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&table.columns);
    for row in &shown {
        line(row);
    }
    out
}

fn markdown(table: &Table) -> String {
    let mut out = String::new();
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    line(&table.columns);
    let rules: Vec<String> = right_sides(table)
        .iter()
        .map(|&is_right| if is_right { "---:" } else { "---" }.to_owned())
        .collect();
    line(&rules);
    for row in &table.rows {
        line(&shown(row));
    }
    out
}

fn shown(row: &[Cell]) -> Vec<String> {
    row.iter().map(Cell::shown).collect()
}

/// Columns of numbers are lined up on the right.
fn right_sides(table: &Table) -> Vec<bool> {
    let is_number = |column: usize| {
        let mut cells = table.rows.iter().map(|row: &Vec<Cell>| &row[column].value);
        cells.all(|value| value.is_number())
    };
    (0..table.columns.len()).map(is_number).collect()
}

fn csv(report: &Report, origin: &Origin, tables: &[&Table]) -> String {
    let mut out = String::new();
    let remark = |text: &str| format!("# {}\n", text.replace('\n', " "));
    for (name, value) in origin {
        out += &remark(&format!("{name}: {}", text(value)));
    }
    for note in &report.notes {
        out += &remark(&format!("note: {note}"));
    }
    for (position, table) in tables.iter().enumerate() {
        if position > 0 {
            out.push('\n');
        }
        out += &remark(&format!("table: {}", table.name));
        let titles: Vec<String> = table.columns.iter().map(|title| quoted(title)).collect();
        let _ = writeln!(out, "{}", titles.join(","));
        for row in &table.rows {
            let cells: Vec<String> = row.iter().map(|cell| plain(&cell.value.json())).collect();
            let _ = writeln!(out, "{}", cells.join(","));
        }
    }
    out
}

/// A string without quotes.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) || text.starts_with('#') {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn json(report: &Report, origin: &Origin, tables: &[&Table]) -> String {
    let table = |table: &&Table| {
        let row = |row: &Vec<Cell>| -> Value {
            let cells = table.columns.iter().zip(row);
            let cells = cells.map(|(name, cell)| (name.clone(), cell.value.json()));
            Value::Object(cells.collect::<Map<_, _>>())
        };
        let rows: Vec<Value> = table.rows.iter().map(row).collect();
        json!({ "name": table.name, "columns": table.columns, "rows": rows })
    };
    let mut object = Map::new();
    for (name, value) in origin {
        object.insert((*name).to_owned(), value.clone());
    }
    let tables: Vec<Value> = tables.iter().map(table).collect();
    object.insert("tables".to_owned(), tables.into());
    object.insert("notes".to_owned(), report.notes.clone().into());
    format!("{:#}\n", Value::Object(object))
}
