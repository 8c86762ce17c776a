# SPDX-License-Identifier: Apache-2.0
"""Messages of types that have no mapping to one of simd's: of ROS's own packages, and of one that nobody has.
unmapped.py write BAG: a bag of them, by rosbag; each type has a topic, a message of zeros, one of extremes, and random ones.
unmapped.py expect BAG: what rosbag reads in it, as JSON, with the names, the times and the definitions of ROS 2; for ../decode/unmapped.js and ../ros2/unmapped.c.
Sent is nothing that ROS 2 cannot have: a time from 2038 on. Not compared is what it does not have: the count in a header, and the sign of a byte.
unmapped.py hear BAG: "ready" when all of its topics have a publisher; "the same" when each has sent what is in the bag, or how it differs.
"""
import contextlib
import importlib
import json
import math
import os
import random
import sys
import tempfile
import threading

import genpy.dynamic
import rosbag
import rospy

import definitions

INSTALLED = """
std_msgs/Byte std_msgs/ByteMultiArray std_msgs/Char std_msgs/ColorRGBA std_msgs/Duration std_msgs/Empty std_msgs/Float32MultiArray
std_msgs/Float64MultiArray std_msgs/Int64MultiArray std_msgs/Time std_msgs/UInt8MultiArray std_msgs/UInt64MultiArray
geometry_msgs/AccelStamped geometry_msgs/InertiaStamped geometry_msgs/Point32 geometry_msgs/PointStamped geometry_msgs/PolygonStamped
geometry_msgs/Pose2D geometry_msgs/PoseArray geometry_msgs/QuaternionStamped geometry_msgs/TransformStamped
geometry_msgs/TwistWithCovarianceStamped geometry_msgs/Vector3Stamped geometry_msgs/WrenchStamped
sensor_msgs/BatteryState sensor_msgs/FluidPressure sensor_msgs/JointState sensor_msgs/Joy sensor_msgs/JoyFeedbackArray
sensor_msgs/MagneticField sensor_msgs/MultiDOFJointState sensor_msgs/MultiEchoLaserScan sensor_msgs/PointCloud sensor_msgs/Range
sensor_msgs/RegionOfInterest sensor_msgs/TimeReference
""".split()
DEFINED = """
actionlib_msgs/GoalStatusArray diagnostic_msgs/DiagnosticArray geographic_msgs/RouteNetwork nav_msgs/GetMapAction nav_msgs/Path
shape_msgs/Mesh shape_msgs/SolidPrimitive tf2_msgs/LookupTransformActionGoal trajectory_msgs/JointTrajectory
trajectory_msgs/MultiDOFJointTrajectory visualization_msgs/InteractiveMarker visualization_msgs/Marker vision_msgs/Detection3D
""".split()
OWN = {
    "far_msgs/Everything": """# All that ROS 1 has.
byte OK=0
byte BAD=-1
char LETTER=65
string NAME=a thing  # not a comment
Header header
bool yes
byte level
char letter
int8 a
uint8 b
int16 c
uint16 d
int32 e
uint32 f
int64 g
uint64 h
float32 x
float64 y
string s
time t
duration u
far_msgs/Part part
""",
    "far_msgs/Arrays": """bool[] yes
byte[3] level
byte[] levels
char[] letters
char[4] four
int16[] c
uint32[5] f
int64[] g
uint64[2] h
float32[] x
float64[3] y
string[] s
string[2] two
time[] t
time[2] t2
duration[] u
Part[] parts
Part[2] pair
""",
    "far_msgs/Part": """byte kind
float32 HALF=0.50
string name
Leaf[] leaves
Leaf leaf
""",
    "far_msgs/Leaf": """uint8 n
float64[] values
""",
    "far_msgs/Constants": """int32 ONE=1
string TEXT=nothing else
""",
}
HEADER = "uint32 seq\ntime stamp\nstring frame_id\n"
RULE = "\n" + "=" * 80 + "\n"
RANDOM = 3
BITS = {"int8": -8, "byte": -8, "uint8": 8, "char": 8, "int16": -16, "uint16": 16, "int32": -32, "uint32": 32, "int64": -64, "uint64": 64}
PIECES = ["a", '"', "\\", "\n", "\x01", "\u00e9", "\U0001f697", "/", "x y", "\x7f", "\u4e2d"]


