/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a log into simd. `native`: a std_msgs/Header and the fields of the type, as CDR; which type it is stands in the channel's metadata,
 * as `sim_type` and `sim_hash`, and of one's own types the definition as `sim_definition`. See codec.h.
 */
#include "codec.h"

#include "convert/cdr_reader.h"
#include "convert/generic.h"

#include "mem.h"

#include <sim/introspect.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct codec_in {
	const struct sim_type *type;
};

static int fail(int r, char *why, size_t why_size, const struct log_channel *ch, const char *text)
{
	snprintf(why, why_size, "%.100s (%.60s): %s", ch->topic, *ch->schema_name ? ch->schema_name : "no type", text);
	return r;
}

static const char *metadata(const struct log_channel *ch, const char *key)
{
	for (size_t i = 0; i < ch->n_metadata; i++)
		if (strcmp(ch->metadata[i].key, key) == 0)
			return ch->metadata[i].value;
	return NULL;
}

/* One that comes with simd, or its own definition. */
static int find_type(const char *name, const char *definition, const struct sim_type **ret)
{
	*ret = sim_type_builtin(name);
	if (*ret)
		return 0;
	return definition ? sim_type_from_json(definition, strlen(definition), ret) : -ENOENT;
}

static int native_type(const struct log_channel *ch, const struct sim_type **ret, char *why, size_t why_size)
{
	const char *name = metadata(ch, "sim_type"), *hash = metadata(ch, "sim_hash");
	char own[17];
	int r;

	if (!name || !hash || strcmp(ch->message_encoding, "cdr") != 0)
		return fail(-ENOTSUP, why, why_size, ch,
			    "not a recording of simd's own messages, which alone are played");
	r = find_type(name, metadata(ch, "sim_definition"), ret);
	if (r == -ENOMEM)
		return fail(r, why, why_size, ch, "no memory");
	if (r < 0)
		return fail(-ENOTSUP, why, why_size, ch, "a type that is not known here");
	snprintf(own, sizeof(own), "%016" PRIx64, (*ret)->hash);
	if (strcmp(own, hash) == 0)
		return 0;
	sim_type_unref(*ret);
	return fail(-ENOTSUP, why, why_size, ch, "the type has changed since it was recorded");
}

int codec_in_create(const struct log_channel *ch, struct codec_in **ret, char *why, size_t why_size)
{
	struct codec_in *c = MEM_NEW(struct codec_in);
	int r = c ? native_type(ch, &c->type, why, why_size) : fail(-ENOMEM, why, why_size, ch, "no memory");

	if (r < 0) {
		mem_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void codec_in_destroy(struct codec_in *c)
{
	if (!c)
		return;
	sim_type_unref(c->type);
	mem_free(c);
}

const struct sim_type *codec_in_type(const struct codec_in *c)
{
	return c->type;
}

int codec_in_decode(struct codec_in *c, const struct log_message *m, struct message_in *ret)
{
	struct cdr_reader d;
	const char *frame = NULL;
	size_t len = 0;
	int r;

	cdr_reader_begin(&d, WIRE_CDR, m->data, m->size);
	ret->stamp_sim_ns = d.dec.ops->header(&d.dec, "header", &frame, &len);
	message_in_set_frame(ret, frame, len);
	r = generic_read(c->type, &d.dec, ret->buf, ret->room, &ret->size);
	if (r < 0)
		return r;
	return cdr_reader_end(&d);
}
