/* SPDX-License-Identifier: Apache-2.0 */
/* A session at simd's control socket without libsimclient: its shared pages, and raw calls. Thread: the owner's. */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include "varlink.h"
#include "wire/pages.h"

#include <jansson.h>
#include <stdbool.h>

struct session {
	int sock;
	struct varlink *v;
	const struct wire_layout_page *layout;
	struct wire_dispatch_page *dispatch;
	struct wire_counter_page *counters;
};

/* Says Hello to the running stack (stack.h) as a client. 0, or a negative errno. */
int session_open(const char *name, struct session *ret);
void session_close(struct session *s);
/* Takes params. Returns varlink_answer_errno() of the reply. */
int session_call(struct session *s, const char *method, json_t *params);

/* Number of cells of credits and tokens in use, over all channels. */
unsigned session_cells(const struct session *s);

#endif
