//! Frames, in real time, as a GIF.

use fedrl_envs::{Instance, Picture};
use gif::{Encoder, Frame, Repeat};

use crate::Episode;
use crate::canvas::{Area, Canvas};
use crate::grid::{Grid, MAX_SCENES, WIDTHS};
use crate::palette::Palette;

/// The most frames of a film.
pub const MAX_FRAMES: usize = 10_000;

/// Frames do not follow each other faster, s: players show GIFs this fast.
const LEAST_DELAY_S: f64 = 0.04;
/// No step is shown longer, s.
const LONGEST_STEP_S: f64 = 1.0;
/// How long the last frame is shown, hundredths of a second.
const LAST_DELAY: u16 = 150;

/// Why there is no film.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// There is nothing to see.
    #[error("{0} has no shape, so there is nothing to draw")]
    Shapeless(&'static str),
    /// Not a number of scenes that can be shown.
    #[error("{0} variants cannot be shown side by side, expected 1 to {MAX_SCENES}")]
    Scenes(usize),
    /// Not a width.
    #[error("a picture cannot be {0} pixels wide, expected {least} to {most}", least = WIDTHS.start(), most = WIDTHS.end())]
    Width(usize),
    /// Too much to see.
    #[error("the film would have {0} frames, expected at most {MAX_FRAMES}; play fewer steps")]
    Length(usize),
    /// The film could not be put into bytes.
    #[error("writing the film")]
    Encode(#[from] gif::EncodingError),
}

/// An animated picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Film {
    /// The GIF.
    pub gif: Vec<u8>,
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// Number of pictures.
    pub frames: usize,
    /// Scenes in a row. Scenes are numbered from 1, row after row.
    pub columns: usize,
}

/// The `scenes` side by side, at the same scale and in real time, `width` pixels wide.
///
/// # Errors
/// An environment has no shape, or it would be too much of something.
pub fn film(scenes: &[(&Instance, &Episode)], width: Option<usize>) -> Result<Film, PlayError> {
    check(scenes.iter().map(|(instance, _)| *instance), width)?;
    let first: Vec<Picture> = scenes.iter().map(|scene| picture(*scene, 0)).collect::<Result<_, _>>()?;
    let durations: Vec<f64> = first.iter().map(|picture| picture.step_s.min(LONGEST_STEP_S)).collect();
    let lengths: Vec<usize> = scenes.iter().map(|(_, episode)| episode.len()).collect();
    let clock = Clock::new(&durations, &lengths)?;
    let views: Vec<_> = first.iter().map(|picture| picture.view).collect();
    let grid = Grid::new(&views, width);

    let [width, height] = grid.size();
    let mut canvas = Canvas::new(width, height);
    let mut reel = Reel::new(width, height)?;
    for frame in 0..clock.frames {
        canvas.clear();
        for (index, &scene) in scenes.iter().enumerate() {
            let step = clock.step(frame, durations[index], lengths[index]);
            grid.paint(&mut canvas, index, &picture(scene, step)?, step == lengths[index]);
        }
        let last = frame + 1 == clock.frames;
        reel.add(&canvas, if last { LAST_DELAY } else { clock.delay })?;
    }
    Ok(Film { gif: reel.encoder.into_inner()?, width, height, frames: clock.frames, columns: grid.columns() })
}

/// Whether these variants can be shown side by side, before anything has been played.
///
/// # Errors
/// An environment has no shape, or it would be too much of something.
pub fn check<'a>(
    instances: impl ExactSizeIterator<Item = &'a Instance>,
    width: Option<usize>,
) -> Result<(), PlayError> {
    if let Some(width) = width.filter(|width| !WIDTHS.contains(width)) {
        return Err(PlayError::Width(width));
    }
    let count = instances.len();
    for instance in instances {
        let spec = instance.spec();
        instance.picture(&vec![0.0; spec.state_width]).ok_or(PlayError::Shapeless(spec.id))?;
    }
    if (1..=MAX_SCENES).contains(&count) { Ok(()) } else { Err(PlayError::Scenes(count)) }
}

/// What is to be seen after so many steps.
fn picture((instance, episode): (&Instance, &Episode), step: usize) -> Result<Picture, PlayError> {
    let state = episode.states.get(step);
    state.and_then(|state| instance.picture(state)).ok_or(PlayError::Shapeless(instance.spec().id))
}

/// When frames are shown.
#[derive(Debug, PartialEq)]
struct Clock {
    /// Hundredths of a second.
    delay: u16,
    frames: usize,
}

impl Clock {
    /// For episodes whose steps take these `durations`, in s: a frame every so many of the shortest
    /// steps as are not too fast, until the longest episode is over; at least the start and the end.
    fn new(durations: &[f64], lengths: &[usize]) -> Result<Self, PlayError> {
        let shortest = durations.iter().copied().fold(LONGEST_STEP_S, f64::min);
        let every = (LEAST_DELAY_S / shortest - 1e-9).ceil().max(1.0);
        let delay = (100.0 * every * shortest).round();
        let longest = durations.iter().zip(lengths).map(|(step, &steps)| step * steps as f64).fold(0.0, f64::max);
        let frames = (100.0 * longest / delay - 1e-9).ceil().max(1.0) as usize + 1;
        if frames > MAX_FRAMES {
            return Err(PlayError::Length(frames));
        }
        Ok(Clock { delay: delay as u16, frames })
    }

