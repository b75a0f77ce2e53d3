"""The command line as ``python -m panlearn``."""

from panlearn.cli import main

if __name__ == "__main__":
    main()
