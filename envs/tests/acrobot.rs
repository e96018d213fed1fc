//! Acrobot's parameters act as physics says.

use fedrl_envs::{Instance, Parameters, find};

fn acrobot(given: &[(&str, f64)]) -> Instance {
    let given: Parameters = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    Instance::new(find("Acrobot-v1").expect("an environment"), given).expect("in range")
}

fn step(instance: &Instance, mut state: [f64; 4], action: f64) -> [f64; 4] {
    instance.simulator::<f64>().step(&[], &mut state, &[action]);
    state
}

/// Every mass and the inertia doubled, and the torque too, is the same motion.
#[test]
fn masses_and_torque_scaled_alike_move_alike() {
    let twice = [("link_mass_1", 2.0), ("link_mass_2", 2.0), ("link_moi", 2.0), ("torque_scale", 2.0)];
    let start = [0.4, -1.1, 0.7, -2.0];
    for (ours, theirs) in step(&acrobot(&twice), start, 2.0).iter().zip(step(&acrobot(&[]), start, 2.0)) {
        assert!((ours - theirs).abs() < 1e-13);
    }
}

/// Lengths times s with gravity times s and inertias times s² is the same motion without torque.
#[test]
fn lengths_and_gravity_scaled_alike_move_alike() {
    let s = 1.7;
    let scaled = [("link_length_1", s), ("link_length_2", s), ("gravity", 9.8 * s), ("link_moi", s * s)];
    let start = [0.4, -1.1, 0.7, -2.0];
    for (ours, theirs) in step(&acrobot(&scaled), start, 1.0).iter().zip(step(&acrobot(&[]), start, 1.0)) {
        assert!((ours - theirs).abs() < 1e-13);
    }
}

/// A second link whose centre of mass sits in its joint leaves a compound pendulum:
/// θ̈ = -(m c + m l) g sinθ / (m c² + m l² + I), with the second link turning freely beside it.
#[test]
fn a_balanced_second_link_leaves_a_pendulum() {
    let (m1, m2, c1, l1, inertia, g) = (1.5, 0.5, 0.3, 0.8, 0.6, 9.8);
    let given = [
        ("link_mass_1", m1),
        ("link_mass_2", m2),
        ("link_com_pos_1", c1),
        ("link_length_1", l1),
        ("link_com_pos_2", 1e-12),
        ("link_moi", inertia),
    ];
    let (mut angle, mut speed) = (0.3, 0.1);
    let after = step(&acrobot(&given), [angle, 0.0, speed, -speed], 1.0);
    let rate = |angle: f64| -(m1 * c1 + m2 * l1) * g * angle.sin() / (m1 * c1 * c1 + m2 * l1 * l1 + inertia);
    let fine = 100_000;
    for _ in 0..fine {
        let dt = 0.2 / f64::from(fine);
        speed += dt * rate(angle);
        angle += dt * speed;
    }
    // The second link keeps its absolute angular velocity, here 0. RK4 with 0.2 s is good to 1e-4.
    assert!((after[0] - angle).abs() < 1e-4 && (after[2] - speed).abs() < 1e-3, "{after:?} {angle} {speed}");
    assert!((after[2] + after[3]).abs() < 1e-9);
}

#[test]
fn centres_of_mass_follow_the_lengths_unless_set() {
    let start = [0.4, -1.1, 0.7, -2.0];
    let longer = step(&acrobot(&[("link_length_2", 1.4)]), start, 1.0);
    assert_eq!(longer, step(&acrobot(&[("link_com_pos_2", 0.7)]), start, 1.0));
    assert_ne!(longer, step(&acrobot(&[("link_length_2", 1.4), ("link_com_pos_2", 0.5)]), start, 1.0));
}

/// Both links up is a height of l₁ + l₂ over the joint.
#[test]
fn the_goal_is_for_the_real_links_where_it_is_scaled() {
    let short = ("link_length_2", 0.2);
    let ends = |given: &[(&str, f64)], angles: [f64; 2]| {
        // Gravity and torque off: the state stays where it is.
        let off = [("gravity", 0.0), ("torque_scale", 0.0)];
        let given: Vec<_> = given.iter().copied().chain(off).collect();
        acrobot(&given).simulator::<f64>().step(&[], &mut [angles[0], angles[1], 0.0, 0.0], &[0.0]).terminated
    };
    // Second link up, first one level: 1 for links of 1 m; 0.2 for the real ones, whose mean is 0.6.
    let (level, up) = ([std::f64::consts::FRAC_PI_2 + 1e-6, std::f64::consts::FRAC_PI_2], [3.1, 0.0]);
    assert!(ends(&[short], level) && !ends(&[short, ("goal", 1.0)], level));
    assert!(ends(&[short, ("goal", 1.0)], up));
    assert!(!ends(&[("goal_height", 2.1)], up));
}
