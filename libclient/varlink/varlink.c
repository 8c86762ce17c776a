/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection's state machine: framing, descriptors, output queue. Messages are built and read in
 * varlink_msg.c. Thread: the owner's.
 */
#include "varlink.h"

#include "err.h"
#include "jsonx.h"
#include "list.h"
#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAITING_FDS_MAX (4 * VARLINK_FDS_MAX) /* received descriptors whose message is not complete yet */
#define READ_CHUNK      8192

/* A queued message. */
struct out {
	struct list link; /* in varlink::out */
	size_t len, sent;
	int fds[VARLINK_FDS_MAX];
	unsigned n_fds;
	char bytes[];
};

struct varlink {
	char *in; /* received bytes; NULL: none */
	size_t in_len, in_cap;
	size_t scanned; /* leading bytes of in already searched for a NUL */
	size_t taken;   /* leading bytes of in already handed out; removed at the next feed */
	int fds[WAITING_FDS_MAX];
	unsigned n_fds;
	int broken; /* 0, or the error that ended the connection */

	struct list out;
	size_t out_bytes; /* bytes queued and not yet sent */
	size_t out_mem;   /* memory of the messages in `out` */
	size_t *queued;   /* the owner's sum of queued memory over many connections; may point to unasked */
	size_t unasked;
	size_t message_max, send_max, output_max;
	bool no_fds;
};

int varlink_create(const struct varlink_limits *limits, struct varlink **ret)
{
	struct varlink *v = MEM_NEW(struct varlink);

	if (!v)
		return err_nomem();
	v->message_max = limits && limits->message_max ? limits->message_max : VARLINK_MESSAGE_MAX;
	v->send_max = limits && limits->send_max ? limits->send_max : v->message_max;
	v->output_max = limits && limits->output_max ? limits->output_max : VARLINK_OUTPUT_MAX;
	v->no_fds = limits && limits->no_fds;
	v->queued = limits && limits->queued ? limits->queued : &v->unasked;
	list_init(&v->out);
	*ret = v;
	return 0;
}

static void out_count(struct varlink *v, const struct out *o)
{
	size_t mem = sizeof(*o) + o->len;

	v->out_bytes += o->len;
	v->out_mem += mem;
	*v->queued += mem;
}

static void out_drop(struct varlink *v, struct out *o)
{
	for (unsigned i = 0; i < o->n_fds; i++)
		fd_close(o->fds[i]);
	v->out_bytes -= o->len - o->sent;
	v->out_mem -= sizeof(*o) + o->len;
	*v->queued -= sizeof(*o) + o->len;
	list_remove(&o->link);
	mem_free(o);
}

void varlink_destroy(struct varlink *v)
{
	if (!v)
		return;
	varlink_drop_output(v, true);
	for (unsigned i = 0; i < v->n_fds; i++)
		fd_close(v->fds[i]);
	varlink_drop_input(v);
	mem_free(v);
}

/* ---- input ---- */

void varlink_drop_input(struct varlink *v)
{
	*v->queued -= v->in_cap;
	mem_free(v->in);
	v->in = NULL;
	v->in_len = v->in_cap = v->scanned = v->taken = 0;
}

static int keep_fds(struct varlink *v, const int *fds, unsigned n)
{
	if (v->no_fds || n > WAITING_FDS_MAX - v->n_fds) {
		for (unsigned i = 0; i < n; i++)
			fd_close(fds[i]);
		return v->broken =
			       err_set(-EMSGSIZE, v->no_fds ? "the peer sent descriptors; none are taken here"
							    : "the peer sent more descriptors than messages may carry");
	}
	memcpy(v->fds + v->n_fds, fds, n * sizeof(*fds));
	v->n_fds += n;
	return 0;
}

/*
 * Reserves room for len more bytes. Bytes that varlink_next() has handed out are only removed at the next feed, hence
 * the bound of two messages and one read.
 */
static int in_reserve(struct varlink *v, size_t len)
{
	size_t max = 2 * v->message_max + READ_CHUNK, cap = v->in_cap ? v->in_cap : 64;
	char *p;

	if (len > max - v->in_len)
		return err_set(-EMSGSIZE, "the peer sent more than %zu bytes that were not read", max);
	while (cap < v->in_len + len)
		cap *= 2;
	if (cap == v->in_cap)
		return 0;
	p = mem_realloc(v->in, cap);
	if (!p)
		return err_nomem();
	v->in = p;
	*v->queued += cap - v->in_cap;
	v->in_cap = cap;
	return 0;
}

