"""`.. command-line::` writes out every command of the typer application with its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from shade.cli.app import app


class CommandLine(SphinxDirective):
    """A section a command, a table a group of options."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(_describe(typer.main.get_command(app), "shade")), allow_section_headings=True)


def _describe(command: Any, name: str) -> Iterator[str]:
    for child_name, child in getattr(command, "commands", {}).items():
        path = f"{name} {child_name}"
        if getattr(child, "commands", None):
            yield from _describe(child, path)
            continue
        arguments = " ".join(found.metavar or found.name.upper() for found in child.params if _is_argument(found))
        yield from ["", path, "-" * len(path), "", child.help.strip(), "", ".. code-block:: console", ""]
        yield from [f"   $ {path} [OPTIONS] {arguments}".rstrip(), ""]
        for panel, options in _by_panel(child).items():
            yield from _table(panel, options)


def _is_argument(parameter: Any) -> bool:
    return parameter.param_type_name == "argument"


def _by_panel(command: Any) -> dict[str, list[Any]]:
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        if parameter.name != "help":
            title = "Arguments" if _is_argument(parameter) else getattr(parameter, "rich_help_panel", None) or "Options"
            panels.setdefault(title, []).append(parameter)
    return panels


def _table(panel: str, parameters: list[Any]) -> Iterator[str]:
    yield from [f".. list-table:: {panel}", "   :class: options", "   :widths: 30 70", ""]
    for parameter in parameters:
        yield from [f"   * - {_names(parameter)}", f"     - {_escape(_meaning(parameter))}"]
    yield ""


def _names(parameter: Any) -> str:
    if _is_argument(parameter):
        return f"``{parameter.metavar or parameter.name.upper()}``"
    return ", ".join(f"``{name}``" for name in [*parameter.opts, *parameter.secondary_opts])


def _meaning(parameter: Any) -> str:
    text = (parameter.help or "").strip()
    if isinstance(parameter.type, click.Choice) or hasattr(parameter.type, "choices"):
        choices = [getattr(choice, "value", choice) for choice in parameter.type.choices]
        text += f" One of {', '.join(map(str, choices))}."
    default = getattr(parameter.default, "value", parameter.default)
    if default not in (None, False, (), [], "") and parameter.show_default:
        text += f" Default: {default}."
    return text


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("_", "\\_")


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
