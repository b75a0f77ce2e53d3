"""What a kernel that Numba compiled leaves for processes without Numba."""

from __future__ import annotations

import re
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core import types
from numba.np.numpy_support import as_dtype

from panlearn.core.jit import digest
from panlearn.core.lent_memory import SYMBOLS, own
from panlearn.core.machine_code import SCALARS, Code, file_name, write


def keep(function: FunctionType, sig: Any, data: Any, folder: Path) -> None:
    """Keep what can be called without Numba, which gives memory for arrays and nothing else."""
    kinds: list[Any] = []
    returns: list[Any] = []
    if not all([_kind(each, kinds) for each in sig]) & _kind(data.signature.return_type, returns):
        return
    module, wrapper = data.library._final_module, data.fndesc.llvm_cpython_wrapper_name
    machine_code = data.library._get_compiled_object()
    declared = {f.name for f in module.functions if f.is_declaration}
    declared |= {v.name for v in module.global_variables if v.is_declaration}
    called: set[str] = set()
    for each in module.functions:
        if each.name != wrapper and not each.is_declaration:
            called.update(re.findall(r'@"?([\w.$]+)', str(each)))
    needed, foreign = [], []
    for name in sorted(name for name in declared if not name.startswith("llvm.")):
        if name.startswith(("NRT_", "numba_")):
            machine_code = machine_code.replace(name.encode(), own(name).encode())
            if name in called and own(name) not in SYMBOLS:
                return
            foreign.append(own(name))
        elif name in called:
            needed.append(name)
        else:
            foreign.append(name)
    if any(name.startswith("Py") for name in needed):
        return
    found = Code(
        digest(function), data.fndesc.llvm_func_name, returns, needed, foreign, machine_code
    )
    write(folder / file_name(function, kinds), found)


def _kind(given: Any, kinds: list[Any]) -> bool:
    """Append the kind of what Numba gives this type; whether it is called without Numba."""
    if isinstance(given, types.Array):
        values = as_dtype(given.dtype)
        kinds.append((values, given.ndim, given.layout, given.mutable, given.aligned))
        return True
    if isinstance(given, types.Tuple | types.UniTuple | types.NamedTuple | types.NamedUniTuple):
        kinds.append((getattr(given, "instance_class", tuple), len(given)))
        return all([_kind(each, kinds) for each in given.types])
    kinds.append(str(given))
    return str(given) in SCALARS
