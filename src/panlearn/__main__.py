"""The command line as ``python -m panlearn``."""

from panlearn.cli import main

main()
