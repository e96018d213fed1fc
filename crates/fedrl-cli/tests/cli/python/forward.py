"""A policy's action probabilities with nothing but NumPy, against those of the program.

Usage: forward.py policy.safetensors < {"observations": [[..]..], "probabilities": [[..]..]}
"""

import json
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

tensors = load_file(sys.argv[1])
with safe_open(sys.argv[1], framework="numpy") as file:
    about = json.loads(file.metadata()["fedrl"])
nonlinearity = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}[about["activation"]]
expected = json.load(sys.stdin)

x = np.array(expected["observations"], dtype=np.float32)
layers = len(about["layers"]) - 1
for i in range(layers):
    x = x @ tensors[f"layers.{i}.weight"].T + tensors[f"layers.{i}.bias"]
    if i + 1 < layers:
        x = nonlinearity(x)
assert about["head"] == "categorical", about
e = np.exp(x - x.max(axis=1, keepdims=True))
probabilities = e / e.sum(axis=1, keepdims=True)

worst = np.abs(probabilities - np.array(expected["probabilities"])).max()
assert probabilities.shape == (len(expected["observations"]), about["layers"][-1]), probabilities.shape
assert worst <= 1e-6, f"the probabilities differ by {worst}"
print(worst)
