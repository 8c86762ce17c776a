/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Varlink: JSON messages, each ended by a NUL byte, over a Unix stream socket; messages may carry descriptors.
 *
 * `struct varlink` is the state machine of one connection. It does no I/O by itself: received bytes are fed to it and
 * messages are taken out; messages are queued and the bytes to send are taken out. So the daemon can drive it from its
 * event loop and in virtual time, and a client from a loop of its own.
 *
 * Descriptors: a message that carries some has a top-level member "fds" with their count, and they are attached to its
 * first byte. The socket delivers descriptors in order and never later than the message they belong to, so the count
 * assigns them, however the kernel splits the reads. If a message counts more descriptors than have arrived, or
 * descriptors belong to no message, the connection is broken.
 *
 * A server whose methods take no descriptors sets varlink_limits::no_fds: the kernel then discards received
 * descriptors, and the connection of their sender is broken.
 *
 * Bounds: message size, queued output, descriptors, JSON depth: a peer cannot make this process hold more than the
 * limits allow. If the peer violates the protocol, functions return -EBADMSG, or -EMSGSIZE if it exceeds a limit: close
 * the connection.
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
	size_t message_max; /* of received messages; 0: VARLINK_MESSAGE_MAX */
	size_t send_max;    /* of sent messages; 0: as message_max */
	size_t output_max;  /* 0: VARLINK_OUTPUT_MAX */
	/*
	 * memory of queued output and unread input is added here and subtracted again, for a bound over many
	 * connections; NULL: none
	 */
	size_t *queued;
	bool no_fds; /* received descriptors break the connection */
};

int varlink_create(const struct varlink_limits *limits, struct varlink **ret); /* limits NULL: the defaults */
void varlink_destroy(struct varlink *v); /* closes descriptors that were not taken or not sent */

/* ---- messages ---- */

struct varlink_msg {
	json_t *json;             /* an object; owned by the message */
	int fds[VARLINK_FDS_MAX]; /* -1: taken */
	unsigned n_fds;
};

/* Frees the JSON and closes the descriptors that were not taken. m may be all zero. */
void varlink_msg_finish(struct varlink_msg *m);
/* Takes descriptor i out of the message: the caller closes it. -ENODATA: no such descriptor, or already taken. */
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
 * Returns the negative errno of an error reply, with its sentence in err_why(); 0 for a success. simd's own errors have
 * "errno" and "why" in their parameters; org.varlink.service.* gives -EOPNOTSUPP or -EINVAL; any other error
 * -EREMOTEIO.
 */
int varlink_answer_errno(const struct varlink_answer *a);

/* ---- input ---- */

/*
 * Feeds received bytes and descriptors; takes ownership of the descriptors, even on failure. After an error the
 * connection is broken: destroy it.
 */
int varlink_feed(struct varlink *v, const void *data, size_t len, const int *fds, unsigned n_fds);

/*
 * Returns 1: *ret is the next message, the caller finishes it; 0: no complete message; negative: the connection is
 * broken.
 */
int varlink_next(struct varlink *v, struct varlink_msg *ret);

/* Whether part of a message has arrived without its end. Valid after varlink_next() has returned 0. */
bool varlink_is_half(const struct varlink *v);

/*
 * Reads from a socket by one recvmsg() and feeds the result. Returns 1: something arrived, 0: nothing to read now,
 * -ECONNRESET: end of stream, other errors: broken.
 */
int varlink_read(struct varlink *v, int sock);

/* ---- output ---- */

/*
 * A member given as JSON text, which is sent unchanged. The caller ensures that it is valid JSON and contains no NUL.
 */
struct varlink_text {
	const char *name, *json;
	size_t len;
};

/*
 * Queues one message; duplicates the descriptors. Takes the reference to json, even on failure (NULL: -ENOMEM). text:
 * NULL, or a member to append to json's last member, which must be an object that is not empty (the parameters).
 * -EMSGSIZE: the message is too long; -ENOBUFS: the bound of the output is reached.
 */
int varlink_queue(struct varlink *v, json_t *json, const struct varlink_text *text, const int *fds, unsigned n_fds);

enum varlink_flag {
	VARLINK_MORE = 1u << 0,
	VARLINK_ONEWAY = 1u << 1, /* the peer sends no reply */
};

/*
 * Queues a call. params: takes the reference, even on failure; may be NULL. text: an additional parameter, params must
 * then not be empty; NULL: none.
 */
int varlink_queue_call(struct varlink *v, const char *method, json_t *params, unsigned flags,
		       const struct varlink_text *text);
int varlink_queue_reply(struct varlink *v, json_t *params, bool continues, const int *fds, unsigned n_fds);
int varlink_queue_event(struct varlink *v, json_t *params,
			const struct varlink_text *text); /* a reply with "continues" set */
/* Queues an error with the parameters {"errno": r, "why": why}, which varlink_answer_errno() reads. r: negative. */
int varlink_queue_failure(struct varlink *v, const char *error, int r, const char *why);

bool varlink_has_output(const struct varlink *v);
size_t varlink_queued(const struct varlink *v); /* bytes of memory held by unsent messages and the input buffer */
/* Discards the received bytes; no further message can be read from them. */
void varlink_drop_input(struct varlink *v);
/* Discards messages of which nothing has been sent yet; all: also the partly sent one. Returns their number. */
unsigned varlink_drop_output(struct varlink *v, bool all);
/*
 * Returns the number of bytes to send next, with the descriptors that go with the first of them; borrowed. 0: nothing
 * to send.
 */
size_t varlink_output(const struct varlink *v, const void **ret_data, const int **ret_fds, unsigned *ret_n_fds);
/* n bytes were sent. If n >= 1 the descriptors were sent as well and are closed here. */
void varlink_sent(struct varlink *v, size_t n);

/*
 * Sends as much as the socket accepts. Returns 1: all sent, 0: the socket is full (poll for POLLOUT), -EPIPE,
 * -ECONNRESET.
 */
int varlink_write(struct varlink *v, int sock);

/* ---- org.varlink.service, for servers ---- */

struct varlink_service {
	const char *vendor, *product, *version, *url;
	const struct varlink_interface {
		const char *name;        /* NULL ends the table */
		const char *description; /* text of its .varlink file */
	} * interfaces;
};

/*
 * Handles calls of org.varlink.service. Returns 1: the reply is queued; 0: req is for another interface; negative: no
 * memory, or the bound of the output is reached.
 */
int varlink_service_handle(const struct varlink_service *s, struct varlink *v, const struct varlink_request *req);
/* Queues the error org.varlink.service.MethodNotFound. */
int varlink_queue_method_not_found(struct varlink *v, const char *method);

#endif
