# SPDX-License-Identifier: Apache-2.0
"""An IMU message from Python and back, by the field table of its type: no C."""
import ctypes as c
import sys


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("name", c.c_char_p), ("socket", c.c_char_p), ("flags", c.c_uint),
                ("timeout_ms", c.c_int)]


class Type(c.Structure):  # the beginning of struct sim_type
    _fields_ = [("abi", c.c_uint32), ("size", c.c_uint32), ("name", c.c_char_p), ("comment", c.c_char_p),
                ("hash", c.c_uint64), ("fixed_size", c.c_uint32)]


class View(c.Structure):
    _fields_ = [("field", c.c_void_p), ("data", c.c_void_p), ("count", c.c_uint32), ("is_array", c.c_bool)]


sim = c.CDLL(sys.argv[1])
P, SIZE = c.c_void_p, c.c_size_t
TYPE = c.POINTER(Type)


def function(name, result, *arguments):
    f = getattr(sim, name)
    f.restype, f.argtypes = result, arguments
    return f


why = function("sim_why", c.c_char_p)
connect = function("sim_connect", c.c_int, c.POINTER(Options), c.POINTER(P))
disconnect = function("sim_disconnect", None, P)
advertise = function("sim_advertise", c.c_int, P, c.c_char_p, TYPE, P, c.POINTER(P))
subscribe = function("sim_subscribe", c.c_int, P, c.c_char_p, TYPE, P, c.POINTER(P))
loan = function("sim_loan", c.c_int, P, SIZE, c.POINTER(P))
publish = function("sim_publish_local", c.c_int, P, P)
wait = function("sim_wait", c.c_int, P, c.c_int64)
take = function("sim_take", c.c_int, P, c.POINTER(P))
release = function("sim_release", c.c_int, P, P)
body = function("sim_message_body", P, P)
body_mut = function("sim_slot_body_mut", P, P)
body_size = function("sim_message_body_size", SIZE, P)
builtin = function("sim_type_builtin", TYPE, c.c_char_p)
find = function("sim_field_find", c.c_int, TYPE, c.c_char_p, P)
get = function("sim_field_get", c.c_int, P, P, SIZE, c.POINTER(View))


def check(result):
    if result < 0:
        sys.exit(why().decode())
    return result


client, publisher, subscriber, slot, got = P(), P(), P(), P(), P()
imu = builtin(b"sim/Imu")
size = imu.contents.fixed_size
path = c.create_string_buffer(1024)  # a struct sim_field_path, which nobody here looks into
view = View()
check(find(imu, b"linear_acceleration.z", path))
options = Options(c.sizeof(Options), b"python", None, 0, 0)
check(connect(options, client))
check(advertise(client, b"/python/imu", imu, None, publisher))
check(subscribe(client, b"/python/imu", imu, None, subscriber))
for _ in range(100):  # until the subscriber is there
    check(loan(publisher, size, slot))
    c.memset(body_mut(slot), 0, size)
    check(get(path, body_mut(slot), size, view))
    c.c_double.from_address(view.data).value = 9.81
    check(publish(publisher, slot))
    if wait(subscriber, 100_000_000) == 1:
        break
check(take(subscriber, got))
check(get(path, body(got), body_size(got), view))
print(c.c_double.from_address(view.data).value)
release(subscriber, got)
disconnect(client)
