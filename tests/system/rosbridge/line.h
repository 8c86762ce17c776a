/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in between a host and a server, both of which the test plays. Thread: the test's. */
#ifndef LINE_H
#define LINE_H

#include "../ros2/host.h"
#include "rosbridge_server.h"

extern struct host line_host;
extern struct sim_bridge *line_bridge;
extern struct rosbridge_server *line_server;

/* options: as of host_init(). Waits for the connection. */
void line_up(const char *const *options, const struct rosbridge_server_how *how);
void line_down(void); /* the server must have found no fault */

/* create() refuses these options, with that sentence. */
void line_refused(const char *key, const char *value, const char *sentence);

#endif
