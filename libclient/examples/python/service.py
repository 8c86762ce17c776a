# SPDX-License-Identifier: Apache-2.0
"""Offers a service: head lights that `simctl service call headlights '{"data": true}'` switches. Ends with its input."""
import sys

import simclient


def switch(request, response):  # in a thread of the library, one request at a time
    response.success = True
    response.message = "head lights " + ("on" if request.data else "off")


with simclient.Client("lights") as client:
    client.offer("headlights", "sim/SetBool", switch)
    sys.stdin.read()
