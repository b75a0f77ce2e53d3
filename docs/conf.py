"""Sphinx, told as little as it needs."""

import sys
from pathlib import Path

import panlearn

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "panlearn"
author = "The panlearn developers"
copyright = "the panlearn developers"
version = release = panlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "offline",  # ours: formulas without a network
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "gallery",  # ours: pictures are looked at
    "phone",  # ours: and drawn for narrow screens
    "reference",  # ours: the pages that are read off the package
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
default_role = "obj"
autosummary_generate = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [*(f"../examples/{family}" for family in panlearn.FAMILIES), "*"],
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (480, 320),
    "backreferences_dir": "api/backreferences",
    "doc_module": ("panlearn",),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "gallery.strict"),
    "reset_modules_order": "both",
    "image_scrapers": ("gallery",),
    "parallel": True,  # as many as sphinx-build's -j
}

html_theme = "pydata_sphinx_theme"
html_title = "panlearn"
html_static_path = ["_static"]
html_css_files = ["panlearn.css", "atlas.css"]
html_js_files = ["atlas.js"]
html_show_sourcelink = False
html_show_search_summary = False  # from disk a page may not be fetched by another
html_sidebars = {
    page: []
    for page in (
        *("index", "map", "benchmarks", "claims", "errata", "curriculum", "status"),
        "migration/*",
    )
}
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "collapse_navigation": True,  # else every page lists every other, and a build takes minutes
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
}
