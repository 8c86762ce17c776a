/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control connection, and one call on it. Private to daemon/control.
 *
 * Calls are answered in their order. A call that has to wait (a step, statistics of dispatch) is parked: nothing more
 * is read from its connection until it is answered.
 */
#ifndef CONTROL_CONN_H
#define CONTROL_CONN_H

#include "access.h"
#include "control.h"
#include "engine.h"
#include "event.h"
#include "exec.h"
#include "service.h"
#include "jsonx.h"
#include "list.h"
#include "log.h"
#include "share.h"
#include "varlink.h"

#include <stdbool.h>
#include <sys/socket.h>

struct client;
struct conn;

struct control {
	struct simd *s;
	struct access *access;
	int fd; /* listening socket; -1: closed */
	struct exec_io io;
	struct list conns;  /* conn::link */
	struct list shares; /* share::link */
	uint32_t n_conns, max_conns, max_of_user, max_of_process;
	struct varlink_limits limits;
	/* bytes that wait on all connections: output that peers have not read, and calls to be run */
	size_t queued, max_queued;
	struct exec_timer again;           /* when to accept again, after descriptors ran out */
	struct log_limit refused, cut_off; /* a hostile peer must not fill the log */
};

/* A call that is answered later; outlives the connection if that ends first. */
struct parked {
	struct conn *conn; /* NULL: the connection has ended */
	struct share *share;
	bool oneway;
	bool service;           /* waits for a service's answer, which does not come if the connection ends */
	bool step;              /* waits for time_engine_step(); the wait may end before the step does */
	struct exec_timer due;  /* end of that wait, with -ETIMEDOUT; the step goes on */
	bool drain;             /* waits for the pause, and then until all messages have arrived */
	struct time_wait pause; /* waits for a pause to begin, or for the drain; link empty: for neither */
};

struct conn {
	struct list link;    /* control::conns */
	struct list waiting; /* link in share::waiting, while received calls wait for the user's part of the time */
	struct share *share;
	struct control *c;
	struct simd *s;
	int fd;
	struct exec_io io;
	struct varlink *v;
	struct ucred cred;
	int64_t accepted_mono_ns;
	struct client *cl; /* NULL before Hello */
	struct event_listener listener;
	struct service_caller caller;
	struct parked *parked;  /* call that waits for its answer; NULL: none */
	bool listening;         /* has an Events stream */
	bool unwatched;         /* the peer has closed its end; calls received before still wait */
	bool broken;            /* to be closed at the end of the callback */
	bool behind;            /* its output was dropped: it gets an error, and is closed */
	struct exec_timer due;  /* closes a silent connection, or one that broke inside another one's callback */
	struct exec_timer more; /* runs received calls that wait for the next turn */
	int64_t since_mono_ns;  /* time of its last call, or of the first byte of the message being received */
};

/* While more than max_queued bytes wait on all connections together, cuts off the connection with most of them. */
void conn_make_room(struct control *ctl);

/* Runs received calls. May destroy c. */
void conn_run(struct conn *c);

/* Sends the error and closes the connection. Not from inside a connection's callback. */
void conn_evict(struct conn *c, int r);

/* Sends the error, as the answer to the first call, and closes fd. Owns fd. */
void conn_refuse(int fd, int r, const char *why);

/* The parameters of all methods, each under its name; a missing one is 0 or the default of its row. */
struct args {
	const char *app, *bridge, *channel, *connection, *hash, *host, *name, *request_hash, *response_hash, *role,
		*service, *source, *type, *version, *what, *why;
	json_t *definition /* "type" of Advertise */, *request, *response;
	int64_t abi, cell, deadline_ms, depth, dur_ns, flags, iox_generation, max_body, number /* "errno" */,
		publisher_id, queue, rank, request_id, service_id, subscriber_id, tag, timeout_ms, timeout_ns;
	double scale;
	bool drain, freewheel, inbound, keep /* "continue" */, lockstep, wait, stages;
};

