# SPDX-License-Identifier: Apache-2.0
"""Publishing: a message is loaned, filled in place, and handed over without a copy."""
import ctypes as c
import errno
import os
import struct
import weakref

from . import _lib
from ._fields import Record
from ._handle import Lender
from ._lib import SimError, closed, lib
from ._memory import Memory

NO_WAIT, LATCH, LOCAL = 1, 2, 4
_Header = c.c_ubyte * 128
_STAMP = struct.Struct("<q")


class Loan(Record):
    """A message in a slot of shared memory that its publisher fills.

    As a `with` block it is published at the end of the block, or returned unpublished if the block raises.
    """
    __slots__ = ("_publisher", "_slot")

    def __init__(self, publisher, slot, size):
        self._publisher, self._slot, self._at = publisher, slot, 0
        memory = self._memory = Memory(slot + 128, size, True, "message", lambda: publisher._return(slot))
        memory.head = memoryview(_Header.from_address(slot)).cast("B")
        memory.used = self.type.fixed_size
        memory.view[:memory.used] = publisher._zeros

    @property
    def stamp_sim_ns(self):
        """The capture time: now, unless it is set."""
        try:
            return _STAMP.unpack_from(self._memory.head, 32)[0]
        except ValueError:
            raise self._memory.gone() from None

    @stamp_sim_ns.setter
    def stamp_sim_ns(self, value):
        try:
            _STAMP.pack_into(self._memory.head, 32, value)
        except struct.error as e:
            raise ValueError("stamp_sim_ns: %s" % e) from None
        except (TypeError, ValueError):  # the header's view has been released
            raise self._memory.gone() from None

    def publish(self, done=None, *, local=False):
        """Hands the message over. SimError: refused, with the reason. done(ok, reason): called once, in a thread of the
        library, when all bridges have it or it failed, and also for a refused message. local: to subscribers of this
        machine only, without `done`."""
        return self._publisher._publish(self, done, local)

    def release(self):
        """Returns the slot unpublished."""
        self._memory.release()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.release()
        elif self._slot is not None:
            self.publish(local=self._publisher.is_local)


class Publisher(Lender):
    """Publishes messages of one type on a channel: see sim/publisher.h.

    max_body: bytes of the largest message; 0: the type's default. A loan may be larger.
    frame_id: the default coordinate frame
    latch: keep the last message for later subscribers
    local: never to bridges
    wait: False: a message for which the channel has no credit is refused at once
    """
    what = "publisher"

    def __init__(self, client, channel, type_, *, max_body=0, frame_id="", latch=False, local=False, wait=True):
        flags = (0 if wait else NO_WAIT) | (LATCH if latch else 0) | (LOCAL if local else 0)
        options = _lib.PublisherOptions(c.sizeof(_lib.PublisherOptions), max_body, frame_id.encode(), flags)
        pointer = c.c_void_p()
        client._use(lib.sim_advertise, channel.encode(), type_.pointer, c.byref(options), c.byref(pointer))
        self.channel, self.type, self.is_local = channel, type_, local
        self._default = max_body or lib.sim_publisher_default_body(type_.pointer)
        self._zeros, self._out, self._class = bytes(type_.fixed_size), c.c_void_p(), type_.subclass(Loan)
        super().__init__(client, pointer.value)

    def loan(self, size=None, /, **counts):
        """A message to fill. size: bytes of its body; or how many elements its arrays have and bytes its strings:
        loan(data=1000). Neither: max_body."""
        if counts:
            size = self.type.size(**counts)
        size, out = max(size or self._default, self.type.fixed_size), c.c_void_p()
        if self._due:
            self._use(self._return_due)
        self._use(lib.sim_loan, size, c.byref(out))
        message = self._class(self, out.value, size)
        self._lent[out.value] = weakref.ref(message._memory)
        return message

    def publish(self, values=(), /, done=None, *, local=None, **fields):
        """Publishes a message of those fields, and of a mapping or message of the same type."""
        local = self.is_local if local is None else local
        message = self.loan(_body_size(values, self.type) if isinstance(values, Record) else None)
        try:
            message.assign(values, **fields)
        except BaseException:
            message.release()
            raise
        message.publish(done, local=local)

    def _publish(self, message, done, local):
        self._client._raise()
        memory = message._memory
        self._inside.append(None)
        try:
            pointer = self._pointer
            if pointer is None:
                raise closed(self.what)
            used, slot = memory.used, message._slot
            memory.detach()
            message._slot = None
            self._lent.pop(slot, None)
            if used != memory.size:
                lib.sim_slot_set_size(slot, used)
            self._hand_over(pointer, slot, done, local)
        finally:
            self._inside.pop()

    def _hand_over(self, pointer, slot, done, local):
        try:
            if local:
                lib.sim_publish_local(pointer, slot)
            elif done is None:
                lib.sim_try_queue(pointer, slot, None, None, None)
            else:
                lib.sim_try_queue(pointer, slot, None, self._client._on_done, self._client._expect(done))
        except SimError:
            self._due.append(slot)  # if a second thread was inside, the library has not taken it
            raise

    def _return(self, slot):
        """No view of this loan is left, and it was not published."""
        if self._lent.pop(slot, None) is None:
            return
        pointer = self._pointer or self._closing
        if pointer is not None and self._pid == os.getpid():
            self._give_back(pointer, slot)

    def _give_back(self, pointer, slot):
        if lib.sim_unloan(pointer, slot) == -errno.EBUSY:
            self._due.append(slot)  # another thread is in a call of this publisher: the next loan() does it

    @property
    def has_subscribers(self):
        """Whether a program of this machine receives the channel, or simd does for a bridge."""
        return self._use(lib.sim_publisher_has_subscribers)

    def _free(self, pointer):
        lib.sim_publisher_destroy(pointer)


def _body_size(message, type_):
    return max(message._memory.used, type_.fixed_size)


