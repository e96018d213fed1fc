//! The greatest errors of the functions, over their whole range, and that vectors of every kind give
//! the same numbers.

use super::machine::{Machine, Portable, Task};
use super::{LANES, Lanes, Wide, run_on_widest};

/// How far `found` lies from `exact`, in units of the last place of `exact` in f32.
fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    let unit = f64::from(f32::from_bits(nearest.abs().max(f32::MIN_POSITIVE).to_bits() + 1))
        - f64::from(nearest.abs().max(f32::MIN_POSITIVE));
    (f64::from(found) - exact).abs() / unit
}

/// f32 from `low` to `high`, both of one sign: every one of them if they are few, else every so many.
fn numbers(low: f32, high: f32) -> impl Iterator<Item = f32> {
    let (low, high) = (low.to_bits().min(high.to_bits()), low.to_bits().max(high.to_bits()));
    let step = ((high - low) / 2_000_000).max(1) as usize;
    (low..=high).step_by(step).map(f32::from_bits)
}

struct Apply<'a>(Function, &'a [f32]);

#[derive(Debug, Clone, Copy)]
enum Function {
    Sine,
    Cosine,
    Exponential,
    NaturalLog,
    HyperbolicTangent,
    Reciprocal,
}

impl Function {
    #[inline(always)]
    fn of<F: Wide>(self, x: F) -> F {
        match self {
            Function::Sine => F::sine(x),
            Function::Cosine => F::cosine(x),
            Function::Exponential => F::exponential(x),
            Function::NaturalLog => F::natural_log(x),
            Function::HyperbolicTangent => F::hyperbolic_tangent(x),
            Function::Reciprocal => F::reciprocal(x),
        }
    }
}

impl Task for Apply<'_> {
    type Output = Vec<f32>;
    #[inline(always)]
    fn run<M: Machine>(self) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.1.len());
        for chunk in self.1.chunks(LANES) {
            let mut x = [1.0; LANES];
            x[..chunk.len()].copy_from_slice(chunk);
            values.extend_from_slice(&self.0.of(Lanes::<M>::from_array(x)).to_array()[..chunk.len()]);
        }
        values
    }
}

/// The greatest error of `function` at `x`, of one number and of lanes.
fn worst(function: Function, x: &[f32], error: impl Fn(f32, f32) -> f64) -> (f64, f64) {
    let lanes = run_on_widest(Apply(function, x));
    let greatest = |errors: &mut dyn Iterator<Item = f64>| errors.fold(0.0, f64::max);
    let one = greatest(&mut x.iter().map(|&x| error(x, function.of(x))));
    (one, greatest(&mut x.iter().zip(&lanes).map(|(&x, &y)| error(x, y))))
}

fn both_signs(low: f32, high: f32) -> Vec<f32> {
    numbers(low, high).flat_map(|x| [x, -x]).collect()
}

#[test]
fn exponential_is_within_three_halves_of_a_unit() {
    let x: Vec<f32> = numbers(0.0, 88.72).chain(numbers(-0.0, -87.33)).collect();
    let (one, lanes) = worst(Function::Exponential, &x, |x, y| ulps(y, f64::from(x).exp()));
    assert!(one < 1.5 && lanes < 1.5, "{one} {lanes}");
    assert_eq!(f32::exponential(200.0), f32::INFINITY);
    assert!(f32::exponential(-200.0) < 1.2e-38 && f32::exponential(f32::NAN).is_nan());
}

#[test]
fn natural_log_is_within_two_units() {
    let x: Vec<f32> = numbers(f32::MIN_POSITIVE, f32::MAX).chain(numbers(0.5, 2.0)).collect();
    let (one, lanes) = worst(Function::NaturalLog, &x, |x, y| ulps(y, f64::from(x).ln()));
    assert!(one < 2.0 && lanes < 2.0, "{one} {lanes}");
    assert!(f32::natural_log(0.0) < -87.0);
}

