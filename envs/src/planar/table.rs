//! The table of numbers that the dynamics read, and the sizes of their loops.

/// What distinguishes one robot's loops from another's.
pub trait Shape: Send + Sync + 'static {
    /// Legs, 1 or 2.
    const LEGS: usize;
    /// Capsule ends on the torso, 2 or 4.
    const TORSO_ENDS: usize;
    /// Simulation steps in a step of the environment.
    const FRAME_SKIP: usize;
    /// Whether a simulation step is one of Runge-Kutta's (of order 4), or Euler's with implicit
    /// damping.
    const RUNGE_KUTTA: bool;
    /// Ends of capsules: each link of a leg has two.
    const ENDS: usize = Self::TORSO_ENDS + 2 * LINKS * Self::LEGS;
    /// Coordinates: the torso's three and one per hinge.
    const WIDTH: usize = ROOT + LINKS * Self::LEGS;
}

/// Coordinates of the torso: x, z, angle.
pub(crate) const ROOT: usize = 3;
/// Links of a leg.
pub(crate) const LINKS: usize = 3;
/// Numbers of a chain, which is what moves a foot: the torso's x and z, then the absolute angles
/// about +y of the torso and of its leg's links.
pub(crate) const CHAIN: usize = ROOT + LINKS;
/// Place of the torso's angle, in a chain and among the coordinates.
pub(crate) const TORSO: usize = 2;

// Places in the table.
pub(crate) const GRAVITY: usize = 0;
pub(crate) const TIME_STEP: usize = 1;
/// Height of the torso's frame where coordinate z is 0.
pub(crate) const HEIGHT: usize = 2;
/// +1 where hinges of the legs turn about +y, -1 where they turn about -y.
pub(crate) const SIGN: usize = 3;
/// Where each softness begins.
pub(crate) const LIMIT: usize = 4;
pub(crate) const CONTACT: usize = 9;
/// Contacts begin at this distance.
pub(crate) const MARGIN: usize = 14;
pub(crate) const ACTION_BIAS: usize = 15;
/// Reward per metre forward.
pub(crate) const FORWARD_REWARD: usize = 16;
pub(crate) const CONTROL_COST: usize = 17;
pub(crate) const RESET_NOISE: usize = 18;
/// Initial coordinate z.
pub(crate) const START_HEIGHT: usize = 19;
pub(crate) const TOTAL_MASS: usize = 20;

// Within a softness: aref = -DAMPING·velocity - STIFFNESS·impedance·distance, with an impedance
// that grows from LEAST at distance 0 to GREATEST at WIDTH.
pub(crate) const STIFFNESS: usize = 0;
pub(crate) const DAMPING: usize = 1;
pub(crate) const LEAST: usize = 2;
pub(crate) const GREATEST: usize = 3;
pub(crate) const WIDTH: usize = 4;

/// Bodies, the torso first, then leg after leg from the hip down.
pub(crate) const BODY: usize = 21;
pub(crate) const BODY_STRIDE: usize = 5;
// Within a body. Its frame sits in the hinge that it turns about.
/// Its hinge, in the frame of its parent.
pub(crate) const OFFSET: usize = 0;
/// Its first moment of mass, what hangs on it being points in its lower hinges.
pub(crate) const MOMENT: usize = 2;
/// The moment of inertia of the same about its hinge.
pub(crate) const INERTIA: usize = 4;

/// Hinges of the legs; the first belongs to body 1.
pub(crate) const JOINT: usize = BODY + 7 * BODY_STRIDE;
pub(crate) const JOINT_STRIDE: usize = 7;
// Within a joint.
pub(crate) const SPRING: usize = 0;
pub(crate) const DAMPER: usize = 1;
pub(crate) const ARMATURE: usize = 2;
pub(crate) const GEAR: usize = 3;
pub(crate) const LOW: usize = 4;
pub(crate) const HIGH: usize = 5;
/// Acceleration per torque, in the reference pose.
pub(crate) const COMPLIANCE: usize = 6;

/// Ends of capsules: the torso's, then two of every link.
pub(crate) const END: usize = JOINT + 6 * JOINT_STRIDE;
pub(crate) const END_STRIDE: usize = 6;
// Within an end.
/// The centre of its half sphere, in the frame of its body.
pub(crate) const POINT: usize = 0;
/// Its distance from the floor in the reference pose.
pub(crate) const CLEARANCE: usize = 2;
pub(crate) const FRICTION: usize = 3;
/// What (1 - impedance) / impedance is multiplied by to give the regularisation of an edge of
/// the friction pyramid.
pub(crate) const YIELDING: usize = 4;

/// Numbers in the table.
pub(crate) const LENGTH: usize = END + 16 * END_STRIDE;
