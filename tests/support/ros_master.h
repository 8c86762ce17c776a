/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rosmaster of Debian and ROS' own programs beside it, in tests that have namespaces of their own. What goes wrong fails the running
 * test. Thread: main.
 */
#ifndef TEST_ROS_MASTER_H
#define TEST_ROS_MASTER_H

#include <sys/types.h>

/* For a group's setup: without ROS 1 here the program is skipped, and has failed where FULL=1 asked for everything. */
int ros_master_group(void **state);

/* At a port that is free; ROS_MASTER_URI, ROS_IP and ROS_HOME are set for what is started from here on. Returns its URI. */
const char *ros_master_start(void);
/* SIGKILL; and one more at the same port. */
void ros_master_kill(void);
void ros_master_again(void);

/* All that a command of the shell prints, static; its exit code, where that is asked for. */
const char *ros_output(const char *command, int *ret_code);

#endif
