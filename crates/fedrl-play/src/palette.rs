//! The colours: those of the tones, and mixtures of any two of them for smooth edges.

use std::collections::HashMap;

use fedrl_envs::Tone;

pub(crate) type Colour = [u8; 3];

pub(crate) const PAPER: Colour = [255, 255, 255];
/// Frames and numbers.
pub(crate) const INK: Colour = [110, 110, 120];

/// The colour of a tone.
pub(crate) fn colour(tone: Tone) -> Colour {
    match tone {
        Tone::Ground => [205, 207, 212],
        Tone::Mark => INK,
        Tone::Body => [44, 62, 92],
        Tone::Limb => [224, 122, 55],
        Tone::FarLimb => [70, 150, 150],
    }
}

const TONES: [Tone; 5] = [Tone::Ground, Tone::Mark, Tone::Body, Tone::Limb, Tone::FarLimb];
/// Mixtures go in steps of one in so many: 6 colours and 15 · 15 mixtures of two are 231.
const SHADES: u32 = 16;

/// `share` (0 to 1) of `over` on `under`.
pub(crate) fn mixed(under: Colour, over: Colour, share: f64) -> Colour {
    std::array::from_fn(|i| (f64::from(under[i]) + share * (f64::from(over[i]) - f64::from(under[i]))).round() as u8)
}

/// All colours of a picture, and where each is.
pub(crate) struct Palette {
    colours: Vec<Colour>,
    places: HashMap<Colour, u8>,
    /// The colour last looked for: pixels are like their neighbours.
    last: (Colour, u8),
}

impl Palette {
    pub(crate) fn new() -> Self {
        let mut colours = vec![PAPER];
        colours.extend(TONES.map(colour));
        let pure = colours.len();
        for i in 0..pure {
            for j in 0..i {
                let shades = (1..SHADES).map(|k| mixed(colours[i], colours[j], f64::from(k) / f64::from(SHADES)));
                colours.extend(shades.collect::<Vec<_>>());
            }
        }
        Palette { colours, places: HashMap::new(), last: (PAPER, 0) }
    }

    /// Red, green and blue of every colour.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.colours.concat()
    }

    /// The place of the nearest colour.
    pub(crate) fn place(&mut self, wanted: Colour) -> u8 {
        if wanted == self.last.0 {
            return self.last.1;
        }
        let colours = &self.colours;
        let place = *self.places.entry(wanted).or_insert_with(|| {
            let distance = |colour: &Colour| -> u32 {
                colour.iter().zip(wanted).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
            };
            // At most 256 colours.
            (0..colours.len()).min_by_key(|&place| distance(&colours[place])).unwrap_or(0) as u8
        });
        self.last = (wanted, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mixture_has_a_colour_near_it() {
        let mut palette = Palette::new();
        assert!(palette.colours.len() <= 256);
        let pure: Vec<Colour> = TONES.map(colour).into_iter().chain([PAPER]).collect();
        for (&under, &over) in pure.iter().flat_map(|a| pure.iter().map(move |b| (a, b))) {
            for share in 0..=40 {
                let wanted = mixed(under, over, f64::from(share) / 40.0);
                let place = palette.place(wanted);
                let found = palette.colours[usize::from(place)];
                assert!((0..3).all(|i| found[i].abs_diff(wanted[i]) <= 8), "{wanted:?} {found:?}");
            }
        }
    }
}