def classes_of(kind):
    """The class of a type, and of each that it is made of."""
    if kind in OWN:
        parts = "".join(RULE + "MSG: %s\n%s" % part for part in OWN.items() if part[0] != kind)
        return genpy.dynamic.generate_dynamic(kind, OWN[kind] + parts + RULE + "MSG: std_msgs/Header\n" + HEADER)
    if kind in DEFINED:
        return genpy.dynamic.generate_dynamic(kind, definitions.definition(kind, set()))
    package, name = kind.split("/")
    return {kind: getattr(importlib.import_module(package + ".msg"), name)}


# ---- what is sent ----

class Filler:
    def __init__(self, classes, rnd, extreme):
        self.classes, self.rnd, self.extreme = classes, rnd, extreme

    def new(self, kind):
        if kind not in self.classes:
            self.classes[kind] = classes_of(kind)[kind]
        return self.message(self.classes[kind]())

    def message(self, m):
        for name, kind in zip(m.__slots__, m._slot_types):
            setattr(m, name, self.value(kind))
        if self.extreme and m._type == "std_msgs/Header":
            m.frame_id = LONGEST_INNER
        return m

    def number(self, bits):
        low, high = (-(1 << -bits - 1), (1 << -bits - 1) - 1) if bits < 0 else (0, (1 << bits) - 1)
        return self.rnd.choice([low, high]) if self.extreme else self.rnd.randint(low, high)

    def real(self, single):
        if self.extreme:
            most, least = (3.4028234663852886e38, 1.401298464324817e-45) if single else (1.7976931348623157e308, 5e-324)
            return self.rnd.choice([math.nan, math.inf, -math.inf, most, -most, least, -0.0])
        return self.rnd.uniform(-1e6, 1e6)

    def text(self):
        return "".join(self.rnd.choice(PIECES) for _ in range(300 if self.extreme else self.rnd.randint(0, 9)))

    def array(self, kind, n):
        if n == "":
            n = self.rnd.choice([0, 200 if "/" not in kind else 3]) if self.extreme else self.rnd.randint(0, 5)
        values = [self.value(kind) for _ in range(int(n))]
        return bytes(values) if kind in ("uint8", "char") else values

    def value(self, kind):
        if kind.endswith("]"):
            return self.array(*kind[:-1].rsplit("[", 1))
        if kind in BITS:
            return self.number(BITS[kind])
        if kind in ("float32", "float64"):
            return self.real(kind == "float32")
        if kind == "bool":
            return bool(self.rnd.getrandbits(1))
        if kind == "string":
            return self.text()
        if kind == "time":
            return genpy.Time(*((SECS_MAX, 999999999) if self.extreme else (self.rnd.randint(0, SECS_MAX), self.rnd.randrange(10**9))))
        if kind == "duration":
            return genpy.Duration(self.number(-32), 999999999 if self.extreme else self.rnd.randrange(10**9))
        return self.new(kind)


SECS_MAX = (1 << 31) - 1  # ROS 2 has no more
LONGEST_FRAME = "\u00e9" * 19 + "x"  # of a message's own header: 39 bytes
LONGEST_INNER = "\u00e9" * 127 + "x"  # of another one


def topic_of(kind):
    return "/" + kind.lower()


def write(path):
    rnd = random.Random(40)
    with rosbag.Bag(path, "w", compression="lz4") as bag:
        for kind in INSTALLED + DEFINED + list(OWN):
            classes = classes_of(kind)
            for i in range(2 + RANDOM):
                m = classes[kind]()
                if i > 0:
                    Filler(classes, rnd, i == 1).message(m)
                if i == 1 and hasattr(m, "header"):
                    m.header.frame_id = LONGEST_FRAME
                bag.write(topic_of(kind), m, rospy.Time(1000 + i, 5))


# ---- as ROS 2 has the types ----

NAMES = {"time": "builtin_interfaces/Time", "duration": "builtin_interfaces/Duration", "uuid_msgs/UniqueID": "unique_identifier_msgs/UUID"}


def fields(cls):
    """Of a message's own: (name, type without its array, that array)."""
    for name, kind in zip(cls.__slots__, cls._slot_types):
        word, bracket, rest = kind.partition("[")
        if (cls._type, name) != ("std_msgs/Header", "seq"):
            yield name, word, bracket + rest


