//! Small plots, as text for a terminal and as SVG for a page.

use std::fmt::Write;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Values by position, e.g. states by level.
#[derive(Debug)]
pub struct Bars {
    /// Its title.
    pub title: String,
    /// Label of each bar.
    pub labels: Vec<String>,
    /// Height of each bar.
    pub values: Vec<f64>,
}

/// Points of several lines over a common scale.
#[derive(Debug)]
pub struct Lines {
    /// Its title.
    pub title: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Name and points of each line.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Columns and rows of a plot of layers.
const COLUMNS: usize = 72;
const ROWS: usize = 8;

impl Bars {
    /// Vertical bars as text; several values to a column if there are too many.
    pub fn to_text(&self) -> String {
        let per_column = self.values.len().div_ceil(COLUMNS).max(1);
        let means: Vec<f64> = self
            .values
            .chunks(per_column)
            .map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
            .collect();
        let most = means.iter().copied().fold(0.0, f64::max);
        let mut out = format!("{}\n", self.title);
        for row in (0..ROWS).rev() {
            let line: String = means
                .iter()
                .map(|mean| eighth(mean / most.max(1e-300) * ROWS as f64 - row as f64))
                .collect();
            let _ = writeln!(out, "|{}", line.trim_end());
        }
        let first = self.labels.first().map_or("", String::as_str);
        let last = self.labels.last().map_or("", String::as_str);
        let width = means.len().saturating_sub(first.len());
        let _ = writeln!(out, "+{}", "-".repeat(means.len()));
        let _ = writeln!(out, " {first}{last:>width$}");
        out
    }
}

/// A column of one character, filled to this height.
fn eighth(height: f64) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BLOCKS[(height * 8.0).round().clamp(0.0, 8.0) as usize]
}

/// A horizontal bar of at most `width` characters.
pub fn horizontal_bar(share: f64, width: usize) -> String {
    const BLOCKS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(BLOCKS[eighths % 8]);
    }
    bar
}

const WIDTH: u32 = 820;
const PANEL_HEIGHT: u32 = 230;
/// Room for the labels of an axis.
const BELOW: u32 = 34;
const LEFT: u32 = 70;
const BAR: RGBColor = COLOURS[0];
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x36, 0x64, 0x8b),
    RGBColor(0xb2, 0x22, 0x22),
    RGBColor(0x2e, 0x8b, 0x57),
    RGBColor(0x8b, 0x65, 0x08),
    RGBColor(0x6a, 0x3d, 0x9a),
    RGBColor(0x00, 0x8b, 0x8b),
    RGBColor(0x8b, 0x3a, 0x62),
    RGBColor(0x55, 0x55, 0x55),
];

/// A page of bars, one panel below the other.
pub fn svg_of_bars(panels: &[Bars]) -> String {
    page(panels, Bars::draw)
}

/// A page of lines, one panel below the other.
pub fn svg_of_lines(panels: &[Lines]) -> String {
    page(panels, Lines::draw)
}

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A page of panels. A panel that cannot be drawn is left empty: there is no device that could
/// fail.
fn page<P>(panels: &[P], draw: fn(&P, &Panel<'_>) -> Drawn) -> String {
    let mut page = String::new();
    {
        let size = (WIDTH, PANEL_HEIGHT * panels.len().max(1) as u32);
        let root = SVGBackend::with_string(&mut page, size).into_drawing_area();
        let _ = root.fill(&WHITE);
        let areas = root.split_evenly((panels.len().max(1), 1));
        for (panel, area) in panels.iter().zip(&areas) {
            let _ = draw(panel, area);
        }
        let _ = root.present();
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

impl Bars {
    fn draw(&self, area: &Panel<'_>) -> Drawn {
        let n = self.values.len().max(1) as f64;
        let most = largest(self.values.iter());
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 13))
            .margin(10)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..n, 0.0..most)?;
        // Bars are at whole numbers only.
        let label = |at: &f64| match at.fract() == 0.0 {
            true => self.labels.get(*at as usize).cloned().unwrap_or_default(),
            false => String::new(),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .max_light_lines(0)
            .x_labels(12)
            .y_labels(5)
            .x_label_formatter(&label)
            .y_label_formatter(&|value| short(*value))
            .draw()?;
        chart.draw_series(self.values.iter().enumerate().map(|(at, &value)| {
            let corners = [(at as f64, 0.0), (at as f64 + 0.9, finite(value))];
            Rectangle::new(corners, BAR.filled())
        }))?;
        Ok(())
    }
}

impl Lines {
    fn draw(&self, area: &Panel<'_>) -> Drawn {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let most_x = largest(points().map(|point| &point.0));
        let most_y = largest(points().map(|point| &point.1));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 13))
            .margin(10)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..most_x, 0.0..most_y)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .x_desc(&self.x_title)
            .y_desc(&self.y_title)
            .y_labels(5)
            .draw()?;
        for ((name, points), colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let style = colour.stroke_width(2);
            let points = points.iter().map(|&(x, y)| (finite(x), finite(y)));
            chart
                .draw_series(LineSeries::new(points, style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 12, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        Ok(())
    }
}

/// The end of an axis, which must not be empty.
fn largest<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let most = values.copied().map(finite).fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 1e3 => format!("{} k", v / 1e3),
        v => format!("{v}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn bars(values: &[f64]) -> Bars {
        Bars {
            title: "a <b>".to_owned(),
            labels: (0..values.len()).map(|at| at.to_string()).collect(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn the_highest_bar_fills_the_plot() {
        expect![[r#"
            a <b>
            |  █
            |  █
            |  █
            |  █
            | ██
            | ██
            | ██▄
            |▄███
            +----
             0  3
        "#]]
        .assert_eq(&bars(&[1.0, 8.0, 16.0, 3.0]).to_text());
        assert!(
            bars(&vec![1.0; 1000])
                .to_text()
                .lines()
                .all(|line| line.chars().count() <= 80)
        );
    }

    #[test]
    fn nothing_to_plot_is_no_trouble() {
        assert_eq!(bars(&[]).to_text().lines().count(), ROWS + 3);
        assert!(!bars(&[0.0, 0.0]).to_text().contains('█'));
        assert_eq!(horizontal_bar(0.5, 4), "██");
        assert_eq!(horizontal_bar(0.0, 4), "");
    }

    #[test]
    fn names_cannot_break_out_of_a_page() {
        let page = svg_of_bars(&[bars(&[1.0])]);
        assert!(page.contains("a &lt;b&gt;") && !page.contains("<b>"));
    }

    #[test]
    fn pages_are_drawn_whatever_the_values() {
        let lines = |points: &[(f64, f64)]| Lines {
            title: "a".to_owned(),
            x_title: String::new(),
            y_title: String::new(),
            lines: vec![("b".to_owned(), points.to_vec())],
        };
        let pages = [
            svg_of_bars(&[]),
            svg_of_lines(&[]),
            svg_of_bars(&[bars(&[]), bars(&[0.0]), bars(&vec![1.0; 3000])]),
            svg_of_bars(&[bars(&[f64::NAN, 1e300, f64::INFINITY])]),
            svg_of_lines(&[lines(&[]), lines(&[(0.0, 0.0)]), lines(&[(1.0, f64::NAN)])]),
        ];
        for page in pages {
            assert!(page.starts_with("<svg ") && page.ends_with("</svg>\n"));
        }
    }
}
