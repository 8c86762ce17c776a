/* SPDX-License-Identifier: Apache-2.0 */
/* See native_log.h. */
#include "native_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "convert/enc_wire.h"
#include "convert/generic.h"

#define CHANNELS_MAX 32

struct native_log {
	struct log_writer *w;
	struct iov_buf out;
	const struct sim_type *type[CHANNELS_MAX];
	uint32_t sequence;
};

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "native_log: %s: %d\n", what, r);
	abort();
}

struct native_log *native_log_create(const char *path, enum log_compression compression)
{
	struct log_write_options o = { .format = LOG_MCAP, .compression = compression };
	struct native_log *l = calloc(1, sizeof(*l));
	char why[300] = "";

	must(l ? 0 : -1, "memory");
	(void)unlink(path);
	must(log_writer_create(path, &o, &l->w, why, sizeof(why)), why);
	iov_buf_init(&l->out);
	return l;
}

static uint32_t add_channel(struct native_log *l, const char *topic, const struct sim_type *type, bool latched)
{
	char hash[17] = "";
	struct log_pair pairs[] = { { "sim_type", type ? type->name : "" }, { "sim_hash", hash }, { "latching", "1" } };
	struct log_channel ch = { .topic = topic,
				  .message_encoding = type ? "cdr" : "cbor",
				  .schema_name = type ? type->name : "somebody/Elses",
				  .schema_encoding = type ? "ros2msg" : "jsonschema",
				  .schema = { "x", 1 },
				  .metadata = pairs,
				  .n_metadata = type ? 2 + latched : 0 };
	uint32_t id;

	if (type)
		snprintf(hash, sizeof(hash), "%016" PRIx64, type->hash);
	must(log_writer_add_channel(l->w, &ch, &id), topic);
	must(id < CHANNELS_MAX ? 0 : -1, "too many channels");
	l->type[id] = type;
	return id;
}

uint32_t native_log_channel(struct native_log *l, const char *topic, const struct sim_type *type)
{
	return add_channel(l, topic, type, false);
}

uint32_t native_log_latched(struct native_log *l, const char *topic, const struct sim_type *type)
{
	return add_channel(l, topic, type, true);
}

void native_log_put(struct native_log *l, uint32_t channel, int64_t log_time_ns, int64_t stamp_sim_ns,
		    const char *frame, const void *body, size_t size)
{
	struct sim_enc_header h = { .stamp_sim_ns = stamp_sim_ns, .frame = frame };
	struct log_message m = { .channel = channel,
				 .sequence = ++l->sequence,
				 .log_time_ns = log_time_ns,
				 .publish_time_ns = stamp_sim_ns };
	struct iovec iov[IOV_BUF_PIECES] = { { .iov_base = (char[]){ "{}" }, .iov_len = 2 } };
	struct enc_wire w;
	unsigned n = 1;

	if (l->type[channel]) {
		wire_begin(&w, WIRE_CDR, &l->out);
		sim_enc_header(&w.enc, "header", &h);
		must(generic_emit(l->type[channel], body, size, &w.enc), "the body");
		must(wire_finish(&w), "the message");
		n = iov_buf_iov(&l->out, iov);
	}
	must(log_writer_put(l->w, &m, iov, (int)n), "the file");
}

void native_log_finish(struct native_log *l)
{
	char why[300] = "";

	must(log_writer_finish(l->w, why, sizeof(why)), why);
	iov_buf_finish(&l->out);
	free(l);
}
