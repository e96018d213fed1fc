use super::*;
use crate::{Initialisation, Mlp};
use fedrl_core::random::{Key, KeyRng};
use rand::RngExt;

/// L = ½ Σ (y − t)² over samples and outputs.
struct Problem {
    network: Mlp,
    theta: Vec<f32>,
    inputs: Vec<Vec<f32>>,
    targets: Vec<Vec<f32>>,
}

fn number(rng: &mut KeyRng) -> f32 {
    2.0 * rng.random::<f32>() - 1.0
}

fn problem(widths: &[usize], activation: Activation, biased: bool, samples: usize) -> Problem {
    let network = Mlp::new(widths, activation, biased);
    let mut theta = Initialisation::XavierUniform.draw(&network, Key { low: 1, high: 2 });
    let mut rng = Key { low: 3, high: widths.len() as u32 }.rng();
    network.layers().iter().for_each(|layer| theta[layer.bias.clone()].fill_with(|| 0.3 * number(&mut rng)));
    let mut table = |width: usize| (0..samples).map(|_| (0..width).map(|_| number(&mut rng)).collect()).collect();
    let (inputs, targets) = (table(widths[0]), table(widths[widths.len() - 1]));
    Problem { network, theta, inputs, targets }
}

impl Problem {
    fn forward(&self) -> Minibatch {
        let mut batch = Minibatch::new(&self.network, self.inputs.len());
        for (sample, input) in self.inputs.iter().enumerate() {
            batch.set_input(sample, input.iter().copied());
        }
        batch.forward(&self.theta);
        batch
    }

    fn gradient(&self, wanted: Range<usize>) -> Vec<f32> {
        let mut batch = self.forward();
        for unit in 0..self.targets[0].len() {
            let slopes: Vec<f32> = batch.output(unit).iter().zip(&self.targets).map(|(y, t)| y - t[unit]).collect();
            batch.slope_mut(unit).copy_from_slice(&slopes);
        }
        let mut gradient = vec![f32::NAN; self.theta.len()];
        batch.backward(&self.theta, wanted, &mut gradient);
        gradient
    }

    /// L in f64.
    fn loss(&self, theta: &[f64]) -> f64 {
        let of = |(input, target): (&Vec<f32>, &Vec<f32>)| {
            let input: Vec<f64> = input.iter().map(|&x| f64::from(x)).collect();
            let outputs = self.network.forward(theta, &input);
            outputs.iter().zip(target).map(|(y, &t)| 0.5 * (y - f64::from(t)).powi(2)).sum::<f64>()
        };
        self.inputs.iter().zip(&self.targets).map(of).sum()
    }
}

/// Widths around those of packs and tiles, batches that do not fill their vectors.
fn problems() -> Vec<Problem> {
    let shapes: [(&[usize], usize); 6] = [
        (&[4, 8, 2], 3),
        (&[4, 128, 2], 64),
        (&[5, 17, 33, 3], 20),
        (&[1, 1], 1),
        (&[6, 40, 16, 16, 3], 70),
        (&[3, 2], 33),
    ];
    let activations = [(Activation::Relu, true), (Activation::Tanh, true), (Activation::Tanh, false)];
    let of = |&(widths, samples): &(&[usize], usize)| {
        activations.map(|(activation, biased)| problem(widths, activation, biased, samples))
    };
    shapes.iter().flat_map(of).collect()
}

#[test]
fn outputs_are_those_of_the_reference_one_by_one() {
    for problem in problems() {
        let batch = problem.forward();
        let mut single = Single::new(&problem.network);
        let theta: Vec<f64> = problem.theta.iter().map(|&x| f64::from(x)).collect();
        for (sample, input) in problem.inputs.iter().enumerate() {
            let exact: Vec<f64> = input.iter().map(|&x| f64::from(x)).collect();
            let alone = single.forward(&problem.theta, input.iter().copied());
            for (unit, y) in problem.network.forward(&theta, &exact).into_iter().enumerate() {
                let found = [batch.output(unit)[sample], alone[unit]];
                assert!(found.iter().all(|&x| (f64::from(x) - y).abs() < 3e-6), "{found:?} {y}");
            }
        }
    }
}

