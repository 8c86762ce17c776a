/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_ops: the functions that a backend of the data plane implements. ipc.c checks arguments, keeps the tables of loans
 * and held slots, serialises creation and keeps a second thread out of a handle; a backend sees only calls that are
 * legal.
 *
 * The table may cross link namespaces (the iox module has a libc of its own), therefore: results are return values,
 * never errno; no FILE; memory is freed by the side that allocated it; the sentence of an error is written into the
 * caller's ipc_text.
 */
#ifndef IPC_OPS_H
#define IPC_OPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc.h"

#define IPC_OPS_ABI    2u
#define IPC_OPS_SYMBOL "ipc_iox_ops"

/* State of an attachment. 0 must mean "forked": the word lies on a page that a fork wipes. */
enum ipc_state {
	IPC_FORKED = 0,
	IPC_LIVE = 1,
	IPC_STALE = 2,
};

struct ipc_text {
	char s[256];
};

/* What a backend needs to start an attachment. All pointers except state are borrowed. */
struct ipc_start {
	const char *name;  /* runtime name */
	const char *plane; /* iox: plane.h */
	uint32_t timeout_ms;
	uint64_t max_loan;       /* 0 unknown */
	struct ipc_mem_bus *bus; /* mem only */
	_Atomic uint32_t *state; /* kept until detach; the backend may set IPC_STALE */
	pid_t roudi;             /* iox: process whose lack of a CPU is excused; 0: none */
};

struct ipc_segment {
	const char *base; /* of the payload segment, as mapped in this process */
	size_t size;
};

/* struct ipc_scan_request, with the origins of this attachment itself, which are never freed. */
struct ipc_scan_order {
	const uint64_t *dead, *own; /* origins */
	uint32_t n_dead, n_own;
	uint32_t settled;
	bool marks, alone;
};

struct ipc_ops {
	uint32_t abi;  /* IPC_OPS_ABI */
	uint32_t size; /* sizeof(struct ipc_ops) */
	const char *name;
	bool blocking; /* waits really block; false: a virtual-time bus, every call returns at once */

	/*
	 * iox, before attach: claims the attachment. 0; -EEXIST in use; -ESTALE spent; -EPERM it belongs to the process
	 * that forked this one. An attachment whose start still waits for RouDi, or that was detached in good order
	 * while its RouDi runs, can be claimed again.
	 */
	int (*reserve)(void);
	bool (*registered)(void); /* whether RouDi knows this attachment */

	int (*attach)(const struct ipc_start *start, struct ipc_text *why, void **ret_att);
	/* From now on no delay is excused, see ipc_options::prompt. NULL: this backend never excuses one. */
	void (*be_prompt)(void *att);
	/* The last call of an attachment. dead: RouDi is gone or must not get messages. */
	void (*detach)(void *att, bool dead);
	int (*segment)(void *att, struct ipc_segment *ret);
	/*
	 * The error of iceoryx that ended it, or the last one of another kind; static. NULL: the backend has no such
	 * errors.
	 */
	const char *(*end_error)(void *att);
	/* Whether an unrequested answer has arrived. NULL: the backend gets no answers. */
	bool (*stray)(void *att);
	/*
	 * Populates a range of the payload; 0 bytes: what every message uses besides. Stops at until_mono_ns, 0 never.
	 */
	int (*prefault)(void *att, uint64_t at, uint64_t bytes, int64_t until_mono_ns);
	int (*pools)(void *att, struct ipc_pool *ret, unsigned int max);
	/*
	 * Lost slots, see ipc_scan(). pub has just sent slot: from it the backend verifies the layout of the pools;
	 * -EPROTO if it differs.
	 */
	int (*scan_open)(void *att, void *pub, const void *slot, struct ipc_text *why);
	void (*scan)(void *att, const struct ipc_scan_order *o, struct ipc_scan *ret);
	/*
	 * Names of all attachments, living or not; returns how many there are, even if not all fit. NULL: ipc_peers()
	 * finds them from outside, by roudi_peers().
	 */
	int (*peers)(void *att, struct ipc_peer *ret, unsigned int max);
	/* NULL: freed by RouDi, from outside. */
	int (*free_peer)(void *att, const char *app, struct ipc_text *why);

	int (*pub_create)(void *att, const char *channel, uint32_t history, struct ipc_text *why, void **ret);
	void (*pub_destroy)(void *pub);
	int (*loan)(void *pub, size_t size, void **ret);
	int (*unloan)(void *pub, void *slot);
	int (*publish)(void *pub, void *slot);
	bool (*has_subscribers)(const void *pub);
	uint64_t (*origin)(const void *pub);

	int (*sub_create)(void *att, const char *channel, uint32_t depth, bool history, struct ipc_text *why,
			  void **ret);
	void (*sub_close)(void *sub); /* no new messages; drops queued ones; held slots stay */
	void (*sub_destroy)(void *sub);
	int (*take)(void *sub, const void **ret, size_t *ret_size);
	uint64_t (*slot_origin)(const void *sub, const void *slot);
	int (*release)(void *sub, const void *slot);
	bool (*lost)(void *sub);
	bool (*has_data)(const void *sub);
	bool (*connected)(const void *sub);

	int (*waiter_create)(void *att, struct ipc_text *why, void **ret);
	void (*waiter_destroy)(void *waiter);
	int (*waiter_add)(void *waiter, void *sub);
	void (*waiter_del)(void *waiter, void *sub);
	int (*waiter_wait)(void *waiter, int64_t timeout_dur_ns);
	void (*waiter_wake)(void *waiter);
};

/* The in-process backend. */
const struct ipc_ops *ipc_mem_ops(struct ipc_mem_bus *bus);

#endif
