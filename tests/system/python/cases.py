# SPDX-License-Identifier: Apache-2.0
"""Cases of test_python.c: cases.py NAME; ends with 0 if all that it asserts holds. simd runs, its rig is /car."""
import asyncio
import errno
import gc
import os
import subprocess
import sys
import threading
import time

import simclient
from simclient import Client, SimError, Type

try:
    import numpy
except ImportError:
    numpy = None

with open("libclient/examples/FloatArray.msg") as definition:
    FLOATS = definition.read()
CLOUD = 100_000


def until(condition):
    """As AWAIT() of the tests in C: without a limit of its own."""
    while not condition():
        time.sleep(0.005)


def raises(kind, part, function, *arguments, **named):
    """function must raise `kind`: an errno or a class, with `part` in its sentence."""
    try:
        function(*arguments, **named)
    except Exception as e:
        right = e.errno == kind if isinstance(kind, int) else isinstance(e, kind)
        assert right and part in str(e), "%r instead of %r with '%s'" % (e, kind, part)
        return
    raise AssertionError("%r did not raise %r" % (function, kind))


def pair(client, channel="pair", type="sim/PointCloud", **options):
    publisher = client.advertise(channel, type, local=True, max_body=CLOUD, **options)
    subscriber = client.subscribe(channel, type, pollable=True)
    until(lambda: publisher.has_subscribers)
    return publisher, subscriber


# ---- messages ----

def there_and_back():
    with Client("there") as client:
        publisher, subscriber = pair(client)
        with publisher.loan(data=3200, fields=2) as cloud:
            cloud.height, cloud.width, cloud.is_dense = 1, 100, True
            cloud.stamp_sim_ns = 5
            cloud.fields = [{"name": "x", "datatype": cloud.FLOAT32 if hasattr(cloud, "FLOAT32") else 7}, {"name": "yy"}]
            data = cloud.alloc("data", 3200)
            data[:] = bytes(i % 256 for i in range(3200))
            del data
        with subscriber.receive() as cloud:
            assert (cloud.height, cloud["width"], cloud.is_dense) == (1, 100, True)
            assert [f.name for f in cloud.fields] == ["x", "yy"] and cloud.fields[0].datatype == 7
            assert len(cloud.data) == 3200 and cloud.data[258] == 2 and cloud.data[:3] == [0, 1, 2]
            assert cloud.slot.stamp_sim_ns == 5 and cloud.slot.sequence == 1
            raises(TypeError, "read-only", setattr, cloud, "height", 2)
            raises(TypeError, "read-only", cloud.data.__setitem__, 0, 1)
            raises(TypeError, "read-only", setattr, cloud, "data", b"x")
            kept = cloud.copy()
        kept.height = 7
        assert kept.to_dict()["height"] == 7 and kept.data[258] == 2
        publisher.publish(kept, width=9)
        with subscriber.receive() as cloud:
            assert (cloud.height, cloud.width, len(cloud.data)) == (7, 9, 3200)
        for i in range(1000):  # more than there are slots
            publisher.publish(height=i)
            with subscriber.receive() as cloud:
                assert cloud.height == i
        assert subscriber.held == 0
        client.flush()


def from_c():
    floats = Type.from_msg("example/FloatArray", FLOATS)
    with Client("from-c") as client:
        typed, found = client.subscribe("float_array", floats), client.subscribe("float_array")
        peer = subprocess.Popen([sys.argv[2] + "/float_array_copy", "3"], stdout=subprocess.DEVNULL)
        for subscriber in typed, found:
            with subscriber.receive() as message:
                assert message.type is floats and len(message.array) > 0
                assert all(v == v for v in message.array)
        peer.terminate()
        peer.wait()


