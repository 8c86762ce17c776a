/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration reader against any text, as two sources and an override. Thread: one. */
#include "conf.h"
#include "err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const choices[] = { "one", "two", NULL };

static const struct conf_key inner[] = {
	{ .name = "wait_ms", .type = CONF_INT, .def = "100", .min = 0, .max = 60000 },
	{ .name = "pick", .type = CONF_CHOICE, .def = "\"one\"", .choices = choices },
	{ 0 },
};

static const struct conf_key item[] = {
	{ .name = "name", .type = CONF_STRING, .id = true, .required = true },
	{ .name = "words", .type = CONF_STRINGS, .max = 4 },
	{ .name = "size", .type = CONF_SIZE },
	{ .name = "inner", .type = CONF_OBJECT, .sub = inner },
	{ .name = "any", .type = CONF_ANY },
	{ 0 },
};

static const struct conf_key root[] = {
	{ .name = "on", .type = CONF_BOOL, .def = "true" },
	{ .name = "x", .type = CONF_REAL, .min = -1, .max = 1 },
	{ .name = "inner", .type = CONF_OBJECT, .sub = inner },
	{ .name = "list", .type = CONF_LIST, .sub = item, .max = 4 },
	{ .name = "plain", .type = CONF_LIST, .sub = inner, .max = 4 },
	{ 0 },
};

/* The first line is an override "path value"; the rest is two sources, cut at a NUL. */
static int load(struct conf *c, const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);
	size_t head = nl ? (size_t)(nl - text) : 0;
	const char *rest = text + head, *cut = memchr(rest, '\0', len - head);
	size_t first = cut ? (size_t)(cut - rest) : len - head;
	char line[256], *space;
	int r = conf_add_text(c, "a", rest, first);

	if (r == 0 && cut)
		r = conf_add_text(c, "b", cut + 1, len - head - first - 1);
	if (r < 0 || !head || head >= sizeof(line))
		return r;
	memcpy(line, text, head);
	line[head] = '\0';
	space = strchr(line, ' ');
	if (!space)
		return 0;
	*space = '\0';
	return conf_set(c, line, space + 1, "override");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf *c;
	int r;

	if (conf_create(root, &c) < 0)
		return 0;
	err_clear();
	r = load(c, (const char *)data, size);
	if (r < 0 && !*err_why())
		abort(); /* a refusal without a sentence */
	if (conf_finish(c) == 0) {
		struct conf_view v = conf_root(c);

		if (conf_int(v, "inner.wait_ms") < 0 || conf_int(v, "inner.wait_ms") > 60000 ||
		    conf_count(v, "list") > 4 || conf_choice(v, "inner.pick") < 0)
			abort(); /* a bound that does not hold */
		json_decref(conf_effective(c));
	}
	conf_destroy(c);
	return 0;
}
