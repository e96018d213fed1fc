//! Films are GIFs with what was asked for in them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use fedrl_envs::{Acrobot, CartPole, Environment, HalfCheetah, Hopper, Instance, RandomMdp, Walker2d};
use fedrl_play::{Episode, Film, PlayError, film};

fn instance(environment: &'static dyn Environment, given: &[(&str, f64)]) -> Instance {
    Instance::new(environment, given.iter().map(|&(name, value)| (name.to_string(), value)).collect()).unwrap()
}

/// Random episodes of the variants, side by side.
fn played(instances: &[Instance], steps: usize, width: Option<usize>) -> Result<Film, PlayError> {
    let episodes: Vec<Episode> = instances.iter().map(|instance| Episode::random(instance, 1, steps)).collect();
    film(&instances.iter().zip(&episodes).collect::<Vec<_>>(), width)
}

/// What limbs are painted with.
const LIMB: [u8; 3] = [224, 122, 55];

/// The frames of a GIF as a viewer sees them, pixel by pixel, and how long they are shown.
fn seen(film: &Film) -> Vec<(Vec<[u8; 3]>, u16)> {
    let mut decoder = gif::DecodeOptions::new().read_info(film.gif.as_slice()).unwrap();
    assert_eq!((usize::from(decoder.width()), usize::from(decoder.height())), (film.width, film.height));
    let palette: Vec<[u8; 3]> = decoder.global_palette().unwrap().chunks(3).map(|c| c.try_into().unwrap()).collect();
    let mut canvas = vec![[0; 3]; film.width * film.height];
    let mut frames = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        let [left, top, width] = [frame.left, frame.top, frame.width].map(usize::from);
        for (row, pixels) in frame.buffer.chunks(width).enumerate() {
            for (column, &pixel) in pixels.iter().enumerate() {
                canvas[(top + row) * film.width + left + column] = palette[usize::from(pixel)];
            }
        }
        frames.push((canvas.clone(), frame.delay));
    }
    frames
}

#[test]
fn a_film_of_every_environment_with_a_shape() {
    let all: [(&dyn Environment, u16); 5] =
        [(&CartPole, 4), (&Acrobot, 20), (&HalfCheetah, 5), (&Hopper, 4), (&Walker2d, 4)];
    for (environment, delay) in all {
        let film = played(&[instance(environment, &[])], 10, Some(200)).unwrap();
        let frames = seen(&film);
        assert_eq!((film.width, frames.len()), (200, film.frames), "{}", environment.spec().id);
        assert!(frames.len() >= 2);
        assert!(frames[..frames.len() - 1].iter().all(|frame| frame.1 == delay));
        assert!(frames.windows(2).all(|pair| pair[0].0 != pair[1].0), "nothing moves");
    }
}

#[test]
fn the_same_episodes_give_the_same_bytes() {
    let variants = [instance(&Hopper, &[]), instance(&Hopper, &[("link_length_scale", 1.3)])];
    let bytes = |steps| played(&variants, steps, None).unwrap().gif;
    assert!(bytes(30) == bytes(30));
    assert!(bytes(5) != bytes(4));
}

#[test]
fn scenes_stand_side_by_side_at_one_scale() {
    let variants = [0.25, 0.5, 1.0].map(|length| instance(&CartPole, &[("length", length), ("init_high", -0.05)]));
    let film = played(&variants, 1, Some(600)).unwrap();
    assert_eq!((film.columns, film.width), (2, 600));
    let (first, _) = &seen(&film)[0];
    let rows = film.height / 2;
    // How many rows of pixels of a scene have something of a pole.
    let high = |scene: usize| {
        let [left, top] = [scene % 2 * 300, scene / 2 * rows];
        (0..rows).filter(|row| first[(top + row) * film.width + left..][..300].contains(&LIMB)).count() as f64
    };
    let heights = [0, 1, 2].map(high);
    let pixels_per_metre = 300.0 / 5.6;
    for (height, length) in heights.into_iter().zip([0.25, 0.5, 1.0]) {
        // Twice the half length, a half disc at either end.
        let expected = (2.0 * length + 0.06) * pixels_per_metre;
        assert!((height - expected).abs() < 3.0, "{height}, expected {expected}");
    }
}

#[test]
fn a_state_that_is_no_number_is_a_picture_without_what_is_nowhere() {
    let cart = instance(&CartPole, &[]);
    let states = vec![vec![0.0; 4], vec![f64::NAN; 4], vec![f64::INFINITY; 4]];
    let episode = Episode { states, total_reward: 0.0, terminated: true };
    assert_eq!(film(&[(&cart, &episode)], None).unwrap().frames, 2);
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let said = |result: Result<Film, PlayError>| result.unwrap_err().to_string();
    assert!(said(played(&[instance(&RandomMdp, &[])], 5, None)).starts_with("RandomMDP-v0 has no shape"));
    let cart = instance(&CartPole, &[]);
    assert!(said(played(&vec![cart.clone(); 17], 5, None)).starts_with("17 variants cannot be shown"));
    assert!(said(played(&[], 5, None)).starts_with("0 variants"));
    assert!(said(played(&[cart], 5, Some(10))).contains("10 pixels wide, expected 64 to 4096"));
}

#[test]
fn random_episodes_differ_by_their_number() {
    let hopper = instance(&Hopper, &[]);
    let episode = Episode::random(&hopper, 1, 1000);
    assert!(episode.terminated && episode.len() < 1000, "random actions do not keep a hopper up");
    assert_eq!(episode, Episode::random(&hopper, 1, 1000));
    assert_ne!(episode, Episode::random(&hopper, 2, 1000));
    assert_eq!(Episode::random(&hopper, 1, 3).states, episode.states[..4]);
}
