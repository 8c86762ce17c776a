/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's DAG files, in protobuf's text format: the tables of their keys, and what becomes of each. Thread: the owner's. */
#include "dag_private.h"

#include "err.h"

#include <string.h>

static struct dag_reading *of(struct reading *x)
{
	return (struct dag_reading *)(void *)x;
}

static bool is_word(const struct tree_node *n, const char *a, const char *b)
{
	const char *s = n->kind == TREE_SCALAR ? json_string_value(n->value) : NULL;

	return s && (!strcmp(s, a) || !strcmp(s, b));
}

/* ---- readers ---- */

static int read_history(struct reading *x, const struct tree_node *n, void *to)
{
	(void)to;
	if (is_word(n, "HISTORY_KEEP_LAST", "HISTORY_SYSTEM_DEFAULT"))
		return 0;
	return key_note(x, n, "a reader keeps the latest messages, as many as its depth");
}

static int read_reliability(struct reading *x, const struct tree_node *n, void *to)
{
	(void)to;
	if (is_word(n, "RELIABILITY_RELIABLE", "RELIABILITY_SYSTEM_DEFAULT"))
		return 0;
	return key_note(x, n, "channels have no reliability of their own: on one machine nothing is lost on the way");
}

static int read_durability(struct reading *x, const struct tree_node *n, void *to)
{
	(void)to;
	if (is_word(n, "DURABILITY_VOLATILE", "DURABILITY_SYSTEM_DEFAULT"))
		return 0;
	return key_note(x, n, "whether late readers get the last message is up to the writer (SIM_PUB_LATCH)");
}

static int read_mps(struct reading *x, const struct tree_node *n, void *to)
{
	(void)to;
	if (n->kind == TREE_SCALAR && json_is_integer(n->value) && !json_integer_value(n->value))
		return 0;
	return key_note(x, n, "how often messages come is up to the writer");
}

static const struct key qos_keys[] = {
	{ .name = "history", .type = KEY_CALL, .read = read_history },
	{ .name = "depth", .type = KEY_UINT, .off = offsetof(struct dag_reader, depth), .max = DAG_DEPTH_MAX },
	{ .name = "mps", .type = KEY_CALL, .read = read_mps },
	{ .name = "reliability", .type = KEY_CALL, .read = read_reliability },
	{ .name = "durability", .type = KEY_CALL, .read = read_durability },
	{ 0 },
};

static int read_qos(struct reading *x, const struct tree_node *n, void *to)
{
	return keys_read(x, n, qos_keys, to);
}

static const struct key reader_keys[] = {
	{ .name = "channel", .type = KEY_STRING, .off = offsetof(struct dag_reader, channel), .required = true },
	{ .name = "qos_profile", .type = KEY_CALL, .read = read_qos },
	{ .name = "pending_queue_size",
	  .type = KEY_UINT,
	  .off = offsetof(struct dag_reader, pending),
	  .max = DAG_DEPTH_MAX },
	{ 0 },
};

static int read_reader(struct reading *x, const struct tree_node *n, void *to)
{
	struct dag_reader *d;
	int r = dag_add_reader(of(x), n, to, &d);

	if (r < 0 || !d)
		return r;
	r = keys_read(x, n, reader_keys, d);
	d->depth = d->depth ? d->depth : 1; /* 0 means the system's default in Apollo */
	d->pending = d->pending ? d->pending : 1;
	return r;
}

/* ---- components ---- */

#define CONFIG_KEYS \
	{ .name = "name", .type = KEY_STRING, .off = offsetof(struct dag_component, name), .required = true }, \
		{ .name = "config_file_path", \
		  .type = KEY_STRING, \
		  .off = offsetof(struct dag_component, config_file), \
		  .line_off = offsetof(struct dag_component, config_line) }, \
	{ \
		.name = "flag_file_path", \
		.note = "files of gflags are not read; put the values into the component's configuration" \
	}

static const struct key config_keys[] = {
	CONFIG_KEYS,
	{ .name = "readers", .type = KEY_EACH, .read = read_reader },
	{ 0 },
};

static const struct key timer_config_keys[] = {
	CONFIG_KEYS,
	{ .name = "interval", .type = KEY_MS, .off = offsetof(struct dag_component, interval_dur_ns), .required = true },
	{ 0 },
};

static int read_config(struct reading *x, const struct tree_node *n, void *to)
{
	return keys_read(x, n, config_keys, to);
}

static int read_timer_config(struct reading *x, const struct tree_node *n, void *to)
{
	return keys_read(x, n, timer_config_keys, to);
}

#define COMPONENT_KEYS(read_) \
	{ .name = "class_name", \
	  .type = KEY_STRING, \
	  .off = offsetof(struct dag_component, class_name), \
	  .required = true }, \
		{ .name = "config", .type = KEY_CALL, .read = (read_), .required = true }, \
	{ \
		0 \
	}

static const struct key component_keys[] = { COMPONENT_KEYS(read_config) };
static const struct key timer_keys[] = { COMPONENT_KEYS(read_timer_config) };

static int add_component(struct reading *x, const struct tree_node *n, const struct key *keys)
{
	struct dag_component *c;
	int r = dag_add_component(of(x), n, &c);

	if (r == 0)
		r = keys_read(x, n, keys, c);
	return r < 0 ? r : dag_component_check(of(x), n, c);
}

static int read_component(struct reading *x, const struct tree_node *n, void *to)
{
	(void)to;
	return add_component(x, n, component_keys);
}

static int read_timer_component(struct reading *x, const struct tree_node *n, void *to)
{
	(void)to;
	return add_component(x, n, timer_keys);
}

/* ---- modules: components first, then timer components, wherever they stand ---- */

static int read_nothing(struct reading *x, const struct tree_node *n, void *to)
{
	(void)x;
	(void)n;
	(void)to;
	return 0;
}

static const struct key module_keys[] = {
	{ .name = "module_library", .type = KEY_STRING, .off = offsetof(struct dag_module, library), .required = true },
	{ .name = "components", .type = KEY_EACH, .read = read_component },
	{ .name = "timer_components", .type = KEY_EACH, .read = read_nothing },
	{ 0 },
};

static int read_module(struct reading *x, const struct tree_node *n, void *to)
{
	struct dag_module *m;
	int r = dag_add_module(of(x), n, &m);

	(void)to;
	if (r == 0)
		r = keys_read(x, n, module_keys, m);
	for (const struct tree_node *c = n->first; c && r == 0; c = c->next)
		if (!strcmp(c->name, "timer_components"))
			r = key_each(x, c, read_timer_component, NULL);
	return r;
}

static const struct key root_keys[] = {
	{ .name = "module_config", .type = KEY_EACH, .read = read_module, .required = true },
	{ 0 },
};

int dag_text_map(struct dag_reading *x)
{
	return keys_read(&x->keys, x->keys.tree->root, root_keys, x->dag);
}
