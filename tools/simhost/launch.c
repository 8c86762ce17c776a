/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's launch files, see launch.h. Thread: the owner's. */
#include "launch.h"

#include "err.h"
#include "file.h"
#include "mem.h"
#include "number.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct launch_reading {
	struct reading keys; /* first member: key_fn receives a pointer to it */
	struct launch *launch;
};

static struct launch_reading *of(struct reading *x)
{
	return (struct launch_reading *)(void *)x;
}

void launch_destroy(struct launch *l)
{
	if (!l)
		return;
	mem_free(l->modules);
	notes_finish(&l->notes);
	tree_destroy(l->tree);
	mem_free(l->path);
	mem_free(l);
}

/* ---- the environment ---- */

static bool is_variable(const char *name)
{
	if (isdigit((unsigned char)*name))
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

static int read_environment(struct reading *x, const struct tree_node *n, void *to)
{
	struct launch *l = to;

	for (const struct tree_node *c = n->first; c; c = c->next) {
		if (c->kind != TREE_SCALAR)
			return tree_fail(x->tree, c, "a variable has a text and nothing else");
		if (!is_variable(c->name))
			return tree_fail(x->tree, c, "the name of a variable is letters, digits and '_'");
		if (l->n_variables == LAUNCH_ENV_MAX)
			return tree_fail(x->tree, c, "more than %u variables", LAUNCH_ENV_MAX);
		l->variable[l->n_variables++] = (struct launch_variable){ .name = c->name,
									  .value = json_string_value(c->value),
									  .line = c->line };
	}
	return 0;
}

/* ---- modules ---- */

static int read_text(struct reading *x, const struct tree_node *n, const char **ret)
{
	if (n->kind != TREE_SCALAR)
		return tree_fail(x->tree, n, "an element with a text and nothing else is wanted");
	*ret = json_string_value(n->value);
	return 0;
}

static int read_dag(struct reading *x, const struct tree_node *n, void *to)
{
	struct launch_module *m = to;
	const char *s = "";
	int r = read_text(x, n, &s);

	if (r < 0 || !*s)
		return r;
	if (m->n_dags == LAUNCH_DAGS_MAX)
		return tree_fail(x->tree, n, "more than %u DAG files in one module", LAUNCH_DAGS_MAX);
	m->dag_line[m->n_dags] = n->line;
	m->dag[m->n_dags++] = s;
	return 0;
}

static int read_nice(struct reading *x, const struct tree_node *n, void *to)
{
	struct launch_module *m = to;
	const char *s = "";
	int64_t v;
	int r = read_text(x, n, &s);

	if (r < 0 || !*s)
		return r;
	if (number_i64(s, NUMBER_DEC, -20, 19, &v) < 0)
		return tree_fail(x->tree, n, "%.32s is not a number from -20 to 19", s);
	m->nice = (int)v;
	return 0;
}

/* In the order of enum launch_type and enum launch_handler. */
static const char *const types[] = { "library", "binary", NULL };
static const char *const handlers[] = { "respawn", "exit", "none", NULL };

#define DESCRIPTION "a description; nothing depends on it"
#define NO_PROFILE  "simhost writes no profiles; use perf(1)"

static const struct key module_keys[] = {
	{ .name = "name", .type = KEY_STRING, .off = offsetof(struct launch_module, name) },
	{ .name = "dag_conf", .type = KEY_EACH, .read = read_dag },
	{ .name = "type", .type = KEY_CHOICE, .off = offsetof(struct launch_module, type), .choices = types },
	{ .name = "process_name", .type = KEY_STRING, .off = offsetof(struct launch_module, process_name) },
	{ .name = "sched_name",
	  .type = KEY_STRING,
	  .off = offsetof(struct launch_module, sched_name),
	  .line_off = offsetof(struct launch_module, sched_line) },
	{ .name = "exception_handler",
	  .type = KEY_CHOICE,
	  .off = offsetof(struct launch_module, exception_handler),
	  .line_off = offsetof(struct launch_module, handler_line),
	  .choices = handlers },
	{ .name = "respawn_limit",
	  .type = KEY_UINT,
	  .off = offsetof(struct launch_module, respawn_limit),
	  .line_off = offsetof(struct launch_module, limit_line),
	  .max = 1000000 },
	{ .name = "nice", .type = KEY_CALL, .line_off = offsetof(struct launch_module, nice_line), .read = read_nice },
	{ .name = "extra_args", .note = "options of mainboard; simhost has its own, see simhost(1)" },
	{ .name = "desc", .note = DESCRIPTION },
	{ .name = "version", .note = DESCRIPTION },
	{ .name = "plugin", .note = "plug-ins of Cyber are not loaded; a component opens its own shared objects" },
	{ .name = "disable_plugin_autoload", .note = "no plug-ins are loaded" },
	{ .name = "cpuprofile", .note = NO_PROFILE },
	{ .name = "cpu_profile", .note = NO_PROFILE },
	{ .name = "cpu_profile_file", .note = NO_PROFILE },
	{ .name = "memprofile", .note = NO_PROFILE },
	{ .name = "mem_profile", .note = NO_PROFILE },
	{ .name = "mem_profile_file", .note = NO_PROFILE },
	{ 0 },
};

/* Checks required keys by module type, and sets the default of process_name. */
static int check_module(struct reading *x, const struct tree_node *n, struct launch_module *m)
{
	if (m->type == LAUNCH_LIBRARY && !m->n_dags)
		return tree_fail(x->tree, n, "\"dag_conf\" is missing: the process has no DAG file to load");
	if (m->type == LAUNCH_BINARY && !m->process_name)
		return tree_fail(x->tree, n, "\"process_name\" is missing: of a binary it is the command line");
	if (!m->process_name)
		m->process_name = m->name ? m->name : of(x)->launch->default_name;
	return 0;
}

static int read_module(struct reading *x, const struct tree_node *n, void *to)
{
	struct launch *l = to;
	struct launch_module *m;
	int r;

	if (l->n_modules == LAUNCH_MODULES_MAX)
		return tree_fail(x->tree, n, "more than %u modules", LAUNCH_MODULES_MAX);
	m = mem_realloc(l->modules, (l->n_modules + 1) * sizeof(*m));
	if (!m)
		return err_nomem();
	l->modules = m;
	m += l->n_modules++;
	*m = (struct launch_module){ .line = n->line, .exception_handler = LAUNCH_NONE, .respawn_limit = 3 };
	r = keys_read(x, n, module_keys, m);
	if (r == 0)
		r = check_module(x, n, m);
	if (r == 0 && m->type == LAUNCH_BINARY && m->n_dags)
		r = key_note(x, n, "dag_conf of a binary is ignored, by cyber_launch as well");
	return r;
}

static const struct key root_keys[] = {
	{ .name = "desc", .note = DESCRIPTION },
	{ .name = "version", .note = DESCRIPTION },
	{ .name = "environment", .type = KEY_EACH, .read = read_environment },
	{ .name = "module", .type = KEY_EACH, .read = read_module, .required = true },
	{ 0 },
};

/* ---- a file ---- */

int launch_parse(const char *path, const char *text, size_t len, struct launch **ret)
{
	struct launch *l = MEM_NEW(struct launch);
	struct launch_reading x = { .launch = l };
	int r;

	if (!l)
		return err_nomem();
	snprintf(l->default_name, sizeof(l->default_name), "mainboard_default_%d", (int)getpid());
	l->path = mem_strdup(path);
	r = l->path ? tree_read_xml(path, text, len, &l->tree) : err_nomem();
	x.keys = (struct reading){ .tree = l->tree, .notes = &l->notes, .foreign = true };
	if (r == 0 && strcmp(l->tree->root->name, "cyber") != 0)
		r = tree_fail(l->tree, l->tree->root, "<%.64s> where <cyber> is wanted: not a launch file of Apollo",
			      l->tree->root->name);
	if (r == 0)
		r = keys_read(&x.keys, l->tree->root, root_keys, l);
	if (r == 0)
		*ret = l;
	else
		launch_destroy(l);
	return r;
}

int launch_read(const char *path, struct launch **ret)
{
	char *found = NULL, *text = NULL;
	size_t len;
	int r = file_find(path, NULL, file_launch_paths, &found);

	if (r == 0)
		r = file_load(found, &text, &len);
	if (r == 0)
		r = launch_parse(found, text, len, ret);
	mem_free(text);
	mem_free(found);
	return r;
}
