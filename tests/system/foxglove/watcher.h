/* SPDX-License-Identifier: Apache-2.0 */
/* The client of client.mjs, led by lines. Thread: the test's. */
#ifndef FOXGLOVE_WATCHER_H
#define FOXGLOVE_WATCHER_H

#include <stdbool.h>
#include <sys/types.h>

#define WATCHER_LINE (1u << 17)

struct watcher {
	pid_t pid;
	int in, out;
	char *text; /* of its output, the part not read yet */
	size_t len;
	char line[WATCHER_LINE]; /* the last one that was looked for */
};

/* False: there is no node or no ws-protocol, which was said; with FULL=1 that has failed. */
bool watcher_possible(void);
struct watcher *watcher_start(const char *url, const char *protocol);
void watcher_end(struct watcher *p); /* also where it has ended */
__attribute__((format(printf, 2, 3))) void watcher_say(struct watcher *p, const char *fmt, ...);
/* The next line that begins so; those before it are passed over. Fails where it ends. Returns the line, until the next. */
const char *watcher_hears(struct watcher *p, const char *begin);
/* The same, and part is in it. */
const char *watcher_hears_of(struct watcher *p, const char *begin, const char *part);
/* Until the server has read all that was said. */
void watcher_sync(struct watcher *p);

#endif
