# SPDX-License-Identifier: Apache-2.0
"""A node of rospy: listener.py NODE TOPIC PACKAGE/TYPE N prints a line of N messages, or, without a topic, only is there."""
import importlib
import sys

import rospy


def line(m):
    header = getattr(m, "header", None)
    data = getattr(m, "data", b"")
    text = data if isinstance(data, str) else "%d bytes, sum %d" % (len(data), sum(data))
    return text if header is None else "%d %d.%09d %s: %s" % (
        header.seq, header.stamp.secs, header.stamp.nsecs, header.frame_id, text)


def say(text):
    """A line, whole, whichever of rospy's threads says it: print() writes the end of a line by itself."""
    print(text + "\n", end="", flush=True)


left = int(sys.argv[4]) if len(sys.argv) > 4 else 0


def on_message(m):
    global left
    if left > 0:
        left -= 1
        say(line(m))
    if left == 0:
        rospy.signal_shutdown("done")


rospy.init_node(sys.argv[1], disable_signals=True)
if left:
    package, name = sys.argv[3].split("/")
    rospy.Subscriber(sys.argv[2], getattr(importlib.import_module(package + ".msg"), name), on_message, queue_size=10,
                     buff_size=1 << 24)
say("ready")
rospy.spin()
