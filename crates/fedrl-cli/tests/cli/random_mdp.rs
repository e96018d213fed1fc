//! Table 2 of "Momentum for the Win" in the setting that is shipped, with 400 paired seeds.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::Place;

/// J of the last round by (beta, kappa), in the order of seeds.
struct Table(BTreeMap<(String, String), Vec<f64>>);

impl Table {
    /// Trains the shipped experiment `config` with 400 seeds and these settings.
    fn train(config: &str, settings: &[&str]) -> Self {
        let place = Place::tiny();
        let path = format!("{}/../../configs/fedsvrpg-m/{config}", env!("CARGO_MANIFEST_DIR"));
        let mut arguments = vec!["train", &path, "--out", "run", "--quiet", "--set", "training.runs=400"];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        place.fedrl(&arguments).done();
        let mut cells: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for line in place.read("run/results.jsonl").lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let setting = |key: &str| line["settings"][key].to_string();
            let key = (setting("algorithm.beta"), setting("environment.agents.kappa"));
            let objective = line["objective"].as_array().unwrap().last().unwrap().as_f64().unwrap();
            cells.entry(key).or_default().push(objective);
        }
        Table(cells)
    }

    fn of(&self, beta: &str, kappa: &str) -> &[f64] {
        &self.0[&(beta.to_string(), kappa.to_string())]
    }

    fn mean(&self, beta: &str, kappa: &str) -> f64 {
        fedrl_stats::mean(self.of(beta, kappa))
    }

    /// Mean and standard error of the paired differences between two values of beta.
    fn gap(&self, one: &str, other: &str, kappa: &str) -> (f64, f64) {
        let pairs = self.of(one, kappa).iter().zip(self.of(other, kappa));
        let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
        assert_eq!(differences.len(), 400);
        (fedrl_stats::mean(&differences), fedrl_stats::standard_error(&differences))
    }
}

const KAPPAS: &str = "sweep.environment.agents.kappa=[0.0, 1.0]";

#[test]
fn the_table_of_the_paper_comes_out_where_importance_weights_have_collapsed() {
    let table = Table::train("random-mdp.toml", &[KAPPAS]);
    for kappa in ["0.0", "1.0"] {
        for (smaller, larger) in [("0.1", "0.2"), ("0.2", "0.5"), ("0.5", "0.8"), ("0.8", "1.0")] {
            let (gap, error) = table.gap(smaller, larger, kappa);
            assert!(gap > 3.0 * error, "kappa {kappa}: J({smaller}) - J({larger}) = {gap} ± {error}");
        }
        let whole = table.mean("0.1", kappa) - table.mean("1.0", kappa);
        assert!((0.85..1.05).contains(&whole), "kappa {kappa}: J(0.1) - J(1) = {whole}");
        let plain = table.mean("1.0", kappa);
        assert!((plain - 7.03).abs() < 0.1, "kappa {kappa}: J(1) = {plain}");
    }
    for beta in ["0.1", "0.2", "0.5", "0.8", "1.0"] {
        let change = table.mean(beta, "1.0") - table.mean(beta, "0.0");
        assert!(change.abs() < 0.1, "beta {beta}: J(kappa 1) - J(kappa 0) = {change}");
    }
}

/// With trajectories of 32 steps half of the weights have not collapsed, and the ordering is the other
/// way around.
#[test]
fn with_short_trajectories_a_small_beta_does_not_help() {
    let settings = [KAPPAS, "algorithm.horizon=32", "sweep.algorithm.beta=[0.1, 1.0]"];
    let table = Table::train("random-mdp-paper.toml", &settings);
    for kappa in ["0.0", "1.0"] {
        let (small, plain) = (table.mean("0.1", kappa), table.mean("1.0", kappa));
        assert!(small < plain, "kappa {kappa}: J(0.1) = {small}, J(1) = {plain}");
    }
}