def definition(kind):
    """Its text, and behind it those of what it nests."""
    classes, kinds, texts = classes_of(kind), [kind], []
    for k in kinds:
        text = "MSG: %s\n" % NAMES.get(k, k) if texts else ""
        for name, word, array in fields(classes.get(k) or classes_of(k)[k]):
            text += "%s%s %s\n" % (NAMES.get(word, word), array, name)
            if "/" in word and word not in kinds:
                kinds.append(word)
        texts.append(text)
    return RULE.join(texts)


# ---- what is seen ----

def tree(kind, v):
    """In JSON: 64 bits as text, and a number that JSON does not have by its name."""
    if kind.endswith("]"):
        kind = kind[:-1].rsplit("[", 1)[0]
        return [tree(kind, x) for x in v]
    if kind in ("int64", "uint64"):
        return str(v)
    if kind in ("float32", "float64"):
        return "NaN" if math.isnan(v) else ("-" if v < 0 else "") + "Infinity" if math.isinf(v) else "-0" if v == 0 and math.copysign(1, v) < 0 else v
    if kind in ("time", "duration"):
        return {"sec": v.secs, "nanosec": v.nsecs}
    if isinstance(v, genpy.Message):
        if v._type == "std_msgs/Header":  # the count is the sender's
            return {"stamp": tree("time", v.stamp), "frame_id": v.frame_id}
        return {name: tree(t, getattr(v, name)) for name, t in zip(v.__slots__, v._slot_types)}
    return bool(v) if kind == "bool" else v & 255 if kind == "byte" else v  # a byte is a uint8 in simd and ROS 2


def read(path):
    """By topic: type, sum, and the messages."""
    topics = {}
    with rosbag.Bag(path) as bag:
        for topic, m, _ in bag.read_messages():
            topics.setdefault(topic, {"type": m._type, "md5sum": m._md5sum, "messages": []})["messages"].append(tree(m._type, m))
    return topics


GENPY = threading.Lock()  # it makes one type at a time


class Ear:
    """What a topic sends, decoded by the definition that comes with it, whose sum must be the topic's."""

    def __init__(self, topic, want, done):
        self.want, self.done, self.got, self.wrong = want, done, [], ""
        self.cls = None
        self.sub = rospy.Subscriber(topic, rospy.AnyMsg, self.on_message, queue_size=100, buff_size=1 << 24)

    def on_message(self, m):
        try:
            h = m._connection_header
            with GENPY if not self.cls else contextlib.nullcontext():
                self.cls = self.cls or genpy.dynamic.generate_dynamic(h["type"], h["message_definition"])[h["type"]]
            if (h["type"], h["md5sum"], self.cls._md5sum) != (self.want["type"], self.want["md5sum"], self.want["md5sum"]):
                self.wrong = "%s %s, defined as %s" % (h["type"], h["md5sum"], self.cls._md5sum)
            self.got.append(tree(h["type"], self.cls().deserialize(m._buff)))
        except Exception as e:
            self.wrong = repr(e)
            self.got.append(None)
        if len(self.got) == len(self.want["messages"]):
            self.done.release()


def differ(want, got, path):
    if isinstance(want, dict) and isinstance(got, dict) and list(want) == list(got):
        return next(filter(None, (differ(want[k], got[k], path + "." + k) for k in want)), "")
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return next(filter(None, (differ(w, g, "%s[%d]" % (path, i)) for i, (w, g) in enumerate(zip(want, got)))), "")
    return "" if want == got else "%s: %.100r, not %.100r" % (path, got, want)


def hear(path):
    done = threading.Semaphore(0)
    rospy.init_node("ears", disable_signals=True)
    ears = {topic: Ear(topic, want, done) for topic, want in read(path).items()}
    while any(e.sub.get_num_connections() == 0 for e in ears.values()):
        threading.Event().wait(0.05)
    print("ready", flush=True)
    for _ in ears:
        done.acquire()
    wrong = [e.wrong and topic + ": " + e.wrong or differ(e.want["messages"], e.got, topic) for topic, e in ears.items()]
    print("\n".join(filter(None, wrong)) or "the same", flush=True)


tempfile.tempdir = os.environ.get("ROS_HOME")  # genpy leaves its modules there
if tempfile.tempdir:
    os.makedirs(tempfile.tempdir, exist_ok=True)
if sys.argv[1] == "write":
    write(sys.argv[2])
elif sys.argv[1] == "expect":
    print(json.dumps({topic: dict(t, definition=definition(t["type"])) for topic, t in read(sys.argv[2]).items()}))
else:
    hear(sys.argv[2])
    os._exit(0)
