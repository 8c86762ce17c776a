/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Varlink: JSON messages, each ended by a NUL byte, over a Unix stream socket; descriptors ride along.
 *
 * `struct varlink` is one connection's state machine. It never touches a socket by itself: it is fed
 * bytes and emits messages; it is given messages and emits bytes. So the daemon drives it from its
 * event loop and in virtual time, and a client from a loop of its own.
 *
 * Descriptors: a message that carries some has a top-level member "fds" with their count, and they
 * are attached to its first byte. Descriptors come out of the stream in order and never later than
 * the message they belong to, so the count assigns them, however the kernel cut the reads. A message
 * that counts more than have come, or descriptors that no message claimed, end the connection.
 *
 * A server whose methods take no descriptors says so (limits): the kernel drops them before they are ours, and their
 * sender is broken.
 *
 * Bounds: message size, messages waiting for output, descriptors, JSON depth: a peer cannot make us
 * keep more than the limits say. A broken peer gives -EBADMSG, and -EMSGSIZE when it exceeds them: close.
 *
 * Thread: the owner's. Errors: negative errno with a sentence (err.h).
 */
#ifndef BASE_VARLINK_H
#define BASE_VARLINK_H

#include "fd.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARLINK_MESSAGE_MAX ((size_t)4 << 20) /* default bound of one message */
#define VARLINK_OUTPUT_MAX  ((size_t)4 << 20) /* default bound of unsent output */
#define VARLINK_FDS_MAX     FD_PASS_MAX       /* descriptors of one message */
#define VARLINK_DEPTH_MAX   32                /* nesting of a message */

struct varlink;

struct varlink_limits {
	size_t message_max; /* of what comes; 0: VARLINK_MESSAGE_MAX */
	size_t send_max;    /* of what goes; 0: as message_max */
	size_t output_max;  /* 0: VARLINK_OUTPUT_MAX */
	size_t *queued; /* memory that waits for output is added there and taken off, for a bound over many; NULL: nowhere */
	bool no_fds; /* descriptors that come are refused */
};

int varlink_create(const struct varlink_limits *limits, struct varlink **ret); /* limits NULL: the defaults */
void varlink_destroy(struct varlink *v); /* closes descriptors that were not handed out or not sent */

/* ---- messages ---- */

struct varlink_msg {
	json_t *json;             /* an object; owned by the message */
	int fds[VARLINK_FDS_MAX]; /* -1 where taken */
	unsigned n_fds;
};

/* Drop the JSON and close the descriptors that nobody took. Tolerates a zeroed message. */
void varlink_msg_finish(struct varlink_msg *m);
/* Move descriptor i out: the caller closes it. -ENODATA: the message has no such descriptor (or it was taken). */
int varlink_msg_take_fd(struct varlink_msg *m, unsigned i);

/* A call, as the server sees it. Everything is borrowed from the message. */
struct varlink_request {
	const char *method; /* "io.simd.control.List": interface, a dot, name */
	json_t *params;     /* an object, or NULL */
	bool more, oneway;
};
int varlink_msg_request(const struct varlink_msg *m, struct varlink_request *ret); /* -EBADMSG */

/* A reply, as the client sees it. Borrowed. */
struct varlink_answer {
	const char *error; /* NULL: success */
	json_t *params;    /* an object, or NULL */
	bool continues;    /* more replies follow */
};
int varlink_msg_answer(const struct varlink_msg *m, struct varlink_answer *ret); /* -EBADMSG */

/*
 * A negative errno of an error reply, its sentence in err_why(); 0 for a success. "errno" and "why" of
 * our own errors' parameters are used; org.varlink.service.* maps to -EOPNOTSUPP and -EINVAL; else -EREMOTEIO.
 */
int varlink_answer_errno(const struct varlink_answer *a);

/* ---- input ---- */

/* Takes the descriptors, even on failure. After an error the connection is broken: destroy it. */
int varlink_feed(struct varlink *v, const void *data, size_t len, const int *fds, unsigned n_fds);

/* 1: *ret is the next message, caller finishes it; 0: none complete yet; negative: broken peer. */
int varlink_next(struct varlink *v, struct varlink_msg *ret);

/* Bytes of a message have come, and not its end. Once varlink_next() has returned 0. */
bool varlink_is_half(const struct varlink *v);

/* One recvmsg from a socket into the machine. 1 something came, 0 nothing there now, -ECONNRESET end of stream, other: broken. */
int varlink_read(struct varlink *v, int sock);

/* ---- output ---- */

/* A member that is JSON text already, and goes out as it is. Who makes it sees to it that it is valid and has no NUL. */
struct varlink_text {
	const char *name, *json;
	size_t len;
};

/*
 * Queue one message; duplicates the descriptors. -EMSGSIZE: it is too long; -ENOBUFS: the output bound is reached. Takes json, even on failure (NULL:
 * -ENOMEM). text: NULL, or what goes to the end of json's last member, an object with members: the parameters.
 */
int varlink_queue(struct varlink *v, json_t *json, const struct varlink_text *text, const int *fds, unsigned n_fds);

enum varlink_flag {
	VARLINK_MORE = 1u << 0,
	VARLINK_ONEWAY = 1u << 1, /* there is no reply */
};

/* params: takes the reference, even on failure; may be NULL. text: one parameter more, or NULL; params then is not empty. */
int varlink_queue_call(struct varlink *v, const char *method, json_t *params, unsigned flags,
		       const struct varlink_text *text);
int varlink_queue_reply(struct varlink *v, json_t *params, bool continues, const int *fds, unsigned n_fds);
int varlink_queue_event(struct varlink *v, json_t *params,
			const struct varlink_text *text); /* a reply that continues */
/* An error whose parameters are {"errno": r, "why": why}: what varlink_answer_errno reads. r negative. */
int varlink_queue_failure(struct varlink *v, const char *error, int r, const char *why);

bool varlink_has_output(const struct varlink *v);
size_t varlink_queued(const struct varlink *v); /* memory of what is not sent, and of what came and was not handed out */
/* Forget what has come; nothing further can be read from it. */
void varlink_drop_input(struct varlink *v);
/* Forget the messages of which nothing was sent yet; all: also the one that was begun. How many. */
unsigned varlink_drop_output(struct varlink *v, bool all);
/* The next bytes to send and the descriptors that go with the first of them; borrowed. 0 bytes: nothing. */
size_t varlink_output(const struct varlink *v, const void **ret_data, const int **ret_fds, unsigned *ret_n_fds);
/* n of them were sent (n >= 1: the descriptors too, they are closed here). */
void varlink_sent(struct varlink *v, size_t n);

/* Send what the socket takes. 1 all sent, 0 the socket is full (poll for POLLOUT), -EPIPE / -ECONNRESET. */
int varlink_write(struct varlink *v, int sock);

/* ---- org.varlink.service, for servers ---- */

struct varlink_service {
	const char *vendor, *product, *version, *url;
	const struct varlink_interface {
		const char *name;        /* NULL ends the table */
		const char *description; /* text of its .varlink file */
	} * interfaces;
};

/* 1: req was for org.varlink.service, the reply is queued; 0: not for it; negative: out of memory or bound. */
int varlink_service_handle(const struct varlink_service *s, struct varlink *v, const struct varlink_request *req);
/* Its error MethodNotFound. */
int varlink_queue_method_not_found(struct varlink *v, const char *method);

#endif
