/* SPDX-License-Identifier: Apache-2.0 */
/* Converts conf files of Cyber to simd's scheduler configuration, see scheduler_file.h. Thread: the owner's. */
#include "scheduler_file.h"

#include "channel_name.h"
#include "err.h"
#include "file.h"
#include "jsonx.h"
#include "mem.h"

#include <string.h>

/* Repeated fields in Cyber's schema: always arrays, even if they occur once. */
static const char *const lists[] = { "groups", "tasks", "threads", NULL };

static const struct {
	const char *name, *note; /* NULL: the key is used */
} known[] = {
	{ "policy", NULL },           { "process_level_cpuset", NULL },
	{ "classic_conf", NULL },     { "choreography_conf", NULL },
	{ "default_proc_num", NULL }, { "routine_num", "there are no coroutines, and no bound on tasks" },
	{ "threads", NULL },
};

/* Returns the reason why a key is ignored; NULL: it is used. */
static const char *note_on(const char *name)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name))
			return known[i].note;
	return "not for the scheduler, ignored";
}

/* Finds the object that contains the scheduler's keys; adds a note for each key beside it. */
static int find_conf(struct reading *x, const struct tree_node **ret)
{
	const struct tree_node *found = NULL;
	int r = 0;

	for (const struct tree_node *n = x->tree->root->first; n && !found; n = n->next)
		found = n->kind == TREE_OBJECT && !strcmp(n->name, "scheduler_conf") ? n : NULL;
	for (const struct tree_node *n = x->tree->root->first; found && n && r == 0; n = n->next)
		if (n != found)
			r = key_note(x, n, "not for the scheduler, ignored");
	*ret = found ? found : x->tree->root;
	return r;
}

static int fit_task(json_t *task)
{
	json_t *name = json_object_get(task, "name");
	char *fit = json_is_string(name) ? mem_strdup(json_string_value(name)) : NULL;
	int r = 0;

	if (json_is_string(name) && (!fit || (node_name_fit(fit) && json_string_set(name, fit) < 0)))
		r = err_nomem();
	mem_free(fit);
	return r;
}

int scheduler_fit_tasks(json_t *j)
{
	json_t *v, *task;
	const char *key;
	size_t i;
	int r = 0;

	json_array_foreach(j, i, v)
		r = r < 0 ? r : scheduler_fit_tasks(v);
	json_object_foreach(j, key, v) {
		if (strcmp(key, "tasks") != 0)
			r = r < 0 ? r : scheduler_fit_tasks(v);
		else
			json_array_foreach(v, i, task)
				r = r < 0 ? r : fit_task(task);
	}
	return r;
}

static int convert(struct reading *x, char **ret)
{
	const struct tree_node *conf;
	json_t *j = NULL;
	int r = find_conf(x, &conf);

	if (r == 0 && !(j = tree_to_json(conf, lists)))
		r = err_nomem();
	for (const struct tree_node *n = conf->first; n && r == 0; n = n->next)
		if (note_on(n->name)) {
			r = key_note(x, n, note_on(n->name));
			(void)json_object_del(j, n->name);
		}
	if (r == 0)
		r = scheduler_fit_tasks(j);
	if (r == 0 && !(*ret = jsonx_text(j)))
		r = err_nomem();
	json_decref(j);
	return r;
}

static int json_text(const char *file, const char *text, size_t len, char **ret)
{
	struct tree *t;
	int r = tree_read_json(file, text, len, &t);

	if (r < 0)
		return r;
	if (t->root->kind != TREE_OBJECT)
		r = tree_fail(t, t->root, "a configuration must be an object");
	if (r == 0)
		r = scheduler_fit_tasks(t->json);
	if (r == 0 && !(*ret = jsonx_text(t->json)))
		r = err_nomem();
	tree_destroy(t);
	return r;
}

int scheduler_file_text(const char *file, const char *text, size_t len, struct notes *notes, char **ret)
{
	struct tree *t;
	int r;

	if (tree_is_json(text, len))
		return json_text(file, text, len, ret);
	r = tree_read_text(file, text, len, &t);
	if (r < 0)
		return r;
	r = convert(&(struct reading){ .tree = t, .notes = notes, .foreign = true }, ret);
	tree_destroy(t);
	return r;
}

int scheduler_file_read(const char *path, struct notes *notes, char **ret)
{
	char *text = NULL;
	size_t len;
	int r = file_load(path, &text, &len);

	if (r == 0)
		r = scheduler_file_text(path, text, len, notes, ret);
	mem_free(text);
	return r;
}
