//! What the pictures share: size, type, colours, axes, lines, markers, the legend.
//!
//! The drawing library rounds to whole units, so the pictures are drawn at about twice the size
//! they are shown at.

use crate::format::plain;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

pub(crate) type DrawError = DrawingAreaErrorKind<std::io::Error>;
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

// Okabe and Ito, "Color universal design", 2008.
pub(crate) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xB2);
pub(crate) const SKY_BLUE: RGBColor = RGBColor(0x56, 0xB4, 0xE9);
pub(crate) const GREEN: RGBColor = RGBColor(0x00, 0x9E, 0x73);
pub(crate) const VERMILLION: RGBColor = RGBColor(0xD5, 0x5E, 0x00);
const ORANGE: RGBColor = RGBColor(0xE6, 0x9F, 0x00);
const PURPLE: RGBColor = RGBColor(0xCC, 0x79, 0xA7);

/// Colours for series that are alike, those that are easiest to tell apart first.
pub(crate) const PALETTE: [RGBColor; 7] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY_BLUE, TEXT];

pub(crate) const GRID: RGBColor = RGBColor(0xE3, 0xE6, 0xEA);
pub(crate) const AXIS: RGBColor = RGBColor(0x9A, 0xA1, 0xAB);
const TEXT: RGBColor = RGBColor(0x33, 0x38, 0x40);

const WIDTH: u32 = 1600;
/// The strip above a plot that holds its legend.
pub(crate) const LEGEND_HEIGHT: u32 = 64;
const LEGEND_LEFT: i32 = 158;
const FONT_SIZE: f64 = 27.0;
const DASH: i32 = 16;

/// An SVG document of the given height with what `paint` paints.
pub(crate) fn svg(height: u32, paint: impl FnOnce(&Area<'_>) -> Result<(), DrawError>) -> Result<String, DrawError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        paint(&area)?;
        area.present()?;
    }
    Ok(text)
}

/// One axis: what it measures, over which range.
pub(crate) struct Axis<'a> {
    pub(crate) label: &'a str,
    pub(crate) range: Range<f64>,
    /// Whether only whole numbers mean something.
    pub(crate) whole: bool,
    /// Whether places on the axis are logarithms of the values, to base 10.
    pub(crate) logarithmic: bool,
}

impl<'a> Axis<'a> {
    /// An axis of measured values, a little wider than they are.
    pub(crate) fn around(label: &'a str, values: impl Iterator<Item = f64>) -> Self {
        // The search for ticks never ends on an infinite span.
        let bounded = values.map(|x| x.clamp(-1e307, 1e307));
        let (low, high) = bounded.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let margin = match high - low {
            // So narrow that the ticks would all read the same.
            span if span <= 1e-6 * high.abs().max(low.abs()) => (0.05 * high.abs()).max(0.5),
            span => 0.05 * span,
        };
        Axis { label, range: low - margin..high + margin, whole: false, logarithmic: false }
    }

    /// An axis of measured values, logarithmic where they are positive and the greatest is at least
    /// `ratio` times the least.
    pub(crate) fn spanning(label: &'a str, values: impl Iterator<Item = f64> + Clone, ratio: f64) -> Self {
        let (low, high) = values.clone().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
        if low > 0.0 && high / low >= ratio {
            return Axis { logarithmic: true, ..Self::around(label, values.map(f64::log10)) };
        }
        Self::around(label, values)
    }

    /// Where a value lies on the axis.
    pub(crate) fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    /// The axis of the rounds `first..=last`.
    pub(crate) fn rounds(first: u64, last: u64) -> Self {
        let (first, last) = (first as f64, last as f64);
        let range = if first < last { first..last } else { first - 0.5..last + 0.5 };
        Axis { label: "round", range, whole: true, logarithmic: false }
    }

    /// The axis of the variants `1..=count`.
    pub(crate) fn variants(count: usize) -> Self {
        Axis {
            label: "variant (number in the tables)",
            range: 0.5..count as f64 + 0.5,
            whole: true,
            logarithmic: false,
        }
    }

    fn tick(&self, value: f64) -> String {
        let between = self.whole && (value - value.round()).abs() > 1e-9;
        match () {
            () if between => String::new(),
            () if self.logarithmic => format!("{:.1e}", 10f64.powf(value)),
            () => plain(value),
        }
    }
}

/// Axes with horizontal grid lines, filling `area`.
pub(crate) fn axes<'a>(area: &Area<'a>, x: &Axis<'_>, y: &Axis<'_>) -> Result<Chart<'a>, DrawError> {
    let mut chart = ChartBuilder::on(area)
        .margin_left(8)
        .margin_right(40)
        .margin_top(14)
        .margin_bottom(12)
        .x_label_area_size(94)
        .y_label_area_size(150)
        .build_cartesian_2d(x.range.clone(), y.range.clone())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(10)
        .y_labels(6)
        .max_light_lines(0)
        .bold_line_style(GRID.stroke_width(2))
        .axis_style(AXIS.stroke_width(2))
        .label_style(font())
        .axis_desc_style(font())
        .x_label_formatter(&|value| x.tick(*value))
        .y_label_formatter(&|value| y.tick(*value))
        .x_desc(x.label)
        .y_desc(y.label)
        .draw()?;
    Ok(chart)
}

