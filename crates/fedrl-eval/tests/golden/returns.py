"""Records returns of the policy beside this file in Gymnasium's HalfCheetah-v5: 200 episodes of 500
steps, actions the means of the policy. `python3 returns.py > HalfCheetah-v5.returns.txt`; needs
gymnasium[mujoco] 1.4 with mujoco 3.17, numpy and safetensors."""
from pathlib import Path

import gymnasium
import numpy
from safetensors.numpy import load_file

tensors = load_file(Path(__file__).with_name("half-cheetah.safetensors"))
layers = [(tensors[f"layers.{i}.weight"], tensors[f"layers.{i}.bias"]) for i in range(3)]


def act(observation):
    x = observation.astype(numpy.float32)
    for weight, bias in layers[:-1]:
        x = numpy.tanh(weight @ x + bias)
    weight, bias = layers[-1]
    return weight @ x + bias


environment = gymnasium.make("HalfCheetah-v5", max_episode_steps=500)
for episode in range(200):
    observation, _ = environment.reset(seed=episode)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = environment.step(act(observation))
        total += reward
        over = terminated or truncated
    print(total)
