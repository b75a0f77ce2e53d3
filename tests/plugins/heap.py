"""Tests are collected without walks through the heap, and what is there stays out of later ones.

Twenty thousand tests and the packages that they import stay to the end; to look there for garbage
takes a second each time.
"""

import gc

import pytest


@pytest.hookimpl(hookwrapper=True)  # of the kind that goes on after an error, too
def pytest_collection():
    gc.disable()
    yield
    gc.enable()
    gc.freeze()
