//! Painting with smooth edges: a pixel is covered by as much as its centre lies inside.

use fedrl_envs::Outline;

use crate::palette::{Colour, PAPER, mixed};

/// Pixels, row after row.
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Colour>,
}

/// A rectangle of pixels; right and bottom edge excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) right: usize,
    pub(crate) bottom: usize,
}

/// Where on a canvas a world is: pixels per metre, the pixel of the world's origin, and what may
/// be painted on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) scale: f64,
    pub(crate) origin: [f64; 2],
    pub(crate) area: Area,
}

/// No thing is painted thinner, in pixels from its middle.
const LEAST: f64 = 0.6;

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Canvas { width, height, pixels: vec![PAPER; width * height] }
    }

    pub(crate) fn clear(&mut self) {
        self.pixels.fill(PAPER);
    }

    /// Paints a thing of the world. One that is nowhere is not painted.
    pub(crate) fn paint(&mut self, window: &Window, outline: &Outline, colour: Colour) {
        let scale = window.scale;
        let pixel = |[x, y]: [f64; 2]| [window.origin[0] + scale * x, window.origin[1] - scale * y];
        match *outline {
            Outline::Capsule { ends, radius } => {
                let ([from, to], radius) = (ends.map(pixel), (scale * radius).max(LEAST));
                let low = [0, 1].map(|i| from[i].min(to[i]) - radius);
                let high = [0, 1].map(|i| from[i].max(to[i]) + radius);
                self.fill(window.area, low, high, colour, |at| distance_to_segment(at, from, to) - radius);
            }
            Outline::Rectangle { centre, half } => {
                let (centre, half) = (pixel(centre), half.map(|half| (scale * half).max(LEAST)));
                let low = [0, 1].map(|i| centre[i] - half[i]);
                let high = [0, 1].map(|i| centre[i] + half[i]);
                self.fill(window.area, low, high, colour, |at| {
                    ((at[0] - centre[0]).abs() - half[0]).max((at[1] - centre[1]).abs() - half[1])
                });
            }
        }
    }

    /// Paints what lies between `low` and `high` and has a `distance`, in pixels, that is negative.
    fn fill(&mut self, area: Area, low: [f64; 2], high: [f64; 2], colour: Colour, distance: impl Fn([f64; 2]) -> f64) {
        if low.iter().chain(&high).any(|x| x.is_nan()) {
            return;
        }
        let within = |x: f64, least: usize, most: usize| x.clamp(least as f64, most as f64) as usize;
        let columns = within(low[0] - 1.0, area.left, area.right)..within(high[0] + 2.0, area.left, area.right);
        let rows = within(low[1] - 1.0, area.top, area.bottom)..within(high[1] + 2.0, area.top, area.bottom);
        for row in rows {
            for column in columns.clone() {
                let covered = 0.5 - distance([column as f64 + 0.5, row as f64 + 0.5]);
                // A distance that is no number covers nothing.
                if covered > 0.0 {
                    let pixel = &mut self.pixels[row * self.width + column];
                    *pixel = mixed(*pixel, colour, covered.min(1.0));
                }
            }
        }
    }
}

fn distance_to_segment(at: [f64; 2], from: [f64; 2], to: [f64; 2]) -> f64 {
    let [way, along] = [[at[0] - from[0], at[1] - from[1]], [to[0] - from[0], to[1] - from[1]]];
    let square = along[0] * along[0] + along[1] * along[1];
    let share = if square > 0.0 { ((way[0] * along[0] + way[1] * along[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
    (way[0] - share * along[0]).hypot(way[1] - share * along[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Colour = [255, 0, 0];

    fn painted(outline: Outline, area: Area) -> Vec<Colour> {
        let mut canvas = Canvas::new(20, 20);
        // Ten pixels to the metre, the origin in the middle.
        canvas.paint(&Window { scale: 10.0, origin: [10.0, 10.0], area }, &outline, RED);
        canvas.pixels
    }

    const ALL: Area = Area { left: 0, top: 0, right: 20, bottom: 20 };

    #[test]
    fn a_rectangle_covers_its_pixels_and_half_of_those_it_halves() {
        // From -0.45 m to 0.45 m: pixels 5.5 to 14.5; from 0.3 to 0.5 m up: pixels 5 to 7.
        let pixels = painted(Outline::Rectangle { centre: [0.0, 0.4], half: [0.45, 0.1] }, ALL);
        let row = |row: usize| &pixels[row * 20..][..20];
        assert_eq!((row(5)[4], row(5)[5], row(5)[6], row(6)[13]), (PAPER, [255, 128, 128], RED, RED));
        assert!(row(4).iter().chain(row(7)).all(|&pixel| pixel == PAPER));
    }

    #[test]
    fn a_capsule_has_its_area() {
        // A disc of 0.5 m and 0.6 m of a bar: 25π + 60 square pixels.
        let pixels = painted(Outline::Capsule { ends: [[-0.3, 0.1], [0.3, 0.1]], radius: 0.5 }, ALL);
        let covered: f64 = pixels.iter().map(|pixel| 1.0 - f64::from(pixel[1]) / 255.0).sum();
        let expected = 25.0 * std::f64::consts::PI + 60.0;
        assert!((covered - expected).abs() < 1.0, "{covered}, expected {expected}");
    }

    #[test]
    fn nothing_is_painted_outside_or_nowhere() {
        let area = Area { left: 5, top: 5, right: 10, bottom: 10 };
        let pixels = painted(Outline::Capsule { ends: [[0.0, 0.0]; 2], radius: 9.0 }, area);
        assert_eq!(pixels.iter().filter(|&&pixel| pixel == RED).count(), 25);
        let plane = Outline::Rectangle { centre: [0.0, 0.0], half: [f64::INFINITY, 1.0] };
        assert!(painted(plane, ALL).iter().all(|&pixel| pixel == RED));
        for ends in [[[f64::NAN, 0.0]; 2], [[0.0, 0.0], [f64::INFINITY, 0.0]], [[1e300, -1e300], [-1e300, 1e300]]] {
            assert!(painted(Outline::Capsule { ends, radius: 0.1 }, ALL).iter().all(|&pixel| pixel == PAPER));
        }
    }
}
