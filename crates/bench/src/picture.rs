//! Pictures of the documentation, drawn as SVG from recorded runs.
//!
//! A recorded run is a small JSON file in `docs/lab/runs`, with its source; its picture has the same
//! name in `docs/pictures`. A test compares both, so that a picture cannot differ from its data.
//! Colours are chosen for a light and a dark page alike, and the background is transparent.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Deserialize;

/// Width and height in pixels.
const SIZE: (u32, u32) = (800, 420);
/// Text and axes: a grey that is readable on white and on black.
const GREY: RGBColor = RGBColor(0x7d, 0x85, 0x90);
/// Our own series, in their order.
const COLOURS: [RGBColor; 4] = [
    RGBColor(0xd9, 0x6c, 0x2b),
    RGBColor(0x2f, 0x81, 0xf7),
    RGBColor(0x2d, 0xa4, 0x4e),
    RGBColor(0xa3, 0x71, 0xf7),
];
const FONT: &str = "system-ui, sans-serif";
/// Least distance between two labels, in pixels.
const LABEL_GAP: i32 = 17;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<MemoryAxis, RangedCoordf64>>;

/// Time against memory budget.
#[derive(Clone, Debug, Deserialize)]
pub struct Recorded {
    title: String,
    x_label: String,
    y_label: String,
    y_max: f64,
    series: Vec<Series>,
}

/// A line of the picture.
#[derive(Clone, Debug, Deserialize)]
struct Series {
    name: String,
    /// The other tool whose published figures these are.
    tool: Option<String>,
    /// Share of the memory, and time relative to that in memory.
    points: Vec<(f64, f64)>,
}

/// Text at the end of a line.
struct Label {
    x: i32,
    y: i32,
    text: String,
    colour: RGBColor,
}

/// Draws a recorded run as SVG.
pub fn draw(recorded: &Recorded) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        draw_on(&area, recorded)?;
        area.present()?;
    }
    Ok(svg)
}

fn draw_on(area: &Area<'_>, recorded: &Recorded) -> Result<(), Box<dyn Error>> {
    area.draw_text(&recorded.title, &text(15, GREY), (76, 12))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(42)
        .margin_left(14)
        .margin_right(200)
        .margin_bottom(8)
        .x_label_area_size(46)
        .y_label_area_size(58)
        .build_cartesian_2d(MemoryAxis, 0.0..recorded.y_max)?;
    chart
        .configure_mesh()
        .axis_style(GREY)
        .bold_line_style(GREY.mix(0.3))
        .light_line_style(TRANSPARENT)
        .label_style(text(13, GREY))
        .axis_desc_style(text(13, GREY))
        .x_desc(&recorded.x_label)
        .y_desc(&recorded.y_label)
        .y_labels(recorded.y_max as usize + 1)
        .y_label_formatter(&|y| format!("{y:.0}×"))
        .draw()?;

    let mut labels = Vec::new();
    let mut colours = COLOURS.iter().cycle();
    for series in &recorded.series {
        let colour = match &series.tool {
            Some(_) => GREY,
            None => *colours.next().unwrap_or(&GREY),
        };
        labels.extend(draw_series(&mut chart, series, colour)?);
    }
    spread(&mut labels);
    for label in labels {
        let style = text(13, label.colour).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw_text(&label.text, &style, (label.x + 8, label.y))?;
    }
    Ok(())
}

/// Draws a line with its points; figures of other tools are dashed.
fn draw_series(
    chart: &mut Chart<'_, '_>,
    series: &Series,
    colour: RGBColor,
) -> Result<Option<Label>, Box<dyn Error>> {
    let points = &series.points;
    let is_ours = series.tool.is_none();
    let line = colour.stroke_width(if is_ours { 3 } else { 2 });
    match is_ours {
        true => chart.draw_series(LineSeries::new(points.clone(), line))?,
        false => chart.draw_series(DashedLineSeries::new(points.clone(), 6, 5, line))?,
    };
    let dots = points
        .iter()
        .map(|&point| Circle::new(point, 4, colour.filled()));
    chart.draw_series(dots)?;
    let end = points.last().map(|point| chart.backend_coord(point));
    Ok(end.map(|(x, y)| Label {
        x,
        y,
        text: match &series.tool {
            Some(tool) => format!("{tool} (published), {}", series.name),
            None => format!("Hadal, {}", series.name),
        },
        colour,
    }))
}

/// Moves labels of the same column apart, upwards from the lowest.
fn spread(labels: &mut [Label]) {
    labels.sort_by_key(|label| (label.x, -label.y));
    for i in 1..labels.len() {
        let (before, after) = labels.split_at_mut(i);
        if let (Some(below), Some(label)) = (before.last(), after.first_mut())
            && below.x == label.x
        {
            label.y = label.y.min(below.y - LABEL_GAP);
        }
    }
}

/// Shares of the memory, from all of it to a hundredth: logarithmic, falling to the right.
struct MemoryAxis;

impl Ranged for MemoryAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, share: &f64, (left, right): (i32, i32)) -> i32 {
        left + (-share.log10() / 2.0 * f64::from(right - left)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        vec![1.0, 0.5, 0.1, 0.01]
    }

    fn range(&self) -> Range<f64> {
        1.0..0.01
    }
}

impl ValueFormatter<f64> for MemoryAxis {
    fn format(share: &f64) -> String {
        match (1.0 / share).round() as u64 {
            1 => "all".to_owned(),
            parts => format!("1/{parts}"),
        }
    }
}

fn text(size: i32, colour: RGBColor) -> TextStyle<'static> {
    (FONT, size).into_font().color(&colour)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn pictures_are_those_of_the_recorded_runs() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let runs = std::fs::read_dir(docs.join("lab/runs")).expect("the runs are in the tree");
        let mut n_pictures = 0;
        for run in runs {
            let run = run.expect("a folder can be listed").path();
            let data = std::fs::read_to_string(&run).expect("a run can be read");
            let recorded = serde_json::from_str(&data).expect("a run is JSON");
            let name = run.with_extension("svg");
            let picture = docs
                .join("pictures")
                .join(name.file_name().expect("it has a name"));
            let found = std::fs::read_to_string(&picture).unwrap_or_default();
            assert_eq!(
                draw(&recorded).expect("it can be drawn"),
                found,
                "{} is stale: cargo run -p hadal-bench --bin picture",
                picture.display()
            );
            n_pictures += 1;
        }
        assert!(n_pictures > 0);
    }

    #[test]
    fn labels_do_not_overlap() {
        let label = |y| Label {
            x: 1,
            y,
            text: String::new(),
            colour: GREY,
        };
        let mut labels = [label(100), label(98), label(97), label(10)];
        spread(&mut labels);
        assert_eq!(labels.map(|label| label.y), [100, 83, 66, 10]);
    }
}
