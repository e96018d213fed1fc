use super::canvas::{self, AXIS, Area, BLUE, DrawError, GRID};
use crate::format::plain;
use crate::personalisation::{Cosines, Similarity};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The most agents whose cells can still be told apart.
const MOST: usize = 64;
const HEIGHT: u32 = 660;
/// Where a heat map begins in its panel, and how long its side is.
const LEFT: i32 = 70;
const TOP: i32 = 70;
const SIDE: i32 = 440;
/// The strip of colours below it.
const STRIP_TOP: i32 = TOP + SIDE + 62;
const STRIP_HEIGHT: i32 = 22;
const STRIP_CELLS: i32 = 55;

/// How alike environments, heads and shared layers are, side by side; `None` of too many agents.
pub(super) fn draw(similarity: &Similarity) -> Result<Option<String>, DrawError> {
    let Similarity { environments, heads, shared, .. } = similarity;
    if environments.len() > MOST {
        return Ok(None);
    }
    let panels = [("environments", environments), ("heads", heads), ("shared layers", shared)];
    let svg = canvas::svg(HEIGHT, |area| {
        let areas = area.split_evenly((1, panels.len()));
        areas.iter().zip(panels).try_for_each(|(area, (title, cosines))| panel(area, title, cosines))
    })?;
    Ok(Some(svg))
}

/// A heat map with its own scale of colours, as cosines of environments differ by far less than those of heads.
fn panel(area: &Area<'_>, title: &str, cosines: &Cosines) -> Result<(), DrawError> {
    let known = || cosines.iter().flatten().flatten().copied();
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    text(area, title, (LEFT + SIDE / 2, 24), HPos::Center)?;
    let agents = cosines.len() as i32;
    let edge = |index: i32| index * SIDE / agents.max(1);
    for (row, entries) in (0..).zip(cosines) {
        for (column, cosine) in (0..).zip(entries) {
            let corners = [(LEFT + edge(column), TOP + edge(row)), (LEFT + edge(column + 1), TOP + edge(row + 1))];
            let color = cosine.map_or(GRID, |cosine| shade(cosine, low, high));
            area.draw(&Rectangle::new(corners, color.filled()))?;
        }
    }
    area.draw(&Rectangle::new([(LEFT, TOP), (LEFT + SIDE, TOP + SIDE)], AXIS.stroke_width(2)))?;
    let labelled = (0..agents).step_by(cosines.len().div_ceil(10).max(1));
    for agent in labelled {
        let middle = (edge(agent) + edge(agent + 1)) / 2;
        text(area, &agent.to_string(), (LEFT - 14, TOP + middle), HPos::Right)?;
        text(area, &agent.to_string(), (LEFT + middle, TOP + SIDE + 22), HPos::Center)?;
    }
    if low > high { Ok(()) } else { strip(area, low, high) }
}

/// Which colour means what.
fn strip(area: &Area<'_>, low: f64, high: f64) -> Result<(), DrawError> {
    let edge = |cell: i32| LEFT + cell * SIDE / STRIP_CELLS;
    for cell in 0..STRIP_CELLS {
        let share = f64::from(cell) / f64::from(STRIP_CELLS - 1);
        let color = shade(low + share * (high - low), low, high);
        let corners = [(edge(cell), STRIP_TOP), (edge(cell + 1), STRIP_TOP + STRIP_HEIGHT)];
        area.draw(&Rectangle::new(corners, color.filled()))?;
    }
    let below = STRIP_TOP + STRIP_HEIGHT + 24;
    text(area, &rounded(low), (LEFT, below), HPos::Left)?;
    text(area, &rounded(high), (LEFT + SIDE, below), HPos::Right)
}

/// White where the cosine is the least of its matrix, blue where it is the greatest.
fn shade(cosine: f64, low: f64, high: f64) -> RGBColor {
    let share = if high > low { (cosine - low) / (high - low) } else { 1.0 };
    let mix = |blue: u8| (255.0 + share * (f64::from(blue) - 255.0)).round() as u8;
    RGBColor(mix(BLUE.0), mix(BLUE.1), mix(BLUE.2))
}

fn rounded(cosine: f64) -> String {
    plain((cosine * 1e4).round() / 1e4)
}

fn text(area: &Area<'_>, text: &str, at: (i32, i32), side: HPos) -> Result<(), DrawError> {
    area.draw(&Text::new(text.to_string(), at, canvas::font().pos(Pos::new(side, VPos::Center))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half way from white to (0, 0x72, 0xB2): (127.5, 184.5, 216.5), rounded away from zero.
    #[test]
    fn colours_run_from_the_least_to_the_greatest() {
        assert_eq!(shade(0.25, 0.25, 0.75), WHITE);
        assert_eq!(shade(0.5, 0.25, 0.75), RGBColor(128, 185, 217));
        assert_eq!(shade(0.75, 0.25, 0.75), BLUE);
        assert_eq!(shade(1.0, 1.0, 1.0), BLUE, "all the same");
    }
}
