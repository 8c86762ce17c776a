# SPDX-License-Identifier: Apache-2.0
"""A message of a package that nobody has: thing.py talk TOPIC sends one, latched; thing.py hear TOPIC prints the first that comes, of that very definition."""
import os
import sys
import tempfile

import genpy.dynamic
import rospy

RULE = "=" * 80 + "\n"
TEXT = """# What a car carries.
Header header
byte OK=0
byte BAD=-1  # a signed one in ROS 1
char LETTER=65
float32 RATE=0.1
float64 G=9.80665
string NAME=a thing  # not a comment
byte level  # how much
char[] letters
byte[4] four
Part[] parts
time when
duration long
"""
PART = """byte kind
float32 HALF=0.50
string name
"""
HEADER = """uint32 seq
time stamp
string frame_id
"""


def main():
    what, topic = sys.argv[1:3]
    made = genpy.dynamic.generate_dynamic(
        "car_msgs/Thing", TEXT + RULE + "MSG: car_msgs/Part\n" + PART + RULE + "MSG: std_msgs/Header\n" + HEADER)
    thing, part = made["car_msgs/Thing"], made["car_msgs/Part"]
    rospy.init_node("thing_" + what, disable_signals=True)
    if what == "hear":
        print("ready", thing._md5sum, flush=True)
        m = rospy.wait_for_message(topic, thing)
        print(m.header.frame_id, m.header.stamp, m.level, list(m.letters), list(m.four), [(p.kind, p.name) for p in m.parts],
              m.when, m.long, flush=True)
        return
    out = rospy.Publisher(topic, thing, queue_size=1, latch=True)
    m = thing(level=-3, letters=[65, 200], four=[1, 2, -1, 4], parts=[part(kind=-7, name="wheel")])
    m.header.stamp, m.header.frame_id = rospy.Time(5, 7), "car"
    m.when, m.long = rospy.Time(1, 2), rospy.Duration(3, 4)
    out.publish(m)
    print("ready", thing._md5sum, flush=True)
    rospy.spin()


tempfile.tempdir = os.environ["ROS_HOME"]  # genpy leaves its modules there
os.makedirs(tempfile.tempdir, exist_ok=True)
main()
os._exit(0)