def to_c():
    floats = Type.from_msg("example/FloatArray", FLOATS)
    with Client("to-c") as client:
        publisher = client.advertise("from_python", floats, local=True)
        peer = subprocess.Popen([sys.argv[2] + "/subscriber", "/car/from_python", "2"], stdout=subprocess.PIPE, text=True)
        until(lambda: publisher.has_subscribers or peer.poll() is not None)
        publisher.publish(array=[0.5, 1, 2])
        with publisher.loan(array=4) as message:
            message.alloc("array", 4)[:] = numpy.full(4, 2.5, numpy.float32) if numpy else [2.5] * 4
        out = peer.communicate()[0]
        assert "1 at " in out and "3 readings, the first is 0.5" in out and "4 readings, the first is 2.5" in out, out
        assert "2 received, 0 lost" in out


# ---- lifetimes ----

def released():
    """What belongs to a released slot raises; arrays in use keep the slot, counted, until the last has gone."""
    with Client("released") as client:
        publisher, subscriber = pair(client)
        publisher.publish(data=b"\1\2\3", height=4, fields=[{"name": "x"}])
        message = subscriber.receive()
        data, fields, first = message.data, message.fields, message.fields[0]
        message.release()
        for access in (lambda: message.height, lambda: data[0], lambda: data[:], lambda: list(data), data.memoryview,
                       lambda: fields[0].name, lambda: first.name, lambda: message.data, message.copy, data.tobytes):
            raises(errno.EBADF, "released", access)
        assert subscriber.held == 0

        publisher.publish(data=b"\1\2\3")
        message = subscriber.receive()
        part = message.data.memoryview()[1:]
        held = numpy.asarray(message.data)[::-1] if numpy else part[::-1]
        message.release()
        raises(errno.EBADF, "released", lambda: message.height)
        assert subscriber.held == 1 and part[0] == 2 and held[0] == 3
        part.release()
        assert subscriber.held == 1 and held[2 if numpy else 1] in (1, 2)
        del held, part
        assert subscriber.held == 0

        publisher.publish(height=1)
        subscriber.receive()  # and dropped at once
        gc.collect()
        assert subscriber.held == 0


def loans():
    """A loan is not published while an array could still write into it; one that is dropped goes back."""
    with Client("loans") as client:
        publisher, subscriber = pair(client)
        message = publisher.loan(data=10)
        data = message.alloc("data", 10).memoryview()
        raises(errno.EBUSY, "still in use", message.publish, local=True)
        data[:] = bytes(10)
        del data
        message.publish(local=True)
        raises(errno.EBADF, "released", setattr, message, "height", 1)
        raises(errno.EBADF, "released", lambda: message.stamp_sim_ns)
        raises(errno.EBADF, "released", message.publish, local=True)
        subscriber.receive().release()
        for _ in range(30):
            publisher.loan()  # more than a publisher can have out
        try:
            with publisher.loan():
                raise KeyError
        except KeyError:
            pass
        assert subscriber.take() is None
        held = [publisher.loan() for _ in range(8)]
        raises(errno.ENOBUFS, "loans", publisher.loan)
        publisher.close()
        raises(errno.EBADF, "released", setattr, held[0], "height", 1)
        raises(errno.EBADF, "closed", publisher.loan)


def closing():
    """What is closed while arrays of its messages are in use stays until they have gone."""
    client = Client("closing")
    publisher, subscriber = pair(client)
    publisher.publish(data=b"\7" * 5000)
    publisher.publish(height=3)
    view, second = subscriber.receive().data.memoryview(), subscriber.receive()
    client.close()
    client.close()
    assert view[4999] == 7
    raises(errno.EBADF, "released", lambda: second.height)
    for use in (subscriber.take, publisher.loan, client.now, client.flush, lambda: client.subscribe("x")):
        raises(errno.EBADF, "closed", use)
    with Client("closing-2") as other:
        assert any(c["name"] == "closing" for c in other.control("ListClients")["clients"])
        del view
        simclient.client.sweep()
        until(lambda: not any(c["name"] == "closing" for c in other.control("ListClients")["clients"]))


