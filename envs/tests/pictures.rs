//! What environments look like, by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::f64::consts::FRAC_PI_2;

use fedrl_envs::{Acrobot, CartPole, HalfCheetah, Hopper, Walker2d};
use fedrl_envs::{ENVIRONMENTS, Environment, Instance, Outline, Picture, Piece, Tone};

fn picture(environment: &'static dyn Environment, given: &[(&str, f64)], state: &[f64]) -> Picture {
    let given = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    Instance::new(environment, given).unwrap().picture(state).unwrap()
}

/// The ends and radii of the capsules of a tone.
fn capsules(picture: &Picture, tone: Tone) -> Vec<([[f64; 2]; 2], f64)> {
    let capsule = |piece: &Piece| match piece.outline {
        Outline::Capsule { ends, radius } if piece.tone == tone => Some((ends, radius)),
        _ => None,
    };
    picture.pieces.iter().filter_map(capsule).collect()
}

#[track_caller]
fn close(ours: [f64; 2], by_hand: [f64; 2]) {
    assert!((0..2).all(|i| (ours[i] - by_hand[i]).abs() < 1e-8), "{ours:?}, by hand {by_hand:?}");
}

#[test]
fn whatever_has_no_shape_has_no_picture() {
    let seen = ENVIRONMENTS.map(|environment| {
        let spec = environment.spec();
        Instance::new(environment, Default::default()).unwrap().picture(&vec![0.0; spec.state_width]).is_some()
    });
    assert_eq!(seen, [true, true, true, true, true, false]);
}

#[test]
fn a_longer_pole_is_drawn_longer() {
    // The pole stands at 0.5 m, then lies to the right: from the top of the cart, 0.12 m up.
    let upright = capsules(&picture(&CartPole, &[("length", 0.4)], &[0.5, 0.0, 0.0, 0.0]), Tone::Limb);
    close(upright[0].0[0], [0.5, 0.12]);
    close(upright[0].0[1], [0.5, 0.92]);
    let right = capsules(&picture(&CartPole, &[("pole_length", 3.0)], &[0.5, 0.0, FRAC_PI_2, 0.0]), Tone::Limb);
    close(right[0].0[1], [3.5, 0.12]);
    assert_eq!(picture(&CartPole, &[("tau", 0.01)], &[0.0; 4]).step_s, 0.01);
}

#[test]
fn the_links_of_the_acrobot_have_their_lengths() {
    // The first link points right, the second up.
    let given = [("link_length_1", 0.5), ("link_length_2", 2.0), ("goal", 1.0), ("goal_height", 0.8)];
    let seen = picture(&Acrobot, &given, &[FRAC_PI_2, FRAC_PI_2, 0.0, 0.0]);
    close(capsules(&seen, Tone::Body)[0].0[1], [0.5, 0.0]);
    let [elbow, tip] = capsules(&seen, Tone::Limb)[0].0;
    close(elbow, [0.5, 0.0]);
    close(tip, [0.5, 2.0]);
    // 0.8 times the mean length.
    let goal = seen.pieces.iter().find(|piece| piece.tone == Tone::Mark).unwrap();
    assert!(matches!(goal.outline, Outline::Rectangle { centre, .. } if centre == [0.0, 1.0]));
}

#[test]
fn the_half_cheetah_in_its_reference_pose() {
    let seen = picture(&HalfCheetah, &[], &[0.0; 18]);
    let [head, torso] = capsules(&seen, Tone::Body).try_into().unwrap();
    close(torso.0[0], [-0.5, 0.7]);
    close(torso.0[1], [0.5, 0.7]);
    // Its middle is at (0.6, 0.8), 0.15 m from either end, 0.87 rad from upright.
    close(head.0[0], [0.6 + 0.15 * 0.764_328_937, 0.8 + 0.15 * 0.644_826_522]);
    // The hinge of the front foot is at 0.5 - 0.14 + 0.13, 0.7 - 0.24 - 0.18.
    let foot = capsules(&seen, Tone::FarLimb)[0];
    let (middle, along) = ([0.49 + 0.045, 0.28 - 0.07], [-0.07 * 0.564_642_473, 0.07 * 0.825_335_615]);
    close(foot.0[0], [middle[0] + along[0], middle[1] + along[1]]);
    close(foot.0[1], [middle[0] - along[0], middle[1] - along[1]]);
    assert_eq!(foot.1, 0.046);
    assert_eq!((capsules(&seen, Tone::Limb).len(), capsules(&seen, Tone::FarLimb).len()), (3, 3));
    assert_eq!(seen.step_s, 0.05);
}

#[test]
fn hinges_turn_what_hangs_on_them() {
    let mut state = [0.0; 18];
    state[6] = FRAC_PI_2;
    // The front thigh by a right angle: (x, z) becomes (z, -x), about the hinge at (0.5, 0.7).
    let (x, z) = (-0.07 + 0.133 * 0.52f64.sin(), -0.12 + 0.133 * 0.52f64.cos());
    let thigh = capsules(&picture(&HalfCheetah, &[], &state), Tone::FarLimb)[2];
    close(thigh.0[0], [0.5 + z, 0.7 - x]);
}

#[test]
fn robots_have_the_lengths_and_radii_of_the_variant() {
    // On one leg: the hopper's foot is lowest, 0.06 m thick, at 1.25 - 0.2 - 0.7 - 0.35 + 0.1.
    let mut state = [0.0; 12];
    state[1] = 1.25;
    let foot = capsules(&picture(&Hopper, &[], &state), Tone::Limb)[0];
    close(foot.0[0], [-0.13, 0.1]);
    assert_eq!(foot.1, 0.06);
    state[1] *= 2.0;
    let large =
        capsules(&picture(&Hopper, &[("link_length_scale", 2.0), ("geom_radius.foot", 0.1)], &state), Tone::Limb)[0];
    close(large.0[0], [-0.26, 0.2]);
    assert_eq!(large.1, 0.1);
}

#[test]
fn the_view_follows_the_torso_over_marks_that_stay() {
    let mut state = [0.0; 18];
    state[1] = 1.25;
    let here = picture(&Walker2d, &[], &state);
    state[0] = 7.3;
    let there = picture(&Walker2d, &[], &state);
    assert_eq!(here.view.y, there.view.y);
    close(there.view.x, here.view.x.map(|x| x + 7.3));
    let [left, right] = there.view.x.map(|x| 7.3 + 3.0 * (x - 7.3));
    let marks: Vec<f64> = there
        .pieces
        .iter()
        .filter_map(|piece| match piece.outline {
            Outline::Rectangle { centre, .. } if piece.tone == Tone::Mark => Some(centre[0]),
            _ => None,
        })
        .collect();
    assert!(marks.iter().all(|x| x.fract() == 0.0 && (left..=right).contains(x)), "{marks:?}");
    assert_eq!(marks.len() as f64, right.floor() - left.ceil() + 1.0);
}
