/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server sends: messages of subscribed topics, requests, status; whole or in fragments, as JSON or CBOR.
 * Anything unexpected is dropped, and logged with decreasing frequency. Thread: the link's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbor_reader.h"
#include "json_reader.h"
#include "rosbridge.h"

__attribute__((format(printf, 2, 3))) static void refuse(struct sim_bridge *b, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	if (!rosbridge_worth_saying(++b->n_refused))
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_warn(b, "the server sends an invalid operation: %s (%llu so far)", why, (unsigned long long)b->n_refused);
}

bool rosbridge_text(struct sim_dec *d, const char *name, char *ret, size_t size)
{
	size_t len = 0;
	const char *s = sim_dec_has(d, name) ? sim_dec_string(d, name, SIZE_MAX, &len) : NULL;

	if (!s || d->err) {
		*ret = '\0';
		return false;
	}
	len = len < size - 1 ? len : size - 1;
	for (size_t i = 0; i < len; i++)
		ret[i] = (char)(s[i] >= ' ' && s[i] <= '~' ? s[i] : '?');
	ret[len] = '\0';
	return true;
}

/* ---- messages of topics ---- */

static void take_one(struct rosbridge_in *in, struct sim_dec *d, size_t len, bool binary)
{
	uint32_t n = 0;
	const void *bytes;

	sim_dec_begin(d, "msg");
	if (binary && in->compression == COMPRESSION_CBOR_RAW) {
		bytes = sim_dec_array(d, "bytes", SIM_KIND_UINT8, &n);
		if (d->err)
			topic_in_drop(&in->in, d->err);
		else
			topic_in_take(&in->in, bytes, n);
	} else if (d->err) {
		topic_in_drop(&in->in, d->err);
	} else {
		topic_in_take_from(&in->in, d, len);
	}
	d->err = 0; /* it was reported; other subscriptions may read the same message */
	sim_dec_end(d);
}

static void begin(struct sim_bridge *b, const char *data, size_t len, bool binary)
{
	if (binary)
		cbor_reader_begin(&b->reader, data, len);
	else
		json_reader_begin(&b->reader, data, len);
}

static void on_publish(struct sim_bridge *b, const char *data, size_t len, bool binary)
{
	unsigned connection = atomic_load(&b->connection);
	char topic[TOPIC_NAME_MAX + 2];

	if (!rosbridge_text(&b->reader.dec, "topic", topic, sizeof(topic)) || !sim_dec_has(&b->reader.dec, "msg")) {
		refuse(b, "a publish without \"topic\" or \"msg\"");
		return;
	}
	if (b->sim_time.on && strcmp(topic, "/clock") == 0)
		sim_time_take(b, &b->reader.dec);
	for (unsigned i = 0; i < b->n_in; i++) {
		struct rosbridge_in *in = &b->in[i];

		if (strcmp(in->in.name, topic) != 0 || atomic_load(&in->connection) != connection)
			continue;
		begin(b, data, len, binary); /* each subscription reads from the beginning */
		take_one(in, &b->reader.dec, len, binary);
	}
}

/* ---- fragments ---- */

static void forget(struct part *p)
{
	free(p->data);
	*p = (struct part){ .total = 0 };
}

void rosbridge_forget_parts(struct sim_bridge *b)
{
	for (unsigned i = 0; i < ROSBRIDGE_PARTS_MAX; i++)
		forget(&b->part[i]);
}

/* Finds the message with that id, or an unused entry, or reuses that of the oldest incomplete message. */
static struct part *find_part(struct sim_bridge *b, const char *id, uint32_t total)
{
	struct part *oldest = &b->part[0];

	for (unsigned i = 0; i < ROSBRIDGE_PARTS_MAX; i++)
		if (b->part[i].total && strcmp(b->part[i].id, id) == 0)
			return &b->part[i];
	for (unsigned i = 0; i < ROSBRIDGE_PARTS_MAX; i++)
		oldest = b->part[i].turn < oldest->turn ? &b->part[i] : oldest;
	if (oldest->total)
		refuse(b, "fragments of \"%.40s\" are incomplete: dropped", oldest->id);
	forget(oldest);
	oldest->total = total;
	snprintf(oldest->id, sizeof(oldest->id), "%s", id);
	return oldest;
}

