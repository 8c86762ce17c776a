/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol's framing on any stream, cut into pieces; the input chooses their sizes and the descriptors that
 * come with them. Read by a client, which accepts descriptors, and by a server, which does not. No descriptor stays
 * open. Thread: one.
 */
#include "err.h"
#include "fd.h"
#include "varlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct varlink_service service = {
	"v", "p", "1", "u", (const struct varlink_interface[]){ { "io.test", "interface io.test" }, { 0 } }
};

static unsigned fed; /* descriptors, not handed out yet */

/* Reply to whatever came, as a server would. */
static void handle(struct varlink *v, struct varlink_msg *m)
{
	struct varlink_request q;
	struct varlink_answer a;

	if (m->n_fds > fed)
		abort(); /* more than were fed */
	fed -= m->n_fds;
	if (m->n_fds > 1)
		fd_close(varlink_msg_take_fd(m, 1));
	if (varlink_msg_answer(m, &a) == 0)
		(void)varlink_answer_errno(&a);
	if (varlink_msg_request(m, &q) == 0) {
		if (varlink_service_handle(&service, v, &q) == 0)
			(void)varlink_queue_failure(v, "io.test.Failed", -EINVAL, q.method);
	}
	varlink_msg_finish(m);
}

static unsigned make_fds(unsigned n, int fds[3])
{
	for (unsigned i = 0; i < n; i++)
		fds[i] = fd_dup(STDERR_FILENO);
	return n;
}

static void run(const uint8_t *data, size_t size, bool no_fds)
{
	size_t queued = 0;
	struct varlink_limits limits = { .message_max = 512, .output_max = 2048, .queued = &queued, .no_fds = no_fds };
	struct varlink *v;
	int r = 0;

	fed = 0;
	if (varlink_create(&limits, &v) < 0)
		return;
	while (size > 1 && r >= 0) {
		size_t n = 1 + data[0] % 64;
		unsigned n_fds = data[0] >> 6;
		struct varlink_msg m;
		int fds[3];

		data++;
		size--;
		if (n > size)
			n = size;
		err_clear();
		fed += make_fds(n_fds, fds);
		r = varlink_feed(v, data, n, fds, n_fds);
		if (no_fds && n_fds && r >= 0)
			abort();
		data += n;
		size -= n;
		while (r >= 0 && (r = varlink_next(v, &m)) > 0)
			handle(v, &m);
		if (r < 0 && !*err_why())
			abort(); /* a refusal without a sentence */
		if (queued != varlink_queued(v) || (!queued && (varlink_has_output(v) || varlink_is_half(v))))
			abort();
		if (n % 7 == 0)
			varlink_drop_output(v, n % 2);
	}
	varlink_destroy(v);
	if (queued)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = fd_dup(STDERR_FILENO), after;

	fd_close(before);
	run(data, size, false);
	run(data, size, true);
	after = fd_dup(STDERR_FILENO);
	fd_close(after);
	if (before != after)
		abort(); /* one is left open */
	return 0;
}
