# SPDX-License-Identifier: Apache-2.0
"""An engine that drives simulated time, 10 ms for each step:  driver.py [STEPS]  (simd's TimeSource is "unity")"""
import sys

import simclient

with simclient.Client("engine") as client, client.drive(paced=True) as driver:
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else sys.maxsize):
        driver.advance(10_000_000)  # blocks while time is paused
        print("%.3f s" % (client.now() / 1e9))
