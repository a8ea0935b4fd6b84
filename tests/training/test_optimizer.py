"""The optimizer takes torch's own steps, and a fit loads none of what torch.compile needs."""

import subprocess
import sys

import torch

from shade.training.optimizer import EagerAdam
from tests.unmeasured import unmeasured

CODE = """
import sys
import numpy
from shade import SHADE
SHADE(epochs=1, network=(8,), selection="branches", device="cpu").fit(numpy.random.default_rng(0).normal(size=(60, 3)))
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""


def test_every_step_is_that_of_torchs_adam() -> None:
    networks = [torch.nn.Linear(5, 3) for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    optimizers = [
        kind(network.parameters(), lr=1e-2, fused=True)
        for kind, network in zip((EagerAdam, torch.optim.Adam), networks, strict=True)
    ]
    x = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    for _ in range(5):
        for network, optimizer in zip(networks, optimizers, strict=True):
            optimizer.zero_grad(set_to_none=True)
            network(x).square().mean().backward()
            optimizer.step()
    assert torch.equal(networks[0].weight, networks[1].weight)
    ours, theirs = (optimizer.state_dict() for optimizer in optimizers)
    assert ours["param_groups"] == theirs["param_groups"]
    for index, values in theirs["state"].items():
        assert all(torch.equal(ours["state"][index][name], value) for name, value in values.items())


def test_a_fit_imports_nothing_that_only_compiling_networks_needs() -> None:
    command = [sys.executable, "-W", "ignore", "-c", CODE]
    done = subprocess.run(command, env=unmeasured(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
