"""Of prometheus_client what the daemon uses, without the web server that comes with it.

Its `__init__` imports ssl, http.server and urllib.request for servers and gateways of its own: 7 MB
of the 32 that the daemon may hold. So the modules that are used are imported under a package that
has not run its `__init__`, and taken out of `sys.modules` again: whoever imports prometheus_client
later gets all of it.
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
    """Modules of the package, alone where it is not imported yet; whole where that fails."""
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
        pass  # A version whose modules need the whole: larger, and as good.
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
            del sys.modules[name]
    return tuple(map(importlib.import_module, full))


if not TYPE_CHECKING:
    _process, _utils = _modules("process_collector", "utils")
    ProcessCollector, go_float = _process.ProcessCollector, _utils.floatToGoString
