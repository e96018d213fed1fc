"""Records steps of varied robots from MuJoCo: `variants.py FOLDER`, with gymnasium 1.4.0 and mujoco 3.17.0 from PyPI.

Writes FOLDER/ID.variants.txt with lines `name=value .. | state | action | next state`. Geometry is varied in the model
file, which is compiled anew; the rest in the compiled model, whose derived quantities MuJoCo then sets anew.
Behind Walker2d's lines stand two more, found among 5,100: there, Newton's method without line search goes astray.
"""

import os
import sys
import xml.etree.ElementTree as ElementTree

import gymnasium
import mujoco
import numpy as np

ASSETS = os.path.join(os.path.dirname(gymnasium.__file__), "envs/mujoco/assets")
ROBOTS = {"HalfCheetah-v5": ("half_cheetah.xml", 5), "Hopper-v5": ("hopper.xml", 4), "Walker2d-v5": ("walker2d_v5.xml", 4)}
STATES = 8


def variants(bodies, stiff):
    scales = ["friction_scale", "gear_scale", "damping_scale", "armature_scale", "mass_scale", "joint_range_scale"]
    scales += ["stiffness_scale"] if stiff else []
    alone = [{name: value} for name in scales for value in (0.6, 1.7)]
    alone += [{"gravity": 3.7}, {"action_bias": 0.3}, {"damping_scale": 0.0}]
    alone += [{name: value} for name in ("link_length_scale", "geom_radius_scale") for value in (0.8, 1.15)]
    alone += [{f"mass_scale.{body}": 1.8} for body in bodies] + [{f"geom_radius.{body}": 0.07} for body in bodies]
    together = {"gravity": 12.0, "mass_scale": 1.3, "link_length_scale": 1.1, "geom_radius_scale": 1.2, "friction_scale": 0.5,
                f"mass_scale.{bodies[1]}": 0.7, f"geom_radius.{bodies[2]}": 0.055, "armature_scale": 2.0}
    return alone + [together]


def numbers(text):
    return [float(x) for x in text.split()]


def compiled(path, variant):
    tree = ElementTree.parse(path)
    root = tree.getroot()
    compiler = root.find("compiler")
    if compiler.get("settotalmass"):
        # A variant is made of the same stuff: the density is that of the robot as it is.
        total = float(compiler.attrib.pop("settotalmass"))
        nominal = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, "unicode")).body_mass.sum()
        root.find("default/geom").set("density", repr(float(1000 * total / nominal)))
    length, thick = variant.get("link_length_scale", 1.0), variant.get("geom_radius_scale", 1.0)

    def scale(element, name, factor):
        if element.get(name):
            element.set(name, " ".join(repr(x * factor) for x in numbers(element.get(name))))

    for body in root.iter("body"):
        scale(body, "pos", length)
        for joint in body.findall("joint"):
            scale(joint, "pos", length)
            scale(joint, "ref", length)
        for geom in body.findall("geom"):
            size = numbers(geom.get("size"))
            size[0] = variant.get(f"geom_radius.{body.get('name')}", size[0]) * thick
            size[1:] = [x * length for x in size[1:]]
            geom.set("size", " ".join(map(repr, size)))
            scale(geom, "pos", length)
            scale(geom, "fromto", length)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, "unicode"))

    model.opt.gravity[2] = -variant.get("gravity", 9.81)
    model.opt.tolerance = 0
    model.geom_friction[:, 0] *= variant.get("friction_scale", 1.0)
    model.actuator_gear *= variant.get("gear_scale", 1.0)
    model.dof_damping *= variant.get("damping_scale", 1.0)
    model.jnt_stiffness *= variant.get("stiffness_scale", 1.0)
    model.dof_armature *= variant.get("armature_scale", 1.0)
    model.jnt_range *= variant.get("joint_range_scale", 1.0)
    for body in range(1, model.nbody):
        factor = variant.get("mass_scale", 1.0) * variant.get(f"mass_scale.{model.body(body).name}", 1.0)
        model.body_mass[body] *= factor
        model.body_inertia[body] *= factor
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def line(*fields):
    return " | ".join(field if isinstance(field, str) else " ".join(repr(float(x)) for x in field) for field in fields)


def main(folder):
    for robot, (file, skip) in ROBOTS.items():
        rng = np.random.default_rng(5)
        path = os.path.join(ASSETS, file)
        nominal = mujoco.MjModel.from_xml_path(path)
        bodies = [nominal.body(i).name for i in range(1, nominal.nbody)]
        lines = []
        for variant in variants(bodies, nominal.jnt_stiffness.any()):
            model = compiled(path, variant)
            count = 0
            while count < STATES:
                data = mujoco.MjData(model)
                data.qpos[:] = model.qpos0 + rng.uniform(-0.6, 0.6, model.nq)
                data.qpos[1] = model.qpos0[1] - rng.uniform(0, 0.2)
                data.qvel[:] = rng.normal(size=model.nv) * rng.choice([0.3, 3.0])
                state = np.r_[data.qpos, data.qvel]
                action = rng.uniform(-1, 1, model.nu)
                data.ctrl[:] = action + variant.get("action_bias", 0.0)
                alone = True
                for _ in range(skip):
                    mujoco.mj_step(model, data)
                    alone = alone and all(0 in contact.geom for contact in data.contact)
                if alone:
                    setting = " ".join(f"{name}={value}" for name, value in variant.items())
                    lines.append(line(setting, state, action, np.r_[data.qpos, data.qvel]))
                    count += 1
        with open(os.path.join(folder, f"{robot}.variants.txt"), "w") as out:
            out.write("\n".join(lines) + "\n")


main(sys.argv[1])
