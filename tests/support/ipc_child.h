/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the data plane run each part in a process of its own, because attachments are limited per process. */
#ifndef IPC_TEST_CHILD_H
#define IPC_TEST_CHILD_H

#include "tests/support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "ipc.h"

#define PATIENT_MS 3600000 /* timeout for a RouDi that must answer: longer than the runner's limit */

/* For child processes, where cmocka's asserts have no effect. */
#define CHECK(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, ipc_why()); \
			_exit(1); \
		} \
	} while (0)

#define CHECK_IS(expr, want) \
	do { \
		int got_ = (expr); \
		if (got_ != (want)) { \
			fprintf(stderr, "%s:%d: %s is %d, not %d: %s\n", __FILE__, __LINE__, #expr, got_, (want), \
				ipc_why()); \
			_exit(1); \
		} \
	} while (0)

static inline pid_t child_start(void (*fn)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		fn();
		exit(0); /* with exit handlers, which must be harmless */
	}
	return pid;
}

static inline int child_status(pid_t pid)
{
	int st = -1;

	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	return st;
}

static inline void child_run(void (*fn)(void))
{
	assert_int_equal(child_status(child_start(fn)), 0);
}

static inline struct ipc *attach_as(const char *app)
{
	struct ipc_options o = { .app = app, .timeout_ms = PATIENT_MS };
	struct ipc *ipc = NULL;

	CHECK_IS(ipc_attach(&o, &ipc), 0);
	return ipc;
}

/* Sends one message through a channel of its own, to check that the data plane works. */
static inline void send_and_take(struct ipc *ipc)
{
	struct ipc_pub *pub = NULL;
	struct ipc_sub *sub = NULL;
	const void *in;
	void *out;

	CHECK_IS(ipc_sub_create(ipc, "loop", &(struct ipc_sub_options){ .depth = 2 }, &sub), 0);
	CHECK_IS(ipc_pub_create(ipc, "loop", NULL, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	CHECK_IS(ipc_loan(pub, 100, &out), 0);
	strcpy(out, "round");
	CHECK_IS(ipc_publish(pub, out), 0);
	CHECK_IS(ipc_take(sub, &in, &(size_t){ 0 }), 0);
	CHECK(strcmp(in, "round") == 0);
	CHECK_IS(ipc_release(sub, in), 0);
	ipc_pub_destroy(pub);
	ipc_sub_destroy(sub);
}

#endif