def wrong_values():
    with Client("wrong") as client:
        publisher, _ = pair(client)
        message = publisher.loan(100)
        imu = client.advertise("imu", "sim/Imu", local=True).loan()
        raises(ValueError, "PointCloud.height", setattr, message, "height", -1)
        raises(ValueError, "PointCloud.height", setattr, message, "height", "one")
        raises(AttributeError, "heigth", setattr, message, "heigth", 1)
        raises(AttributeError, "it has height", message.__getitem__, "heigth")
        raises(ValueError, "does not fit", setattr, message, "data", bytes(200))
        raises(TypeError, "'f'", setattr, message, "data", memoryview(bytes(8)).cast("f"))
        raises(TypeError, "array of numbers", setattr, message, "data", "text")
        raises(ValueError, "", setattr, message, "data", [256])
        raises(ValueError, "9 elements", setattr, imu, "orientation_covariance", [0.0] * 8)
        raises(TypeError, "'h'", setattr, imu, "orientation_covariance", memoryview(bytes(18)).cast("h"))
        raises(ValueError, "at most 64", message.alloc, "fields", 65)
        raises(ValueError, "at most 31", setattr, Simple("sim/PointField"), "name", "x" * 32)
        raises(TypeError, "a str is needed", setattr, Simple("sim/PointField"), "name", 5)
        raises(errno.ENOENT, "comes with simd", client.advertise, "x", "sim/Nothing")
        raises(errno.EMEDIUMTYPE, "", client.subscribe, "pair", "sim/Imu")
        raises(ValueError, "a/B.msg:2: 'float32' is not", Type.from_msg, "a/B", "int8 x\nfloat32\n")
        raises(errno.EINVAL, "two fields", Type.from_msg, "a/B", "int8 x\nint8 x\n")
        if numpy:
            raises(TypeError, "'>d'", setattr, imu, "orientation_covariance", numpy.zeros(9, ">f8"))
            raises(ValueError, "contiguous", setattr, message, "data", numpy.zeros(8, numpy.uint8)[::2])


def Simple(name):
    type_ = Type.builtin(name)
    return simclient.Copy.make(type_, 200)


# ---- threads, processes ----

def threads():
    """A second thread gets the library's sentence; closing ends a wait; no thread's release is lost."""
    with Client("threads") as client:
        publisher, subscriber = pair(client)
        publisher.publish(height=1)
        message, errors = subscriber.receive(), []
        waiting = threading.Thread(target=lambda: errors.append(error_of(subscriber.receive)))
        waiting.start()
        until(lambda: error_of(subscriber.take) is not None or not waiting.is_alive())
        assert error_of(subscriber.take).errno == errno.EBUSY
        message.release()
        subscriber.close()
        waiting.join()
        assert errors[0].errno == errno.EBADF and subscriber.held == 0, (errors, subscriber.held)


def error_of(function):
    try:
        function()
    except SimError as e:
        return e
    return None


class Busy:
    """The library, at a moment when another thread is in a call of the publisher: no loan can be returned."""

    def __getattr__(self, name):
        return getattr(simclient.lib, name)

    def sim_unloan(self, publisher, slot):
        return -errno.EBUSY


def loans_dropped_elsewhere():
    """A loan that dies while another thread is in a call of the publisher goes back with the next one."""
    with Client("dropped") as client:
        publisher, _ = pair(client)
        simclient.publisher.lib = Busy()
        for _ in range(8):
            publisher.loan()
        simclient.publisher.lib = simclient.lib
        held = [publisher.loan() for _ in range(8)]
        del held


