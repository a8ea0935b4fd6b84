"""`.. command-line::` writes out every command of the typer application with its options; `.. exit-codes::`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from shade.cli.app import app
from shade.cli.exit_codes import MEANINGS


class CommandLine(SphinxDirective):
    """A section a command, a table a group of options."""

    def run(self) -> list[nodes.Node]:
        lines = _describe(typer.main.get_command(app), "shade")
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class ExitCodes(SphinxDirective):
    """A table of what the commands answer with."""

    def run(self) -> list[nodes.Node]:
        lines = [
            ".. list-table::",
            "   :header-rows: 1",
            "",
            "   * - exit code",
            "     - meaning",
        ]
        for code, meaning in MEANINGS.items():
            lines += [f"   * - {code}", f"     - {meaning}"]
        return self.parse_text_to_nodes("\n".join(lines))


def _describe(command: Any, name: str) -> Iterator[str]:
    for child_name, child in getattr(command, "commands", {}).items():
        path = f"{name} {child_name}"
        if getattr(child, "commands", None):
            yield from _describe(child, path)
            continue
        arguments = " ".join(
            found.metavar or found.name.upper()
            for found in child.params
            if _is_argument(found)
        )
        yield from [
            "",
            path,
            "-" * len(path),
            "",
            child.help.strip(),
            "",
            ".. code-block:: console",
            "",
        ]
        yield from [f"   $ {path} [OPTIONS] {arguments}".rstrip(), ""]
        for panel, options in _by_panel(child).items():
            yield from _table(panel, options)


def _is_argument(parameter: Any) -> bool:
    return parameter.param_type_name == "argument"


def _by_panel(command: Any) -> dict[str, list[Any]]:
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        if parameter.name != "help":
            title = (
                "Arguments"
                if _is_argument(parameter)
                else getattr(parameter, "rich_help_panel", None) or "Options"
            )
            panels.setdefault(title, []).append(parameter)
    return panels


def _table(panel: str, parameters: list[Any]) -> Iterator[str]:
    yield from [
        f".. list-table:: {panel}",
        "   :class: options",
        "   :widths: 30 70",
        "",
    ]
    for parameter in parameters:
        yield from [f"   * - {_names(parameter)}", f"     - {_meaning(parameter)}"]
    yield ""


def _names(parameter: Any) -> str:
    if _is_argument(parameter):
        return f"``{parameter.metavar or parameter.name.upper()}``"
    return ", ".join(
        f"``{name}``" for name in [*parameter.opts, *parameter.secondary_opts]
    )


def _meaning(parameter: Any) -> str:
    text = _escape((parameter.help or "").strip())
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        text += f" One of {', '.join(f'``{choice.value}``' for choice in kind)}."
    default = getattr(parameter.default, "value", parameter.default)
    if default not in (None, False, (), [], "") and parameter.show_default:
        text += f" Default: ``{default}``."
    return text


def _escape(text: str) -> str:
    return (
        text.replace("\\", "\\\\")
        .replace("*", "\\*")
        .replace("`", "\\`")
        .replace("_", "\\_")
    )


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("command-line", CommandLine)
    app.add_directive("exit-codes", ExitCodes)
    return {"parallel_read_safe": True}
