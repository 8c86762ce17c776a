# SPDX-License-Identifier: Apache-2.0
"""server.py SERVICE N: serves std_srvs/SetBool until it is killed by name; each N-th request fails."""
import sys

import rospy
from std_srvs.srv import SetBool, SetBoolResponse

count = 0


def on_request(request):
    global count
    count += 1
    if count % int(sys.argv[2]) == 0:
        raise rospy.ServiceException("three are too many")
    return SetBoolResponse(True, "honk" if request.data else "silence")


rospy.init_node("server", disable_signals=True)
service = rospy.Service(sys.argv[1], SetBool, on_request)
print("ready", flush=True)
rospy.spin()
