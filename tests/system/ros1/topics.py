# SPDX-License-Identifier: Apache-2.0
"""What rospy sees of a rig's topics, and what it sends to them, decoded by genpy from definitions as they come over the wire:
topics.py NODE TABLE look: the topics of NODE are those of TABLE and no others, with the types and the content that stand there.
topics.py NODE TABLE command: all of its commands, again and again.
"""
import json
import os
import sys
import tempfile
import threading

import genpy.dynamic
import rosgraph
import rospy

import definitions

SECS, NSECS = 1640995200, 125000000  # what "S" stands for


def differ(want, got, path):
    """Where a message is not what was wanted, which may leave out all that is 0 or empty; "" where it is."""
    if want == "S":
        want = {"secs": SECS, "nsecs": NSECS}
    if isinstance(got, (genpy.Message, genpy.TVal)):
        want = dict(want or {})
        for name in got.__slots__:
            if name == "seq" and name not in want:  # the sender's count
                continue
            d = differ(want.pop(name, None), getattr(got, name), path + "." + name)
            if d:
                return d
        return "%s: there is no %s" % (path, ", ".join(want)) if want else ""
    if isinstance(got, (list, tuple, bytes)):
        if isinstance(want, list) and len(want) != len(got):
            return "%s: %d of them, not %d" % (path, len(got), len(want))
        for i, v in enumerate(got):
            d = differ(want[i] if isinstance(want, list) else (want or {}).get(str(i)), v, "%s[%d]" % (path, i))
            if d:
                return d
        return "" if got or not want else "%s: empty" % path
    if isinstance(got, str):
        return "" if got == (want or "") else "%s: %r, not %r" % (path, got, want)
    want = float(want or 0)
    return "" if got == want or abs(got - want) <= 1e-6 * abs(want) else "%s: %r, not %r" % (path, got, want)


def class_of(header):
    """By the definition that the publisher sends; its sum must be that of the definition."""
    cls = genpy.dynamic.generate_dynamic(header["type"], header["message_definition"])[header["type"]]
    if cls._md5sum != header["md5sum"]:
        raise ValueError("%s: md5sum %s, of its definition it is %s" % (header["type"], header["md5sum"], cls._md5sum))
    return cls


class Look:
    def __init__(self, rows):
        self.left = rows
        self.lock = threading.Lock()
        self.classes = {}
        self.wrong = {}
        self.done = threading.Event()
        for topic in {r["topic"] for r in rows}:
            rospy.Subscriber(topic, rospy.AnyMsg, self.on_message, topic, queue_size=10, buff_size=1 << 24)

    def on_message(self, m, topic):
        with self.lock:
            try:
                if topic not in self.classes:
                    self.classes[topic] = class_of(m._connection_header)
                got = self.classes[topic]().deserialize(m._buff)
                self.wrong[topic] = [(r, differ(r["message"], got, topic)) for r in self.left if r["topic"] == topic]
                self.left = [r for r in self.left if (r, "") not in self.wrong[topic]]
            except Exception as e:
                print(topic, e, flush=True)
                self.done.set()
            if not self.left:
                self.done.set()


def look(node, table):
    master = rosgraph.Master("/look")
    want = {(r["topic"], r["type"]) for r in table["topics"]} | {("/clock", "rosgraph_msgs/Clock")}
    got = set()
    for _ in range(300):  # until all are registered
        ours = {topic for topic, nodes in master.getSystemState()[0] if node in nodes}
        got = {(topic, kind) for topic, kind in master.getTopicTypes() if topic in ours}
        if got >= want or threading.Event().wait(0.1):
            break
    if got != want:
        print("missing:", sorted(want - got), "not wanted:", sorted(got - want))
        return 1
    if not rospy.get_param("/use_sim_time", False):
        print("/use_sim_time is not set")
        return 1
    rows = Look(list(table["topics"]))
    if not rows.done.wait(30):
        for topic in {r["topic"] for r in rows.left}:
            print(topic, [d for r, d in rows.wrong.get(topic, []) if d] or "nothing came")
    if rospy.Time.now().secs < SECS:
        print("/clock does not go on")
        return 1
    return 1 if rows.left else 0


def fill(message, tree):
    for name, v in tree.items():
        if v == "S":
            setattr(message, name, genpy.Time(SECS, NSECS))
        elif isinstance(v, dict):
            fill(getattr(message, name), v)
        else:
            setattr(message, name, v)
    return message


def command(table):
    out = []
    for row in table["commands"]:
        cls = definitions.class_of(row["type"])
        out.append((rospy.Publisher(row["topic"], cls, queue_size=10), fill(cls(), row["message"])))
    while not rospy.is_shutdown():
        for publisher, message in out:
            publisher.publish(message)
        threading.Event().wait(0.02)
    return 0


def main():
    node, path, what = sys.argv[1:4]
    with open(path) as f:
        table = json.load(f)
    rospy.init_node(what, disable_signals=True)
    return look(node, table) if what == "look" else command(table)


tempfile.tempdir = os.environ["ROS_HOME"]  # genpy leaves its modules there
os.makedirs(tempfile.tempdir, exist_ok=True)
code = main()
sys.stdout.flush()
os._exit(code)  # rospy's threads may wait for /clock
