# SPDX-License-Identifier: Apache-2.0
"""counts.py NODE FILE: what comes on the topics of a node of that name, counted by the numbers and stamps in the messages, whatever
the time on the wall; FILE has the newest account: {TOPIC: {"n", "first", "last", "lost", "back", "rate"}}."""
import json
import os
import struct
import sys
import threading

import rosgraph
import rospy

node, path = sys.argv[1:3]
lock = threading.Lock()
account = {}


def stamp_of(m):
    """Number and stamp of a message that begins with a header; of /clock the stamp, of others neither."""
    if hasattr(m, "clock"):  # rospy has its own subscriber
        return None, m.clock.to_nsec()
    definition = m._connection_header["message_definition"]
    first = [s for s in definition.splitlines() if s.split("#")[0].strip() and "=" not in s.split("#")[0]][0].split()
    if first[0] in ("Header", "std_msgs/Header"):
        seq, s, ns = struct.unpack_from("<III", m._buff)
        return seq, s * 10**9 + ns
    return None, None


def on_message(m, topic):
    seq, ns = stamp_of(m)
    with lock:
        a = account.setdefault(topic, {"n": 0, "first": seq, "last": seq, "lost": 0, "back": 0, "first_ns": ns, "last_ns": ns})
        if a["n"] and seq is not None:
            a["lost"] += seq - a["last"] - 1
        a["back"] += a["n"] and ((seq is not None and seq <= a["last"]) or (ns is not None and ns < a["last_ns"]))
        a["n"] += 1
        a["last"], a["last_ns"] = seq, ns
        if seq is not None and ns > a["first_ns"]:
            a["rate"] = (seq - a["first"]) * 1e9 / (ns - a["first_ns"])


rospy.init_node("counts", disable_signals=True)
master = rosgraph.Master("/counts")
seen = set()
while True:
    for topic, nodes in master.getSystemState()[0]:
        if node in nodes and topic not in seen:
            seen.add(topic)
            rospy.Subscriber(topic, rospy.AnyMsg, on_message, topic, buff_size=1 << 24)
    with lock:
        text = json.dumps(account)
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)
    threading.Event().wait(0.2)
