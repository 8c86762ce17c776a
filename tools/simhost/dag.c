/* SPDX-License-Identifier: Apache-2.0 */
/* DAG files, see dag.h: what both syntaxes share, and the files that a DAG names. Thread: the owner's. */
#include "dag_private.h"

#include "channel_name.h"
#include "err.h"
#include "file.h"
#include "jsonx.h"
#include "mem.h"
#include "scheduler_file.h"

#include <errno.h>
#include <string.h>

void dag_destroy(struct dag *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->n_modules; i++)
		mem_free(d->modules[i].path);
	for (unsigned i = 0; i < d->n_components; i++)
		mem_free(d->components[i].config);
	mem_free(d->modules);
	mem_free(d->components);
	mem_free(d->host.scheduler);
	notes_finish(&d->notes);
	tree_destroy(d->tree);
	mem_free(d->path);
	mem_free(d);
}

/* ---- what the two syntaxes fill ---- */

int dag_add_module(struct dag_reading *x, const struct tree_node *n, struct dag_module **ret)
{
	struct dag *d = x->dag;
	struct dag_module *more;

	if (d->n_modules == DAG_MODULES_MAX)
		return tree_fail(d->tree, n, "more than %u modules", DAG_MODULES_MAX);
	more = mem_realloc(d->modules, (d->n_modules + 1) * sizeof(*more));
	if (!more)
		return err_nomem();
	d->modules = more;
	*ret = &more[d->n_modules++];
	**ret = (struct dag_module){ .line = n->line };
	return 0;
}

int dag_add_component(struct dag_reading *x, const struct tree_node *n, struct dag_component **ret)
{
	struct dag *d = x->dag;
	struct dag_component *more;

	if (d->n_components == DAG_COMPONENTS_MAX)
		return tree_fail(d->tree, n, "more than %u components", DAG_COMPONENTS_MAX);
	more = mem_realloc(d->components, (d->n_components + 1) * sizeof(*more));
	if (!more)
		return err_nomem();
	d->components = more;
	*ret = &more[d->n_components++];
	**ret = (struct dag_component){ .line = n->line, .module = d->n_modules - 1 };
	return 0;
}

int dag_add_reader(struct dag_reading *x, const struct tree_node *n, struct dag_component *c, struct dag_reader **ret)
{
	if (c->n_readers == SIM_COMPONENT_INPUTS) {
		*ret = NULL;
		return x->keys.foreign
			       ? key_note(&x->keys, n, "a component has at most 4 readers; this one is left out")
			       : tree_fail(x->dag->tree, n, "a component has at most 4 readers");
	}
	*ret = &c->reader[c->n_readers++];
	**ret = (struct dag_reader){ .line = n->line, .depth = 1, .pending = 1 };
	return 0;
}

/* Returns the node below n whose string value is at the address `text`. */
static const struct tree_node *node_of(const struct tree_node *n, const char *text)
{
	const struct tree_node *found = NULL;

	for (const struct tree_node *k = n->first; k && !found; k = k->next)
		found = k->kind == TREE_SCALAR && json_string_value(k->value) == text ? k : node_of(k, text);
	return found;
}

/*
 * In Cyber a component may have any name. Characters that are invalid in a node name are replaced, as in scheduler
 * files, with a note.
 */
static int fit_name(struct reading *x, const struct tree_node *n, struct dag_component *c)
{
	const struct tree_node *at = node_of(n, c->name);
	char *fit = mem_strdup(c->name), note[128];
	int r = fit ? 0 : err_nomem();

	if (fit && at && node_name_fit(fit)) {
		snprintf(note, sizeof(note), "as a node it is called %.63s", fit);
		r = key_note(x, at, note);
		if (r == 0 && json_string_set(at->value, fit) < 0)
			r = err_nomem();
		c->name = json_string_value(at->value);
	}
	mem_free(fit);
	return r;
}

/* sim_component_create() would refuse these names as well; checked here so that --check finds them. */
static int check_names(const struct tree *t, const struct dag_component *c)
{
	char full[CHANNEL_NAME_MAX + 1];

	if (node_name_check(c->name) < 0)
		return err_set(-EINVAL, "%s:%u: component %s", t->file, c->line, err_why());
	for (unsigned i = 0; i < c->n_readers; i++)
		if (channel_name_full("", c->reader[i].channel, full) < 0)
			return err_set(-EINVAL, "%s:%u: component %s: %s", t->file, c->reader[i].line, c->name,
				       err_why());
	return 0;
}

