/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rosmaster of Debian and ROS' own programs beside it, in tests that have namespaces of their own. What goes wrong fails the running
 * test. Thread: main.
 */
#ifndef TEST_ROS_MASTER_H
#define TEST_ROS_MASTER_H

#include <stdio.h>

/* For a group's setup: without ROS 1 here the program is skipped, and has failed where FULL=1 asked for everything. */
int ros_master_group(void **state);

/*
 * At a port that is free; ROS_MASTER_URI, ROS_IP and ROS_HOME are set for what is started from here on, and Python writes each line at
 * once. Returns its URI.
 */
const char *ros_master_start(void);
/* SIGKILL; and one more at the same port. */
void ros_master_kill(void);
void ros_master_again(void);

/* All that a command of the shell prints, static; its exit code, where that is asked for. */
const char *ros_output(const char *command, int *ret_code);
/* It prints this, among other things. */
void ros_prints(const char *command, const char *part);

/* One that goes on: its output is read line by line, and pclose() ends it. */
FILE *ros_begin(const char *command);
void ros_next_line(FILE *f, const char *expected);
void ros_until_line(FILE *f, const char *part);

#endif
