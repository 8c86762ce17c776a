# SPDX-License-Identifier: Apache-2.0
"""Parameters: named values that other programs read and set. See sim/param.h."""
import ctypes as c
import errno

from . import _lib
from ._handle import Handle, guarded
from ._lib import PARAM_FN, ParamValue, SimError, lib

BOOL, INT, DOUBLE, STRING = 1, 2, 3, 4
TEXT_MAX = 4096


def _value(value):
    out = ParamValue()
    if isinstance(value, bool):
        out.type, out.value.b = BOOL, value
    elif isinstance(value, int):
        if not -1 << 63 <= value < 1 << 63:
            raise ValueError("a parameter of that size is not an int64: %d" % value)
        out.type, out.value.i = INT, value
    elif isinstance(value, float):
        out.type, out.value.d = DOUBLE, value
    elif isinstance(value, str):
        out.type, out.value.s = STRING, value.encode()
    elif value is not None:
        raise TypeError("a parameter is a bool, int, float or str, not %s" % type(value).__name__)
    return out


def _read(v):
    if v.type == STRING:
        return v.value.s.decode()
    return {BOOL: v.value.b, INT: v.value.i, DOUBLE: v.value.d}.get(v.type)


class Params(Handle):
    """The parameters of a node, by default of the client's name: params["frequency"] reads and sets one."""
    what = "set of parameters"

    def __init__(self, client, node):
        pointer = c.c_void_p()
        client._use(lib.sim_params_create, node.encode(), c.byref(pointer))
        self._functions = []
        super().__init__(client, pointer.value)

    def declare(self, name, value, description="", *, minimum=None, maximum=None, read_only=False, changed=None):
        """Declares a parameter. changed(name, value): called before it changes; what it raises refuses the value, and
        is the reason that the other program sees."""
        options = _lib.ParamOptions(c.sizeof(_lib.ParamOptions), description.encode(), _value(minimum), _value(maximum),
                                    read_only)
        if changed is not None:
            options.changed = self._function(changed)
        self._use(lib.sim_params_declare, name.encode(), _value(value), options)

    def _function(self, changed):
        def called(user, name, value, why, size):
            def ask():
                try:
                    changed(name.decode(), _read(value.contents))
                except Exception as e:
                    text = str(e).encode()[:size - 1] + b"\0"
                    c.memmove(why, text, len(text))
                    return -(getattr(e, "errno", None) or errno.EINVAL)
                return 0
            return guarded(self._client, ask, default=-errno.EIO)
        self._functions.append(PARAM_FN(called))
        return self._functions[-1]

    def __getitem__(self, name):
        key, kind = name.encode(), self._use(lib.sim_params_type, name.encode())
        if kind == BOOL:
            return self._get(lib.sim_params_get_bool, key, c.c_bool())
        if kind == INT:
            return self._get(lib.sim_params_get_int, key, c.c_int64())
        if kind == DOUBLE:
            return self._get(lib.sim_params_get_double, key, c.c_double())
        if kind == STRING:
            out = c.create_string_buffer(TEXT_MAX + 1)
            self._use(lib.sim_params_get_string, key, out, len(out))
            return out.value.decode()
        raise KeyError(name)

    def _get(self, call, key, out):
        self._use(call, key, c.byref(out))
        return out.value

    def __setitem__(self, name, value):
        try:
            self._use(lib.sim_params_set, name.encode(), _value(value))
        except SimError as e:
            if e.errno == errno.ENOENT:
                raise KeyError(name) from None
            raise

    def __len__(self):
        return self._use(lib.sim_params_count)

    def __iter__(self):
        return iter([self._use(lib.sim_params_name, i).decode() for i in range(len(self))])

    def _destroy(self, pointer):
        lib.sim_params_destroy(pointer)
