/* SPDX-License-Identifier: Apache-2.0 */
/* What processes of a launch file need, see launch_find.h. Thread: main. */
#include "launch_find.h"

#include "check.h"
#include "dag_check.h"
#include "err.h"
#include "file.h"
#include "mem.h"
#include "scheduler_file.h"
#include "spawn_ops.h"
#include "trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int launch_environment(const struct launch *l)
{
	for (unsigned i = 0; i < l->n_variables; i++)
		if (setenv(l->variable[i].name, l->variable[i].value, 1) < 0)
			return err_nomem();
	return 0;
}

int launch_own_program(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	if (n < 0)
		return err_sys(-errno, "/proc/self/exe: where simhost is cannot be read");
	ret[n] = '\0';
	return 0;
}

/* ---- programs ---- */

static int find_program(const char *word, char **ret)
{
	char beside[PATH_MAX], *path = NULL;
	int r = launch_own_program(beside);

	if (r < 0)
		return r;
	*strrchr(beside, '/') = '\0';
	r = spawn_find(word, beside, &path);
	if (r == 0 && access(path, X_OK) < 0)
		r = err_sys(-errno, "%s cannot be executed", path);
	if (r == 0)
		r = trust_check(path);
	if (r == 0)
		*ret = path;
	else
		mem_free(path);
	return r;
}

static int find_binary(const struct launch *l, struct launch_process *p)
{
	const char *line = p->m.process_name;
	char *word = mem_strndup(line, strcspn(line, " \t\r\n"));
	int r = word ? find_program(word, &p->program) : err_nomem();

	mem_free(word);
	return r < 0 ? err_prefix(r, "%s:%u: module.process_name", l->path, p->m.line) : 0;
}

/* ---- schedulers ---- */

/* Cyber's name for no configuration; such a file exists only if the user has created one */
#define CYBER_DEFAULT "CYBER_DEFAULT"

static int find_in_cyber(const char *file, char **ret)
{
	const char *cyber = getenv("CYBER_PATH");
	char *path = cyber && *cyber ? mem_printf("%s/conf/%s", cyber, file) : NULL;

	if (path && access(path, F_OK) == 0) {
		*ret = path;
		return 0;
	}
	mem_free(path);
	return err_set(-ENOENT, "%s, nor is it in conf of CYBER_PATH", err_why());
}

static int check_values(const char *path, struct notes *notes)
{
	char *text = NULL;
	int r = scheduler_file_read(path, notes, &text);

	if (r == 0)
		r = check_scheduler(text, path, notes);
	mem_free(text);
	return r;
}

static int find_scheduler(const struct launch *l, struct launch_process *p, struct notes *notes)
{
	const char *name = p->m.sched_name;
	char *file = mem_printf("%s.conf", name), *path = NULL;
	int r = file ? file_find(file, l->path, file_config_paths, &path) : err_nomem();

	if (r == -ENOENT)
		r = find_in_cyber(file, &path);
	mem_free(file);
	if (r == -ENOENT && !strcmp(name, CYBER_DEFAULT))
		return 0;
	if (r == -ENOENT) /* such as CYBER_COMPUTE, which Apollo's launch files name but no release contains */
		return notes_add(notes, "%s:%u: module.sched_name: %s; the process has the usual scheduler", l->path,
				 p->m.sched_line, err_why());
	p->scheduler = path;
	if (r == 0)
		r = check_values(path, notes);
	return r < 0 ? err_prefix(r, "%s:%u: module.sched_name", l->path, p->m.sched_line) : 0;
}

int launch_find(const struct launch *l, struct launch_process *p, struct notes *notes)
{
	if (p->m.type == LAUNCH_BINARY)
		return find_binary(l, p);
	return p->m.sched_name ? find_scheduler(l, p, notes) : 0;
}

/* ---- DAG files ---- */

int launch_check_dags(const struct launch *l, const struct launch_process *p)
{
	struct dag **dags = mem_calloc(p->n_dags + 1, sizeof(*dags));
	struct dag_host host;
	unsigned n = 0;
	int r = dags ? 0 : err_nomem();

	while (r == 0 && n < p->n_dags) {
		r = dag_read(p->dag[n], &dags[n]);
		if (r < 0)
			r = err_prefix(r, "%s:%u", l->path, p->dag_line[n]);
		else
			n++;
	}
	if (r == 0) {
		r = dag_check_set(dags, n, &host);
		if (r < 0)
			r = err_prefix(r, "%s:%u", l->path, p->m.line);
	}
	while (n)
		dag_destroy(dags[--n]);
	mem_free(dags);
	return r;
}
