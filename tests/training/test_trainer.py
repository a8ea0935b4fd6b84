"""Training: it learns, it stops when told, it says when it cannot go on."""

import io
import sys

import numpy as np
import pytest
import torch

from shade._base.errors import TrainingError
from shade.density.targets import targets_of_batches
from shade.training import Callback, EarlyStopping, Trainer, TrainSettings, build_network, decode_rows, encode_rows
from shade.training.callbacks import EpochLines, ProgressBar, as_callback, verbosity_callbacks


def make_trainer(callbacks: list[Callback] | None = None, seed: int = 0, **settings: object) -> Trainer:
    samples = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)
    network = build_network((32, 16), (6,), 2, torch.Generator().manual_seed(seed), fresh=False)
    return Trainer(
        network,
        torch.from_numpy(samples),
        targets_of_batches(samples, 5, mean_edge=False),
        TrainSettings(**{"epochs": 30, "batch_size": 50, **settings}),
        np.random.default_rng(seed),
        callbacks or [],
    )


def test_both_losses_go_down_and_are_recorded() -> None:
    history = make_trainer(epochs=60).fit().history
    assert [record["epoch"] for record in history] == list(range(1, 61))
    for name in ("loss", "reconstruction_loss", "density_loss"):
        assert history[-1][name] < 0.9 * history[0][name]
    for record in history:
        assert record["loss"] == pytest.approx(record["reconstruction_loss"] + record["density_loss"])


def test_the_recorded_losses_are_those_of_the_formula() -> None:
    trainer = make_trainer(epochs=1, batch_size=200, learning_rate=1e-12, reconstruction_weight=2.0, density_weight=3.0)
    record = trainer.fit().history[0]
    x = trainer.samples.double().numpy()
    z = encode_rows(trainer.network, trainer.samples, torch.device("cpu")).double()
    reconstruction = decode_rows(trainer.network, z.float(), torch.device("cpu")).double().numpy()
    from shade.density import DCTree

    dc = DCTree.from_points(x, 5).dc_distances()
    squared = torch.cdist(z, z).numpy() ** 2
    assert record["reconstruction_loss"] == pytest.approx(((x - reconstruction) ** 2).mean(), rel=1e-4)
    assert record["density_loss"] == pytest.approx(((dc - squared) ** 2).mean(), rel=1e-3)
    expected = 2.0 * record["reconstruction_loss"] + 3.0 * record["density_loss"]
    assert record["loss"] == pytest.approx(expected)


def test_the_same_seed_gives_the_same_network_and_another_seed_another() -> None:
    weights = [
        torch.cat([p.flatten() for p in make_trainer(seed=seed, epochs=3).fit().network.parameters()])
        for seed in (0, 0, 1)
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_without_density_weight_no_targets_are_computed() -> None:
    trainer = make_trainer(density_weight=0.0, epochs=1)
    assert trainer.targets is None
    assert "density_loss" not in trainer.fit().history[0]


def test_a_loss_that_is_no_number_ends_training_with_a_remedy() -> None:
    with pytest.raises(TrainingError, match=r"diverged. Use a smaller 'learning_rate'"):
        make_trainer(learning_rate=1e12).fit()


def test_early_stopping_waits_for_its_patience_and_starts_afresh() -> None:
    stopping = EarlyStopping(patience=3, min_delta=0.5)
    for _ in range(2):
        stopping.on_train_begin(100)
        decisions = [stopping.on_epoch_end({"loss": loss}) for loss in (10.0, 4.0, 3.9, 3.8, 3.7)]
        assert decisions == [False, False, False, False, True]


def test_callbacks_see_every_epoch_and_can_stop() -> None:
    seen = []

    def stop_at_five(record: dict[str, float]) -> bool:
        seen.append(record["epoch"])
        return record["epoch"] == 5

    history = make_trainer([as_callback(stop_at_five)]).fit().history
    assert seen == [1, 2, 3, 4, 5]
    assert len(history) == 5


def test_callbacks_are_told_of_the_end_even_when_training_fails() -> None:
    class Watch(Callback):
        ended = False

        def on_epoch_end(self, record: dict[str, float]) -> None:
            raise KeyboardInterrupt

        def on_train_end(self) -> None:
            self.ended = True

    watch = Watch()
    with pytest.raises(KeyboardInterrupt):
        make_trainer([watch]).fit()
    assert watch.ended


def test_anything_else_is_no_callback() -> None:
    with pytest.raises(ValueError, match=r"The 'callbacks' parameter must be .* Got 3 in it instead"):
        as_callback(3)


def test_verbosity_two_writes_a_line_an_epoch_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    [lines] = verbosity_callbacks(2)
    assert isinstance(lines, EpochLines)
    make_trainer([lines], epochs=3).fit()
    captured = capsys.readouterr()
    assert captured.out == ""
    rows = captured.err.splitlines()
    assert len(rows) == 3
    assert rows[2].startswith("epoch 3: loss ")


def test_lines_name_the_network_if_there_are_several(capsys: pytest.CaptureFixture[str]) -> None:
    [lines] = verbosity_callbacks(2)
    for networks, expected in ((1, "epoch 1: loss "), (2, "network 1, epoch 1: loss ")):
        make_trainer([lines.of_network(0, networks)], epochs=1).fit()
        assert capsys.readouterr().err.startswith(expected)


def test_verbosity_one_writes_a_few_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    [lines] = verbosity_callbacks(1)
    make_trainer([lines], epochs=25).fit()
    assert [row.split(":")[0] for row in stream.getvalue().splitlines()] == [
        f"epoch {epoch}" for epoch in [*range(2, 25, 2), 25]
    ]
    make_trainer([ProgressBar()], epochs=2).fit()
    assert len(stream.getvalue().splitlines()) == 13  # a bar has no place there


def test_the_progress_bar_shows_epochs_and_losses_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    make_trainer(verbosity_callbacks(1), epochs=2).fit()
    assert "2/2" in stream.getvalue()
    assert "density" in stream.getvalue()


def test_rows_are_encoded_the_same_in_any_company() -> None:
    network = build_network((512, 256, 128), (50,), 10, torch.Generator().manual_seed(0), fresh=False)
    rows = torch.randn(300, 50, generator=torch.Generator().manual_seed(1))
    whole = encode_rows(network, rows, torch.device("cpu"))
    single = torch.cat([encode_rows(network, rows[i : i + 1], torch.device("cpu")) for i in range(300)])
    reversed_ = encode_rows(network, rows.flip(0), torch.device("cpu")).flip(0)
    assert torch.equal(whole, single)
    assert torch.equal(whole, reversed_)
