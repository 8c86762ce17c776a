# SPDX-License-Identifier: Apache-2.0
"""Drives over ROS 1: teleop.py SPEED ANGLE [TOPIC]: metres a second and radians, left is positive; run in the top folder. Without a package of
Autoware.AI, whose autoware_msgs/VehicleCmd it sends 20 times a second until Ctrl-C."""
import sys
import threading

import rospy

from definitions import class_of

GEAR_DRIVE = 4

command = class_of("autoware_msgs/VehicleCmd")()
command.ctrl_cmd.linear_velocity, command.ctrl_cmd.steering_angle = map(float, sys.argv[1:3])
command.gear_cmd.gear = GEAR_DRIVE
rospy.init_node("teleop")
out = rospy.Publisher(sys.argv[3] if len(sys.argv) > 3 else "/vehicle_cmd", type(command), queue_size=1)
stop = threading.Event()
rospy.on_shutdown(stop.set)
while not stop.wait(0.05):
    command.header.stamp = rospy.Time.now()
    out.publish(command)
