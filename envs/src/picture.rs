//! What environments look like.

/// What is to be seen in a state: lengths in metres, x to the right, y up.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// From back to front.
    pub pieces: Vec<Piece>,
    /// The part of the world to show.
    pub view: View,
    /// Time until the next state, s.
    pub step_s: f64,
}

/// One thing in a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Where it is.
    pub outline: Outline,
    /// What it is.
    pub tone: Tone,
}

/// Where a thing is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outline {
    /// All points within `radius` of a segment.
    Capsule {
        /// The segment's ends.
        ends: [[f64; 2]; 2],
        /// Half the thickness.
        radius: f64,
    },
    /// A rectangle along the axes.
    Rectangle {
        /// Its middle.
        centre: [f64; 2],
        /// Half its width and height; infinite where it has no end.
        half: [f64; 2],
    },
}

/// What a thing is, hence its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// What does not move.
    Ground,
    /// A mark on it, or a goal.
    Mark,
    /// A torso or a cart.
    Body,
    /// What is jointed to it.
    Limb,
    /// A limb farther away.
    FarLimb,
}

/// A part of the world. Its size, and what it shows of y, do not change within an episode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Left and right edge.
    pub x: [f64; 2],
    /// Lower and upper edge.
    pub y: [f64; 2],
}

impl Piece {
    pub(crate) fn capsule(ends: [[f64; 2]; 2], radius: f64, tone: Tone) -> Self {
        Piece { outline: Outline::Capsule { ends, radius }, tone }
    }

    pub(crate) fn rectangle(centre: [f64; 2], half: [f64; 2], tone: Tone) -> Self {
        Piece { outline: Outline::Rectangle { centre, half }, tone }
    }
}
