# SPDX-License-Identifier: Apache-2.0
"""Receiving: messages are read where they lie in shared memory, until they are released."""
import asyncio
import collections
import ctypes as c
import errno
import os
import struct
import weakref

from . import _lib
from ._fields import Record
from ._handle import Lender, pieces
from ._lib import Slot, SimError, closed, lib, why
from ._memory import Memory

LATCHED, FD = 1, 2
_BODY = struct.Struct("@PN")  # of struct sim_message, after the header
_HASH = struct.Struct("<Q")


class Copy(Record):
    """A message of this process: a copy of a received one, a request or a response."""
    __slots__ = ()

    @classmethod
    def make(cls, type_, size, name="message"):
        """An empty one, with room for `size` bytes."""
        memory = Memory.heap(max(size, type_.fixed_size), name)
        memory.used = type_.fixed_size
        return type_.subclass(cls)(memory, 0)

    @classmethod
    def take(cls, type_, data, name="message"):
        """One with the bytes of `data`."""
        message = cls.make(type_, len(data), name)
        message._memory.view[:len(data)] = data
        message._memory.used = len(data)
        return message


class Message(Record):
    """A received message, in place and read-only, until release() or the end of its `with` block."""
    __slots__ = ("_header",)

    def __init__(self, memory, header):
        self._memory, self._at, self._header = memory, 0, header

    @property
    def slot(self):
        """A copy of the slot's header: stamp_sim_ns, sequence, frame_id, publisher_id, clock_generation, ..."""
        return Slot.from_buffer_copy(self._header)

    def release(self):
        """Returns the slot: every later use of the message raises SimError. A slot to which arrays of numpy or
        memoryviews refer is kept until the last of them has gone."""
        self._memory.release()

    def copy(self):
        """The same message in memory of this process: it can be kept, and written."""
        try:
            return Copy.take(self.type, self._memory.view)
        except ValueError:
            raise self._memory.gone() from None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.release()


