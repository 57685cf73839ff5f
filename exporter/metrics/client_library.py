"""Imports the parts of prometheus_client that the daemon uses, without its web server.

The package's `__init__` imports ssl, http.server and urllib.request. These take 7 MB of the 32 MB
that the daemon may use. Therefore this module creates an empty package object, imports the
submodules under it, and removes all of them from `sys.modules` again. So a later import of
prometheus_client imports the complete package.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.process_collector import ProcessCollector
    from prometheus_client.utils import floatToGoString as go_float  # noqa: N813  no class

__all__ = ["ProcessCollector", "go_float"]

_PACKAGE = "prometheus_client"


def _modules(*names: str) -> tuple[ModuleType, ...]:
    """Returns modules of prometheus_client that are imported without the package's `__init__`.

    The modules come from the complete package if it is already imported, or if one of them needs
    it.
    """
    full = tuple(f"{_PACKAGE}.{name}" for name in names)
    spec = importlib.util.find_spec(_PACKAGE)
    if _PACKAGE in sys.modules or spec is None:
        return tuple(map(importlib.import_module, full))
    bare = ModuleType(_PACKAGE)
    bare.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[_PACKAGE] = bare
    try:
        return tuple(map(importlib.import_module, full))
    except ImportError:
        pass  # These modules need the package, which is imported below. That only costs memory.
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
            del sys.modules[name]
    return tuple(map(importlib.import_module, full))


if not TYPE_CHECKING:
    _process, _utils = _modules("process_collector", "utils")
    ProcessCollector, go_float = _process.ProcessCollector, _utils.floatToGoString
