//! Small pictures: layers and back-jumps, as text for a terminal and as SVG for a page.

use std::fmt::Write;

/// Values by position, e.g. states by level.
#[derive(Debug)]
pub(crate) struct Bars {
    pub(crate) title: String,
    /// Label of each bar.
    pub(crate) labels: Vec<String>,
    pub(crate) values: Vec<f64>,
}

/// Points of several lines over a common scale.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) title: String,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Columns and rows of a plot of layers.
const COLUMNS: usize = 72;
const ROWS: usize = 8;

impl Bars {
    /// Upright bars, several values to a column if there are too many.
    pub(crate) fn upright(&self) -> String {
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

    /// The same for a page.
    fn svg_panel(&self, top: f64) -> String {
        let most = self.values.iter().copied().fold(0.0, f64::max);
        let step = PLOT_WIDTH / self.values.len().max(1) as f64;
        let mut out = panel_frame(&self.title, top);
        for (at, (value, label)) in self.values.iter().zip(&self.labels).enumerate() {
            let height = value / most.max(1e-300) * PLOT_HEIGHT;
            let _ = writeln!(
                out,
                r##"<rect x="{:.2}" y="{:.2}" width="{:.2}" height="{height:.2}" fill="#36648b"><title>{}: {value}</title></rect>"##,
                LEFT + at as f64 * step,
                top + ABOVE + PLOT_HEIGHT - height,
                (step * 0.9).max(0.1),
                escaped(label),
            );
        }
        let ends = [
            (self.labels.first(), "start", LEFT),
            (self.labels.last(), "end", LEFT + PLOT_WIDTH),
        ];
        for (label, anchor, x) in ends {
            out += &text(
                x,
                top + ABOVE + PLOT_HEIGHT + 14.0,
                anchor,
                label.map_or("", String::as_str),
            );
        }
        out += &text(LEFT - 4.0, top + ABOVE + 10.0, "end", &short(most));
        out += &text(LEFT - 4.0, top + ABOVE + PLOT_HEIGHT, "end", "0");
        out
    }
}

/// A column of one character, filled to this height.
fn eighth(height: f64) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    BLOCKS[(height * 8.0).round().clamp(0.0, 8.0) as usize]
}

/// A bar that lies, of at most `width` characters.
pub(crate) fn lying(share: f64, width: usize) -> String {
    const BLOCKS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(BLOCKS[eighths % 8]);
    }
    bar
}

const LEFT: f64 = 70.0;
const ABOVE: f64 = 28.0;
const PLOT_WIDTH: f64 = 620.0;
const PLOT_HEIGHT: f64 = 160.0;
const PANEL_HEIGHT: f64 = 230.0;
const COLOURS: [&str; 8] = [
    "#36648b", "#b22222", "#2e8b57", "#8b6508", "#6a3d9a", "#008b8b", "#8b3a62", "#555555",
];

/// A page of bars, one panel below the other.
pub(crate) fn svg_of_bars(panels: &[Bars]) -> String {
    let tops = (0..).map(|at| f64::from(at) * PANEL_HEIGHT);
    let body = panels
        .iter()
        .zip(tops)
        .map(|(bars, top)| bars.svg_panel(top));
    page(panels.len(), &body.collect::<String>())
}

/// A page of lines, one panel below the other.
pub(crate) fn svg_of_lines(panels: &[Lines]) -> String {
    let tops = (0..).map(|at| f64::from(at) * PANEL_HEIGHT);
    let body = panels
        .iter()
        .zip(tops)
        .map(|(lines, top)| lines.svg_panel(top));
    page(panels.len(), &body.collect::<String>())
}

impl Lines {
    fn svg_panel(&self, top: f64) -> String {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let most_x = points().map(|point| point.0).fold(1e-300, f64::max);
        let most_y = points().map(|point| point.1).fold(1e-300, f64::max);
        let mut out = panel_frame(&self.title, top);
        for ((name, points), (at, colour)) in
            self.lines.iter().zip(COLOURS.iter().cycle().enumerate())
        {
            let place = |&(x, y): &(f64, f64)| {
                let x = LEFT + x / most_x * PLOT_WIDTH;
                let y = top + ABOVE + (1.0 - y / most_y) * PLOT_HEIGHT;
                format!("{x:.2},{y:.2}")
            };
            let places: Vec<String> = points.iter().map(place).collect();
            let _ = writeln!(
                out,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#,
                places.join(" ")
            );
            let y = top + ABOVE + 12.0 + 13.0 * at as f64;
            let _ = writeln!(
                out,
                r#"<text x="{:.2}" y="{y:.2}" text-anchor="start" fill="{colour}">{}</text>"#,
                LEFT + PLOT_WIDTH + 8.0,
                escaped(name)
            );
        }
        let below = top + ABOVE + PLOT_HEIGHT + 14.0;
        out += &text(LEFT, below, "start", "0");
        out += &text(LEFT + PLOT_WIDTH / 2.0, below, "middle", &self.x_title);
        out += &text(LEFT + PLOT_WIDTH, below, "end", &format!("{most_x}"));
        out += &text(
            LEFT - 4.0,
            top + ABOVE + 10.0,
            "end",
            &format!("{most_y:.1}"),
        );
        out += &text(
            LEFT - 4.0,
            top + ABOVE + PLOT_HEIGHT / 2.0,
            "end",
            &self.y_title,
        );
        out
    }
}

fn page(n_panels: usize, body: &str) -> String {
    let (width, height) = (LEFT + PLOT_WIDTH + 130.0, PANEL_HEIGHT * n_panels as f64);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="#222222">
<rect width="{width}" height="{height}" fill="#ffffff"/>
{body}</svg>
"##
    )
}

fn panel_frame(title: &str, top: f64) -> String {
    let mut out = text(LEFT, top + 18.0, "start", title);
    let _ = writeln!(
        out,
        r##"<path d="M{LEFT} {:.2}v{PLOT_HEIGHT}h{PLOT_WIDTH}" fill="none" stroke="#888888"/>"##,
        top + ABOVE
    );
    out
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = escaped(text);
    format!("<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1} M", v / 1e6),
        v if v >= 1e3 => format!("{:.1} k", v / 1e3),
        v => format!("{v}"),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
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
        .assert_eq(&bars(&[1.0, 8.0, 16.0, 3.0]).upright());
        assert!(
            bars(&vec![1.0; 1000])
                .upright()
                .lines()
                .all(|line| line.chars().count() <= 80)
        );
    }

    #[test]
    fn nothing_to_plot_is_no_trouble() {
        assert_eq!(bars(&[]).upright().lines().count(), ROWS + 3);
        assert!(!bars(&[0.0, 0.0]).upright().contains('█'));
        assert_eq!(lying(0.5, 4), "██");
        assert_eq!(lying(0.0, 4), "");
    }

    #[test]
    fn names_cannot_break_out_of_a_page() {
        let page = svg_of_bars(&[bars(&[1.0])]);
        assert!(page.contains("a &lt;b&gt;") && !page.contains("<b>"));
    }
}
