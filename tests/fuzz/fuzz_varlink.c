/* SPDX-License-Identifier: Apache-2.0 */
/* The control protocol's framing against any stream, cut into pieces whose sizes the input chooses. Thread: one. */
#include "err.h"
#include "varlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct varlink_service service = {
	"v", "p", "1", "u", (const struct varlink_interface[]){ { "io.test", "interface io.test" }, { 0 } }
};

/* Reply to whatever came, as a server would. */
static void handle(struct varlink *v, struct varlink_msg *m)
{
	struct varlink_request q;
	struct varlink_answer a;

	if (m->n_fds)
		abort(); /* none were fed */
	if (varlink_msg_answer(m, &a) == 0)
		(void)varlink_answer_errno(&a);
	if (varlink_msg_request(m, &q) == 0) {
		if (varlink_service_handle(&service, v, &q) == 0)
			(void)varlink_queue_failure(v, "io.test.Failed", -EINVAL, q.method);
	}
	varlink_msg_finish(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct varlink_limits limits = { .message_max = 512, .output_max = 2048 };
	struct varlink *v;
	int r = 0;

	if (varlink_create(&limits, &v) < 0)
		return 0;
	while (size > 1 && r >= 0) {
		size_t n = 1 + data[0] % 64;
		struct varlink_msg m;

		data++;
		size--;
		if (n > size)
			n = size;
		err_clear();
		r = varlink_feed(v, data, n, NULL, 0);
		data += n;
		size -= n;
		while (r >= 0 && (r = varlink_next(v, &m)) > 0)
			handle(v, &m);
		if (r < 0 && !*err_why())
			abort(); /* a refusal without a sentence */
	}
	varlink_destroy(v);
	return 0;
}
