# SPDX-License-Identifier: Apache-2.0
"""A connection to simd, and what is made from it."""
import atexit
import collections
import ctypes as c
import errno
import itertools
import json
import weakref

from . import _lib
from ._handle import Handle, guarded, in_callback, nanoseconds, pieces
from ._lib import ClockSample, DONE_FN, SimError, lib
from .clock import Driver, Step, Timer
from .params import Params
from .publisher import Publisher
from .service import Service, call_service
from .subscriber import Reader, Subscriber
from .types import Type, as_type

_clients = weakref.WeakSet()
_kept = []  # closed, but arrays still refer to their slots: destroyed by the next call of sweep() that finds none


def sweep():
    """Destroys what was closed while arrays of its messages were in use, and is not any more."""
    for item in list(_kept):
        if item._try_destroy():
            _kept.remove(item)


class Client(Handle):
    """One connection of this process to simd: see sim/client.h.

    name: shown by simctl; 1 to 40 characters of [A-Za-z0-9_.-]
    socket: simd's control socket; None: as the library finds it ($SIMD_SOCKET)
    thread: False: no thread of the library; the program calls process(), and callbacks run inside that
    data: False: no data plane, for tools
    timeout: seconds for the connect

    What a callback raises is kept, and raised by this client's next call that waits or publishes, by process(), flush()
    and close().
    """
    what = "client"

    def __init__(self, name, *, socket=None, thread=True, data=True, timeout=5.0):
        sweep()
        options = _lib.Options(c.sizeof(_lib.Options), name.encode(), socket.encode() if socket else None,
                               (0 if thread else 1) | (0 if data else 2), int(timeout * 1000))
        pointer = c.c_void_p()
        lib.sim_connect(c.byref(options), c.byref(pointer))
        super().__init__(None, pointer.value)
        self.name = name
        self._children, self._errors = [], collections.deque()
        self._done, self._numbers = {}, itertools.count(1)
        self._on_done = DONE_FN(self._completed)
        self._held = []  # subscribers that could not be destroyed yet
        _clients.add(self)

    # ---- callbacks ----

    def _completed(self, number, ok, reason):
        function = self._done.pop(number, None)
        if function is not None:
            guarded(self, function, ok, lib.sim_reason_text(reason).decode())

    def _expect(self, function):
        number = next(self._numbers)
        self._done[number] = function
        return number

    def _raise(self):
        if self._errors:
            raise self._errors.popleft()

    # ---- the connection ----

    def close(self):
        """Closes everything that was made from this client, then the connection; does not wait for completions."""
        if getattr(in_callback, "on", False):
            raise SimError(errno.EDEADLK, "a client cannot be closed in a callback")
        for child in reversed(list(self._children)):
            child.close()
        super().close()
        sweep()
        self._raise()

    def _destroy(self, pointer):
        self._closing = pointer
        if not self._try_destroy():
            _kept.append(self)

    def _try_destroy(self):
        self._held = [s for s in self._held if not s._try_destroy()]
        if self._held:
            return False
        lib.sim_disconnect(self._closing)
        return True

    def __exit__(self, kind, value, trace):
        try:
            self.close()
        except BaseException:
            if kind is None:
                raise

    def ready(self):
        """This client has made its publishers and subscribers: sim_client_ready()."""
        self._use(lib.sim_client_ready)

    def flush(self, timeout=None):
        """Waits until all messages that were accepted have completed, and their callbacks have returned."""
        self._wait(lib.sim_flush, timeout)
        self._raise()

    def process(self):
        """Without a thread: does pending work, callbacks included, and returns how many ran."""
        ran = self._use(lib.sim_process)
        self._raise()
        return ran

    def fileno(self):
        """Readable when process() has work."""
        return self._use(lib.sim_client_fd)

    @property
    def state(self):
        return ("connected", "reconnecting", "reattaching", "failed")[self._use(lib.sim_client_state)]

    def full_name(self, channel):
        """The name of a channel or service with the rig's prefix."""
        out = c.create_string_buffer(100)
        self._use(lib.sim_channel_full_name, channel.encode(), out, len(out))
        return out.value.decode()

    def control(self, method, parameters=None, timeout=5.0):
        """Calls a method of the control protocol, as simctl does: io.simd.Control.varlink."""
        out = c.c_void_p()
        self._use(lib.sim_call_within, method.encode(), json.dumps(parameters or {}).encode(), nanoseconds(timeout),
                  c.byref(out))
        try:
            return json.loads(c.string_at(out.value))
        finally:
            _libc.free(out)

    # ---- messages ----

    def channel_type(self, channel):
        """The type of a channel, as its publisher announced it."""
        out = _lib.TYPE()
        self._use(lib.sim_channel_type, channel.encode(), c.byref(out))
        return Type._take(out)

    def advertise(self, channel, type, **options):
        """A Publisher of `type` on `channel`."""
        return Publisher(self, channel, as_type(type), **options)

    def subscribe(self, channel, type=None, **options):
        """A Subscriber of `channel`; type None: whatever type it has."""
        return Subscriber(self, channel, None if type is None else as_type(type), **options)

    def reader(self, channel, type=None, depth=1):
        """A Reader: the latest `depth` messages."""
        return Reader(self, channel, None if type is None else as_type(type), depth)

    # ---- time ----

    def now(self):
        """Simulated time, ns."""
        return self._use(lib.sim_now)

    def sample(self):
        """Simulated time with its flags, rate and generation, all of one instant."""
        out = ClockSample()
        self._use(lib.sim_now_sample, c.byref(out))
        return out

    def sleep_until(self, sim_ns, timeout=None):
        """Sleeps until simulated time is sim_ns. SimError: ECANCELED the clock jumped, ETIMEDOUT, ENOTCONN."""
        for piece in pieces(timeout):
            try:
                self._raise()
                return self._use(lib.sim_sleep_until, sim_ns, piece)
            except SimError as e:
                if e.errno != errno.ETIMEDOUT:
                    raise
                late = e
        raise late

    def pause(self, timeout=None):
        self._wait(lib.sim_clock_pause, timeout)

    def resume(self):
        self._use(lib.sim_clock_resume)

    def set_scale(self, scale):
        """Simulated time per wall time: 0.5 is slow motion."""
        self._use(lib.sim_clock_set_scale, round(scale * 1e6))

    def step(self, dur_ns, timeout=5.0):
        """Steps a paused clock; returns the time after the step."""
        out = c.c_int64()
        self._use(lib.sim_clock_step, dur_ns, nanoseconds(timeout), c.byref(out))
        return out.value

    def timer(self, period_ns, function, *, one_shot=False):
        """A Timer of simulated time."""
        return Timer(self, period_ns, function, one_shot=one_shot)

    def drive(self, **options):
        """The Driver of the clock."""
        return Driver(self, **options)

    def join(self, rank=0):
        """A place in lock-step: a Step."""
        return Step(self, rank)

    # ---- services ----

    def offer(self, name, type, handler, **options):
        """A Service: handler(request, response) fills the response, or raises SimError(errno, reason)."""
        return Service(self, name, type, handler, **options)

    def call(self, name, type=None, /, timeout=None, **fields):
        """Calls a service with a request of those fields; returns the response. type None: the service's own; timeout
        None: the service's own deadline."""
        return call_service(self, name, type, timeout, fields)

    def params(self, node=None):
        """The parameters of a node of that name; None: of this client's name."""
        return Params(self, self.name if node is None else node)


_libc = c.CDLL(None)
_libc.free.argtypes = [c.c_void_p]


@atexit.register
def _close_all():
    """Before the interpreter ends: no thread of the library may call into it later."""
    for client in list(_clients):
        try:
            client.close()
        except Exception:
            pass
    sweep()