/// A line through `points`; a dot if there is only one, nothing if there is none.
pub(crate) fn line(
    chart: &Chart<'_>,
    points: impl Iterator<Item = (f64, f64)>,
    style: ShapeStyle,
) -> Result<(), DrawError> {
    let points: Vec<_> = points.collect();
    let area = chart.plotting_area();
    match points[..] {
        [] => Ok(()),
        [point] => area.draw(&Circle::new(point, 3 + style.stroke_width, style.filled())),
        _ => area.draw(&PathElement::new(points, style)),
    }
}

/// A dashed line through `points`, with as much of it as of nothing.
pub(crate) fn dashes(
    chart: &Chart<'_>,
    points: impl Iterator<Item = (f64, f64)>,
    style: ShapeStyle,
) -> Result<(), DrawError> {
    let points: Vec<_> = points.collect();
    if points.len() < 2 {
        return line(chart, points.into_iter(), style);
    }
    chart.plotting_area().draw(&DashedPathElement::new(points, DASH, DASH, style))
}

/// How a series looks, in the plot and in its legend.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    Line(ShapeStyle),
    Dashes(ShapeStyle),
    Band(RGBAColor),
    Disc(RGBColor),
    Square(RGBColor),
    Triangle(RGBColor),
}

/// Draws `mark` centred at the pixel `(x, y)`.
pub(crate) fn mark(area: &Area<'_>, mark: Mark, (x, y): (i32, i32)) -> Result<(), DrawError> {
    match mark {
        Mark::Line(style) => area.draw(&PathElement::new([(x - 22, y), (x + 22, y)], style)),
        Mark::Dashes(style) => {
            let piece = |start| area.draw(&PathElement::new([(start, y), (start + DASH, y)], style));
            [x - 22, x + 22 - DASH].into_iter().try_for_each(piece)
        }
        Mark::Band(color) => area.draw(&Rectangle::new([(x - 22, y - 13), (x + 22, y + 13)], color.filled())),
        Mark::Disc(color) => area.draw(&Circle::new((x, y), 10, color.filled())),
        Mark::Square(color) => area.draw(&Rectangle::new([(x - 9, y - 9), (x + 9, y + 9)], color.filled())),
        Mark::Triangle(color) => {
            area.draw(&Polygon::new([(x, y - 13), (x + 12, y + 9), (x - 12, y + 9)], color.filled()))
        }
    }
}

/// What a panel is of, at the top of `area`.
pub(crate) fn heading(area: &Area<'_>, text: &str) -> Result<(), DrawError> {
    let place = (LEGEND_LEFT, LEGEND_HEIGHT as i32 / 2);
    area.draw(&Text::new(text, place, font().pos(Pos::new(HPos::Left, VPos::Center))))
}

/// A row of marks and what they mean, at the top of `area`.
pub(crate) fn legend(area: &Area<'_>, entries: &[(Mark, &str)]) -> Result<(), DrawError> {
    let mut x = LEGEND_LEFT;
    let y = LEGEND_HEIGHT as i32 / 2;
    for (symbol, text) in entries {
        mark(area, *symbol, (x + 22, y))?;
        area.draw(&Text::new(*text, (x + 58, y), font().pos(Pos::new(HPos::Left, VPos::Center))))?;
        x += legend_width(text);
    }
    Ok(())
}

/// The entries of a legend in as many rows as they need, each for [`legend`].
pub(crate) fn legend_rows<'a, 'b>(entries: &'a [(Mark, &'b str)]) -> Vec<&'a [(Mark, &'b str)]> {
    let (mut rows, mut start, mut x) = (Vec::new(), 0, LEGEND_LEFT);
    for (index, (_, text)) in entries.iter().enumerate() {
        if index > start && x + legend_width(text) > WIDTH as i32 {
            rows.push(&entries[start..index]);
            (start, x) = (index, LEGEND_LEFT);
        }
        x += legend_width(text);
    }
    rows.push(&entries[start..]);
    rows
}

/// How much room an entry takes; a guess, as the font is the reader's.
fn legend_width(text: &str) -> i32 {
    58 + (0.56 * FONT_SIZE * text.chars().count() as f64) as i32 + 44
}

pub(crate) fn font() -> TextStyle<'static> {
    // The library divides the size by this before it writes it down.
    TextStyle::from(("sans-serif", FONT_SIZE * 1.24).into_font()).color(&TEXT)
}
