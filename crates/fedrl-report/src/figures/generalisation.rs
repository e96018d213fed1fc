use super::canvas::{self, AXIS, Area, Axis, BLUE, Chart, DrawError, GREEN, LEGEND_HEIGHT, Mark, VERMILLION};
use crate::evaluation::{Evaluations, Variant, VariantSet};
use plotters::prelude::*;
use std::ops::Range;

/// The mean return on one variant, placed.
struct Point {
    set: VariantSet,
    x: f64,
    mean: f64,
    interval: Option<(f64, f64)>,
}

/// The return on every variant of every set with its interval, over the parameter that varies
/// or, if several do, over the variants' numbers; `None` without a finite return.
pub(super) fn draw(evaluations: &Evaluations) -> Result<Option<String>, DrawError> {
    let parameter = evaluations.single_parameter();
    let points = points(evaluations, parameter);
    if points.is_empty() {
        return Ok(None);
    }
    let x = match parameter {
        Some(name) => Axis::around(name, points.iter().map(|point| point.x)),
        None => Axis::variants(evaluations.numbered().count()),
    };
    let ends = |point: &Point| point.interval.map_or([point.mean; 3], |(low, high)| [low, point.mean, high]);
    let y = Axis::around("return of the final policy", points.iter().flat_map(ends));
    let trained = parameter.and_then(|name| trained_range(evaluations, name));
    let svg = canvas::svg(800, |area| {
        legend(area, &points, trained.is_some())?;
        let chart = canvas::axes(&area.margin(LEGEND_HEIGHT, 0, 0, 0), &x, &y)?;
        match &trained {
            Some(trained) => shade(&chart, trained, &y.range)?,
            None if parameter.is_none() => separate(&chart, &points, &y.range)?,
            None => (),
        }
        points.iter().try_for_each(|point| draw_point(area, &chart, point))
    })?;
    Ok(Some(svg))
}

fn points(evaluations: &Evaluations, parameter: Option<&str>) -> Vec<Point> {
    let place = |(number, set, variant): (usize, VariantSet, &Variant)| {
        let x = match parameter {
            Some(name) => *variant.parameters.get(name)?,
            None => number as f64,
        };
        Some(Point { set, x, mean: variant.mean?, interval: variant.low.zip(variant.high) })
    };
    evaluations.numbered().filter_map(place).collect()
}

/// From the smallest to the largest value trained on, if there is more than one.
fn trained_range(evaluations: &Evaluations, parameter: &str) -> Option<Range<f64>> {
    let of_agents = || evaluations.numbered().filter(|(_, set, _)| *set == VariantSet::Agents);
    let trained = || of_agents().filter_map(|(.., variant)| variant.parameters.get(parameter).copied());
    let (low, high) = (trained().reduce(f64::min)?, trained().reduce(f64::max)?);
    (low < high).then_some(low..high)
}

fn legend(area: &Area<'_>, points: &[Point], trained: bool) -> Result<(), DrawError> {
    let present = VariantSet::ALL.into_iter().filter(|set| points.iter().any(|point| point.set == *set));
    let mut entries: Vec<_> = present.map(|set| (mark(set), set.title())).collect();
    if trained {
        entries.push((Mark::Band(trained_color()), "trained range"));
    }
    canvas::legend(area, &entries)
}

fn color(set: VariantSet) -> RGBColor {
    match set {
        VariantSet::Agents => BLUE,
        VariantSet::Interpolation => GREEN,
        VariantSet::Extrapolation => VERMILLION,
    }
}

fn mark(set: VariantSet) -> Mark {
    match set {
        VariantSet::Agents => Mark::Disc(color(set)),
        VariantSet::Interpolation => Mark::Square(color(set)),
        VariantSet::Extrapolation => Mark::Triangle(color(set)),
    }
}

fn trained_color() -> RGBAColor {
    BLUE.mix(0.1)
}

fn shade(chart: &Chart<'_>, trained: &Range<f64>, y: &Range<f64>) -> Result<(), DrawError> {
    let corners = [(trained.start, y.end), (trained.end, y.start)];
    chart.plotting_area().draw(&Rectangle::new(corners, trained_color().filled()))
}

/// A line between the sets, whose variants are numbered through.
fn separate(chart: &Chart<'_>, points: &[Point], y: &Range<f64>) -> Result<(), DrawError> {
    for pair in points.windows(2).filter(|pair| pair[0].set != pair[1].set) {
        let x = (pair[0].x + pair[1].x) / 2.0;
        chart.plotting_area().draw(&PathElement::new([(x, y.start), (x, y.end)], AXIS.stroke_width(2)))?;
    }
    Ok(())
}

/// In pixels, where markers and the caps of the error bars keep their size.
fn draw_point(area: &Area<'_>, chart: &Chart<'_>, point: &Point) -> Result<(), DrawError> {
    let at = |y| chart.backend_coord(&(point.x, y));
    if let Some((low, high)) = point.interval {
        let ((x, bottom), (_, top)) = (at(low), at(high));
        let style = color(point.set).stroke_width(3);
        area.draw(&PathElement::new([(x, bottom), (x, top)], style))?;
        for end in [bottom, top] {
            area.draw(&PathElement::new([(x - 9, end), (x + 9, end)], style))?;
        }
    }
    canvas::mark(area, mark(point.set), at(point.mean))
}
