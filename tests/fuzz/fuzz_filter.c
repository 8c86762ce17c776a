/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any conditions and texts of `simctl echo`: each is rejected with an error text, or evaluated on a complete message
 * and on a truncated one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t body[8192];

static struct sim_message whole(const struct sim_type *type)
{
	static const char json[] = "{\"objects\":[{\"id\":4,\"label\":\"Sedan\",\"heading\":1.5},{\"label\":\"\"}]}";
	struct sim_message m = { .header = { .sequence = 7, .stamp_sim_ns = 2500000000, .frame_id = "base" },
				 .body = body };

	if (sim_msg_from_json(type, json, strlen(json), body, sizeof(body), &m.body_size) < 0)
		abort();
	return m;
}

static void ask(const struct sim_type *type, const char *text, const struct sim_message *m)
{
	char why[512] = "";
	struct filter *f;

	if (filter_create(type, text, why, &f) < 0) {
		if (!*why)
			abort();
		return;
	}
	(void)filter_pass(f, &m->header, m->body, m->body_size);
	(void)filter_pass(f, &m->header, m->body, m->body_size / 2);
	filter_destroy(f);
}

static void print(const struct sim_type *type, const char *text, const struct sim_message *m)
{
	static char out[65536];
	char why[512] = "";
	struct line *l;
	FILE *f;

	if (line_template(type, text, LINE_DATE, why, &l) < 0) {
		if (!*why)
			abort();
		return;
	}
	f = fmemopen(out, sizeof(out), "w");
	if (f) {
		line_print(l, m, f);
		(void)fclose(f);
	}
	line_destroy(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_type *type = sim_type_builtin("sim/Detected3DObjects");
	const struct sim_message m = whole(type);
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	ask(type, text, &m);
	print(type, text, &m);
	free(text);
	return 0;
}