#[test]
fn hyperbolic_tangent_is_within_six_units() {
    let x = both_signs(1e-30, 100.0);
    let (one, lanes) = worst(Function::HyperbolicTangent, &x, |x, y| ulps(y, f64::from(x).tanh()));
    assert!(one < 6.0 && lanes < 6.0, "{one} {lanes}");
    assert_eq!(f32::hyperbolic_tangent(0.0), 0.0);
    assert!(f32::hyperbolic_tangent(f32::NAN).is_nan());
}

/// Four at a time, as networks take them: neighbours of any size share an inverse.
#[test]
fn hyperbolic_tangents_of_many_are_within_eight_units() {
    struct Many<'a>(&'a [f32]);
    impl Task for Many<'_> {
        type Output = Vec<f32>;
        #[inline(always)]
        fn run<M: Machine>(self) -> Vec<f32> {
            let packs = self.0.chunks_exact(LANES).map(|x| Lanes::<M>::from_array(std::array::from_fn(|i| x[i])));
            let mut lanes: Vec<Lanes<M>> = packs.collect();
            // Not a multiple of four: the last ones are taken one by one.
            Wide::hyperbolic_tangents(&mut lanes);
            lanes.into_iter().flat_map(Lanes::to_array).collect()
        }
    }
    // Small and large numbers beside each other.
    let x = both_signs(1e-30, 100.0);
    let count = x.len() / LANES / 4 * 4 * LANES - LANES;
    let mixed: Vec<f32> = (0..count).map(|i| x[i * 7919 % x.len()]).collect();
    let mut one = mixed.clone();
    f32::hyperbolic_tangents(&mut one);
    for values in [one, run_on_widest(Many(&mixed)), Many(&mixed).run::<Portable>()] {
        let worst = mixed.iter().zip(values).map(|(&x, y)| ulps(y, f64::from(x).tanh())).fold(0.0, f64::max);
        assert!(worst < 8.0, "{worst}");
    }
    assert_eq!(run_on_widest(Many(&mixed)), Many(&mixed).run::<Portable>());
}

#[test]
fn sine_and_cosine_are_within_two_units_up_to_a_few_turns_and_within_1e_7_up_to_a_thousand() {
    let near = both_signs(1e-30, 7.0);
    let (one, lanes) = worst(Function::Sine, &near, |x, y| ulps(y, f64::from(x).sin()));
    assert!(one < 2.0 && lanes < 2.0, "sine {one} {lanes}");
    let far = both_signs(1e-30, 6000.0);
    let (one, lanes) = worst(Function::Sine, &far, |x, y| (f64::from(y) - f64::from(x).sin()).abs());
    assert!(one < 1.5e-7 && lanes < 1.5e-7, "sine {one} {lanes}");
    let (one, lanes) = worst(Function::Cosine, &far, |x, y| (f64::from(y) - f64::from(x).cos()).abs());
    assert!(one < 1.5e-7 && lanes < 1.5e-7, "cosine {one} {lanes}");
    // Whatever the angle, a sine is one.
    for x in [1e6, 1e9, 1e20, f32::MAX] {
        assert!(f32::sine(x).abs() <= 1.0 && f32::cosine(-x).abs() <= 1.0, "{x}");
    }
    assert!(f32::sine(f32::INFINITY).is_nan() && f32::cosine(f32::NAN).is_nan());
}

#[test]
fn reciprocal_is_within_a_unit() {
    let x = both_signs(1e-37, 1e37);
    let (one, lanes) = worst(Function::Reciprocal, &x, |x, y| ulps(y, 1.0 / f64::from(x)));
    assert!(one <= 0.5 + 1e-6 && lanes < 1.0, "{one} {lanes}");
}

#[test]
fn vectors_of_every_kind_give_the_same_bytes() {
    let x: Vec<f32> = both_signs(1e-3, 80.0).into_iter().step_by(97).collect();
    use Function::*;
    for function in [Sine, Cosine, Exponential, NaturalLog, HyperbolicTangent, Reciprocal] {
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let portable = bits(Apply(function, &x).run::<Portable>());
        for values in super::machine::run_on_every(|| Apply(function, &x)) {
            assert!(bits(values) == portable, "{function:?}");
        }
    }
}
