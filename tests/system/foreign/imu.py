# SPDX-License-Identifier: Apache-2.0
"""An IMU message from Python and back, by the functions that libsimclient exports for other languages: no C."""
import ctypes as c
import sys


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("name", c.c_char_p), ("socket", c.c_char_p), ("flags", c.c_uint),
                ("timeout_ms", c.c_int)]


sim = c.CDLL(sys.argv[1])
P, D, SIZE = c.c_void_p, c.c_double, c.c_size_t


def function(name, result, *arguments):
    f = getattr(sim, name)
    f.restype, f.argtypes = result, arguments
    return f


why = function("sim_why", c.c_char_p)
connect = function("sim_connect", c.c_int, c.POINTER(Options), c.POINTER(P))
disconnect = function("sim_disconnect", None, P)
advertise = function("sim_advertise", c.c_int, P, c.c_char_p, P, P, c.POINTER(P))
subscribe = function("sim_subscribe", c.c_int, P, c.c_char_p, P, P, c.POINTER(P))
loan = function("sim_loan", c.c_int, P, SIZE, c.POINTER(P))
publish = function("sim_publish_local", c.c_int, P, P)
wait = function("sim_wait", c.c_int, P, c.c_int64)
take = function("sim_take", c.c_int, P, c.POINTER(P))
release = function("sim_release", c.c_int, P, P)
body = function("sim_message_body", P, P)
body_mut = function("sim_slot_body_mut", P, P)
body_size = function("sim_message_body_size", SIZE, P)
imu_size = function("sim_Imu_size", SIZE)
imu_init = function("sim_Imu_init", P, P, SIZE, P)
imu_from = function("sim_Imu_from", P, P, SIZE)
imu_acceleration = function("sim_Imu_at_linear_acceleration", P, P)
vector_set_z = function("sim_Vector3_set_z", None, P, D)
vector_get_z = function("sim_Vector3_get_z", D, P)
imu_type = P.in_dll(sim, "sim_Imu_type")


def check(result):
    if result < 0:
        sys.exit(why().decode())
    return result


client, publisher, subscriber, slot, got = P(), P(), P(), P(), P()
builder = c.create_string_buffer(256)  # a struct sim_builder, which nobody here looks into
options = Options(c.sizeof(Options), b"python", None, 0, 0)
check(connect(options, client))
check(advertise(client, b"/python/imu", c.addressof(imu_type), None, publisher))
check(subscribe(client, b"/python/imu", c.addressof(imu_type), None, subscriber))
for _ in range(100):  # until the subscriber is there
    check(loan(publisher, imu_size(), slot))
    vector_set_z(imu_acceleration(imu_init(body_mut(slot), imu_size(), builder)), 9.81)
    check(publish(publisher, slot))
    if wait(subscriber, 100_000_000) == 1:
        break
check(take(subscriber, got))
print(vector_get_z(imu_acceleration(imu_from(body(got), body_size(got)))))
release(subscriber, got)
disconnect(client)
