/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc: the contract of the data plane. One implementation per backend:
 *   "iox"  ipc_iox.c  iceoryx 2.0.3, a module of its own, loaded into a fresh link namespace per attachment
 *   "mem"  ipc_mem.c  inside one process; serves tests under sanitizers and in virtual time
 *
 * An `ipc` is one attachment of this process to the data plane (iox: number n of it). When RouDi dies the attachment is
 * dead for good: every call on it returns -ESTALE, slots taken or loaned before stay readable until they are released,
 * and the owner attaches again with a new `ipc`. The layer above (libclient/src, daemon/core) remembers what must be
 * re-created.
 *
 * Names are checked here, before any backend sees them: a channel is 1..SIM_CHANNEL_MAX characters of [A-Za-z0-9_./~-]
 * (no comma: iceoryx's text protocol breaks on it), an application name is 1..80 of [A-Za-z0-9_.-].
 *
 * Thread:  attach, detach, create and destroy calls may be made from any thread, one at a time per ipc (the
 *          implementation serialises them). A publisher or a subscriber is used by one thread at a time; a second one
 *          inside gets -EBUSY instead of iceoryx's abort. Different publishers and subscribers are independent.
 *          ipc_waiter_wake() is safe from any thread.
 * Time:    every call is bounded: attach by its timeout, create by 1 s, the rest do not block (except
 *          ipc_waiter_wait()). On an overloaded machine, time in which RouDi was ready to run without a CPU, or the
 *          waiting thread was, does not count, up to 8 s of it: see proc_cpu.h. For a RouDi that is stopped or stuck
 *          only the bound counts. A caller that must not wait so long (ipc_options::prompt) gets -EAGAIN after half a
 *          second: the creation goes on, and the next request for the same gets its result. Until then all other
 *          creations return -EAGAIN.
 * fork:    a forked child has no data plane: every call on an inherited handle returns -EPERM, and the child's exit()
 *          leaves the parent's registration alone. It may attach for itself.
 * Errors:  negative errno. ipc_why() then holds one sentence for the calling thread: what failed, where, and what to
 *          do. Common to all calls: -ESTALE (this attachment is over), -EINVAL.
 */
#ifndef IPC_H
#define IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ipc;
struct ipc_pub;
struct ipc_sub;
struct ipc_waiter;

#define IPC_LOANS_MAX    8   /* loans one publisher may hold; the ninth gets -ENOBUFS */
#define IPC_DEPTH_MAX    256 /* queue capacity of a subscriber, and slots it may hold */
#define IPC_ALIGN        64  /* alignment of every slot */
#define IPC_PREFAULT_MAX (32u << 20)

struct ipc_options {
	const char *backend; /* "iox" or "mem"; NULL: "iox" */
	const char *app;     /* application name, unique on this data plane; borrows */
	/*
	 * iox: the data plane, as simd names it (in the reply to Hello), see plane.h; NULL or "": that of the plain
	 * names; borrows
	 */
	const char *plane;
	bool app_by_simd;    /* iox: app ends with a tag chosen by simd, see ipc_runtime_name() */
	uint32_t timeout_ms; /* bound on the whole attach; 0: 2000 */
	uint64_t max_loan;   /* iox: bytes of the largest pool, 0 unknown: only clients of simd know it (Hello) */
	bool prefault;       /* call ipc_prefault() without a range when attached */
	/*
	 * Once attached, create is limited to 1 s in any case, and may return -EAGAIN (see Time above): for an event
	 * loop that others wait for.
	 */
	bool prompt;
	struct ipc_mem_bus *bus; /* mem: the bus to join (ipc_mem.h); NULL: the process-wide default one */
};

/*
 * Attaches. Errors: -ENOENT no RouDi, -ECONNREFUSED stale RouDi socket, -EACCES not in RouDi's group, -EEXIST an
 * application of that name runs, -ETIMEDOUT RouDi does not answer, -EINVAL bad name, -ENOTRECOVERABLE this process has
 * used up its attachments (11, or 15 with GLIBC_TUNABLES=glibc.rtld.nns=16; an attachment that ended in good order,
 * timed out, or lacked a resource is reused, by any application of the process), -ELIBACC the iceoryx module or library
 * cannot be loaded; the system's errno if it lacks a file, descriptor, memory or thread.
 */
int ipc_attach(const struct ipc_options *o, struct ipc **ret);

/*
 * Detaches. Frees the ports and slots of this attachment; handles that the caller still holds stay valid objects (they
 * return -ESTALE) until it destroys them. Accepts NULL and a dead attachment. Not while another thread is inside a
 * create or destroy call of this ipc.
 */
void ipc_detach(struct ipc *ipc);

/* Declares this attachment over (RouDi is gone): from now on all calls return -ESTALE, and waiters wake. Any thread. */
void ipc_abandon(struct ipc *ipc);
bool ipc_alive(const struct ipc *ipc);
/* The error of iceoryx that ended it, for the log; static, "": unknown. */
const char *ipc_end_error(struct ipc *ipc);
/*
 * Whether RouDi has answered a process that spoke in this attachment's name: RouDi trusts every datagram, and frees the
 * ports of a living application on request. The attachment is then useless. For simd, from time to time.
 */
bool ipc_was_impersonated(struct ipc *ipc);

/*
 * The name under which RouDi knows this attachment: "<app>.<n>", n counting the attachments of this process. Any user
 * can see it in the plane, and take the next one in advance: an app tagged by simd, "simd-TAG" or "NAME-TAG-ID", TAG of
 * 8 hexadecimal digits, then gets another TAG. The name has the application for which the attachment was made: an idle
 * attachment is reused by other applications of the process, under its old name. simd is told the name (Attached),
 * because ipc_free_app() frees by it. Borrowed until detach.
 */
const char *ipc_runtime_name(const struct ipc *ipc);

/* RouDi's pid when this was attached; 0: not visible from here, or there is none. */
pid_t ipc_roudi_pid(const struct ipc *ipc);

/*
 * Maps pages now (MADV_POPULATE_*), so that the first messages are not 10 times slower: of a range of the payload
 * segment whose slots have memory, at most the first IPC_PREFAULT_MAX of it, as its first slots are used first; 0
 * bytes: of queues and lists. Any thread.
 */
int ipc_prefault(struct ipc *ipc, uint64_t at, uint64_t bytes);

/*
 * Gauges of the pools of the payload segment, smallest first. Returns how many, -EAGAIN: none known yet. used: slots
 * that are not free, counted if ipc_scan() works; else as RouDi reports, whose counter drifts with each process that is
 * killed.
 */
struct ipc_pool {
	uint64_t size; /* usable bytes of one chunk: the largest loan is 64 bytes less */
	uint32_t total, used, min_free;
};
int ipc_pools(struct ipc *ipc, struct ipc_pool *ret, unsigned int max);

/* ---- publishers ---- */

struct ipc_pub_options {
	uint32_t history; /* 0 or 1: keep the last message for later subscribers */
};

/*
 * Errors: -EINVAL name, -EMFILE the data plane has no publisher port left (506), -ETIMEDOUT RouDi does not answer (this
 * attachment is abandoned).
 */
int ipc_pub_create(struct ipc *ipc, const char *channel, const struct ipc_pub_options *o, struct ipc_pub **ret);
void ipc_pub_destroy(struct ipc_pub *pub); /* frees outstanding loans */

/*
 * Loans a slot of `size` usable bytes, aligned to IPC_ALIGN; contents undefined. The caller publishes or unloans it.
 * Errors: -EMSGSIZE larger than the largest pool, -ENOBUFS 8 loans are out, -ENOMEM the pool of that size class is
 * empty, -EBUSY another thread is inside this publisher, -EBADMSG the header of the chunk was overwritten; the chunk
 * then counts as a loan until this publisher is destroyed.
 */
int ipc_loan(struct ipc_pub *pub, size_t size, void **ret);

/* Returns a loan unpublished. -EINVAL: not a loan of this publisher (foreign pointer, or released before). */
int ipc_unloan(struct ipc_pub *pub, void *slot);

/*
 * Publishes a loan; it is no longer the caller's. -EINVAL: not a loan of this publisher (double publish, foreign or
 * taken slot).
 */
int ipc_publish(struct ipc_pub *pub, void *slot);

bool ipc_pub_has_subscribers(const struct ipc_pub *pub);

/*
 * Number of the port, in the header of each slot that it loans: never 0, never reused on this data plane. 0: not a
 * publisher.
 */
uint64_t ipc_pub_origin(const struct ipc_pub *pub);

/* ---- subscribers ---- */

struct ipc_sub_options {
	uint32_t depth; /* queue capacity 1..IPC_DEPTH_MAX; the oldest is dropped when full */
	bool history;   /* ask for the kept last message */
};

int ipc_sub_create(struct ipc *ipc, const char *channel, const struct ipc_sub_options *o, struct ipc_sub **ret);
/*
 * Slots still held stay readable: until the last of them is released (ipc_release() still accepts the handle until
 * then), or until detach.
 */
void ipc_sub_destroy(struct ipc_sub *sub);

/*
 * Takes the oldest slot, and how many bytes of it may be read: at least what was loaned; read once, and never beyond
 * the payload segment, even if its publisher overwrites it. -EAGAIN none, -ENOBUFS IPC_DEPTH_MAX slots are held
 * (nothing is lost), -EBUSY, -EBADMSG the oldest is not a slot, and is neither handed out nor freed; continue with the
 * next.
 */
int ipc_take(struct ipc_sub *sub, const void **ret, size_t *ret_size);
/*
 * Releases a taken slot. -EINVAL: not held by this subscriber. Works on a dead attachment too. Newest first is
 * cheapest.
 */
int ipc_release(struct ipc_sub *sub, const void *slot);
/* ipc_pub_origin() of a taken slot's publisher; 0: its chunk header has been overwritten. Thread: as ipc_take(). */
uint64_t ipc_slot_origin(struct ipc_sub *sub, const void *slot);
/* True once after messages were dropped because the queue was full. */
bool ipc_sub_lost(struct ipc_sub *sub);
bool ipc_sub_has_data(const struct ipc_sub *sub);
/* Whether all publishers that existed when it was created reach it, or do so within a moment. */
bool ipc_sub_connected(const struct ipc_sub *sub);

/* ---- waiting: one waiter per waiting thread; up to 64 subscribers ---- */

int ipc_waiter_create(struct ipc *ipc, struct ipc_waiter **ret);
void ipc_waiter_destroy(struct ipc_waiter *w); /* detach its subscribers first */
int ipc_waiter_add(struct ipc_waiter *w, struct ipc_sub *sub);
void ipc_waiter_del(struct ipc_waiter *w, struct ipc_sub *sub);
/*
 * Waits. Returns 1 when a subscriber may have data, 0 on time-out or ipc_waiter_wake(). timeout_dur_ns < 0: for ever.
 * Drain before waiting again.
 */
int ipc_waiter_wait(struct ipc_waiter *w, int64_t timeout_dur_ns);
void ipc_waiter_wake(struct ipc_waiter *w);

/* ---- passing the address of a held slot to a process that never subscribed (facts: beacon translation) ---- */

/*
 * simd: publishes the reference slot of this attachment; held until detach. It contains its own position in the payload
 * segment, so a holder that finds it elsewhere knows that the two do not share a segment.
 */
int ipc_beacon_create(struct ipc *ipc);
/*
 * bridges: holds it; bounded by 2 s. -ENOENT no beacon is published, -EXDEV it belongs to another segment than the one
 * mapped here (another RouDi). May be called again: the newest beacon counts.
 */
int ipc_beacon_hold(struct ipc *ipc);
/* Number of the beacon that was created or is held, 0 none: equal on both sides if they mean the same one. */
uint64_t ipc_beacon_id(const struct ipc *ipc);
/* -EINVAL: not inside the payload segment, -ENOENT: no beacon yet. */
int ipc_export(struct ipc *ipc, const void *slot, int64_t *ret_ref);
/* Checks that [ref, ref+size) lies inside the payload segment: -EFAULT otherwise. */
int ipc_import(struct ipc *ipc, int64_t ref, size_t size, const void **ret);

/* ---- lost slots: simd's side, after ipc_beacon_create() ---- */

/*
 * A process that is killed inside loan, publish, take or release leaves slots that the data plane loses. A scan
 * compares the pools with themselves: a slot without references, or without an origin, may be lost. A living process
 * has such a slot too for some hundred nanoseconds, or one that no port refers to. So these are only suspects until
 * each scan has found them unchanged over a time in which no process can have stood still. Slots with the origin of a
 * dead publisher look like any other: only the caller knows whether a process may still refer to them. Whatever origins
 * are given, slots of this attachment's own publishers are never freed.
 */
struct ipc_scan_request {
	/* origins of which no living process has a slot, queued or held. All their slots are freed. */
	const uint64_t *dead;
	uint32_t n_dead;
	/*
	 * free what has been a suspect in each scan since the scan of this number, which is past; 0: free no suspects
	 */
	uint32_t settled;
	bool marks; /* also find slots to which no port refers; this reads the ports, which takes some milliseconds */
	/* no other process is attached: every slot that is not of this attachment's publishers is a suspect */
	bool alone;
};

struct ipc_scan {
	uint32_t number;   /* of this scan: 1, 2, ... */
	uint32_t used;     /* slots that are not free after the scan */
	uint32_t suspects; /* slots, and entries of slots, not freed yet */
	uint32_t oldest;   /* the earliest scan since which one of them has been a suspect; 0: there is none */
	uint32_t freed;    /* slots */
};

/*
 * Any thread; 0.1 ms for 3000 slots in use. -EOPNOTSUPP: this iceoryx has another memory layout than the known one.
 * -ENOENT no beacon.
 */
int ipc_scan(struct ipc *ipc, const struct ipc_scan_request *o, struct ipc_scan *ret);
/*
 * Why ipc_scan() does not work on this attachment: a sentence; "": it does, or there is no beacon yet. Borrowed until
 * detach.
 */
const char *ipc_scan_why(const struct ipc *ipc);

/* An attached application: its runtime name. */
struct ipc_peer {
	char name[96];
	bool dead; /* it has exited, but its ports and slots were not freed yet */
};

/*
 * Lists the attached applications, this process included. Returns how many there are; at most max are written to ret.
 */
int ipc_peers(struct ipc *ipc, struct ipc_peer *ret, unsigned int max);

/* ---- simd's side of RouDi ---- */

/*
 * Frees all ports and slots of a dead application at once, on the data plane of `ipc`. app: an application name (all
 * its attachments), or one runtime name. Never for a live one.
 */
int ipc_free_peer(struct ipc *ipc, const char *app);
/*
 * The same without an attachment, by the RouDi of a plane, NULL: that of the plain names (TERMINATION datagram; iox
 * only).
 */
int ipc_free_app(const char *plane, const char *app);
/*
 * Checks, in bounded time, that the message loop of a plane's RouDi runs, for a watchdog. It sends two heartbeats under
 * a name of this process; RouDi reads the second only after it handled the first, with the lock of its process list
 * (the one that a client killed inside publish can leave stuck). Without an attachment in this process it only checks
 * that the socket is served. 0, or -ETIMEDOUT / -ENOENT / -ECONNREFUSED / -EACCES.
 */
int ipc_probe(const char *plane, uint32_t timeout_ms);

/*
 * The object to preload into a RouDi (LD_PRELOAD), so that a client which dies inside iceoryx leaves no lock that RouDi
 * or another client then waits for. -ELIBACC: it is not installed.
 */
int ipc_roudi_preload(char *ret, size_t n);
/*
 * Names the folder of plug-ins where the data plane's shared objects are looked for after those beside the library and
 * the program; kept. Before any attachment.
 */
void ipc_installed(const char *dir);

/* Sentence for the last error of the calling thread; "" if none. Valid until the thread's next ipc call. */
const char *ipc_why(void);

#endif
