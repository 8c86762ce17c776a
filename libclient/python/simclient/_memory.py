# SPDX-License-Identifier: Apache-2.0
"""Memory that belongs to the library, as memoryviews that cannot outlive it.

Every view derives from one ctypes object, the anchor, and holds a reference to it: memoryviews, their slices, and the
arrays of numpy made from them. The weak reference to the anchor therefore ends exactly when the last view has gone, and
only then does the library get the memory back. Reading through `Memory.view` after release() raises ValueError in
one C call, so no thread can get in between the check and the read.
"""
import ctypes as c
import errno
import weakref

from ._lib import SimError


class _Anchor(c.c_ubyte * 0xffffffff):  # the largest body; memory is only addressed, never touched, by this size
    __eq__, __hash__ = object.__eq__, object.__hash__


class Memory:
    """`size` bytes at `address`. `end` is called, in any thread, once nothing can reach them any more."""
    __slots__ = ("view", "used", "size", "address", "writable", "name", "head", "_ref", "_end", "__weakref__")
    _held = {}  # weak reference -> its function: a reference that dies itself is never called

    def __init__(self, address, size, writable, name, end):
        anchor, self.head = _Anchor.from_address(address), None
        self.address, self.size, self.used, self.writable, self.name = address, size, size, writable, name
        self._ref = weakref.ref(anchor, Memory._gone)
        Memory._held[self._ref] = self._end = end
        view = memoryview(anchor).cast("B")[:size]
        self.view = view if writable else view.toreadonly()

    @staticmethod
    def _gone(ref):
        Memory._held.pop(ref)()

    def release(self):
        """Ends this view. The library gets the memory back now, or when the last array made from it has gone."""
        self.view.release()
        if self.head is not None:
            self.head.release()

    def detach(self):
        """Ends this view, and leaves the memory to the caller; SimError while there are others: then it still works."""
        keep = self._ref()
        if keep is None:
            raise self.gone()
        self.view.release()
        Memory._held[self._ref] = _nothing
        ref = self._ref
        del keep
        anchor = ref()
        if anchor is None:
            if self.head is not None:
                self.head.release()
            return
        Memory._held[ref] = self._end
        self.view = memoryview(anchor).cast("B")[:self.size]
        raise SimError(errno.EBUSY, "an array made from this %s is still in use, and would write into it after it was "
                       "published: delete it first (del a), or fill with message.field[:] = a" % self.name)

    def gone(self):
        return SimError(errno.EBADF, "this %s was released: use it before that, or keep message.copy()" % self.name)

    @classmethod
    def heap(cls, size, name):
        """Zeroed memory of this process, aligned to 64, that lives as long as its views."""
        block = (c.c_ubyte * (size + 64))()
        address = c.addressof(block) + 63 & ~63
        return cls(address, size, True, name, lambda block=block: None)


def _nothing():
    pass