int varlink_feed(struct varlink *v, const void *data, size_t len, const int *fds, unsigned n_fds)
{
	int r = n_fds ? keep_fds(v, fds, n_fds) : 0;

	if (r < 0 || v->broken)
		return v->broken;
	v->in_len -= v->taken;
	v->scanned -= v->taken;
	if (v->taken)
		memmove(v->in, v->in + v->taken, v->in_len);
	v->taken = 0;
	v->broken = in_reserve(v, len);
	if (v->broken || !len)
		return v->broken;
	memcpy(v->in + v->in_len, data, len);
	v->in_len += len;
	return 0;
}

/* Assigns waiting descriptors to the message, as many as its "fds" member counts. */
static int assign_fds(struct varlink *v, struct varlink_msg *m)
{
	const json_t *j = json_object_get(m->json, "fds");
	json_int_t n = json_integer_value(j);

	if (j && (!json_is_integer(j) || n < 0 || n > VARLINK_FDS_MAX))
		return err_set(-EBADMSG, "the peer's message counts its descriptors wrongly");
	if (n > v->n_fds)
		return err_set(-EBADMSG, "the peer's message counts %d descriptors, %u came", (int)n, v->n_fds);
	m->n_fds = (unsigned)n;
	memcpy(m->fds, v->fds, m->n_fds * sizeof(int));
	v->n_fds -= m->n_fds;
	memmove(v->fds, v->fds + m->n_fds, v->n_fds * sizeof(int));
	return 0;
}

static int parse(struct varlink *v, const char *text, size_t len, struct varlink_msg *ret)
{
	struct varlink_msg m = { 0 };
	json_error_t e;
	int r;

	if (jsonx_too_deep(text, len, VARLINK_DEPTH_MAX))
		return err_set(-EBADMSG, "the peer's message is nested deeper than %d levels", VARLINK_DEPTH_MAX);
	m.json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (!m.json)
		return err_set(-EBADMSG, "the peer's message is not JSON: %s (byte %d)", e.text, e.position);
	if (!json_is_object(m.json)) {
		r = err_set(-EBADMSG, "the peer's message is not a JSON object");
		goto err;
	}
	r = assign_fds(v, &m);
	if (r < 0)
		goto err;
	*ret = m;
	return 0;
err:
	json_decref(m.json);
	return r;
}

/* Frees the input buffer if all of it was handed out, so that a silent connection keeps none. */
static void in_rest(struct varlink *v)
{
	if (v->taken == v->in_len)
		varlink_drop_input(v);
}

bool varlink_is_half(const struct varlink *v)
{
	return v->in_len > v->taken;
}

int varlink_next(struct varlink *v, struct varlink_msg *ret)
{
	const char *start, *end;
	size_t len;

	if (v->broken || !v->in)
		return v->broken;
	start = v->in + v->taken;
	end = memchr(v->in + v->scanned, '\0', v->in_len - v->scanned);
	if (!end) {
		v->scanned = v->in_len;
		in_rest(v);
		if (v->in_len - v->taken > v->message_max)
			return v->broken = err_set(-EMSGSIZE, "the peer's message is longer than %zu bytes",
						   v->message_max);
		return 0;
	}
	len = (size_t)(end - start);
	if (len > v->message_max)
		return v->broken = err_set(-EMSGSIZE, "the peer's message has %zu bytes, at most %zu are allowed", len,
					   v->message_max);
	v->broken = parse(v, start, len, ret);
	v->taken += len + 1;
	v->scanned = v->taken;
	/* descriptors arrive with the first byte of their message: without further bytes these belong to no message */
	if (!v->broken && v->n_fds && v->taken == v->in_len) {
		varlink_msg_finish(ret);
		v->broken = err_set(-EBADMSG, "the peer sent descriptors that no message counts");
	}
	return v->broken ? v->broken : 1;
}

int varlink_read(struct varlink *v, int sock)
{
	int fds[VARLINK_FDS_MAX];
	char buf[READ_CHUNK];
	unsigned n_fds;
	ssize_t n = fd_recv(sock, buf, sizeof(buf), fds, v->no_fds ? 0 : VARLINK_FDS_MAX, &n_fds, MSG_DONTWAIT);
	int r;

	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	if (n == 0)
		return err_set(-ECONNRESET, "the peer closed the connection");
	r = varlink_feed(v, buf, (size_t)n, fds, n_fds);
	return r < 0 ? r : 1;
}

/* ---- output ---- */