struct call {
	struct conn *conn;
	struct simd *s;
	struct args a;
	bool more, oneway;
	json_t *reply; /* the method's answer; NULL: {} */
	int fds[VARLINK_FDS_MAX];
	unsigned n_fds; /* closed after the reply has been queued */
	bool later;     /* the method has parked the call */
	bool stream;    /* its replies come as events: none now */
};

enum method_flag {
	METHOD_SESSION = 1 << 0, /* allowed only after Hello */
	METHOD_ADMIN = 1 << 1,   /* socket.admin decides which users are allowed */
	METHOD_ABI = 1 << 2,     /* another "abi" is refused before all other checks */
};

/* Also in the flags: the right of "access" that the method needs. */
#define RIGHT(id)            ((unsigned)ACCESS_##id << 8)
#define METHOD_RIGHT(method) ((enum access_right)((method)->flags >> 8))

struct method {
	const char *name;
	int (*run)(struct call *call); /* 0, or a negative errno with err_why() set */
	unsigned flags;
	const struct jsonx_field *params; /* NULL: no parameters */
};

/* Rows of a method's parameters: key, member of struct args, bounds. */
#define PARAMS(...) \
	(const struct jsonx_field[]) \
	{ \
		__VA_ARGS__, \
		{ \
			0 \
		} \
	}
#define ARG(key_, type_, member) .key = (key_), .type = (type_), .off = offsetof(struct args, member)
#define ARG_INT(key, member, lo, hi) \
	{ \
		ARG(key, JSONX_INT, member), .min = (lo), .max = (hi) \
	}
#define ARG_REAL(key, member) \
	{ \
		ARG(key, JSONX_REAL, member) \
	}
#define ARG_STR(key, member, bytes) \
	{ \
		ARG(key, JSONX_STRING, member), .max = (bytes) \
	}
#define ARG_OBJ(key, member) \
	{ \
		ARG(key, JSONX_OBJECT, member) \
	}
#define OPT_INT(key, member, lo, hi, default) \
	{ \
		ARG(key, JSONX_INT, member), .optional = true, .min = (lo), .max = (hi), .def = (default) \
	}
#define OPT_BOOL(key, member) \
	{ \
		ARG(key, JSONX_BOOL, member), .optional = true \
	}
#define OPT_STR(key, member, bytes) \
	{ \
		ARG(key, JSONX_STRING, member), .optional = true, .max = (bytes) \
	}
#define OPT_OBJ(key, member) \
	{ \
		ARG(key, JSONX_OBJECT, member), .optional = true \
	}

#define TEXT_MAX 4096 /* bytes of a parameter that is limited further where it is used */

/* Tables of the method_*.c files, each ended by a NULL name. */
extern const struct method session_methods[], service_methods[], list_methods[], clock_methods[], admin_methods[];

/* Text of the interface file. */
extern const char control_interface[];

/* Sets the method's result. Owns reply; NULL gives -ENOMEM. */
int call_reply(struct call *call, json_t *reply);
/* Kind of data plane: "iox" or "mem". */
const char *call_backend(const struct call *call);
/* Passes a descriptor with the reply. Returns the value of "fds". */
json_t *call_give_fd(struct call *call, int fd, const char *name);

/* Parks the call: returns the object for call_answer(), which must be called once; NULL: no memory. */
struct parked *call_park(struct call *call);
/* Returns the method's result after call_park(). r negative: the call is answered with r, and not later. */
int call_parked(struct call *call, int r);
/* Answers a parked call. Owns reply. r negative: a failure with err_why(). */
void call_answer(struct parked *p, int r, json_t *reply);

void conn_destroy(struct conn *c);
int conn_create(struct control *ctl, int fd, const struct ucred *cred, struct conn **ret);
/* Queues a reply of its Events stream; may be called from inside other connections' methods. Borrows both. */
void conn_send_event(struct conn *c, json_t *params, const struct varlink_text *text);
/* Writes queued output; marks the connection broken on failure. */
void conn_flush(struct conn *c);

#endif