int dag_component_check(struct dag_reading *x, const struct tree_node *n, struct dag_component *c)
{
	const struct tree *t = x->dag->tree;
	int r = fit_name(&x->keys, n, c);

	if (r < 0)
		return r;

	if (c->config && c->config_file)
		return tree_fail(t, n, "config and config_file are both given; keep one");
	if (c->fusion == SIM_FUSION_BY_TIME && !c->tolerance_dur_ns)
		return tree_fail(t, n, "fusion by-time needs tolerance_ms: how far off a stamp may be");
	if (c->fusion != SIM_FUSION_BY_TIME && c->tolerance_dur_ns)
		return tree_fail(t, n, "tolerance_ms is for fusion by-time alone");
	if (c->interval_dur_ns && c->n_readers)
		return tree_fail(t, n, "interval_ms makes a timer component, which has no readers");
	for (unsigned i = 0; i < c->n_readers; i++)
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(c->reader[i].channel, c->reader[k].channel))
				return tree_fail(
					t, n, "two readers of %s, in lines %u and %u; a node has one for each channel",
					c->reader[i].channel, c->reader[k].line, c->reader[i].line);
	return check_names(t, c);
}

/* ---- a text ---- */

static int map(struct dag *d)
{
	struct dag_reading x = { .keys = { .tree = d->tree, .notes = &d->notes, .foreign = d->apollo }, .dag = d };
	int r = d->apollo ? dag_text_map(&x) : dag_json_map(&x);

	for (unsigned i = 0; i < d->n_components && r == 0; i++) {
		struct dag_component *c = &d->components[i];

		if (!c->config)
			c->config = mem_strdup("{}");
		if (!c->config)
			r = err_nomem();
	}
	return r;
}

int dag_parse(const char *path, const char *text, size_t len, struct dag **ret)
{
	struct dag *d = MEM_NEW(struct dag);
	int r;

	if (!d)
		return err_nomem();
	d->path = mem_strdup(path);
	d->apollo = !tree_is_json(text, len);
	if (!d->path)
		r = err_nomem();
	else
		r = (d->apollo ? tree_read_text : tree_read_json)(path, text, len, &d->tree);
	if (r == 0)
		r = map(d);
	if (r == 0)
		*ret = d;
	else
		dag_destroy(d);
	return r;
}

/* ---- its files ---- */

int dag_config_text(const char *file, const char *text, size_t len, struct notes *notes, char **ret)
{
	bool json = tree_is_json(text, len);
	struct tree *t;
	json_t *j = NULL;
	int r = (json ? tree_read_json : tree_read_text)(file, text, len, &t);

	if (r < 0)
		return r;
	if (t->root->kind != TREE_OBJECT)
		r = tree_fail(t, t->root, "a configuration must be an object");
	else if (!json && notes)
		r = notes_add(
			notes,
			"%s:1: protobuf's text format, read as JSON: a repeated field that occurs once is not an array",
			file);
	if (r == 0) {
		j = json ? json_incref(t->json) : tree_to_json(t->root, NULL);
		*ret = j ? jsonx_text(j) : NULL;
		if (!*ret)
			r = err_nomem();
	}
	json_decref(j);
	tree_destroy(t);
	return r;
}

typedef int (*text_fn)(const char *file, const char *text, size_t len, struct notes *notes, char **ret);

/* Reads the configuration file that a line of the DAG names, and converts it with fn. */
static int read_config(struct dag *d, unsigned line, const char *name, text_fn fn, char **ret)
{
	char *path = NULL, *text = NULL;
	size_t len;
	int r = file_find(name, d->path, file_config_paths, &path);

	if (r == 0)
		r = file_load(path, &text, &len);
	if (r < 0)
		r = err_prefix(r, "%s:%u", d->path, line);
	else
		r = fn(path, text, len, &d->notes, ret);
	mem_free(text);
	mem_free(path);
	return r;
}

static int read_configs(struct dag *d)
{
	int r = 0;

	if (d->host.scheduler_file)
		r = read_config(d, d->host.scheduler_line, d->host.scheduler_file, scheduler_file_text,
				&d->host.scheduler);
	for (unsigned i = 0; i < d->n_components && r == 0; i++) {
		struct dag_component *c = &d->components[i];
		char *text;

		if (!c->config_file)
			continue;
		r = read_config(d, c->config_line, c->config_file, dag_config_text, &text);
		if (r < 0)
			return r;
		mem_free(c->config);
		c->config = text;
	}
	return r;
}

static int find_libraries(struct dag *d)
{
	for (unsigned i = 0; i < d->n_modules; i++) {
		struct dag_module *m = &d->modules[i];
		int r = file_find(m->library, d->path, file_library_paths, &m->path);

		if (r < 0)
			return err_prefix(r, "%s:%u", d->path, m->line);
	}
	return 0;
}

int dag_read(const char *path, struct dag **ret)
{
	struct dag *d = NULL;
	char *found = NULL, *text = NULL;
	size_t len;
	int r = file_find(path, NULL, file_dag_paths, &found);

	if (r == 0)
		r = file_load(found, &text, &len);
	if (r == 0)
		r = dag_parse(found, text, len, &d);
	if (r == 0)
		r = find_libraries(d);
	if (r == 0)
		r = read_configs(d);
	if (r == 0)
		*ret = d;
	else
		dag_destroy(d);
	mem_free(text);
	mem_free(found);
	return r;
}
