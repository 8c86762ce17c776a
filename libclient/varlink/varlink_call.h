/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking calls over a varlink connection, for callers without an event loop. Thread: the owner's. */
#ifndef BASE_VARLINK_CALL_H
#define BASE_VARLINK_CALL_H

#include "err.h"
#include "timeutil.h"
#include "varlink.h"

#include <errno.h>
#include <poll.h>

/*
 * Sends everything queued and waits for the next message. -ETIMEDOUT: none arrived in time. timeout_dur_ns < 0: no
 * limit.
 */
static inline int varlink_receive(struct varlink *v, int sock, int64_t timeout_dur_ns, struct varlink_msg *ret)
{
	int64_t until = timeout_dur_ns < 0 ? INT64_MAX : ns_add(mono_now_ns(), timeout_dur_ns);

	for (;;) {
		int r = varlink_write(v, sock);
		int64_t left;

		if (r < 0)
			return r;
		r = varlink_next(v, ret);
		if (r != 0)
			return r < 0 ? r : 0;
		r = varlink_read(v, sock);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		left = timeout_dur_ns < 0 ? -1 : until - mono_now_ns();
		if (timeout_dur_ns >= 0 && left <= 0)
			return err_set(-ETIMEDOUT, "no answer from the peer in time");
		r = fd_wait(sock, (short)(POLLIN | (varlink_has_output(v) ? POLLOUT : 0)), left);
		if (r < 0)
			return r;
	}
}

/*
 * Makes a call and waits for its single reply. Takes the reference to params. Returns 0: *ret is the successful reply,
 * the caller finishes it (ret NULL: it is dropped here). For an error reply, returns its varlink_answer_errno().
 */
static inline int varlink_call(struct varlink *v, int sock, const char *method, json_t *params, int64_t timeout_dur_ns,
			       struct varlink_msg *ret)
{
	struct varlink_msg m;
	struct varlink_answer a;
	int r = varlink_queue_call(v, method, params, 0, NULL);

	if (r < 0)
		return r;
	r = varlink_receive(v, sock, timeout_dur_ns, &m);
	if (r < 0)
		return err_prefix(r, "%s", method);
	r = varlink_msg_answer(&m, &a);
	if (r == 0)
		r = varlink_answer_errno(&a);
	if (r < 0 || !ret)
		varlink_msg_finish(&m);
	else
		*ret = m;
	return r;
}

#endif
