use super::canvas::{self, AXIS, Area, Axis, BLUE, Chart, DrawError, GREEN, LEGEND_HEIGHT, Mark, VERMILLION};
use crate::adaptation::{Adaptation, FewShot, Point, Variant};
use crate::format::{count, plain};
use plotters::prelude::*;

const PANEL_HEIGHT: u32 = 560;

/// The few-shot curves of one adaptation.
pub(crate) struct FewShotFigure {
    /// The name of its file.
    pub(crate) file: String,
    /// What it is of.
    pub(crate) title: String,
    /// How it came about.
    pub(crate) caption: String,
    pub(crate) svg: String,
}

/// Return against environment steps in a panel for each variant, a line for each start with the interval as a band;
/// nothing without a finite return.
pub(super) fn draw(adaptation: &Adaptation) -> Result<Option<FewShotFigure>, DrawError> {
    let Some(svg) = svg(adaptation)? else { return Ok(None) };
    let Adaptation { name, on, round, steps, seeds, threshold, .. } = adaptation;
    let caption = format!(
        "After round {round}: {seeds} new agents each, {} environment steps; the threshold is a return of {}.",
        count(*steps as f64),
        plain(*threshold)
    );
    Ok(Some(FewShotFigure { file: format!("few-shot-{name}.svg"), title: on.clone(), caption, svg }))
}

fn svg(adaptation: &Adaptation) -> Result<Option<String>, DrawError> {
    let points = || adaptation.variants.iter().flat_map(|variant| &variant.few_shot).flat_map(|few| &few.curve);
    let numbers = || points().flat_map(|point| [point.low, point.mean, point.high]).flatten();
    if numbers().next().is_none() {
        return Ok(None);
    }
    // All panels have the same axes.
    let y = || Axis::around("return", numbers().chain([adaptation.threshold]));
    let x = || Axis {
        label: "environment steps of the new agent",
        range: 0.0..adaptation.steps as f64,
        whole: true,
        logarithmic: false,
    };
    let starts = adaptation.variants.first().map_or(&[][..], |variant| &variant.few_shot);
    let labels: Vec<String> = starts.iter().map(label).collect();
    let mut entries: Vec<(Mark, &str)> =
        starts.iter().zip(&labels).map(|(few, label)| (mark(few), label.as_str())).collect();
    entries.push((Mark::Line(AXIS.stroke_width(3)), "threshold"));
    let rows = canvas::legend_rows(&entries);
    let legend = LEGEND_HEIGHT * rows.len() as u32;
    let height = legend + PANEL_HEIGHT * adaptation.variants.len() as u32;
    let svg = canvas::svg(height, |area| {
        for (index, row) in (0..).zip(&rows) {
            canvas::legend(&area.margin(LEGEND_HEIGHT * index, 0, 0, 0), row)?;
        }
        let mut left = area.margin(legend, 0, 0, 0);
        adaptation.variants.iter().try_for_each(|variant| {
            let (panel, below) = left.split_vertically(PANEL_HEIGHT);
            left = below;
            draw_panel(&panel, variant, adaptation.threshold, (&x(), &y()))
        })
    })?;
    Ok(Some(svg))
}

fn draw_panel(
    area: &Area<'_>,
    variant: &Variant,
    threshold: f64,
    (x, y): (&Axis<'_>, &Axis<'_>),
) -> Result<(), DrawError> {
    canvas::heading(area, &variant.name())?;
    let chart = canvas::axes(&area.margin(LEGEND_HEIGHT, 0, 0, 0), x, y)?;
    let ends = [(x.range.start, threshold), (x.range.end, threshold)];
    canvas::line(&chart, ends.into_iter(), AXIS.stroke_width(3))?;
    // No band hides a line.
    variant.few_shot.iter().try_for_each(|few| band(&chart, few))?;
    variant.few_shot.iter().try_for_each(|few| {
        let means = few.curve.iter().filter_map(|point| Some((point.steps, point.mean?)));
        if few.frozen { canvas::dashes(&chart, means, line(few)) } else { canvas::line(&chart, means, line(few)) }
    })
}

fn band(chart: &Chart<'_>, few: &FewShot) -> Result<(), DrawError> {
    let ends = |point: &Point| Some((point.steps, point.low?, point.high?));
    let known: Vec<(f64, f64, f64)> = few.curve.iter().filter_map(ends).collect();
    let lower = known.iter().map(|&(steps, low, _)| (steps, low));
    let upper = known.iter().rev().map(|&(steps, _, high)| (steps, high));
    if known.len() < 2 {
        return canvas::line(chart, lower.chain(upper), color(few).stroke_width(3));
    }
    let corners: Vec<(f64, f64)> = lower.chain(upper).collect();
    chart.plotting_area().draw(&Polygon::new(corners, color(few).mix(0.1).filled()))
}

fn label(few: &FewShot) -> String {
    let what = if few.frozen { ", frozen" } else { "" };
    format!("{}{what}", few.beginning)
}

fn mark(few: &FewShot) -> Mark {
    if few.frozen { Mark::Dashes(line(few)) } else { Mark::Line(line(few)) }
}

fn line(few: &FewShot) -> ShapeStyle {
    color(few).stroke_width(5)
}

fn color(few: &FewShot) -> RGBColor {
    match few.beginning.as_str() {
        "nearest" => BLUE,
        "fresh" => GREEN,
        _ => VERMILLION,
    }
}
