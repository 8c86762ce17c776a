# SPDX-License-Identifier: Apache-2.0
"""Simulated time: timers, the driver of a clock, and lock-step. See sim/timer.h, sim/clock.h and sim/step.h."""
import ctypes as c

from ._handle import Handle, guarded
from ._lib import TIMER_FN, Turn, lib

PACED, FREEWHEEL, LOCKSTEP = 1, 2, 4


class Timer(Handle):
    """Calls function(event) every period_ns of simulated time: event.due_sim_ns, event.missed, event.now."""
    what = "timer"

    def __init__(self, client, period_ns, function, *, one_shot=False):
        def called(user, event):
            copy = type(event.contents).from_buffer_copy(event.contents)
            guarded(client, function, copy)
        self._function, pointer = TIMER_FN(called), c.c_void_p()
        client._use(lib.sim_timer_create, period_ns, int(one_shot), self._function, None, c.byref(pointer))
        super().__init__(client, pointer.value)

    def stop(self):
        self._use(lib.sim_timer_stop)

    def start(self):
        """The timer is due one period from now."""
        self._use(lib.sim_timer_start)

    @property
    def left_ns(self):
        """Simulated time until it fires; 2^63 - 1: stopped."""
        return self._use(lib.sim_timer_left)

    def _destroy(self, pointer):
        lib.sim_timer_destroy(pointer)


class Driver(Handle):
    """Drives the clock of a source that waits for its engine.

    paced: advance() returns no earlier than wall time allows; freewheel: as fast as it can; lockstep: in lock-step even
    without participants.
    """
    what = "driver"

    def __init__(self, client, *, paced=False, freewheel=False, lockstep=False):
        flags = (PACED if paced else 0) | (FREEWHEEL if freewheel else 0) | (LOCKSTEP if lockstep else 0)
        pointer = c.c_void_p()
        client._use(lib.sim_driver_acquire, flags, c.byref(pointer))
        super().__init__(client, pointer.value)

    def advance(self, dur_ns):
        """Advances time, and returns how much was granted. Blocks while time is paused."""
        self._client._raise()
        self._use(lib.sim_driver_begin_advance, dur_ns)
        granted = c.c_int64()
        self._wait(lib.sim_driver_end_advance, None, c.byref(granted))
        return granted.value

    def set(self, sim_ns):
        """Sets the time: forward, time continues; back is a jump."""
        self._use(lib.sim_driver_set, sim_ns)

    def jump(self, sim_ns=0):
        """A new run begins at sim_ns. Blocks while time is paused."""
        self._use(lib.sim_driver_begin, sim_ns, True)
        self._wait(lib.sim_driver_end, None)

    def _destroy(self, pointer):
        lib.sim_driver_release(pointer)


class Step(Handle):
    """A place in lock-step: `for turn in step:` has each turn, and acknowledges it when the loop asks for the next.

    turn.now.sim_ns: its time; turn.dur_ns: how far time has moved; turn.number
    """
    what = "place in lock-step"

    def __init__(self, client, rank):
        pointer = c.c_void_p()
        client._use(lib.sim_step_join, rank, c.byref(pointer))
        super().__init__(client, pointer.value)

    def wait(self, timeout=None):
        """Waits for the next turn. SimError ETIMEDOUT: none came."""
        turn = Turn()
        self._wait(lib.sim_step_wait, timeout, c.byref(turn))
        self._client._raise()
        return turn

    def done(self):
        """The turn is over: all that belongs to it is published."""
        self._use(lib.sim_step_done)

    def __iter__(self):
        for turn in self._until_closed(self.wait):
            yield turn
            if not self.is_closed:
                self.done()

    def _destroy(self, pointer):
        lib.sim_step_leave(pointer)