class Subscriber(Lender):
    """Receives the messages of a channel in order: see sim/subscriber.h. An iterator, also for `async for`.

    depth: how many messages wait; when it is full the oldest is dropped
    latched: ask for the last message of publishers that latch
    pollable: keep a descriptor, for fileno() and `async for`
    spin: seconds that a wait polls before it sleeps

    A message that a loop was given is released when the loop asks for the next one.
    """
    what = "subscriber"

    def __init__(self, client, channel, type_, *, depth=0, latched=False, pollable=False, spin=0.0):
        options = _lib.SubscriberOptions(c.sizeof(_lib.SubscriberOptions), depth,
                                         (LATCHED if latched else 0) | (FD if pollable else 0), int(spin * 1e9))
        pointer = c.c_void_p()
        client._use(lib.sim_subscribe, channel.encode(), type_ and type_.pointer, c.byref(options), c.byref(pointer))
        self.channel, self.type = channel, type_
        self._waiter = None
        super().__init__(client, pointer.value)

    @property
    def held(self):
        """Messages that are not released, or that arrays still refer to."""
        return len(self._lent)

    @property
    def stats(self):
        """received, lost, invalid"""
        out = _lib.SubscriberStats()
        self._use(lib.sim_subscriber_stats, c.byref(out))
        return out

    def fileno(self):
        """Readable when a message can be taken; only if the subscriber is pollable."""
        return self._use(lib.sim_subscriber_fd)

    def take(self):
        """The next message, or None if there is none now."""
        self._client._raise()
        self._inside.append(None)
        try:
            pointer = self._pointer
            if pointer is None:
                raise closed(self.what)
            if self._due:
                self._return_due(pointer)
            out = c.c_void_p()
            r = lib.sim_take(pointer, c.byref(out))
            if r == -errno.EAGAIN:
                return None
            if r < 0:
                raise why(r)
            return self._message(out.value)
        finally:
            self._inside.pop()

    def _message(self, place):
        header = c.string_at(place, 144)
        body, size = _BODY.unpack_from(header, 128)
        memory = Memory(body, size, False, "message", lambda: self._end(place))
        self._lent[place] = weakref.ref(memory)
        try:
            type_ = self.type or self._find_type(_HASH.unpack_from(header, 8)[0])
            if size < type_.fixed_size:
                raise SimError(errno.EBADMSG, "%s: a message of %s is too short" % (self.channel, type_.name))
            return type_.subclass(Message)(memory, header)
        except BaseException:
            memory.release()
            raise

    def _find_type(self, wanted):
        found = self._client.channel_type(self.channel)
        if found.hash != wanted:
            raise SimError(errno.EMEDIUMTYPE, "%s: a message of another type than %s" % (self.channel, found.name))
        self.type = found
        return found

    def _end(self, place):
        """Nothing can reach this message any more. Any thread; another may be in the subscriber's calls."""
        pointer = self._pointer or self._closing
        if self._pid != os.getpid() or pointer is None:
            return
        self._give_back(pointer, place)

    def _give_back(self, pointer, place):
        if lib.sim_release(pointer, place) == -errno.EBUSY:
            self._due.append(place)  # the next take() does it
        else:
            self._lent.pop(place, None)

    def wait(self, timeout=None):
        """Waits until a message can be taken: True; False: `timeout` seconds have passed."""
        for piece in pieces(timeout):
            self._client._raise()
            if self._use(lib.sim_wait, piece):
                return True
        return False

    def receive(self, timeout=None):
        """Waits for the next message. SimError ETIMEDOUT: none came."""
        while self.wait(timeout):
            message = self.take()
            if message is not None:
                return message
        raise SimError(errno.ETIMEDOUT, "no message of %s within %g s" % (self.channel, timeout))

    def __iter__(self):
        for message in self._until_closed(self.receive):
            with message:
                yield message

    async def __aiter__(self):
        while not self.is_closed:
            message = self.take()
            if message is None:
                await self._readable()
                continue
            with message:
                yield message

    async def _readable(self):
        loop, descriptor = asyncio.get_running_loop(), self.fileno()
        future = loop.create_future()
        self._waiter = loop, future
        loop.add_reader(descriptor, _finish, future)
        try:
            await future
        finally:
            self._waiter = None
            loop.remove_reader(descriptor)

    def _wake(self, pointer):
        lib.sim_wait_cancel(pointer)

    def _destroy(self, pointer):
        if self._waiter:
            loop, future = self._waiter
            loop.remove_reader(lib.sim_subscriber_fd(pointer))
            loop.call_soon_threadsafe(_finish, future)
        super()._destroy(pointer)

    def _free(self, pointer):
        lib.sim_subscriber_destroy(pointer)


def _finish(future):
    if not future.done():
        future.set_result(None)


class Reader:
    """The latest messages of a channel, newest first, all of one clock generation: a jump of the clock clears it.

    A message is released when newer ones have taken its place.
    """

    def __init__(self, client, channel, type_, depth=1):
        if not 1 <= depth <= 256:
            raise ValueError("a reader keeps 1 to 256 messages, not %d" % depth)
        self._subscriber = Subscriber(client, channel, type_, depth=depth)
        self._depth, self._latest, self._generation = depth, collections.deque(), None

    def observe(self):
        """Receives what has arrived; returns how many messages are new."""
        new = 0
        while True:
            message = self._subscriber.take()
            if message is None:
                return new
            new += 1
            generation = message.slot.clock_generation
            if generation != self._generation:
                self.clear()
                self._generation = generation
            self._latest.appendleft(message)
            while len(self._latest) > self._depth:
                self._latest.pop().release()

    def wait(self, timeout=None):
        """Waits for a new message, then observes; returns how many are new."""
        return self.observe() if self._subscriber.wait(timeout) else 0

    def clear(self):
        while self._latest:
            self._latest.pop().release()

    def __len__(self):
        return len(self._latest)

    def __getitem__(self, index):
        return self._latest[index]

    def close(self):
        self.clear()
        self._subscriber.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
