# SPDX-License-Identifier: Apache-2.0
"""What all objects of the library have in common: they are closed once, and never while a thread is in their calls."""
import collections
import errno
import os
import threading
import time

from ._lib import SimError, closed

SLICE_NS = 200_000_000  # a wait asks again so often, for Python's signal handlers (Ctrl-C) and close() in another thread
in_callback = threading.local()


def nanoseconds(seconds):
    """A timeout: None is for ever."""
    return -1 if seconds is None else max(0, int(seconds * 1e9))


def pieces(timeout):
    """The slices of a wait for `timeout` seconds (None: for ever), the last one first if there is only one."""
    end = None if timeout is None else time.monotonic_ns() + nanoseconds(timeout)
    while True:
        left = SLICE_NS if end is None else max(0, end - time.monotonic_ns())
        yield min(left, SLICE_NS)
        if end is not None and time.monotonic_ns() >= end:
            return


class Handle:
    """close() may be called more than once, and by a `with` block; from then on each use raises SimError (EBADF)."""
    what = "handle"

    def __init__(self, client, pointer):
        self._client, self._pointer, self._pid, self._inside = client, pointer, os.getpid(), []
        if client is not None:
            client._children.append(self)

    def _use(self, call, *arguments):
        """Calls the library with this handle first, while no thread can close it."""
        self._inside.append(None)
        try:
            if self._pointer is None:
                raise closed(self.what)
            return call(self._pointer, *arguments)
        finally:
            self._inside.pop()

    def _wait(self, call, timeout, *arguments):
        """`call` with a timeout in ns as its second argument, in slices; SimError ETIMEDOUT at the end."""
        for piece in pieces(timeout):
            try:
                return self._use(call, piece, *arguments)
            except SimError as e:
                if e.errno != errno.ETIMEDOUT:
                    raise
                late = e
        raise late

    @property
    def is_closed(self):
        return self._pointer is None

    def close(self):
        pointer, self._pointer = self._pointer, None
        if pointer is None:
            return
        if self._client is not None and self in self._client._children:
            self._client._children.remove(self)
        if self._pid != os.getpid():
            return  # a forked child: the objects belong to its parent
        while self._inside:
            self._wake(pointer)
            time.sleep(0.001)
        self._destroy(pointer)

    def _until_closed(self, function):
        """What function() returns, again and again, until this is closed."""
        while True:
            try:
                item = function()
            except SimError as e:
                if e.errno == errno.EBADF and self.is_closed:
                    return
                raise
            yield item

    def _wake(self, pointer):
        """Ends a wait in another thread, where the library can."""

    def _destroy(self, pointer):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Lender(Handle):
    """A handle with slots. Closed while arrays refer to some of them, it is destroyed when the last array has gone."""

    def __init__(self, client, pointer):
        self._lent, self._due = {}, collections.deque()  # the library's place of a slot -> its Memory, weakly; to be returned
        self._closing = None
        super().__init__(client, pointer)

    def _give_back(self, pointer, place):
        """Returns a slot to the library, or puts it into _due while another thread is in a call."""
        raise NotImplementedError

    def _free(self, pointer):
        """Destroys the library's object."""
        raise NotImplementedError

    def _return_due(self, pointer):
        for _ in range(len(self._due)):
            self._give_back(pointer, self._due.popleft())

    def _destroy(self, pointer):
        self._closing = pointer
        for memory in [ref() for ref in list(self._lent.values())]:
            if memory is not None:
                memory.release()
        if not self._try_destroy():
            self._client._held.append(self)

    def _try_destroy(self):
        if self._closing is not None:
            self._return_due(self._closing)
        if self._lent:
            return False
        pointer, self._closing = self._closing, None
        if pointer is not None:
            self._free(pointer)
        return True


def guarded(client, function, *arguments, default=None):
    """Calls a user's function from a callback of the library: what it raises is raised by the client's next call."""
    before, in_callback.on = getattr(in_callback, "on", False), True
    try:
        return function(*arguments)
    except BaseException as e:  # nothing may pass through C
        client._errors.append(e)
        return default
    finally:
        in_callback.on = before


