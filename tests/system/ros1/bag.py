# SPDX-License-Identifier: Apache-2.0
"""bag.py read FILE: a line for each message, as ROS's own rosbag reads it. bag.py write FILE COMPRESSION: a bag of its writer's.
bag.py count FILE: how many messages a topic has, and how far stamps are from times.
bag.py headers FILE ...: of each message with a header its topic, whether its connection is latched, its header's number and its time.
bag.py unclosed FILE: one whose writer was killed.
bag.py apollo FILE: one as Apollo 1.0 to 3.0 wrote them, with protobuf in it."""
import hashlib
import os
import struct
import sys

import rosbag
import rospy
import std_msgs.msg


def read(path):
    with rosbag.Bag(path, allow_unindexed=True) as bag:
        for topic, message, t in bag.read_messages():
            print(f"{topic} {t.secs}.{t.nsecs:09} {message._type} {message.data}")


def count(path):
    seen = {}
    with rosbag.Bag(path) as bag:
        for topic, message, t in bag.read_messages():
            key = f"{topic} {message._type}"
            seen[key] = seen.get(key, 0) + 1
            if hasattr(message, "header"):
                seen[key + " " + message.header.frame_id] = message.header.stamp.to_nsec() - t.to_nsec()
    for key, n in seen.items():
        print(key, n)


def headers(path):
    with rosbag.Bag(path) as bag:
        for topic, message, t, connection in bag.read_messages(return_connection_header=True):
            if hasattr(message, "header"):
                latched = connection.get("latching", b"0").decode()
                print(f"{os.path.basename(path)} {topic} latching={latched} seq={message.header.seq} at {t.to_nsec()}")


def fill(bag):
    for i in range(300):
        bag.write("/chat", std_msgs.msg.String(f"text {i}"), rospy.Time(1000 + i, i))
        bag.write("/number", std_msgs.msg.Int32(i), rospy.Time(1000 + i, 500))


class Chassis:
    """What Apollo's own genpy made of a message of protobuf: its sum is that of its type's name."""

    _type = "pb_msgs/Chassis"
    _md5sum = hashlib.md5(_type.encode()).hexdigest()
    _full_text = "protobuf"
    _has_header = False

    def __init__(self, stamp, speed):
        header = b"\x09" + struct.pack("<d", stamp)
        self.data = b"\x2d" + struct.pack("<f", speed) + b"\xca\x01" + bytes([len(header)]) + header

    def serialize(self, buff):
        buff.write(struct.pack("<I", len(self.data)) + self.data)


def apollo(path):
    with rosbag.Bag(path, "w") as bag:
        for i in range(3):
            bag.write("/apollo/canbus/chassis", Chassis(5.5 + i, 12.5 + i), rospy.Time(1000 + i))
            bag.write("/chat", std_msgs.msg.String("an ordinary one"), rospy.Time(1000 + i))


if sys.argv[1] == "apollo":
    apollo(sys.argv[2])
elif sys.argv[1] == "read":
    read(sys.argv[2])
elif sys.argv[1] == "count":
    count(sys.argv[2])
elif sys.argv[1] == "headers":
    for path in sys.argv[2:]:
        headers(path)
elif sys.argv[1] == "write":
    with rosbag.Bag(sys.argv[2], "w", compression=sys.argv[3], chunk_threshold=2000) as bag:
        fill(bag)
else:
    bag = rosbag.Bag(sys.argv[2], "w", chunk_threshold=2000)
    fill(bag)
    bag._file.flush()
    os._exit(0)
