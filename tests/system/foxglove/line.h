/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in, with a host that the test plays. Thread: the test's. */
#ifndef FOXGLOVE_LINE_H
#define FOXGLOVE_LINE_H

#include "../ros2/host.h"
#include "watcher.h"

extern struct host line_host;
extern struct sim_bridge *line_bridge;
extern char line_url[300]; /* "ws://127.0.0.1:4711/" */
extern unsigned line_port;

/* options: as of host_init(), kept. connection: "127.0.0.1:0". Waits until it listens. */
void line_up(const char *const *options);
void line_up_at(const char *connection, const char *const *options);
void line_down(void);
/* check() and create() refuse these options, with that sentence. */
void line_refused(const char *connection, const char *key, const char *value, const char *sentence);
/* A client that is connected. */
struct watcher *line_client(const char *more); /* more: behind the URL, "?token=..." */

#endif