#[test]
fn gradients_are_those_of_central_differences() {
    for problem in problems() {
        let gradient = problem.gradient(0..problem.network.layers().len());
        let theta: Vec<f64> = problem.theta.iter().map(|&x| f64::from(x)).collect();
        let step = 1e-6;
        let scale = problem.inputs.len() as f64;
        // Every place of small networks, some of large ones.
        for place in (0..theta.len()).step_by(theta.len().div_ceil(300)) {
            let moved = |by: f64| {
                let mut theta = theta.clone();
                theta[place] += by;
                problem.loss(&theta)
            };
            let exact = (moved(step) - moved(-step)) / (2.0 * step);
            let found = f64::from(gradient[place]);
            assert!((found - exact).abs() < 2e-6 * scale, "{:?} {place}: {found} {exact}", problem.network);
        }
    }
}

/// ReLU has a corner where differences and slopes part; a step of 1e-6 hits none of these.
#[test]
fn slopes_of_inputs_are_those_of_central_differences() {
    for problem in problems() {
        let mut batch = problem.forward();
        for unit in 0..problem.targets[0].len() {
            let slopes: Vec<f32> = batch.output(unit).iter().zip(&problem.targets).map(|(y, t)| y - t[unit]).collect();
            batch.slope_mut(unit).copy_from_slice(&slopes);
        }
        batch.backward_to_inputs(&problem.theta);
        let theta: Vec<f64> = problem.theta.iter().map(|&x| f64::from(x)).collect();
        let loss = |sample: usize, moved: usize, by: f64| {
            let mut input: Vec<f64> = problem.inputs[sample].iter().map(|&x| f64::from(x)).collect();
            input[moved] += by;
            let outputs = problem.network.forward(&theta, &input);
            outputs.iter().zip(&problem.targets[sample]).map(|(y, &t)| 0.5 * (y - f64::from(t)).powi(2)).sum::<f64>()
        };
        for sample in 0..problem.inputs.len() {
            for unit in 0..problem.inputs[0].len() {
                let exact = (loss(sample, unit, 1e-6) - loss(sample, unit, -1e-6)) / 2e-6;
                let found = f64::from(batch.input_slope(unit)[sample]);
                assert!((found - exact).abs() < 5e-6, "{:?} {sample} {unit}: {found} {exact}", problem.network);
            }
        }
    }
}

#[test]
fn inputs_can_be_set_by_component() {
    let problem = problem(&[4, 8, 2], Activation::Tanh, true, 3);
    let expected = problem.forward();
    let mut batch = Minibatch::new(&problem.network, 3);
    for unit in 0..4 {
        let column: Vec<f32> = problem.inputs.iter().map(|input| input[unit]).collect();
        batch.input_mut(unit).copy_from_slice(&column);
    }
    batch.forward(&problem.theta);
    assert_eq!(batch.output(1), expected.output(1));
}

#[test]
fn layers_that_are_not_wanted_are_left_alone_and_the_others_do_not_change() {
    let problem = problem(&[5, 17, 33, 3], Activation::Relu, true, 20);
    let all = problem.gradient(0..3);
    let head = problem.network.layers()[2].weight.start;
    for (wanted, places) in [(2..3, head..all.len()), (0..2, 0..head)] {
        let some = problem.gradient(wanted);
        for place in 0..all.len() {
            assert!(if places.contains(&place) { some[place] == all[place] } else { some[place].is_nan() });
        }
    }
}

#[test]
fn a_batch_can_be_used_again() {
    let problem = problem(&[4, 8, 2], Activation::Tanh, true, 3);
    let mut batch = problem.forward();
    let before = batch.output(0).to_vec();
    batch.forward(&vec![0.0; problem.theta.len()]);
    assert!(batch.output(0).iter().all(|&y| y == 0.0));
    batch.forward(&problem.theta);
    assert_eq!(batch.output(0), before);
}
