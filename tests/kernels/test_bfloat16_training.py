"""What a training step does between its products, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shade._kernels import bfloat16_training as kernels

RANDOM = torch.Generator().manual_seed(0)
ROWS = torch.tensor([4, 1, 6])


def bits(numbers: torch.Tensor) -> np.ndarray:
    return numbers.view(torch.int16).numpy()


def test_rows_are_rounded_as_by_torch() -> None:
    samples = torch.randn(8, 50, generator=RANDOM)
    samples[1, :6] = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, 0.0, -0.0, torch.inf, torch.nan])  # two are halfway
    out = torch.zeros(3, 64, dtype=torch.bfloat16)
    kernels.take_rows(samples.numpy(), ROWS.numpy(), bits(out))
    torch.testing.assert_close(out[:, :50], samples[ROWS].bfloat16(), rtol=0, atol=0, equal_nan=True)
    assert not out[:, 50:].any()


def test_activation_and_its_gradient_are_those_of_torch() -> None:
    products, gradient = torch.randn(2, 3, 50, generator=RANDOM).bfloat16()
    bias, bias_gradient = torch.randn(50, generator=RANDOM), np.full(50, 9, np.float32)
    x = (products.float() + bias).requires_grad_()
    expected = torch.nn.functional.leaky_relu(x)
    expected.backward(gradient.float())
    kernels.activate(bits(products), bias.numpy())
    assert torch.equal(products, expected.bfloat16())
    kernels.activate_backwards(bits(gradient), bits(products), bias_gradient)
    assert torch.equal(gradient, x.grad.bfloat16())
    np.testing.assert_allclose(bias_gradient, x.grad.sum(0), rtol=1e-6, atol=1e-6)


def test_the_squared_error_and_its_gradient_are_those_of_torch() -> None:
    samples, bias = torch.randn(8, 50, generator=RANDOM), torch.randn(50, generator=RANDOM)
    products, gradient = torch.randn(3, 64, generator=RANDOM).bfloat16(), torch.zeros(3, 64, dtype=torch.bfloat16)
    x = (products[:, :50].float() + bias).requires_grad_()
    expected = (x - samples[ROWS]).square().sum()
    expected.backward()
    bias_gradient = np.full(50, 9, np.float32)
    arrays = samples.numpy(), ROWS.numpy(), bits(products), bias.numpy()
    found = kernels.compare_rows(*arrays, np.float32(2.0), bits(gradient), bias_gradient)
    assert found == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(gradient[:, :50], x.grad.bfloat16(), rtol=2**-8, atol=0)
    assert not gradient[:, 50:].any()
    np.testing.assert_allclose(bias_gradient, x.grad.sum(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_steps_are_those_of_torchs_adam(precision: torch.dtype) -> None:
    weights = torch.randn(5, 40, generator=RANDOM)
    expected = weights.clone().requires_grad_()
    optimizer = torch.optim.Adam([expected], lr=1e-2)
    mean, square, step = np.zeros((5, 40), np.float32), np.zeros((5, 40), np.float32), np.zeros(1, np.float32)
    copy = torch.zeros(6, 64, dtype=torch.bfloat16)
    for _ in range(20):
        gradient = torch.zeros(6, 64, dtype=precision)
        gradient[:5, :40] = torch.randn(5, 40, generator=RANDOM)
        expected.grad = gradient[:5, :40].float()
        optimizer.step()
        slopes = gradient.numpy() if precision == torch.float32 else bits(gradient)
        kernels.adam_step(weights.numpy(), slopes, mean, square, bits(copy), step, 1e-2)
    torch.testing.assert_close(weights, expected.detach(), rtol=1e-5, atol=1e-6)
    assert torch.equal(copy[:5, :40], weights.bfloat16())
    assert not copy[5:].any()
    state = optimizer.state[expected]
    np.testing.assert_allclose(mean, state["exp_avg"], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(square, state["exp_avg_sq"], rtol=1e-5)
    assert step[0] == 20
