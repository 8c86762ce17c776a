/* SPDX-License-Identifier: Apache-2.0 */
/* Finds time sources by word, and loads plug-ins; see source.h. Thread: its owner's. */
#include "source.h"

#include "err.h"
#include "list.h"
#include "mem.h"
#include "near.h"
#include "number.h"
#include "plugin_file.h"
#include "trust.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define WORD_MAX 64

struct loaded {
	struct list link; /* source_registry::loaded */
	void *handle;
	const struct sim_source_ops *ops;
};

struct source_registry {
	struct list loaded;
	char **dirs; /* ended by NULL */
};

/* ---- loading ---- */

static int check_plugin(const struct sim_source_ops *ops, const char *path)
{
	const struct sim_source_ops *own;
	int r;

	if (!ops)
		return err_set(-ELIBBAD, "%s: " SIM_SOURCE_SYMBOL "() returned nothing", path);
	r = time_source_check(ops);
	if (r < 0)
		return err_prefix(r, "%s", path);
	if (ops->id != SIM_SOURCE_PLUGIN)
		return err_set(-EPROTO, "%s: its number is %" PRIu32 ", that of a plug-in is %d", path, ops->id,
			       SIM_SOURCE_PLUGIN);
	if (time_source_by_name(ops->name, &own) == 0)
		return err_set(-EPROTO, "%s calls itself `%s`, which is one of simd's own sources", path, ops->name);
	return 0;
}

static int ops_of(void *handle, const char *path, const struct sim_source_ops **ret)
{
	sim_source_plugin_fn entry;
	void *sym = dlsym(handle, SIM_SOURCE_SYMBOL);
	const struct sim_source_ops *ops;
	int r;

	if (!sym)
		return err_set(-ELIBBAD, "%s exports no " SIM_SOURCE_SYMBOL "(): it is no time source", path);
	memcpy(&entry, &sym, sizeof(entry));
	ops = entry();
	r = check_plugin(ops, path);
	if (r == 0)
		*ret = ops;
	return r;
}

/* word: the requested name, which must be the plug-in's; NULL: requested by path. */
static int load(struct source_registry *s, const char *path, const char *word, const struct sim_source_ops **ret)
{
	struct loaded *l;
	int r = trust_check(path);

	if (r < 0)
		return r;
	l = MEM_NEW(struct loaded);
	if (!l)
		return err_nomem();
	l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l->handle) {
		mem_free(l);
		return err_set(-ENOENT, "cannot load the time source: %s", dlerror());
	}
	r = ops_of(l->handle, path, &l->ops);
	if (r == 0 && word && strcasecmp(l->ops->name, word) != 0)
		r = err_set(-EPROTO, "%s calls itself `%.40s`: rename the file to source_%.40s.so, or the source in it",
			    path, l->ops->name, l->ops->name);
	if (r < 0) {
		dlclose(l->handle);
		mem_free(l);
		return r;
	}
	list_append(&s->loaded, &l->link);
	*ret = l->ops;
	return 0;
}

/* ---- finding ---- */

static int check_word(const char *word)
{
	size_t n = strnlen(word, WORD_MAX + 1);

	for (size_t i = 0; i < n && n <= WORD_MAX; i++)
		if (!isalnum((unsigned char)word[i]) && word[i] != '_' && word[i] != '-')
			n = 0;
	if (n && n <= WORD_MAX)
		return 0;
	return err_set(-ENOENT, "\"%.40s\" is no time source: a name has 1 to %d letters, digits, _ or -", word,
		       WORD_MAX);
}

/* "a, b", as far as they fit */
struct names {
	char text[TIME_SOURCE_NAMES_MAX];
	size_t n;
};

static void add_name(void *arg, const char *name)
{
	struct names *all = (struct names *)arg;

	if (all->n + strlen(name) + 3 <= sizeof(all->text))
		all->n += (size_t)snprintf(all->text + all->n, sizeof(all->text) - all->n, "%s%s", all->n ? ", " : "",
					   name);
}

/* Sets an error that lists all sources, from the table and the plug-in directories. */
static int no_such(const struct source_registry *s, const char *word)
{
	char own[TIME_SOURCE_NAMES_MAX], names[2 * TIME_SOURCE_NAMES_MAX + 2], text[NEAR_TEXT_MAX], all[NEAR_TEXT_MAX],
		*at;
	struct near n = { .word = word };
	struct names plugins = { 0 };

	time_source_names(own);
	plugin_files((const char *const *)s->dirs, "source", add_name, &plugins);
	snprintf(all, sizeof(all), "there are %s%s%s", own, plugins.n ? ", and as plug-ins " : "", plugins.text);
	snprintf(names, sizeof(names), "%s, %s", own, plugins.text);
	for (char *name = strtok_r(names, ", ", &at); name; name = strtok_r(NULL, ", ", &at))
		near_offer(&n, name);
	return err_set(-ENOENT, "\"%.40s\" is no time source, and there is no plug-in source_%.40s.so; %s", word, word,
		       near_text(&n, all, text));
}

static int find_plugin(struct source_registry *s, const char *word, const struct sim_source_ops **ret)
{
	struct loaded *l;
	int r;

	list_for_each(l, &s->loaded, link)
		if (strcasecmp(l->ops->name, word) == 0) {
			*ret = l->ops;
			return 0;
		}
	for (char **dir = s->dirs; *dir; dir++) {
		char *path = mem_printf("%s/source_%s.so", *dir, word);

		if (!path)
			return err_nomem();
		if (access(path, F_OK) == 0) {
			r = load(s, path, word, ret);
			mem_free(path);
			return r;
		}
		mem_free(path);
	}
	return no_such(s, word);
}

int source_registry_find(struct source_registry *s, const char *word, bool may_be_path,
			 const struct sim_source_ops **ret)
{
	int64_t n;
	int r;

	if (number_i64(word, NUMBER_DEC, INT64_MIN, INT64_MAX, &n) == 0)
		return time_source_by_number(n, ret);
	if (time_source_by_name(word, ret) == 0)
		return 0;
	if (strchr(word, '/'))
		return may_be_path ? load(s, word, NULL, ret)
				   : err_set(-EPERM, "%.80s: only the configuration can name a time source by its path",
					     word);
	r = check_word(word);
	return r < 0 ? r : find_plugin(s, word, ret);
}

/* ---- making ---- */

int source_registry_create(const char *const *dirs, struct source_registry **ret)
{
	struct source_registry *s = MEM_NEW(struct source_registry);
	size_t n = 0;

	if (!s)
		return err_nomem();
	list_init(&s->loaded);
	while (dirs && dirs[n])
		n++;
	s->dirs = mem_calloc(n + 1, sizeof(*s->dirs));
	for (size_t i = 0; s->dirs && i < n; i++) {
		s->dirs[i] = mem_strdup(dirs[i]);
		if (!s->dirs[i])
			break;
	}
	if (!s->dirs || (n && !s->dirs[n - 1])) {
		source_registry_destroy(s);
		return err_nomem();
	}
	*ret = s;
	return 0;
}

void source_registry_destroy(struct source_registry *s)
{
	struct loaded *l, *tmp;

	if (!s)
		return;
	list_for_each_safe(l, tmp, &s->loaded, link) {
		dlclose(l->handle);
		mem_free(l);
	}
	for (char **dir = s->dirs; dir && *dir; dir++)
		mem_free(*dir);
	mem_free(s->dirs);
	mem_free(s);
}
