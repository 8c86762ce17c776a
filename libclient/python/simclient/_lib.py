# SPDX-License-Identifier: Apache-2.0
"""The C library: its structs, its functions, and its errors as exceptions.

Every function of the library that this package calls is named here, and nowhere else. ctypes releases the GIL during
each call.
"""
import ctypes as c
import errno
import os


class SimError(OSError):
    """A call failed: `errno`, and in `strerror` the library's sentence: what failed, where, and what to do."""


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("name", c.c_char_p), ("socket", c.c_char_p), ("flags", c.c_uint),
                ("timeout_ms", c.c_int)]


class PublisherOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("max_body", c.c_size_t), ("frame_id", c.c_char_p), ("flags", c.c_uint)]


class SubscriberOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("depth", c.c_uint), ("flags", c.c_uint), ("spin_dur_ns", c.c_int64)]


class SubscriberStats(c.Structure):
    _fields_ = [("received", c.c_uint64), ("lost", c.c_uint64), ("invalid", c.c_uint64)]


class Slot(c.Structure):
    """A copy of the header of a slot, struct sim_slot."""
    _fields_ = [("magic", c.c_uint32), ("version", c.c_uint16), ("flags", c.c_uint16), ("type_hash", c.c_uint64),
                ("channel_id", c.c_uint32), ("publisher_id", c.c_uint32), ("sequence", c.c_uint64),
                ("stamp_sim_ns", c.c_int64), ("publish_mono_ns", c.c_int64), ("iox_generation", c.c_uint32),
                ("clock_generation", c.c_uint32), ("body_size", c.c_uint64), ("token_cell", c.c_uint32),
                ("credit_cell", c.c_uint32), ("origin_host", c.c_uint64), ("origin_sequence", c.c_uint64),
                ("_frame_id", c.c_char * 40)]

    @property
    def frame_id(self):
        """The coordinate frame."""
        return self._frame_id.decode(errors="replace")


class Received(c.Structure):
    """struct sim_message"""
    _fields_ = [("header", Slot), ("body", c.c_void_p), ("body_size", c.c_size_t)]


class CType(c.Structure):
    """struct sim_type"""


class CField(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.POINTER(CType)), ("unit", c.c_char_p), ("comment", c.c_char_p),
                ("offset", c.c_uint32), ("count", c.c_uint32), ("elem_size", c.c_uint32), ("string_max", c.c_uint32),
                ("kind", c.c_uint8), ("array", c.c_uint8), ("elem_align", c.c_uint8), ("reserved", c.c_uint8 * 5)]


class CConstant(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p), ("kind", c.c_uint8), ("reserved", c.c_uint8 * 7)]


CType._fields_ = [("abi", c.c_uint32), ("size", c.c_uint32), ("name", c.c_char_p), ("comment", c.c_char_p),
                  ("hash", c.c_uint64), ("fixed_size", c.c_uint32), ("align", c.c_uint32), ("n_fields", c.c_uint32),
                  ("n_constants", c.c_uint32), ("flags", c.c_uint32), ("reserved", c.c_uint32),
                  ("fields", c.POINTER(CField)), ("constants", c.POINTER(CConstant))]


class ServiceType(c.Structure):
    _fields_ = [("abi", c.c_uint32), ("size", c.c_uint32), ("name", c.c_char_p), ("comment", c.c_char_p),
                ("request", c.POINTER(CType)), ("response", c.POINTER(CType))]


class Request(c.Structure):
    _fields_ = [("service", c.c_char_p), ("body", c.c_void_p), ("size", c.c_size_t), ("response", c.c_void_p),
                ("response_capacity", c.c_size_t), ("response_size", c.c_size_t), ("why", c.c_char * 200)]


class ServiceOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("queue", c.c_uint32), ("deadline_dur_ns", c.c_int64)]


class ClockSample(c.Structure):
    """The clock at one moment, struct sim_clock_sample."""
    _fields_ = [("sim_ns", c.c_int64), ("mono_ns", c.c_int64), ("rate_e6", c.c_int64),
                ("clock_generation", c.c_uint32), ("flags", c.c_uint32)]


class TimerEvent(c.Structure):
    _fields_ = [("now", ClockSample), ("due_sim_ns", c.c_int64), ("missed", c.c_uint64)]


class Turn(c.Structure):
    """A turn of lock-step, struct sim_step_turn."""
    _fields_ = [("now", ClockSample), ("dur_ns", c.c_int64), ("number", c.c_uint64), ("shared", c.c_bool)]


class ParamUnion(c.Union):
    _fields_ = [("b", c.c_bool), ("i", c.c_int64), ("d", c.c_double), ("s", c.c_char_p)]


class ParamValue(c.Structure):
    _fields_ = [("type", c.c_uint8), ("value", ParamUnion)]


P, INT, I64, U32, SIZE, STR, TYPE = c.c_void_p, c.c_int, c.c_int64, c.c_uint32, c.c_size_t, c.c_char_p, c.POINTER(CType)
OUT = c.POINTER(P)
SERVICE = c.POINTER(ServiceType)  # made once: a second interpreter empties ctypes's cache

DONE_FN = c.CFUNCTYPE(None, P, c.c_bool, INT)
TIMER_FN = c.CFUNCTYPE(None, P, c.POINTER(TimerEvent))
SERVICE_FN = c.CFUNCTYPE(INT, P, c.POINTER(Request))
PARAM_FN = c.CFUNCTYPE(INT, P, STR, c.POINTER(ParamValue), P, SIZE)


class ParamOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("description", c.c_char_p), ("min", ParamValue), ("max", ParamValue),
                ("read_only", c.c_bool), ("changed", PARAM_FN), ("user", P)]