static int out_dup_fds(struct out *o, const int *fds, unsigned n)
{
	for (; o->n_fds < n; o->n_fds++) {
		int fd = fd_dup(fds[o->n_fds]);

		if (fd < 0)
			return fd;
		o->fds[o->n_fds] = fd;
	}
	return 0;
}

/* Writes the message as JSON. Adds the count of descriptors without changing the caller's object. */
static size_t dump(json_t *json, unsigned n_fds, char *buf, size_t size)
{
	json_t *with = NULL;
	size_t n;

	if (n_fds) {
		with = json_object();
		if (json_object_update(with, json) < 0 || json_object_set_new(with, "fds", json_integer(n_fds)) < 0) {
			json_decref(with);
			return 0;
		}
	}
	n = json_dumpb(with ? with : json, buf, size, JSON_COMPACT);
	json_decref(with);
	return n;
}

/* Returns how many bytes text adds to a message that ends with "}}". */
static size_t text_size(const struct varlink_text *text)
{
	return text ? strlen(",\"\":") + strlen(text->name) + text->len : 0;
}

static void text_add(char *end, const struct varlink_text *text)
{
	char *at = end - strlen("}}");

	at += sprintf(at, ",\"%s\":", text->name);
	at = mempcpy(at, text->json, text->len);
	memcpy(at, "}}", strlen("}}"));
}

static int queue(struct varlink *v, json_t *json, const struct varlink_text *text, const int *fds, unsigned n_fds)
{
	size_t head, n;
	struct out *o;
	int r;

	if (n_fds > VARLINK_FDS_MAX)
		return err_set(-E2BIG, "%u descriptors in one message; at most %d pass", n_fds, VARLINK_FDS_MAX);
	head = dump(json, n_fds, NULL, 0);
	if (!head)
		return err_nomem();
	n = head + text_size(text);
	if (n > v->send_max)
		return err_set(-EMSGSIZE, "a message of %zu bytes, at most %zu are allowed", n, v->send_max);
	if (n + 1 > v->output_max - v->out_bytes)
		return err_set(-ENOBUFS, "the peer does not read: %zu bytes wait for it", v->out_bytes);
	o = mem_zalloc(sizeof(*o) + n + 1);
	if (!o)
		return err_nomem();
	list_init(&o->link);
	r = out_dup_fds(o, fds, n_fds);
	if (r == 0 && dump(json, n_fds, o->bytes, n) != head)
		r = err_nomem();
	if (r == 0 && text)
		text_add(o->bytes + head, text);
	o->len = n + 1;
	out_count(v, o);
	if (r < 0) {
		out_drop(v, o);
		return r;
	}
	list_append(&v->out, &o->link);
	return 0;
}

int varlink_queue(struct varlink *v, json_t *json, const struct varlink_text *text, const int *fds, unsigned n_fds)
{
	int r = json ? queue(v, json, text, fds, n_fds) : err_nomem();

	json_decref(json);
	return r;
}

bool varlink_has_output(const struct varlink *v)
{
	return v->out_bytes > 0;
}

size_t varlink_queued(const struct varlink *v)
{
	return v->out_mem + v->in_cap;
}

unsigned varlink_drop_output(struct varlink *v, bool all)
{
	struct out *o, *tmp;
	unsigned n = 0;

	list_for_each_safe(o, tmp, &v->out, link) {
		if (o->sent && !all)
			continue;
		out_drop(v, o);
		n++;
	}
	return n;
}

size_t varlink_output(const struct varlink *v, const void **ret_data, const int **ret_fds, unsigned *ret_n_fds)
{
	const struct out *o = list_first(&v->out, struct out, link);

	if (!o)
		return 0;
	*ret_data = o->bytes + o->sent;
	*ret_fds = o->fds;
	*ret_n_fds = o->n_fds;
	return o->len - o->sent;
}

void varlink_sent(struct varlink *v, size_t n)
{
	struct out *o = list_first(&v->out, struct out, link);

	if (!o || !n)
		return;
	while (o->n_fds)
		fd_close(o->fds[--o->n_fds]);
	if (n >= o->len - o->sent) {
		out_drop(v, o);
		return;
	}
	o->sent += n;
	v->out_bytes -= n;
}

int varlink_write(struct varlink *v, int sock)
{
	const void *data;
	const int *fds;
	unsigned n_fds;
	size_t len;

	while ((len = varlink_output(v, &data, &fds, &n_fds))) {
		ssize_t n = fd_send(sock, data, len, fds, n_fds, MSG_DONTWAIT);

		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return (int)n;
		varlink_sent(v, (size_t)n);
	}
	return 1;
}
