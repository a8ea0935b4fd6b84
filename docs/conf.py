"""How the pages are built: `make docs`. Nothing is asked of any network."""

import logging
import os
import sys
from importlib import import_module
from inspect import ismodule
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
for talkative in ("onnx_ir", "onnxscript"):
    logging.getLogger(talkative).setLevel(logging.WARNING)
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import shade

# What the examples write, such as a report, is part of the site.
written = Path(__file__).parent / "_build" / "written"
written.mkdir(parents=True, exist_ok=True)

# The names in the reference: what each room promises.
rooms = [
    shade,
    *(import_module(f"shade.{name}") for name in (*shade._ROOMS, "experiments")),
]
public = {
    room.__name__: [
        name
        for name in room.__all__
        if not ismodule(getattr(room, name)) and name != "__version__"
    ]
    for room in rooms
}

project = "shade"
author = "The shade developers"
copyright = author
version = release = shade.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "myst_parser",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "command_line",
    "paper_settings",
    "public_names",
    "stored_runs",
]
exclude_patterns = ["_build", "recipes"]
templates_path = ["_templates"]
default_role = "py:obj"
add_module_names = False
autodoc_typehints = "none"  # numpydoc tells the types in words
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_context = {"public": public}
numpydoc_show_class_members = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "shade"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_extra_path = [str(written)]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_rcparams = {
    "font.size": 9,
    "figure.constrained_layout.use": True,
    "savefig.bbox": "tight",
}
plot_apply_rcparams = True
plot_working_directory = str(written)

# A clone may lie in a folder with a space in its name.
suppress_warnings = ["sphinx_gallery.space_in_filename"]
sphinx_gallery_conf = {
    "examples_dirs": "recipes",
    "gallery_dirs": "gallery",
    # Large packages of others: shown here, run by the tests where they are installed.
    "filename_pattern": r"^(?!.*(bertopic|umap)).*$",
    "ignore_pattern": r"__init__\.py",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "default_thumb_file": str(Path(__file__).parent / "images" / "demo.png"),
}