def fork():
    client = Client("fork")
    publisher, subscriber = pair(client)
    publisher.publish(height=1)
    message = subscriber.receive()
    child = os.fork()
    if child == 0:
        try:
            for use in (subscriber.take, publisher.loan, client.flush):
                raises(errno.EPERM, "fork", use)
            message.release()
            client.close()
            with Client("child") as own:
                own.now()
        except BaseException as e:
            print(e, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert message.height == 1
    message.release()
    assert subscriber.held == 0
    client.close()


def exit_in_flight():
    """Ends with everything open: messages, loans, arrays, callbacks that are due."""
    global kept
    client = Client("exit")
    publisher, subscriber = pair(client)
    queued = client.advertise("queued", "sim/Imu")
    publisher.publish(data=b"\1" * 5000)
    publisher.publish(height=1)
    kept = [subscriber.receive().data.memoryview(), subscriber.receive(), publisher.loan(), client]
    client.timer(1_000_000, lambda event: None)
    for _ in range(5):
        queued.publish(done=lambda ok, reason: None)


def interpreters():
    import _xxsubinterpreters as sub
    code = """import simclient
with simclient.Client("sub") as client:
    publisher, subscriber = client.advertise("sub", "sim/Imu", local=True), client.subscribe("sub", "sim/Imu")
    publisher.publish(measurement_span=1)
"""
    made = [sub.create(), sub.create()]
    for one in made:
        sub.run_string(one, code)
    for one in made:
        sub.destroy(one)
    there_and_back()


# ---- callbacks ----

def callbacks():
    with Client("callbacks") as client:
        publisher = client.advertise("queued", "sim/Imu")
        seen = []
        publisher.publish(done=lambda ok, reason: seen.append((ok, reason)))
        client.flush()
        assert seen == [(False, "no bridge carries the channel")], seen

        def fails(*_):
            raise KeyError("from a callback")
        publisher.publish(done=fails)
        raises(KeyError, "from a callback", client.flush)
        publisher.publish(done=lambda *_: client.close())
        raises(errno.EDEADLK, "callback", client.flush)
        client.flush()
        with client.timer(1_000_000, fails, one_shot=True):
            raises(KeyError, "from a callback", client.sleep_until, client.now() + 60_000_000_000)
    with Client("no-thread", thread=False) as client:
        publisher = client.advertise("queued", "sim/Imu")
        publisher.publish(done=fails)

        def process():
            while True:
                client.process()
        raises(KeyError, "from a callback", process)


# ---- asyncio, time, services, parameters ----

def in_asyncio():
    async def main():
        with Client("asyncio") as client:
            publisher, subscriber = pair(client)
            other = client.subscribe("other", "sim/Imu", pollable=True)

            async def read():
                return [m.height async for m in limited(subscriber, 3)]

            async def read_other():
                return [m async for m in other]
            reading, idle = asyncio.ensure_future(read()), asyncio.ensure_future(read_other())
            for i in range(3):
                await asyncio.sleep(0)
                publisher.publish(height=i)
            assert await reading == [0, 1, 2]
            other.close()
            assert await idle == []
            plain = client.subscribe("pair")
            raises(errno.EINVAL, "SIM_SUB_FD", plain.fileno)
    asyncio.run(main())


async def limited(messages, count):
    async for message in messages:
        yield message
        count -= 1
        if not count:
            return


def latest():
    with Client("latest") as client:
        publisher, _ = pair(client)
        reader = client.reader("pair", "sim/PointCloud", 2)
        until(lambda: (publisher.publish(), reader.observe())[1])
        for i in range(4):
            publisher.publish(height=i)
        while reader[0].height != 3:
            reader.wait()
        assert [m.height for m in (reader[0], reader[1])] == [3, 2] and len(reader) == 2
        old = reader[1]
        publisher.publish(height=9)
        assert reader.wait() == 1
        raises(errno.EBADF, "released", lambda: old.height)
        reader.close()


def clock():
    with Client("clock") as client:
        before = client.now()
        client.sleep_until(before + 20_000_000)
        assert client.now() >= before + 20_000_000 and client.sample().rate_e6 == 1_000_000
        raises(errno.ETIMEDOUT, "", client.sleep_until, before + 10**15, timeout=0.05)
        fired = threading.Event()
        events = []
        with client.timer(1_000_000, lambda event: (events.append(event.due_sim_ns), fired.set())) as timer:
            fired.wait()
            timer.stop()
            assert timer.left_ns == 2**63 - 1 and events[0] > before
        client.pause()
        at = client.now()
        assert client.now() == at
        assert client.step(1_000_000) == at + 1_000_000
        client.resume()


def services():
    with Client("services") as client:
        lights = []

        def switch(request, response):
            lights.append(request.data)
            if len(lights) == 3:
                raise SimError(errno.EBUSY, "the fuse is out")
            if len(lights) == 4:
                raise ZeroDivisionError("by a switch")
            response.success, response.message = True, "light %s" % request.data
        service = client.offer("lights", "sim/SetBool", switch)
        answer = client.call("lights", "sim/SetBool", data=True)
        assert answer.success and answer.message == "light True"
        assert client.call("/car/lights", data=False).message == "light False"
        raises(errno.EBUSY, "the fuse is out", client.call, "lights", data=True)
        raises(errno.EIO, "ZeroDivisionError: by a switch", client.call, "lights", data=True)
        raises(ZeroDivisionError, "", client.flush)
        raises(AttributeError, "no field 'date'", client.call, "lights", date=True)
        out = subprocess.run([sys.argv[3], "service", "call", "lights", '{"data": true}'], capture_output=True, text=True)
        assert "light True" in out.stdout, out
        service.close()
        raises(errno.ENOENT, "lights", client.call, "lights", data=True)


def params():
    with Client("params") as client:
        params = client.params()

        def changed(name, value):
            if value == 13:
                raise ValueError("13 Hz hums")
        params.declare("frequency", 10, "rate, Hz", minimum=1, maximum=100, changed=changed)
        params.declare("label", "front")
        params.declare("gain", 0.5)
        params.declare("on", True, read_only=True)
        assert {k: params[k] for k in params} == {"frequency": 10, "label": "front", "gain": 0.5, "on": True}
        params["label"] = "rear"
        assert params["label"] == "rear"
        raises(errno.ERANGE, "", params.__setitem__, "frequency", 101)
        raises(errno.EINVAL, "13 Hz hums", params.__setitem__, "frequency", 13)
        raises(KeyError, "none", params.__getitem__, "none")
        raises(KeyError, "none", params.__setitem__, "none", 1)
        ctl = [sys.argv[3], "param", "set", "params", "frequency"]
        out = subprocess.run(ctl + ["20"], capture_output=True, text=True)
        assert out.returncode == 0, out
        assert params["frequency"] == 20
        out = subprocess.run(ctl + ["13"], capture_output=True, text=True)
        assert out.returncode == 1 and "13 Hz hums" in out.stderr, out


# ---- driven time ----

def driving():
    with Client("driver") as client, Client("participant") as other:
        step, seen = other.join(5), []
        output = other.advertise("output", "sim/Imu", local=True)

        def take_part():
            for turn in step:
                output.publish(measurement_span=turn.dur_ns)
                seen.append(turn.now.sim_ns)
                if len(seen) == 5:
                    step.close()
        thread = threading.Thread(target=take_part)
        received = client.subscribe("output", "sim/Imu")
        until(lambda: output.has_subscribers)
        thread.start()
        with client.drive() as driver:
            raises(errno.EBUSY, "driver", other.drive)
            start = client.now()
            for _ in range(5):
                assert driver.advance(10_000_000) == 10_000_000
            assert client.now() == start + 50_000_000
            driver.jump(0)
            assert client.now() == 0
            driver.set(1_000_000)
            assert client.now() == 1_000_000
            raises(errno.EINVAL, "", driver.advance, 0)
        thread.join()
        assert seen == [start + 10_000_000 * (i + 1) for i in range(5)], seen
        assert [received.receive().measurement_span for _ in range(5)] == [10_000_000] * 5


if __name__ == "__main__":
    globals()[sys.argv[1]]()
