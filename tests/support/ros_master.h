/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rosmaster from Debian and ROS's own programs, in tests with namespaces of their own. Errors fail the running test.
 * Thread: main.
 */
#ifndef TEST_ROS_MASTER_H
#define TEST_ROS_MASTER_H

#include <stdio.h>

/* For a group's setup: without ROS 1 the program is skipped, or fails if FULL=1 asked for everything. */
int ros_master_group(void **state);

/*
 * Starts it at a free port; sets ROS_MASTER_URI, ROS_IP and ROS_HOME for programs started later, and makes Python flush
 * each line. Returns its URI.
 */
const char *ros_master_start(void);
/* Kills it (SIGKILL); starts another at the same port. */
void ros_master_kill(void);
void ros_master_again(void);

/* Returns a shell command's output, static; its exit code in ret_code, if that is not NULL. */
const char *ros_output(const char *command, int *ret_code);
/* Checks that the command's output contains `part`. */
void ros_prints(const char *command, const char *part);

/* Starts a command that keeps running: read its output line by line, and end it by pclose(). */
FILE *ros_begin(const char *command);
void ros_next_line(FILE *f, const char *expected);
void ros_until_line(FILE *f, const char *part);

#endif
