# SPDX-License-Identifier: Apache-2.0
"""Messages whose package is not installed, from the definitions in schemas/ros; run in the top folder."""
import os

import genpy.dynamic


def definition(kind, seen):
    """The definition of a type and of what it is made of."""
    package, name = kind.split("/")
    path = "schemas/ros/ros1/%s/msg/%s.msg" % (package, name)
    if not os.path.exists(path):
        path = "schemas/ros/%s/msg/%s.msg" % (package, name)
    with open(path) as f:
        text = f.read().replace("builtin_interfaces/Time", "time").replace("builtin_interfaces/Duration", "duration")  # the form of ROS 2
    for line in text.splitlines():
        inner = line.split("#")[0].split(" ")[0].split("[")[0]
        if "/" in inner and inner not in seen:
            seen.add(inner)
            text += "\n%s\nMSG: %s\n%s" % ("=" * 80, inner, definition(inner, seen))
    return text


def class_of(kind):
    return genpy.dynamic.generate_dynamic(kind, definition(kind, set()))[kind]