# name, result, arguments; a result "errno" raises SimError when it is negative
FUNCTIONS = [
    ("sim_version", STR), ("sim_why", STR), ("sim_strerror", STR, INT), ("sim_reason_text", STR, INT),
    ("sim_connect", "errno", c.POINTER(Options), OUT), ("sim_disconnect", None, P), ("sim_client_ready", "errno", P),
    ("sim_flush", "errno", P, I64), ("sim_client_state", INT, P),
    ("sim_client_fd", "errno", P), ("sim_process", "errno", P),
    ("sim_channel_full_name", "errno", P, STR, STR, SIZE),
    ("sim_call_within", "errno", P, STR, STR, I64, OUT),
    ("sim_type_builtin", TYPE, STR), ("sim_type_ref", TYPE, TYPE), ("sim_type_unref", None, TYPE),
    ("sim_type_from_json", "errno", STR, SIZE, c.POINTER(TYPE)),
    ("sim_channel_type", "errno", P, STR, c.POINTER(TYPE)),
    ("sim_publisher_default_body", SIZE, TYPE),
    ("sim_advertise", "errno", P, STR, TYPE, c.POINTER(PublisherOptions), OUT), ("sim_publisher_destroy", None, P),
    ("sim_loan", "errno", P, SIZE, OUT), ("sim_unloan", INT, P, P), ("sim_slot_set_size", "errno", P, SIZE),
    ("sim_slot_body_mut", P, P), ("sim_try_queue", "errno", P, P, P, P, P),
    ("sim_publish_local", "errno", P, P), ("sim_publisher_has_subscribers", c.c_bool, P),
    ("sim_subscribe", "errno", P, STR, TYPE, c.POINTER(SubscriberOptions), OUT), ("sim_subscriber_destroy", None, P),
    ("sim_take", INT, P, OUT), ("sim_release", INT, P, P), ("sim_wait", "errno", P, I64),
    ("sim_wait_cancel", None, P), ("sim_subscriber_fd", "errno", P),
    ("sim_subscriber_stats", None, P, c.POINTER(SubscriberStats)),
    ("sim_now", I64, P), ("sim_now_sample", None, P, c.POINTER(ClockSample)),
    ("sim_sleep_until", "errno", P, I64, I64), ("sim_clock_pause", "errno", P, I64), ("sim_clock_resume", "errno", P),
    ("sim_clock_set_scale", "errno", P, I64), ("sim_clock_step", "errno", P, I64, I64, c.POINTER(I64)),
    ("sim_timer_create", "errno", P, I64, c.c_uint, TIMER_FN, P, OUT), ("sim_timer_destroy", None, P),
    ("sim_timer_stop", None, P), ("sim_timer_start", None, P), ("sim_timer_left", I64, P),
    ("sim_service_type_builtin", SERVICE, STR),
    ("sim_service_offer", "errno", P, STR, SERVICE, c.POINTER(ServiceOptions), SERVICE_FN, P, OUT),
    ("sim_service_destroy", None, P), ("sim_service_type_of", "errno", P, STR, c.POINTER(SERVICE)),
    ("sim_service_call", "errno", P, STR, SERVICE, P, SIZE, I64, P, SIZE, c.POINTER(SIZE)),
    ("sim_params_create", "errno", P, STR, OUT), ("sim_params_destroy", None, P),
    ("sim_params_declare", "errno", P, STR, c.POINTER(ParamValue), c.POINTER(ParamOptions)),
    ("sim_params_set", "errno", P, STR, c.POINTER(ParamValue)), ("sim_params_type", c.c_uint8, P, STR),
    ("sim_params_get_bool", "errno", P, STR, c.POINTER(c.c_bool)),
    ("sim_params_get_int", "errno", P, STR, c.POINTER(I64)),
    ("sim_params_get_double", "errno", P, STR, c.POINTER(c.c_double)),
    ("sim_params_get_string", "errno", P, STR, STR, SIZE), ("sim_params_count", U32, P),
    ("sim_params_name", STR, P, U32),
    ("sim_driver_acquire", "errno", P, c.c_uint, OUT), ("sim_driver_release", None, P),
    ("sim_driver_set", "errno", P, I64),
    ("sim_driver_begin", "errno", P, I64, c.c_bool), ("sim_driver_end", "errno", P, I64),
    ("sim_driver_begin_advance", "errno", P, I64), ("sim_driver_end_advance", "errno", P, I64, c.POINTER(I64)),
    ("sim_step_join", "errno", P, U32, OUT), ("sim_step_leave", None, P),
    ("sim_step_wait", "errno", P, I64, c.POINTER(Turn)), ("sim_step_done", "errno", P),
]


def why(code):
    """The exception for a negative errno that the library has just returned to this thread."""
    text = lib.sim_why() or lib.sim_strerror(code)
    return SimError(-code, text.decode(errors="replace"))


def _check(result, function, arguments):
    if result < 0:
        raise why(result)
    return result


def closed(what):
    return SimError(errno.EBADF, "the %s is closed: make another one" % what)


def _load():
    path = os.environ.get("SIMCLIENT_LIBRARY", "libsimclient.so.0")
    try:
        library = c.CDLL(path)
    except OSError as e:
        raise ImportError("simclient needs simd's C library, which cannot be loaded: %s; install simd, or let "
                          "SIMCLIENT_LIBRARY name the file" % e) from None
    for name, result, *arguments in FUNCTIONS:
        function = getattr(library, name, None)
        if function is None:
            raise ImportError("%s has no function %s: it is older than this package" % (path, name))
        function.argtypes = arguments
        function.restype = INT if result == "errno" else result
        if result == "errno":
            function.errcheck = _check
    return library


lib = _load()
