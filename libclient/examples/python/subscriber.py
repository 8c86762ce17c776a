# SPDX-License-Identifier: Apache-2.0
"""Receives in place whatever type a channel has:  subscriber.py [CHANNEL [MESSAGES]]"""
import itertools
import sys

import simclient

channel = sys.argv[1] if len(sys.argv) > 1 else "my_imu"
count = int(sys.argv[2]) if len(sys.argv) > 2 else None
with simclient.Client("subscriber") as client, client.subscribe(channel) as subscriber:
    for message in itertools.islice(subscriber, count):
        print("%d at %.3f s: %s" % (message.slot.sequence, message.slot.stamp_sim_ns / 1e9, message.to_dict()))
