/* SPDX-License-Identifier: Apache-2.0 */
/* json: a header and the fields of a type, as in native, as JSON. See codec_out.h. */
#include "codec_out_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "convert/enc_json.h"
#include "convert/generic.h"
#include "convert/json_schema.h"
#include "mem.h"

static int encode_json(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why,
		       size_t why_size)
{
	const struct map_message in = codec_out_message(m);
	struct enc_json j;
	int r, e;

	(void)why;
	(void)why_size;
	iov_buf_reset(out);
	json_begin(&j, ROS_GENERIC_OURS, JSON_NAN_EXACT, NULL, out);
	j.enc.ops->header(&j.enc, c->header, &in.header);
	r = generic_emit(c->type, m->body, m->body_size, &j.enc);
	e = json_finish(&j);
	return r < 0 ? r : e;
}

int codec_out_open_json(struct codec_out *c, char *why, size_t why_size)
{
	int r;

	c->encode = encode_json;
	c->header = codec_header_of(c->type);
	snprintf(c->schema, sizeof(c->schema), "%s", c->type->name);
	r = json_schema_text(c->type, c->header, &c->json_schema);
	if (r == -E2BIG) {
		snprintf(why, why_size, "the JSON Schema of %s would be too long", c->type->name);
		return -ENOTSUP;
	}
	if (r < 0)
		return codec_out_no_memory(why, why_size);
	c->channel.message_encoding = "json";
	c->channel.schema_encoding = "jsonschema";
	c->channel.schema.data = c->json_schema;
	return codec_out_say_type(c, why, why_size);
}
