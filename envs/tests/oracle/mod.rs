//! MuJoCo itself, with Gymnasium's model files, as the judge of varied robots. The library and the
//! files are where `scripts/install-mujoco` put them.
//!
//! Geometry is varied in the model's specification, which is compiled anew; the rest in the compiled
//! model, whose derived quantities MuJoCo then sets anew.

use std::path::PathBuf;

use fedrl_envs::Parameters;
use mujoco_rs::prelude::{MjData, MjModel, MjSpec, SpecElement};
use mujoco_rs::wrappers::mj_editing::MjsBody;
use mujoco_rs::wrappers::mj_model::MjtObjBase;

/// A robot as Gymnasium simulates it.
pub struct Robot {
    pub id: &'static str,
    file: &'static str,
    frame_skip: usize,
}

pub static HALF_CHEETAH: Robot = Robot { id: "HalfCheetah-v5", file: "half_cheetah.xml", frame_skip: 5 };
pub static HOPPER: Robot = Robot { id: "Hopper-v5", file: "hopper.xml", frame_skip: 4 };
pub static WALKER2D: Robot = Robot { id: "Walker2d-v5", file: "walker2d_v5.xml", frame_skip: 4 };

/// What a parameter that is not given does not change.
struct Given<'a>(&'a Parameters);

impl Given<'_> {
    fn or(&self, name: &str, default: f64) -> f64 {
        self.0.get(name).copied().unwrap_or(default)
    }

    fn scale(&self, name: &str) -> f64 {
        self.or(name, 1.0)
    }
}

/// A varied robot in MuJoCo.
pub struct Oracle {
    data: MjData<Box<MjModel>>,
    action_bias: f64,
    frame_skip: usize,
}

impl Oracle {
    pub fn new(robot: &Robot, given: &Parameters) -> Self {
        let given = Given(given);
        let mut spec = specification(robot);
        spec.world_body_mut().body_iter_mut().for_each(|torso| vary_geometry(torso, &given));
        let mut model = spec.compile().expect("a model");
        vary_physics(&mut model, &given);
        let mut data = MjData::new(Box::new(model));
        data.set_const();
        Oracle { data, action_bias: given.or("action_bias", 0.0), frame_skip: robot.frame_skip }
    }

    /// The coordinates of the reference pose.
    pub fn reference(&self) -> &[f64] {
        self.data.model().qpos0()
    }

    /// The state after a step of the environment: coordinates, then velocities. None where bodies
    /// touched each other: the plane's robots touch nothing but the floor.
    pub fn step(&mut self, state: &[f64], action: &[f64]) -> Option<Vec<f64>> {
        let data = &mut self.data;
        let (position, velocity) = state.split_at(state.len() / 2);
        data.reset();
        data.qpos_mut().copy_from_slice(position);
        data.qvel_mut().copy_from_slice(velocity);
        for (control, action) in data.ctrl_mut().iter_mut().zip(action) {
            *control = action + self.action_bias;
        }
        for _ in 0..self.frame_skip {
            data.step();
            // The floor is the first of all geometries.
            if data.contact().iter().any(|contact| !contact.geom.contains(&0)) {
                return None;
            }
        }
        Some([data.qpos(), data.qvel()].concat())
    }
}

/// The model file, its density set: a variant is made of the same stuff as the robot as it is,
/// whatever its mass comes to.
fn specification(robot: &Robot) -> MjSpec {
    let folder = std::env::var("MUJOCO_DYNAMIC_LINK_DIR").expect("what `scripts/install-mujoco` prints");
    let mut spec = MjSpec::from_xml(PathBuf::from(folder).join(robot.file)).expect("a model file");
    let total = spec.compiler().settotalmass();
    if total > 0.0 {
        spec.compiler_mut().set_settotalmass(0.0);
        let nominal: f64 = spec.compile().expect("a model").body_mass().iter().sum();
        spec.geom_iter_mut().for_each(|geom| geom.set_density(1000.0 * total / nominal));
    }
    spec
}

/// Varies a body and all that hang on it.
fn vary_geometry(body: &mut MjsBody, given: &Given) {
    let (long, thick) = (given.scale("link_length_scale"), given.scale("geom_radius_scale"));
    let scale = |numbers: &mut [f64]| numbers.iter_mut().for_each(|x| *x *= long);
    let radius = given.0.get(&format!("geom_radius.{}", body.name())).copied();
    scale(body.pos_mut());
    for joint in body.joint_iter_mut(false) {
        scale(joint.pos_mut());
        *joint.ref_mut() *= long;
    }
    for geom in body.geom_iter_mut(false) {
        scale(geom.pos_mut());
        // No numbers where the file has size and position instead.
        scale(geom.fromto_mut());
        let size = geom.size_mut();
        size[0] = radius.unwrap_or(size[0]) * thick;
        size[1] *= long;
    }
    body.body_iter_mut().for_each(|child| vary_geometry(child, given));
}

fn vary_physics(model: &mut MjModel, given: &Given) {
    let scale = |numbers: &mut [f64], name: &str| {
        let factor = given.scale(name);
        numbers.iter_mut().for_each(|x| *x *= factor);
    };
    model.opt_mut().gravity[2] = -given.or("gravity", 9.81);
    model.opt_mut().tolerance = 0.0;
    model.geom_friction_mut().iter_mut().for_each(|friction| scale(&mut friction[..1], "friction_scale"));
    model.actuator_gear_mut().iter_mut().for_each(|gear| scale(gear, "gear_scale"));
    scale(model.dof_damping_mut(), "damping_scale");
    scale(model.jnt_stiffness_mut(), "stiffness_scale");
    scale(model.dof_armature_mut(), "armature_scale");
    model.jnt_range_mut().iter_mut().for_each(|range| scale(range, "joint_range_scale"));
    for body in 1..model.body_mass().len() {
        let of_body = model.id_to_name(MjtObjBase::mjOBJ_BODY, body).map(|name| format!("mass_scale.{name}"));
        for name in of_body.iter().map(String::as_str).chain(["mass_scale"]) {
            scale(&mut model.body_mass_mut()[body..=body], name);
            scale(&mut model.body_inertia_mut()[body], name);
        }
    }
}
