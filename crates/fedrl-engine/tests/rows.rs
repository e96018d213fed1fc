//! Rows on a device come to the same as rows in memory. Runs on any wgpu adapter, a software one (Mesa's
//! llvmpipe) included.
#![cfg(feature = "wgpu")]
#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use cubecl::prelude::*;
use fedrl_core::Real;
use fedrl_engine::kernels::Resident;
use fedrl_engine::{Combine, DeviceChoice, Engine, Matrix, Row, Rows, select};
use fedrl_envs::{CartPole, Environment};
use fedrl_models::{Policy, PolicyConfig};

const COLUMNS: usize = 37;

fn resident() -> Resident {
    let spec = CartPole.spec();
    let policy = Policy::new(&PolicyConfig::default(), &spec.observation, &spec.action).unwrap();
    Engine::new(&select(DeviceChoice::Wgpu(0), 0).unwrap()).resident(&policy, spec).unwrap()
}

/// As many rows, number `which`, in memory and on the device.
fn both(resident: &Resident, rows: usize, which: usize) -> (Rows<f32>, Rows<f32>) {
    let number = |i: usize| ((7 * i + 13 * which) as f32).sin() * (1.0 + i as f32 / 100.0);
    let row = |row: usize| (0..COLUMNS).map(|column| number(row * COLUMNS + column)).collect::<Vec<f32>>();
    let host = Rows::Host(Matrix::from_rows((0..rows).map(row)));
    let device = Rows::Device(resident.rows(&host));
    (host, device)
}

fn assert_same(host: &Rows<f32>, device: &Rows<f32>) {
    assert!(matches!(device, Rows::Device(_)));
    let (host, device) = (host.host().unwrap(), device.host().unwrap());
    assert_eq!((host.rows(), host.columns()), (device.rows(), device.columns()));
    for (a, b) in host.as_slice().iter().zip(device.as_slice()) {
        assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{a} {b}");
    }
}

struct Everything;

#[cube]
impl Combine for Everything {
    fn combine<F: Real>(own: F, other: F, shared: F, number: F) -> F {
        own * other + shared * number
    }
}

#[test]
fn arithmetic_on_a_device_is_that_in_memory() {
    let resident = resident();
    for rows in [1, 5, 300] {
        let ((x, x_there), (y, y_there)) = (both(&resident, rows, 1), both(&resident, rows, 2));
        let shared: Vec<f32> = (0..COLUMNS).map(|i| (i as f32).cos()).collect();
        let numbers: Vec<f32> = (0..rows).map(|i| 0.1 * i as f32 - 2.0).collect();
        assert_same(
            &x.combine::<Everything>(&y, &shared, &numbers),
            &x_there.combine::<Everything>(&y_there, &shared, &numbers),
        );
        assert_same(&x.less(&shared), &x_there.less(&shared));
        // A vector of each row's own in place of one that all share.
        let own: Vec<f32> = (0..rows * COLUMNS).map(|i| (0.3 * i as f32).sin()).collect();
        assert_same(
            &x.combine::<Everything>(&y, &own, &numbers),
            &x_there.combine::<Everything>(&y_there, &own, &numbers),
        );
        let last = x.part(rows - 1..rows).less(&own[(rows - 1) * COLUMNS..]);
        assert_same(&last, &x_there.less(&own).part(rows - 1..rows));
        let (mut sum, mut sum_there) = (x.clone(), x_there.clone());
        sum.add_scaled(&numbers, &y);
        sum_there.add_scaled(&numbers, &y_there);
        assert_same(&sum, &sum_there);
        let bounds: Vec<f32> = (0..rows).map(|i| 0.2 + 0.01 * i as f32).collect();
        sum.clamp(&bounds);
        sum_there.clamp(&bounds);
        assert_same(&sum, &sum_there);
        // What they were made of is as it was.
        assert_same(&x, &x_there);
        for (a, b) in x.norms().unwrap().iter().zip(x_there.norms().unwrap()) {
            assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
        }
    }
}

#[test]
fn the_mean_of_rows_from_here_and_there() {
    let resident = resident();
    let ((x, x_there), (y, y_there)) = (both(&resident, 150, 1), both(&resident, 90, 2));
    let chosen = |x: Rows<f32>, y: Rows<f32>| -> Vec<Row<f32>> {
        let (x, y) = (x.split().unwrap(), y.split().unwrap());
        x.into_iter().skip(3).chain(y.into_iter().take(80).rev()).collect()
    };
    let (here, there) = (chosen(x, y), chosen(x_there, y_there));
    let (here, there): (Vec<&Row<f32>>, Vec<&Row<f32>>) = (here.iter().collect(), there.iter().collect());
    assert_same(&Rows::join(&here), &Rows::join(&there));
    assert!(Row::mean_on_device(&here).is_none());
    let mean = Row::mean_on_device(&there).unwrap().unwrap();
    for (column, mean) in mean.iter().enumerate() {
        let sum: f64 = here.iter().map(|row| f64::from(row.numbers().unwrap()[column])).sum();
        let expected = sum / here.len() as f64;
        assert!((f64::from(*mean) - expected).abs() < 1e-6, "{mean} {expected}");
    }
}

#[test]
fn rows_that_are_no_longer_finite_are_found() {
    let resident = resident();
    let (host, _) = both(&resident, 4, 1);
    let mut matrix = host.host().unwrap().into_owned();
    matrix.row_mut(1)[36] = f32::NAN;
    matrix.row_mut(2)[5] = f32::NEG_INFINITY;
    matrix.row_mut(3)[0] = f32::MAX;
    let host = Rows::Host(matrix);
    let device: Rows<f32> = Rows::Device(resident.rows(&host));
    for rows in [host, device] {
        let finite: Vec<bool> = rows.split().unwrap().iter().map(Row::is_finite).collect();
        assert_eq!(finite, [true, false, false, true]);
    }
}
