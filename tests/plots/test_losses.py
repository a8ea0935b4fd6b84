"""Loss curves show what the history holds, each with its name."""

import numpy as np
import pytest

from shade.plots import plot_losses


def make_history(epochs, density=lambda epoch: 1.0 / epoch):
    return [
        {"epoch": epoch, "loss": 2.0 + density(epoch), "reconstruction_loss": 2.0, "density_loss": density(epoch)}
        for epoch in range(1, epochs + 1)
    ]


def names(ax):
    return [text.get_text() for text in ax.texts]


def test_every_loss_is_a_line_over_the_epochs(ax):
    history = make_history(20)
    plot_losses(history, ax=ax)
    for line, key in zip(ax.lines, ["loss", "reconstruction_loss", "density_loss"], strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 21))
        np.testing.assert_allclose(line.get_ydata(), [entry[key] for entry in history])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Epoch", "Loss")


def test_every_line_has_its_name_at_its_end_in_its_colour(ax):
    plot_losses(make_history(20), ax=ax)
    assert sorted(names(ax)) == ["Density", "Reconstruction", "Total"]
    lines = {line.get_label(): line for line in ax.lines}
    for text in ax.texts:
        line = lines[text.get_text()]
        assert text.get_color() == line.get_color()
        assert text.xy == (line.get_xdata()[-1], line.get_ydata()[-1])
    assert len({line.get_color() for line in ax.lines}) == 3


@pytest.mark.parametrize("density", [lambda epoch: 2.0, lambda epoch: 1e-9, lambda epoch: 1.0 / epoch])
@pytest.mark.parametrize("width", [3.5, 7.0])
def test_names_neither_overlap_nor_leave_the_axes(ax, density, width):
    ax.figure.set_size_inches(width, 4)
    plot_losses(make_history(50, density), ax=ax)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    frame = ax.get_window_extent()
    for i, box in enumerate(boxes):
        assert frame.x0 < box.x0 and box.x1 <= frame.x1
        assert all(box.y1 <= other.y0 or other.y1 <= box.y0 for other in boxes[:i])


def test_missing_losses_are_left_out(ax):
    history = [{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": 2.0, "density_loss": 1.0}, {"epoch": 3, "loss": 1.5}]
    plot_losses(history, ax=ax)
    total, density = ax.lines
    assert total.get_xdata().tolist() == [1, 2, 3]
    assert density.get_xdata().tolist() == [2]
    assert sorted(names(ax)) == ["Density", "Total"]


def test_without_epochs_entries_are_counted_from_one(ax):
    plot_losses([{"loss": 3.0}, {"loss": 2.0}], ax=ax)
    assert ax.lines[0].get_xdata().tolist() == [1, 2]


def test_values_that_are_no_numbers_are_left_out(ax):
    plot_losses([{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": np.nan}, {"epoch": 3, "loss": np.inf}], ax=ax)
    assert ax.lines[0].get_xdata().tolist() == [1]
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("last", "scale"), [(0.03, "linear"), (0.02, "log"), (1e-6, "log"), (0.0, "linear"), (-1.0, "linear")]
)
def test_axis_is_logarithmic_over_more_than_two_decades(ax, last, scale):
    plot_losses([{"epoch": 1, "loss": 2.5}, {"epoch": 2, "loss": last}], ax=ax)
    assert ax.get_yscale() == scale
    assert (ax.get_ylim()[0] == 0.0) == (scale == "linear" and last >= 0)
    ax.figure.canvas.draw()


@pytest.mark.parametrize("epochs", [1, 2, 3, 100])
def test_ticks_are_whole_epochs_that_were_trained(ax, epochs):
    plot_losses(make_history(epochs), ax=ax)
    ticks = ax.get_xticks()
    assert len(ticks) > 0
    assert np.all((ticks >= 1) & (ticks <= epochs) & (ticks == np.round(ticks)))


def test_a_single_epoch_is_seen_as_points(ax):
    plot_losses(make_history(1), ax=ax)
    assert all(line.get_marker() == "o" for line in ax.lines)


def test_lines_that_were_there_before_get_no_names(ax):
    ax.plot([1, 2], [0, 1], label="mine")
    plot_losses(make_history(3), ax=ax)
    assert "mine" not in names(ax) and len(ax.lines) == 4


@pytest.mark.parametrize("history", [[], [{"epoch": 1.0}], [{"epoch": 1, "loss": np.nan}]])
def test_a_history_without_losses_is_refused(history):
    with pytest.raises(ValueError, match="at least one epoch with one of 'loss', 'reconstruction_loss'"):
        plot_losses(history)


def test_each_network_has_a_line_of_its_own_and_one_name_for_all(ax):
    history = [{"network": network, **entry} for network in range(3) for entry in make_history(4 + network)]
    plot_losses(history, ax=ax)
    assert [len(line.get_xdata()) for line in ax.lines] == [4, 5, 6] * 3
    assert all((np.diff(line.get_xdata()) > 0).all() for line in ax.lines)
    assert sorted(names(ax)) == ["Density", "Reconstruction", "Total"]
    assert [line.get_label() for line in ax.lines if not line.get_label().startswith("_")] == [
        "Total", "Reconstruction", "Density",
    ]  # fmt: skip
