//! Several scenes on one canvas, all at the same scale.

use std::ops::RangeInclusive;

use fedrl_envs::{Outline, Picture, View};

use crate::canvas::{Area, Canvas, Window};
use crate::digits::strokes;
use crate::palette::{INK, colour};

/// The most scenes that fit.
pub const MAX_SCENES: usize = 16;

/// Widths of a picture, in pixels.
pub const WIDTHS: RangeInclusive<usize> = 64..=4096;

/// Width of a picture per column, unless one is asked for.
const COLUMN: usize = 320;

/// Places of scenes, row after row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    columns: usize,
    count: usize,
    cell: [usize; 2],
    scale: f64,
    y: [f64; 2],
}

impl Grid {
    /// For scenes with these views in a picture of this width.
    pub(crate) fn new(views: &[View], width: Option<usize>) -> Self {
        let columns = (1..).find(|columns| columns * columns >= views.len()).unwrap_or(1);
        let width = width.unwrap_or(COLUMN * columns) / columns;
        let most = |f: fn(&View) -> f64| views.iter().map(f).fold(f64::NEG_INFINITY, f64::max);
        let (wide, y) = (most(|view| view.x[1] - view.x[0]), [-most(|view| -view.y[0]), most(|view| view.y[1])]);
        let high = y[1] - y[0];
        // However flat or high the world: a picture is neither a line nor a tower.
        let height = (width as f64 * (high / wide).clamp(0.25, 2.0)).round();
        let scale = (width as f64 / wide).min(height / high);
        Grid { columns, count: views.len(), cell: [width, height as usize], scale, y }
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Width and height in pixels.
    pub(crate) fn size(&self) -> [usize; 2] {
        [self.columns * self.cell[0], self.count.div_ceil(self.columns) * self.cell[1]]
    }

    /// Paints the scene number `index`, with its frame darker when it is `over`.
    pub(crate) fn paint(&self, canvas: &mut Canvas, index: usize, picture: &Picture, over: bool) {
        let [width, height] = self.cell;
        let [left, top] = [index % self.columns * width, index / self.columns * height];
        let area = Area { left, top, right: left + width, bottom: top + height };
        let middle = (picture.view.x[0] + picture.view.x[1]) / 2.0;
        let origin = [
            left as f64 + width as f64 / 2.0 - self.scale * middle,
            // What is left over is above.
            (top + height) as f64 + self.scale * self.y[0],
        ];
        let window = Window { scale: self.scale, origin, area };
        for piece in &picture.pieces {
            canvas.paint(&window, &piece.outline, colour(piece.tone));
        }
        if self.count > 1 {
            label(canvas, area, index + 1);
            frame(canvas, area, over);
        }
    }
}

/// Writes a scene's number in its corner.
fn label(canvas: &mut Canvas, area: Area, number: usize) {
    let size = (area.bottom - area.top).min(area.right - area.left) as f64 / 24.0;
    let origin = [area.left as f64 + 1.5 * size, area.top as f64 + 3.5 * size];
    let window = Window { scale: size, origin, area };
    strokes(number).iter().for_each(|stroke| canvas.paint(&window, stroke, INK));
}

/// A line around a scene, thick when its episode is over.
fn frame(canvas: &mut Canvas, area: Area, over: bool) {
    let window = Window { scale: 1.0, origin: [0.0, 0.0], area };
    let [left, top, right, bottom] = [area.left, area.top, area.right, area.bottom].map(|x| x as f64);
    let corners = [[left, -top], [right, -top], [right, -bottom], [left, -bottom]];
    let thick = if over { 3.0 } else { 1.0 };
    for (i, &corner) in corners.iter().enumerate() {
        let side = Outline::Capsule { ends: [corner, corners[(i + 1) % 4]], radius: thick };
        canvas.paint(&window, &side, INK);
    }
}