/* Appends a fragment. Returns 1 if the message is complete. */
static int add_part(struct sim_bridge *b, struct part *p, const char *data, size_t n)
{
	char *more = p->len + n <= ROSBRIDGE_IN_MAX ? realloc(p->data, p->len + n + 1) : NULL;

	if (!more) {
		refuse(b, "fragments of more than %u bytes", ROSBRIDGE_IN_MAX);
		return -EMSGSIZE;
	}
	memcpy(more + p->len, data, n);
	p->data = more;
	p->len += n;
	p->turn = ++b->n_parts;
	return ++p->next == p->total;
}

static void on_fragment(struct sim_bridge *b)
{
	struct sim_dec *d = &b->reader.dec;
	char id[sizeof(b->part[0].id)];
	bool named = rosbridge_text(d, "id", id, sizeof(id));
	uint32_t num = sim_dec_u32(d, "num"), total = sim_dec_u32(d, "total");
	size_t n = 0;
	const char *data = sim_dec_string(d, "data", SIZE_MAX, &n);
	struct part *p, whole;
	int r = -EPROTO;

	if (d->err || !named || !total || num >= total) {
		refuse(b, "a fragment that is not whole");
		return;
	}
	p = find_part(b, id, total);
	if (num == p->next && total == p->total)
		r = add_part(b, p, data, n);
	else
		refuse(b, "fragment %u of %u of \"%.40s\" out of turn", num, total, id);
	if (r == 0)
		return;
	whole = *p;
	*p = (struct part){ .total = 0 };
	if (r > 0)
		rosbridge_take(b, whole.data, whole.len, false);
	free(whole.data);
}

/* ---- status messages ---- */

static void on_status(struct sim_bridge *b)
{
	char level[16], text[400];
	bool said = rosbridge_text(&b->reader.dec, "msg", text, sizeof(text));

	(void)rosbridge_text(&b->reader.dec, "level", level, sizeof(level));
	if (said && rosbridge_worth_saying(++b->n_status))
		log_at(b, strcmp(level, "error") == 0 || strcmp(level, "warning") == 0 ? 1 : 2,
		       "the server says: %s: %s (%llu so far)", *level ? level : "status", text,
		       (unsigned long long)b->n_status);
}

static void on_request(struct sim_bridge *b)
{
	char id[ROSBRIDGE_ID_MAX];

	(void)rosbridge_text(&b->reader.dec, "id", id, sizeof(id));
	rosbridge_serve(b, &b->reader.dec, id);
}

static void on_answer(struct sim_bridge *b)
{
	char id[ROSBRIDGE_ID_MAX];

	(void)rosbridge_text(&b->reader.dec, "id", id, sizeof(id));
	if (!remotes_take(b, &b->reader.dec, id))
		refuse(b, "a service_response, id \"%.60s\", that nobody waits for (any more)", id);
}

static void on_op(struct sim_bridge *b, const char *op, const char *data, size_t len, bool binary)
{
	if (strcmp(op, "publish") == 0)
		on_publish(b, data, len, binary);
	else if (strcmp(op, "call_service") == 0)
		on_request(b);
	else if (strcmp(op, "service_response") == 0)
		on_answer(b);
	else if (strcmp(op, "status") == 0)
		on_status(b);
	else if (strcmp(op, "fragment") == 0)
		on_fragment(b);
	else if (strcmp(op, "png") == 0)
		refuse(b, "a message as PNG, which this bridge does not ask for and does not read");
	else if (strcmp(op, "set_level") != 0)
		refuse(b, "op \"%.40s\"", op);
}

void rosbridge_take(struct sim_bridge *b, const char *data, size_t len, bool binary)
{
	char op[48];

	begin(b, data, len, binary);
	if (rosbridge_text(&b->reader.dec, "op", op, sizeof(op)))
		on_op(b, op, data, len, binary);
	else if (!b->reader.dec.err)
		refuse(b, "a message without \"op\"");
	else
		refuse(b, "no %s object: %s", binary ? "CBOR" : "JSON",
		       b->reader.dec.err == -EMSGSIZE ? "it is nested too deep, or has too many fields"
						      : "it is malformed");
}
