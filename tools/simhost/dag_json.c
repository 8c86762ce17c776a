/* SPDX-License-Identifier: Apache-2.0 */
/* simd's own DAG files, in JSON: the tables of their keys. Thread: the owner's. */
#include "dag_private.h"

#include "err.h"
#include "jsonx.h"
#include "scheduler_file.h"

#include <sim/step.h>

static struct dag_reading *of(struct reading *x)
{
	return (struct dag_reading *)(void *)x;
}

static const struct key reader_keys[] = {
	{ .name = "channel", .type = KEY_STRING, .off = offsetof(struct dag_reader, channel), .required = true },
	{ .name = "depth", .type = KEY_UINT, .off = offsetof(struct dag_reader, depth), .min = 1, .max = DAG_DEPTH_MAX },
	{ .name = "pending",
	  .type = KEY_UINT,
	  .off = offsetof(struct dag_reader, pending),
	  .min = 1,
	  .max = DAG_DEPTH_MAX },
	{ 0 },
};

static int read_reader(struct reading *x, const struct tree_node *n, void *to)
{
	struct dag_reader *d;
	int r = dag_add_reader(of(x), n, to, &d);

	return r < 0 ? r : keys_read(x, n, reader_keys, d);
}

/* In the order of enum sim_fusion. */
static const char *const fusions[] = { "all-latest", "hold", "by-time", NULL };

static const struct key component_keys[] = {
	{ .name = "class", .type = KEY_STRING, .off = offsetof(struct dag_component, class_name), .required = true },
	{ .name = "name", .type = KEY_STRING, .off = offsetof(struct dag_component, name), .required = true },
	{ .name = "config",
	  .type = KEY_JSON,
	  .off = offsetof(struct dag_component, config),
	  .line_off = offsetof(struct dag_component, config_line) },
	{ .name = "config_file",
	  .type = KEY_STRING,
	  .off = offsetof(struct dag_component, config_file),
	  .line_off = offsetof(struct dag_component, config_line) },
	{ .name = "readers", .type = KEY_EACH, .read = read_reader },
	{ .name = "fusion", .type = KEY_CHOICE, .off = offsetof(struct dag_component, fusion), .choices = fusions },
	{ .name = "tolerance_ms", .type = KEY_MS, .off = offsetof(struct dag_component, tolerance_dur_ns) },
	{ .name = "interval_ms", .type = KEY_MS, .off = offsetof(struct dag_component, interval_dur_ns) },
	{ 0 },
};

static int read_component(struct reading *x, const struct tree_node *n, void *to)
{
	struct dag_component *c;
	int r = dag_add_component(of(x), n, &c);

	(void)to;
	if (r == 0)
		r = keys_read(x, n, component_keys, c);
	return r < 0 ? r : dag_component_check(of(x), n, c);
}

static const struct key module_keys[] = {
	{ .name = "library", .type = KEY_STRING, .off = offsetof(struct dag_module, library), .required = true },
	{ .name = "components", .type = KEY_EACH, .read = read_component, .required = true },
	{ 0 },
};

static int read_module(struct reading *x, const struct tree_node *n, void *to)
{
	struct dag_module *m;
	int r = dag_add_module(of(x), n, &m);

	(void)to;
	return r < 0 ? r : keys_read(x, n, module_keys, m);
}

/* In the order of enum sim_run_mode. */
static const char *const modes[] = { "reality", "simulation", NULL };

/* Accepts an object, or the name of a file that contains one. */
static int read_scheduler(struct reading *x, const struct tree_node *n, void *to)
{
	struct dag_host *h = to;
	int r;

	if (n->kind == TREE_SCALAR && json_string_length(n->value)) {
		h->scheduler_file = json_string_value(n->value);
		return 0;
	}
	if (n->kind != TREE_OBJECT)
		return tree_fail(x->tree, n, "neither an object nor the name of a file that holds one");
	r = scheduler_fit_tasks(n->value);
	h->scheduler = r == 0 ? jsonx_text(n->value) : NULL;
	return r < 0 ? r : h->scheduler ? 0 : err_nomem();
}

static const struct key root_keys[] = {
	{ .name = "mode",
	  .type = KEY_CHOICE,
	  .off = offsetof(struct dag_host, mode),
	  .line_off = offsetof(struct dag_host, mode_line),
	  .choices = modes },
	{ .name = "rank",
	  .type = KEY_UINT,
	  .off = offsetof(struct dag_host, rank),
	  .line_off = offsetof(struct dag_host, rank_line),
	  .max = SIM_STEP_RANK_MAX },
	{ .name = "scheduler",
	  .type = KEY_CALL,
	  .line_off = offsetof(struct dag_host, scheduler_line),
	  .read = read_scheduler },
	{ .name = "modules", .type = KEY_EACH, .read = read_module, .required = true },
	{ 0 },
};

int dag_json_map(struct dag_reading *x)
{
	return keys_read(&x->keys, x->keys.tree->root, root_keys, &x->dag->host);
}
