//! Environments whose parameters differ from agent to agent.
//!
//! An environment is one file: a [`Spec`] for people, [`Dynamics`] for machines (one source for
//! native f32, native f64 and GPU kernels), and the derivation of its coefficients from its
//! parameters. A parameter may be set alone ([`Instance`]) or as a family over many variants
//! ([`VariantSet`]).
//!
//! Simulators are functions of a state that lives with the caller; an [`Episode`] keeps its own.
//! With the feature `gymnasium-rs`, environments cross over to and from that crate's `Env` trait.

mod acrobot;
mod batch;
mod cartpole;
mod environment;
mod episode;
#[cfg(feature = "gymnasium-rs")]
pub mod gymnasium;
mod half_cheetah;
mod hopper;
mod instance;
mod lanes;
mod mdp;
mod parameter;
mod picture;
mod planar;
mod random_mdp;
mod variant;
mod walker2d;

pub use acrobot::Acrobot;
pub use batch::Batch;
pub use cartpole::CartPole;
pub use environment::{Dynamics, Environment, Precision, STEP_DRAWS, Simulate, Smooth, Spec};
pub use episode::{Episode, SimulatedEpisode, Step};
pub use half_cheetah::HalfCheetah;
pub use hopper::Hopper;
pub use instance::{Instance, Simulator, Transition};
pub use lanes::{AtOnce, LaneDynamics, LaneStep, OneByOne, Simulators, Table};
pub use mdp::Mdp;
pub use parameter::{Parameter, ParameterError, Parameters, Range};
pub use picture::{Outline, Picture, Piece, Tone, View};
pub use random_mdp::RandomMdp;
pub use variant::{Family, VariantError, VariantSet};
pub use walker2d::Walker2d;

/// Every environment, in the order they are listed to people.
pub static ENVIRONMENTS: [&dyn Environment; 6] = [&CartPole, &Acrobot, &HalfCheetah, &Hopper, &Walker2d, &RandomMdp];

/// Something that is done with the dynamics of an environment as a type, as a kernel has to be made for
/// one.
pub trait Visitor {
    /// What it comes to.
    type Output;

    /// Does it.
    fn visit<D: Dynamics>(self) -> Self::Output;
}

/// Does something with the dynamics of the environment called `id`, if there is one.
pub fn visit<V: Visitor>(id: &str, visitor: V) -> Option<V::Output> {
    Some(match id {
        "CartPole-v1" => visitor.visit::<CartPole>(),
        "Acrobot-v1" => visitor.visit::<Acrobot>(),
        "HalfCheetah-v5" => visitor.visit::<HalfCheetah>(),
        "Hopper-v5" => visitor.visit::<Hopper>(),
        "Walker2d-v5" => visitor.visit::<Walker2d>(),
        "RandomMDP-v0" => visitor.visit::<RandomMdp>(),
        _ => return None,
    })
}

/// The environment called `id`.
///
/// # Errors
/// The message for a person when there is none: the nearest name and all of them.
pub fn find(id: &str) -> Result<&'static dyn Environment, String> {
    ENVIRONMENTS.into_iter().find(|environment| environment.spec().id == id).ok_or_else(|| {
        let known: Vec<&str> = ENVIRONMENTS.iter().map(|environment| environment.spec().id).collect();
        fedrl_core::unknown_name("environment", id, &known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_environment_can_be_visited() {
        struct Nothing;
        impl Visitor for Nothing {
            type Output = ();
            fn visit<D: Dynamics>(self) {}
        }
        for environment in ENVIRONMENTS {
            assert!(visit(environment.spec().id, Nothing).is_some(), "{}", environment.spec().id);
        }
    }
}
