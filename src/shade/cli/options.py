"""Builds options from docstrings. The docstrings are read without importing their modules, so help is fast."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, wraps
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from shade.cli.exit_codes import UsageError


@dataclass(frozen=True)
class Parameter:
    """A parameter as described in numpydoc."""

    name: str
    kind: str
    default: Any
    help: str
    for_research: bool = False

    @property
    def choices(self) -> list[Any]:
        """The values in braces, if only a few are allowed."""
        found = re.match(r"\{.*?\}", self.kind)
        return list(ast.literal_eval(f"[{found[0][1:-1]}]")) if found else []


@dataclass(frozen=True)
class Source:
    """A documented callable, and which of its parameters are no options."""

    module: str
    name: str
    panel: str
    left_out: tuple[str, ...]

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters that are options."""
        return [found for found in documented_parameters(self.module, self.name) if found.name not in self.left_out]

    def describe(self, name: str) -> str:
        """Return the description of a parameter."""
        return next(found.help for found in documented_parameters(self.module, self.name) if found.name == name)

    def take(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the options in the types of the callable."""
        return {found.name: _to_python(found, options[found.name]) for found in self.parameters}


RESEARCH = "Research"  # panel of "Other Parameters"

# Functions cannot be given on a command line. The option --quiet replaces `verbose`.
MODEL = Source("shade.estimators.shade", "SHADE", "Model", ("callbacks", "verbose"))
# The checkpoint is beside the results, and --resume continues from it. Labels come with --known-labels.
FITTING = Source(
    "shade.estimators.shade", "SHADE.fit", "Model", ("X", "y", "must_link", "cannot_link", "checkpoint", "resume")
)
# A model has its own columns and encoding, and the memory is that of the fit.
DATA = Source("shade.data.readers", "read_samples", "Data", ("path", "columns", "table", "memory"))


@cache
def documented_parameters(module: str, name: str) -> tuple[Parameter, ...]:
    """Return the parameters in the docstring of a class, method or function of a module."""
    package, *path = module.split(".")
    source = files(package).joinpath(*path[:-1], f"{path[-1]}.py").read_text(encoding="utf-8")
    node: ast.Module | ast.ClassDef | ast.FunctionDef = ast.parse(source)
    for part in name.split("."):
        inner = (found for found in node.body if isinstance(found, ast.ClassDef | ast.FunctionDef))
        node = next(found for found in inner if found.name == part)
    sections = re.findall(
        r"(Other )?Parameters\n-+\n(.*?)(?=\n\n\w|\Z)", ast.get_docstring(node) or "", flags=re.DOTALL
    )
    return tuple(found for other, section in sections for found in _parse(section, bool(other)))


def with_options(*sources: Source) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option for each parameter of the sources to a command that takes `**options`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(**options: Any) -> Any:
            return command(**options)

        signature = inspect.signature(command, eval_str=True)
        own = [found for found in signature.parameters.values() if found.kind is not inspect.Parameter.VAR_KEYWORD]
        made = [
            _make_option(found, RESEARCH if found.for_research else source.panel)
            for source in sources
            for found in source.parameters
        ]
        run.__signature__ = signature.replace(parameters=[*own, *made])  # type: ignore[attr-defined]
        run.__annotations__ = {found.name: found.annotation for found in [*own, *made]}
        return run

    return decorate


def _parse(section: str, for_research: bool) -> Iterable[Parameter]:
    for entry in re.split(r"\n(?=\S)", section):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        found = re.search(r",? ?default=(.*)$", kind)
        default = ast.literal_eval(found[1]) if found else None
        for name in names.split(", "):
            yield Parameter(
                name, kind[: found.start()] if found else kind, default, " ".join(body.split()), for_research
            )


def _make_option(parameter: Parameter, panel: str) -> inspect.Parameter:
    kind, default, flag = _type_of(parameter)
    option = typer.Option(
        flag, help=_help(parameter), rich_help_panel=panel, show_default=default not in (None, [], False)
    )
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _type_of(parameter: Parameter) -> tuple[Any, Any, str]:
    """Return the type for typer, the default in that type, and the flag."""
    flag = "--" + parameter.name.replace("_", "-")
    if parameter.choices:
        kind = Enum(parameter.name, {_text(value): _text(value) for value in parameter.choices})  # type: ignore[misc]
        return (kind | None, None, flag) if parameter.default is None else (kind, kind(_text(parameter.default)), flag)
    if parameter.kind.startswith("tuple of int"):
        default = None if parameter.default is None else ",".join(map(str, parameter.default))
        return str | None, default, flag
    if parameter.kind.startswith("collection of str"):
        return list[str], [], flag
    if parameter.kind.startswith("bool"):
        if parameter.default is False:
            return bool, False, flag
        return bool | None if parameter.default is None else bool, parameter.default, f"{flag}/--no-{flag[2:]}"
    plain = {"int": int, "float": float, "str": str}[re.split(r"\W", parameter.kind, maxsplit=1)[0]]
    return (plain | None if parameter.default is None else plain), parameter.default, flag


def _to_python(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, Enum):
        return next(choice for choice in parameter.choices if _text(choice) == value.value)
    if parameter.kind.startswith("tuple of int") and isinstance(value, str):
        if f'"{value}"' in parameter.kind:
            return value
        parts = re.split(r"[,x]", value)
        if not all(part.strip().isdigit() for part in parts):
            raise UsageError(f"--{parameter.name} takes whole numbers, such as 64x48 or 64,48. Got {value!r} instead.")
        return tuple(map(int, parts))
    if parameter.kind.startswith("str or int") and isinstance(value, str) and value.isdigit():
        return int(value)
    return value


def in_options(text: str) -> str:
    """Replace parameters in an error by options: memory='1GB' by --memory 1GB, and 'batch_size' by --batch-size."""
    names = {found.name for source in (MODEL, FITTING, DATA) for found in source.parameters} | {
        "resume",
        "cut_distance",
    }

    text = re.sub(r"with (shade\.data\.TableEncoder|sklearn\.impute\.SimpleImputer)", "with --missing median", text)
    text = re.sub(r"The ('\w+') parameter(?: of \w+)? must be", r"\1 must be", text).replace(" or None.", ".")

    def option(found: re.Match[str]) -> str:
        name = found["named"] or found["given"]
        if name not in names:
            return found[0]
        flag = name.replace("_", "-")
        switched = {"True": f"--{flag}", "False": f"--no-{flag}"}
        return switched.get(found["value"] or "True", f"--{flag} {found['value']}")

    of_column = r"(?<!olumn )(?<!such as )"  # a column may have the name of a parameter
    return re.sub(rf"{of_column}'(?P<named>\w+)'(?!\w)|\b(?P<given>\w+)=(['\"]?)(?P<value>[\w.]+)\3", option, text)


def in_commands(
    text: str, folder: Path, fitted_by: str = "the same shade fit with", asked: Mapping[str, Any] | None = None
) -> str:
    """The same for a warning: recluster(n_clusters=2) is the command that does it with the results in a folder.

    For what only another fit can do, `fitted_by` is the command of this one. `asked` are options of a clustering that
    was shown but not written, so that the next command needs them again.
    """

    def reclustered(found: re.Match[str]) -> str:
        changes = dict(part.split("=") for part in found[1].split(", "))
        again = {name: value for name, value in (asked or {}).items() if value is not None and name not in changes}
        if {"n_clusters", "cut_distance"} & set(changes):
            again = {name: value for name, value in again.items() if name not in ("n_clusters", "cut_distance")}
        options = (in_options(f"{name}={value}") for name, value in {**again, **changes}.items())
        return f"shade recluster {quote(str(folder))} {' '.join(options)}"

    text = re.sub(r"recluster\((\w+=[\w.]+(?:, \w+=[\w.]+)*)\)", reclustered, text)
    text = re.sub(
        r"set_params\((\w+=\w+)\)\.fit\(X\)", lambda found: f"{fitted_by} {in_options(found[1])} --overwrite", text
    )
    return in_options(text)


def _help(parameter: Parameter) -> str:
    """Return the description in the words of the command line, which has no None."""
    words = {"If None": "If left out", "if None": "if left out", "If False": "Otherwise"}
    text = re.sub("|".join(words), lambda found: words[found[0]], parameter.help)
    return text[:1].upper() + text[1:]


def _text(value: Any) -> str:
    """Return a choice as it is written on the command line."""
    return value if isinstance(value, str) else str(value).lower()
