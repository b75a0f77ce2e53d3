"""The command group: what every command shares. Light: no family, pandas or matplotlib here."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from panlearn.core.errors import DataError, visible
from panlearn.core.extras import MissingExtraError, require


class App(click.Group):
    """A group whose errors are one line, with exit codes that mean something.

    0 fine; 1 a claim or a model failed, or nothing was found; 2 bad usage or bad input; 130
    interrupted.
    """

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        """Run a command and turn whatever goes wrong into one line and an exit code."""
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **kwargs)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                code = run(*args, standalone_mode=False, **kwargs)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = error.exit_code
        except click.ClickException as error:
            code = fail(error.format_message(), error.exit_code)
        except (DataError, MissingExtraError) as error:
            code = fail(str(error), 2)
        except (click.Abort, KeyboardInterrupt):
            code = fail("interrupted", 130)
        except BrokenPipeError:
            # The reader, such as head, has had enough; keep the interpreter from writing more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except Exception as error:
            if os.environ.get("PANLEARN_TRACEBACK"):
                raise
            code = _explain(error)
        sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, code: int) -> int:
    """Say what went wrong in one line on standard error, and return the exit code."""
    click.echo(f"panlearn: {visible(' '.join(message.split()))}", err=True)
    return code


def _warn(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    fail(f"{category.__name__}: {message}", 0)


def check_output(path: str | None) -> None:
    """Refuse a file that could not be written, before the work rather than after it."""
    folder = Path(path or ".").absolute().parent
    if not folder.is_dir():
        raise DataError(f"no folder {folder} to write {path} to")
    if not os.access(folder, os.W_OK):
        raise DataError(f"no permission to write {path} to {folder}")


def _explain(error: Exception) -> int:
    """Say what is missing or cannot be read or written; all else is a defect, of ours or theirs."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        with contextlib.suppress(ImportError):
            try:
                require(error.name)
            except MissingExtraError as missing:
                return fail(str(missing), 2)
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror is not None
        return fail(f"{os.fsdecode(error.filename)}: {error.strerror}" if named else str(error), 2)
    return fail(f"{type(error).__name__}: {error} (PANLEARN_TRACEBACK=1 shows where)", 1)


def command_line() -> str:
    """Write the running command as one would type it."""
    context = click.get_current_context()
    words = ["panlearn", context.info_name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        else:
            words += [parameter.opts[0]] if value is True else [parameter.opts[0], str(value)]
    return shlex.join(words)


def write_json(value: Any) -> None:
    """Print JSON that every parser takes: not a number is null, what is no UTF-8 is escaped."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    hidden = re.sub("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]", lambda c: f"\\u{ord(c[0]):04x}", text)
    click.echo(hidden.encode(errors="backslashreplace").decode())


def write_csv(frame: Any) -> None:
    """Print a table; a file gets it as it is, a terminal nothing that would command it."""
    text = frame.to_csv(index=False)
    click.echo(visible(text, lines=True) if sys.stdout.isatty() else text, nl=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return None
    return value


def console() -> Any:
    """Return the terminal that tables are written to, wide enough when it is a file."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        """What is printed comes from data, and must not command the terminal."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for part in super().render(renderable, options):
                text = part.text if part.control else visible(part.text, lines=True)
                yield Segment(text, part.style, part.control)

    output = Plain(highlight=False)
    return output if output.is_terminal else Plain(highlight=False, width=200)


def progress_bar() -> Any:
    """Return a bar on standard error that is silent when that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    terminal = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=terminal,
        transient=True,
        redirect_stdout=False,
        disable=not terminal.is_terminal,
    )


as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON, for machines.")
as_code = click.option(
    "--code", "as_code", is_flag=True, help="Show the equivalent Python; run nothing."
)
