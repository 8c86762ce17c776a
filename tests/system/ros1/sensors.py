# SPDX-License-Identifier: Apache-2.0
"""A car's sensors over ROS 1, until it is ended: an image (of 6 MiB, or CAMERA_ROWS of 6 KiB), a cloud, an IMU and a fix, each with a stamp and a
frame of its own."""
import os
import struct
import threading

import rospy
from sensor_msgs.msg import Image, Imu, NavSatFix, PointCloud2, PointField

STAMP_S = 1700000000  # and as many ns as the topic's number


def headed(message, number, frame):
    message.header.stamp = rospy.Time(STAMP_S, number)
    message.header.frame_id = frame
    return message


def image():
    m = headed(Image(), 1, "camera_front")
    m.height, m.width, m.encoding, m.step = int(os.environ.get("CAMERA_ROWS", "1024")), 2048, "bgr8", 6144
    m.data = bytes(i * 7 & 255 for i in range(6144)) * m.height
    return m


def cloud():
    m = headed(PointCloud2(), 2, "velodyne")
    kinds = (("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("intensity", 12, 7), ("ring", 16, 4), ("time", 18, 7))
    m.fields = [PointField(name, offset, kind, 1) for name, offset, kind in kinds]
    m.height, m.width, m.point_step, m.row_step, m.is_dense = 1, 20000, 22, 440000, True
    m.data = b"".join(struct.pack("<ffffHf", i, -i, 0.5, 1, i % 64, 0.25) for i in range(20000))
    return m


def imu():
    m = headed(Imu(), 3, "imu_link")
    m.orientation_covariance[0] = -1
    m.angular_velocity.z, m.linear_acceleration.z = 0.25, 9.75
    return m


def fix():
    m = headed(NavSatFix(), 4, "gps")
    m.status.status, m.status.service, m.latitude, m.longitude, m.altitude = 2, 1, 48.5, -11.25, 500
    return m


rospy.init_node("sensors")
stop = threading.Event()
rospy.on_shutdown(stop.set)
messages = [("/camera", image()), ("/points", cloud()), ("/imu", imu()), ("/fix", fix())]
topics = [(rospy.Publisher(name, type(m), queue_size=2), m) for name, m in messages]
while not stop.wait(0.2):
    for topic, m in topics:
        topic.publish(m)
