//! A policy's tensors in safetensors files, by name and in PyTorch's layout: a file loads in
//! Python with `safetensors.torch.load_file` and fits `torch.nn.Linear`.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::json;

use crate::{Activation, Head, Policy, PolicyError};

/// θ as the bytes of a safetensors file. Its one metadata entry, `fedrl`, is a JSON object with
/// the `layers`, `activation` and `head` that a forward pass needs.
pub fn to_bytes(policy: &Policy, theta: &[f32]) -> Result<Vec<u8>, PolicyError> {
    let tensors = policy.tensors();
    let data: Vec<Vec<u8>> =
        tensors.iter().map(|t| theta[t.range.clone()].iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let format = |error: safetensors::SafeTensorError| PolicyError::Format(error.to_string());
    let views = tensors
        .iter()
        .zip(&data)
        .map(|(t, bytes)| Ok((t.name.as_str(), TensorView::new(Dtype::F32, t.shape.clone(), bytes).map_err(format)?)))
        .collect::<Result<Vec<_>, PolicyError>>()?;
    let description = json!({
        "layers": policy.widths(),
        "activation": match policy.network.activation() { Activation::Tanh => "tanh", Activation::Relu => "relu" },
        "head": match policy.head { Head::Categorical { .. } => "categorical", Head::DiagonalGaussian { .. } => "gaussian" },
    });
    let metadata = HashMap::from([("fedrl".to_string(), description.to_string())]);
    safetensors::serialize(views, Some(metadata)).map_err(format)
}

/// θ from the bytes of a safetensors file: every tensor of `policy` with its shape, and no other.
///
/// # Errors
/// Not a safetensors file; a tensor missing, of another type or shape, or unknown.
pub fn from_bytes(policy: &Policy, bytes: &[u8]) -> Result<Vec<f32>, PolicyError> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| PolicyError::Format(error.to_string()))?;
    let tensors = policy.tensors();
    if let Some(name) = file.names().into_iter().find(|name| !tensors.iter().any(|t| t.name == *name)) {
        return Err(PolicyError::Unexpected { name: name.to_string(), layers: policy.widths() });
    }
    let mut theta = vec![0.0; policy.parameter_count()];
    for t in tensors {
        let view =
            file.tensor(&t.name).map_err(|_| PolicyError::Missing { name: t.name.clone(), shape: t.shape.clone() })?;
        if view.dtype() != Dtype::F32 || view.shape() != t.shape {
            return Err(PolicyError::Shape {
                name: t.name,
                found: format!("{:?} {:?}", view.dtype(), view.shape()),
                shape: t.shape,
                layers: policy.widths(),
            });
        }
        for (x, bytes) in theta[t.range.clone()].iter_mut().zip(view.data().chunks_exact(4)) {
            *x = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        if let Some(x) = theta[t.range].iter().find(|x| !x.is_finite()) {
            return Err(PolicyError::Format(format!("tensor `{}` contains {x}, expected finite numbers", t.name)));
        }
    }
    Ok(theta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicyConfig;
    use fedrl_core::Space;
    use fedrl_core::random::Key;

    fn policy(hidden: Vec<usize>, actions: Space) -> Policy {
        let observation = Space::Box { low: vec![0.0; 4], high: vec![1.0; 4] };
        Policy::new(&PolicyConfig { hidden, ..PolicyConfig::default() }, &observation, &actions).unwrap()
    }

    #[test]
    fn theta_survives_the_file_and_the_bytes_are_always_the_same() {
        for actions in [Space::Discrete { n: 2 }, Space::Box { low: vec![0.0; 3], high: vec![1.0; 3] }] {
            let policy = policy(vec![8, 5], actions);
            let theta = policy.initial(Key { low: 3, high: 4 });
            let bytes = to_bytes(&policy, &theta).unwrap();
            assert_eq!(from_bytes(&policy, &bytes).unwrap(), theta);
            assert_eq!(bytes, to_bytes(&policy, &theta).unwrap());
        }
    }

    #[test]
    fn a_file_of_another_network_is_refused_by_the_tensor_that_does_not_fit() {
        let two = Space::Discrete { n: 2 };
        let small = policy(vec![8], two.clone());
        let bytes = to_bytes(&small, &small.initial(Key { low: 0, high: 0 })).unwrap();
        let error = |policy: &Policy| from_bytes(policy, &bytes).unwrap_err().to_string();
        assert_eq!(
            error(&policy(vec![9], two.clone())),
            "tensor `layers.0.weight` is F32 [8, 4], expected F32 [9, 4] for layers [4, 9, 2]"
        );
        assert_eq!(
            error(&policy(vec![8, 8], two.clone())),
            "tensor `layers.1.weight` is F32 [2, 8], expected F32 [8, 8] for layers [4, 8, 8, 2]"
        );
        assert!(error(&policy(vec![], two)).contains("does not belong to layers [4, 2]"));
        assert!(
            from_bytes(&small, b"nonsense").unwrap_err().to_string().contains("not a policy in a safetensors file")
        );
    }
}
