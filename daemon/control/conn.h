/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control connection, and one call on it. Private to daemon/control.
 *
 * Calls are answered in their order. One that has to wait (a step, statistics of dispatch) is parked: nothing
 * further is read from its connection until it is answered.
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
	int fd; /* listening; -1 */
	struct exec_io io;
	struct list conns;  /* conn::link */
	struct list shares; /* share::link */
	uint32_t n_conns, max_conns, max_of_user, max_of_process;
	struct varlink_limits limits;
	size_t queued, max_queued;         /* memory of all that waits: for peers who do not read, and to be done */
	struct exec_timer again;           /* accepting rests until then: no descriptors are left */
	struct log_limit refused, cut_off; /* a hostile peer must not fill the log */
};

/* Someone who will answer later; outlives the connection if that goes first. */
struct parked {
	struct conn *conn; /* NULL: the connection has ended */
	struct share *share;
	bool oneway;
	bool service;           /* waits for a service's answer, which does not come when the connection goes */
	bool step;              /* waits for time_engine_step(), which forgets it on request, */
	struct exec_timer due;  /* and no longer than until then */
	bool drain;             /* it waits for the pause, and then until all messages have arrived */
	struct time_wait pause; /* for a pause to begin, or the drain; link empty: for neither */
};

struct conn {
	struct list link;    /* control::conns */
	struct list waiting; /* in: share::waiting, when calls that have come wait until its user may have more done */
	struct share *share;
	struct control *c;
	struct simd *s;
	int fd;
	struct exec_io io;
	struct varlink *v;
	struct ucred cred;
	int64_t accepted_mono_ns;
	struct client *cl; /* after Hello */
	struct event_listener listener;
	struct service_caller caller;
	struct parked *parked;  /* a call that waits for its answer; NULL: none */
	bool listening;         /* has an Events stream */
	bool unwatched;         /* it has hung up, and calls that had come before wait */
	bool broken;            /* to be closed at the end of the callback */
	bool behind;            /* what waited for it was dropped: it hears that, and is closed */
	struct exec_timer due;  /* looks after one that is silent, or broken from inside another's callback */
	struct exec_timer more; /* calls that came with others, and wait for the next turn */
	int64_t since_mono_ns;  /* of its last call, or of the first byte of the one that is coming */
};

/* What waits on all connections together is too much: whoever has most of it goes. */
void conn_make_room(struct control *ctl);

/* Calls that have come. May destroy it. */
void conn_run(struct conn *c);

/* Say why, and close it. Not inside of a connection's callback. */
void conn_evict(struct conn *c, int r);

/* Say why, as the answer to whatever it asks first, and close it. Takes fd. */
void conn_refuse(int fd, int r, const char *why);

/* The parameters of all methods, each under its name; those that a call lacks are 0 or their row's default. */
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
	bool stream;    /* its replies come by themselves: none now */
};

enum method_flag {
	METHOD_SESSION = 1 << 0, /* only after Hello */
	METHOD_ADMIN = 1 << 1,   /* socket.admin decides who may */
	METHOD_ABI = 1 << 2,     /* another "abi" is refused before anything else is looked at */
};

/* In the flags too: what of "access" it needs. */
#define RIGHT(id)            ((unsigned)ACCESS_##id << 8)
#define METHOD_RIGHT(method) ((enum access_right)((method)->flags >> 8))

struct method {
	const char *name;
	int (*run)(struct call *call); /* 0, or negative errno with its sentence */
	unsigned flags;
	const struct jsonx_field *params; /* NULL: none */
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

#define TEXT_MAX 4096 /* bytes of a parameter that has a bound of its own where it is used */

/* Tables of the method_*.c files, each ended by a NULL name. */
extern const struct method session_methods[], service_methods[], list_methods[], clock_methods[], admin_methods[];

/* Text of the interface file. */
extern const char control_interface[];

/* The method's result: takes reply; NULL is -ENOMEM. */
int call_reply(struct call *call, json_t *reply);
/* "iox" or "mem": what the data plane is. */
const char *call_backend(const struct call *call);
/* A socket to hand out with the reply, and its "fds". */
json_t *call_give_fd(struct call *call, int fd, const char *name);

/* Park the call: returns what must be handed to call_answer() once, or NULL. */
struct parked *call_park(struct call *call);
/* The method's result once it is parked. r negative: it will not be answered later, but by that. */
int call_parked(struct call *call, int r);
/* Answer a parked call; takes reply. r negative: a failure with err_why(). */
void call_answer(struct parked *p, int r, json_t *reply);

void conn_destroy(struct conn *c);
int conn_create(struct control *ctl, int fd, const struct ucred *cred, struct conn **ret);
/* A reply of its Events stream. From inside other connections' methods too: it is only queued. Borrows both. */
void conn_send_event(struct conn *c, json_t *params, const struct varlink_text *text);
/* Write what is queued; marks the connection broken when that fails. */
void conn_flush(struct conn *c);

#endif
