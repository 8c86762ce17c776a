# SPDX-License-Identifier: Apache-2.0
"""Services: a request and its one answer. See sim/service.h."""
import ctypes as c
import errno

from . import _lib
from ._handle import Handle, guarded
from ._lib import SERVICE_FN, SimError, lib
from .subscriber import Copy
from .types import Type

BODY_MAX = 64 * 1024


class ServiceType:
    """The types of a service: ServiceType.builtin("sim/SetBool"), or of a .srv file."""

    def __init__(self, pointer, owner=None):
        table = pointer.contents
        self.pointer, self.name, self._owner = pointer, table.name.decode(), owner
        self.request, self.response = Type._of(table.request), Type._of(table.response)

    @classmethod
    def builtin(cls, name):
        pointer = lib.sim_service_type_builtin(name.encode())
        if not pointer:
            raise SimError(errno.ENOENT, "no service '%s' comes with simd: for one of your own use from_srv()" % name)
        return cls(pointer)

    @classmethod
    def from_srv(cls, name, text, others=()):
        """The service "package/Name" whose .srv file has that text; others: types that its fields name."""
        halves, lines = [[]], text.splitlines()
        for line in lines:
            if line.strip() == "---":
                halves.append([])
            else:
                halves[-1].append(line)
        if len(halves) != 2:
            raise ValueError("%s.srv: a line --- must be between request and response, once" % name)
        request, response = (Type.from_msg(name + end, "\n".join(half), others)
                             for end, half in zip(("Request", "Response"), halves))
        made = _lib.ServiceType(1, c.sizeof(_lib.ServiceType), name.encode(), b"", request.pointer, response.pointer)
        return cls(_lib.SERVICE(made), made)


def as_service(client, name, given):
    if isinstance(given, ServiceType):
        return given
    if given is not None:
        return ServiceType.builtin(given)
    out = _lib.SERVICE()
    client._use(lib.sim_service_type_of, name.encode(), c.byref(out))
    return ServiceType(out)


def call_service(client, name, type_, timeout, fields):
    type_ = as_service(client, name, type_)
    request, response = Copy.make(type_.request, BODY_MAX, "request"), Copy.make(type_.response, BODY_MAX, "response")
    request.assign(fields)
    size, memory = c.c_size_t(), response._memory
    client._raise()
    client._use(lib.sim_service_call, name.encode(), type_.pointer, request._memory.address, request._memory.used,
                int((timeout or 0) * 1e9), memory.address, BODY_MAX, c.byref(size))
    memory.used = size.value
    return response


class Service(Handle):
    """A service that this program offers until close().

    handler(request, response): fills the response, in a thread of the library. SimError that it raises is the answer,
    with its errno and sentence; anything else that it raises is answered with EIO and raised by the client's next call.
    queue: requests that may wait; deadline: seconds for each.
    """
    what = "service"

    def __init__(self, client, name, type_, handler, *, queue=0, deadline=0.0):
        self.type, self._handler = as_service(client, name, type_), handler
        self._function = SERVICE_FN(self._handle)
        options = _lib.ServiceOptions(c.sizeof(_lib.ServiceOptions), queue, int(deadline * 1e9))
        pointer = c.c_void_p()
        client._use(lib.sim_service_offer, name.encode(), self.type.pointer, c.byref(options), self._function, None,
                    c.byref(pointer))
        super().__init__(client, pointer.value)

    def _handle(self, user, pointer):
        r = pointer.contents
        r.why = b"the service's handler failed"
        return guarded(self._client, self._answer, r, default=-errno.EIO)

    def _answer(self, r):
        request = Copy.take(self.type.request, c.string_at(r.body, r.size), "request")
        response = Copy.make(self.type.response, BODY_MAX, "response")
        try:
            self._handler(request, response)
        except SimError as e:
            r.why = str(e.strerror or e).encode()[:199]
            return -(e.errno or errno.EIO)
        except BaseException as e:
            r.why = ("the handler raised %s: %s" % (type(e).__name__, e)).encode()[:199]
            raise
        r.response_size = response._memory.used
        c.memmove(r.response, response._memory.address, r.response_size)
        return 0

    def _destroy(self, pointer):
        lib.sim_service_destroy(pointer)
