# SPDX-License-Identifier: Apache-2.0
"""caller.py SERVICE THREADS TIMES: each thread calls it so often, on a persistent connection, and prints a line of the answers."""
import sys
import threading

import rospy
from std_srvs.srv import SetBool

service, threads, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def run():
    call = rospy.ServiceProxy(service, SetBool, persistent=True)
    print(" ".join(call(i % 2 == 0).message for i in range(times)) + "\n", end="", flush=True)
    call.close()


rospy.init_node("caller", disable_signals=True)
all_of_them = [threading.Thread(target=run) for _ in range(threads)]
for t in all_of_them:
    t.start()
for t in all_of_them:
    t.join()
rospy.signal_shutdown("done")
