"""Progress in a notebook: one output of a cell with a bar for each network, redrawn now and then."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from shade.training import notebook_bars
from shade.training.callbacks import EpochLines, ProgressBar, verbosity_callbacks
from shade.training.notebook_bars import NotebookBars, in_notebook


class Notebook:
    """Stands for IPython in a kernel, and keeps what it is to display."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.displays = 0

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw and display_id
        self.displays += 1
        self.update(content, raw=raw)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    found = Notebook()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=found.display))
    return found


def test_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    for shell in (None, SimpleNamespace()):  # imported only; IPython in a terminal
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert not in_notebook()
    assert isinstance(verbosity_callbacks(1)[0], EpochLines)


def test_a_notebook_gets_bars(notebook: Notebook) -> None:
    assert in_notebook()
    (bar,) = verbosity_callbacks(1)
    assert isinstance(bar, ProgressBar)
    networks = [bar.of_network(number, 2) for number in range(2)]
    for network in reversed(networks):
        network.on_train_begin(5)
    for epoch in range(1, 6):
        for network in networks:
            network.on_epoch_end({"epoch": epoch, "reconstruction_loss": 0.5, "density_loss": 0.25})
    for network in networks:
        network.on_train_end()
    assert notebook.displays == 1
    last = notebook.shown[-1]
    assert last["text/plain"] == "training 1 of 2: 5/5\ntraining 2 of 2: 5/5"
    assert last["text/html"].count('<progress value="5" max="5"') == 2
    assert "reconstruction 0.5, density 0.25" in last["text/html"] and "left" not in last["text/html"]


def test_drawing_has_its_limits_but_the_last_state_is_drawn(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(notebook_bars.time, "monotonic", lambda: clock[0])
    bars = NotebookBars()
    update = bars.add("training", 1000)
    for epoch in range(1, 1001):
        clock[0] += 0.01
        update(completed=epoch)
    bars.leave()
    assert len(notebook.shown) == 52  # one at the start, one each 0.2 seconds, one at the end
    assert "5 s left" in notebook.shown[25]["text/html"]
    assert '<progress value="1000" max="1000"' in notebook.shown[-1]["text/html"]


def test_names_are_text(notebook: Notebook) -> None:
    NotebookBars().add('<b>"', 3)(completed=1, losses="<i>")
    assert "<b>" not in notebook.shown[-1]["text/html"]