    /// The steps that have been made when a frame is shown; the last frame shows the end.
    fn step(&self, frame: usize, duration: f64, length: usize) -> usize {
        if frame + 1 == self.frames {
            return length;
        }
        let time = (frame * usize::from(self.delay)) as f64 / 100.0;
        ((time / duration + 1e-9) as usize).min(length)
    }
}

/// The GIF under way. A frame holds what has changed since the one before.
struct Reel {
    encoder: Encoder<Vec<u8>>,
    palette: Palette,
    before: Option<Vec<u8>>,
}

impl Reel {
    fn new(width: usize, height: usize) -> Result<Self, PlayError> {
        let palette = Palette::new();
        // At most 4096 wide and twice as high.
        let mut encoder = Encoder::new(Vec::new(), width as u16, height as u16, &palette.bytes())?;
        encoder.set_repeat(Repeat::Infinite)?;
        Ok(Reel { encoder, palette, before: None })
    }

    fn add(&mut self, canvas: &Canvas, delay: u16) -> Result<(), PlayError> {
        let now: Vec<u8> = canvas.pixels.iter().map(|&pixel| self.palette.place(pixel)).collect();
        let all = Area { left: 0, top: 0, right: canvas.width, bottom: canvas.height };
        let area = self.before.as_ref().map_or(all, |before| changed(before, &now, canvas.width));
        let rows = (area.top..area.bottom).map(|row| &now[row * canvas.width..][area.left..area.right]);
        let frame = Frame {
            delay,
            left: area.left as u16,
            top: area.top as u16,
            width: (area.right - area.left) as u16,
            height: (area.bottom - area.top) as u16,
            buffer: rows.collect::<Vec<_>>().concat().into(),
            ..Frame::default()
        };
        self.encoder.write_frame(&frame)?;
        self.before = Some(now);
        Ok(())
    }
}

/// The least area outside of which nothing has changed; one pixel if nothing has at all.
fn changed(before: &[u8], now: &[u8], width: usize) -> Area {
    let differs = |place: &usize| before[*place] != now[*place];
    let mut area = Area { left: width, top: usize::MAX, right: 0, bottom: 0 };
    for place in (0..now.len()).filter(differs) {
        let (row, column) = (place / width, place % width);
        area.left = area.left.min(column);
        area.right = area.right.max(column + 1);
        area.top = area.top.min(row);
        area.bottom = row + 1;
    }
    if area.bottom == 0 { Area { left: 0, top: 0, right: 1, bottom: 1 } } else { area }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(durations: &[f64], lengths: &[usize]) -> (u16, usize) {
        let clock = Clock::new(durations, lengths).unwrap();
        (clock.delay, clock.frames)
    }

    #[test]
    fn frames_are_shown_in_real_time() {
        // Every second step of CartPole, every step of HalfCheetah, every fifth of Hopper, Acrobot's.
        assert_eq!(clock(&[0.02], &[500]), (4, 251));
        assert_eq!(clock(&[0.05], &[1000]), (5, 1001));
        assert_eq!(clock(&[0.008], &[21]), (4, 6));
        assert_eq!(clock(&[0.2], &[7]), (20, 8));
        // Side by side: 0.5 s of one, 1 s of the other.
        assert_eq!(clock(&[0.02, 0.05], &[25, 20]), (4, 26));
        assert_eq!(clock(&[1e-30], &[100]), (4, 2));
        assert!(matches!(Clock::new(&[0.001, 1.0], &[1, 1000]), Err(PlayError::Length(25_001))));
    }

    #[test]
    fn frames_show_the_steps_made_so_far() {
        let clock = Clock::new(&[0.02, 0.05], &[25, 20]).unwrap();
        let steps = |duration, length| [0, 1, 2, 3, 24, 25].map(|frame| clock.step(frame, duration, length));
        assert_eq!(steps(0.02, 25), [0, 2, 4, 6, 25, 25]);
        assert_eq!(steps(0.05, 20), [0, 0, 1, 2, 19, 20]);
        // 21 steps are not a multiple of five: the end is shown, too.
        let clock = Clock::new(&[0.008], &[21]).unwrap();
        assert_eq!([0, 1, 4, 5].map(|frame| clock.step(frame, 0.008, 21)), [0, 5, 20, 21]);
    }

    #[test]
    fn only_what_has_changed_is_kept() {
        let before = [0; 12];
        let mut now = before;
        assert_eq!(changed(&before, &now, 4), Area { left: 0, top: 0, right: 1, bottom: 1 });
        (now[5], now[10]) = (1, 1);
        assert_eq!(changed(&before, &now, 4), Area { left: 1, top: 1, right: 3, bottom: 3 });
    }
}
