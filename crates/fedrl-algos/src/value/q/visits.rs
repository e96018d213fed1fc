//! How often an agent was where: what importance averaging weighs by.

/// Components of an observation that tell regions apart, at most.
const COMPONENTS: usize = 8;

/// How many regions there are: the signs of an observation's first components, and the action.
pub(super) fn regions(observation: usize, actions: usize) -> usize {
    actions << observation.min(COMPONENTS)
}

/// The region of an observation and an action.
pub(super) fn region(observation: &[f32], action: usize) -> usize {
    observation.iter().take(COMPONENTS).fold(action, |region, &x| 2 * region + usize::from(x > 0.0))
}

/// What each agent weighs in a mean: its share of (1−α)^{−visits} (Woo et al. 2023), averaged over
/// the regions that anybody visited. The same for all where nobody went anywhere.
pub(in crate::value) fn weights(visits: &[&[u32]], step_size: f64) -> Vec<f64> {
    let mut weights = vec![0.0; visits.len()];
    let mut visited = 0;
    for region in 0..visits.first().map_or(0, |visits| visits.len()) {
        if visits.iter().any(|visits| visits[region] > 0) {
            visited += 1;
            let importance = |visits: &&[u32]| (1.0 - step_size).powi(-(visits[region] as i32));
            let all: f64 = visits.iter().map(importance).sum();
            weights.iter_mut().zip(visits).for_each(|(weight, visits)| *weight += importance(visits) / all);
        }
    }
    let even = 1.0 / visits.len() as f64;
    weights.into_iter().map(|weight| if visited > 0 { weight / f64::from(visited) } else { even }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three regions, α = ½: 2^visits. Region 0: 4 and 1, shares 4/5 and 1/5. Region 1: nobody. Region 2: 1
    /// and 2, shares 1/3 and 2/3. Means: 17/30 and 13/30.
    #[test]
    fn weights_by_hand() {
        let found = weights(&[&[2, 0, 0], &[0, 0, 1]], 0.5);
        assert!((found[0] - 17.0 / 30.0).abs() < 1e-12 && (found[1] - 13.0 / 30.0).abs() < 1e-12, "{found:?}");
        assert_eq!(weights(&[&[0], &[0]], 0.5), [0.5, 0.5]);
    }

    #[test]
    fn every_region_has_a_place_of_its_own() {
        let signs = |bits: usize| [0, 1, 2].map(|i| if bits >> i & 1 == 1 { 0.5 } else { -0.5 });
        let all: std::collections::BTreeSet<usize> =
            (0..2).flat_map(|action| (0..8).map(move |bits| region(&signs(bits), action))).collect();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), (0..regions(3, 2)).collect::<Vec<_>>());
    }
}
