# SPDX-License-Identifier: Apache-2.0
"""A sensor: an IMU that measures at 100 Hz of simulated time."""
import errno
import sys
import time

import simclient

with simclient.Client("my-imu") as client:
    imu = client.advertise("my_imu", "sim/Imu")
    due = client.now()
    while True:
        try:
            client.sleep_until(due, timeout=1)
            with imu.loan() as message:
                message.orientation.w = 1  # not turned: all zeros are no rotation
                message.linear_acceleration.z = 9.81
            due += 10_000_000
        except simclient.SimError as e:  # no driver yet, paused, a jump, simd is away
            print(e.strerror, file=sys.stderr)
            if e.errno == errno.ENOTCONN:
                time.sleep(1)
            if e.errno != errno.ETIMEDOUT:
                due = client.now()
