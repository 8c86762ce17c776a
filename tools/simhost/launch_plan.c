/* SPDX-License-Identifier: Apache-2.0 */
/* From modules of a launch file to processes, see launch_plan.h. Thread: the owner's. */
#include "launch_plan.h"

#include "channel_name.h"
#include "err.h"
#include "mem.h"

#include <errno.h>
#include <string.h>

#define CLIENT_NAME_CHARS 40u /* sim_connect()'s limit */
#define BLANKS            " \t\r\n"

static void process_finish(struct launch_process *p)
{
	for (unsigned i = 0; p->argv && p->argv[i]; i++)
		mem_free(p->argv[i]);
	mem_free(p->argv);
	mem_free(p->program);
	mem_free(p->scheduler);
	mem_free(p->dag);
	mem_free(p->dag_line);
}

void launch_plan_destroy(struct launch_plan *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->n; i++)
		process_finish(&p->processes[i]);
	mem_free(p->processes);
	mem_free(p);
}

/* ---- several modules of one name ---- */

static int two_values(const struct launch *l, const char *what, unsigned line, unsigned first_line)
{
	return err_set(-EINVAL, "%s:%u: module.%s: another value than in line %u, for the same process_name; give one",
		       l->path, line, what, first_line);
}

static int merge_number(const struct launch *l, const char *what, bool same, unsigned line, unsigned *first_line,
			bool *ret_take)
{
	*ret_take = line && !*first_line;
	if (*ret_take)
		*first_line = line;
	return line && !*ret_take && !same ? two_values(l, what, line, *first_line) : 0;
}

static int merge_settings(const struct launch *l, struct launch_module *all, const struct launch_module *m)
{
	bool take;
	int r = merge_number(l, "exception_handler", all->exception_handler == m->exception_handler, m->handler_line,
			     &all->handler_line, &take);

	if (r == 0 && take)
		all->exception_handler = m->exception_handler;
	if (r == 0)
		r = merge_number(l, "respawn_limit", all->respawn_limit == m->respawn_limit, m->limit_line,
				 &all->limit_line, &take);
	if (r == 0 && take)
		all->respawn_limit = m->respawn_limit;
	if (r == 0)
		r = merge_number(l, "nice", all->nice == m->nice, m->nice_line, &all->nice_line, &take);
	if (r == 0 && take)
		all->nice = m->nice;
	if (r == 0)
		r = merge_number(l, "sched_name",
				 all->sched_name && m->sched_name && !strcmp(all->sched_name, m->sched_name),
				 m->sched_line, &all->sched_line, &take);
	if (r == 0 && take)
		all->sched_name = m->sched_name;
	return r;
}

static int add_dags(const struct launch *l, struct launch_process *p, const struct launch_module *m)
{
	unsigned n = p->n_dags + m->n_dags;
	const char **dag;
	unsigned *line;

	if (n > LAUNCH_PROCESS_DAGS_MAX)
		return err_set(
			-EINVAL,
			"%s:%u: module: with it the process has more than %u DAG files; give it another process_name",
			l->path, m->line, LAUNCH_PROCESS_DAGS_MAX);
	dag = (const char **)mem_realloc(p->dag, (n + 1) * sizeof(*dag));
	if (dag)
		p->dag = dag;
	line = mem_realloc(p->dag_line, (n + 1) * sizeof(*line));
	if (line)
		p->dag_line = line;
	if (!dag || !line)
		return err_nomem();
	for (unsigned i = 0; i < m->n_dags; i++) {
		dag[p->n_dags + i] = m->dag[i];
		line[p->n_dags + i] = m->dag_line[i];
	}
	p->n_dags = n;
	return 0;
}

static struct launch_process *named(const struct launch_plan *plan, const char *name)
{
	for (unsigned i = 0; i < plan->n; i++)
		if (!strcmp(plan->processes[i].m.process_name, name))
			return &plan->processes[i];
	return NULL;
}

static int add_process(struct launch_plan *plan, const struct launch_module *m)
{
	struct launch_process *p = &plan->processes[plan->n];
	bool binary = m->type == LAUNCH_BINARY;

	if (!binary && !channel_name_made_of(m->process_name, CLIENT_NAME_CHARS, "_.-"))
		return err_set(
			-EINVAL,
			"%s:%u: module: its process_name \"%.60s\" must be 1 to %u characters of A-Z a-z 0-9 _ . -",
			plan->launch->path, m->line, m->process_name, CLIENT_NAME_CHARS);
	p->m = *m;
	p->label = binary && m->name ? m->name : m->process_name;
	plan->n++;
	return binary ? 0 : add_dags(plan->launch, p, m);
}

static int add_module(struct launch_plan *plan, const struct launch_module *m)
{
	struct launch_process *p = named(plan, m->process_name);
	int r;

	if (!p)
		return add_process(plan, m);
	if (m->type == LAUNCH_BINARY || p->m.type == LAUNCH_BINARY)
		return err_set(-EINVAL,
			       "%s:%u: module: a second process of the name \"%.64s\", which the module in line %u has; "
			       "give each its own process_name",
			       plan->launch->path, m->line, m->process_name, p->m.line);
	r = merge_settings(plan->launch, &p->m, m);
	return r < 0 ? r : add_dags(plan->launch, p, m);
}

int launch_plan_make(const struct launch *l, struct launch_plan **ret)
{
	struct launch_plan *plan = MEM_NEW(struct launch_plan);
	int r = 0;

	if (!plan)
		return err_nomem();
	plan->launch = l;
	plan->processes = mem_calloc(l->n_modules + 1, sizeof(*plan->processes));
	if (!plan->processes)
		r = err_nomem();
	for (unsigned i = 0; i < l->n_modules && r == 0; i++)
		r = add_module(plan, &l->modules[i]);
	if (r == 0)
		*ret = plan;
	else
		launch_plan_destroy(plan);
	return r;
}

/* ---- command lines ---- */

struct words {
	char **v;
	unsigned n;
	int r;
};

static void put(struct words *w, char *word)
{
	if (!word)
		w->r = err_nomem();
	if (w->r == 0)
		w->v[w->n++] = word;
	else
		mem_free(word);
}

static void put_option(struct words *w, const char *option, const char *value)
{
	if (!value)
		return;
	put(w, mem_strdup(option));
	put(w, mem_strdup(value));
}

static void put_components(struct words *w, const struct launch_process *p, const struct launch_child *c)
{
	put(w, mem_strdup(c->program));
	put_option(w, "--process", p->m.process_name);
	put_option(w, "--socket", c->socket);
	put_option(w, "--mode", c->mode);
	put(w, mem_printf("--stuck=%lldns", (long long)c->stuck_dur_ns));
	put_option(w, "--scheduler", p->scheduler);
	for (unsigned i = 0; i < p->n_dags; i++)
		put_option(w, "--dag", p->dag[i]);
}

static void put_command(struct words *w, const struct launch_process *p)
{
	const char *s = p->m.process_name + strspn(p->m.process_name, BLANKS);

	while (*s) {
		size_t len = strcspn(s, BLANKS);

		put(w, !w->n && p->program ? mem_strdup(p->program) : mem_strndup(s, len));
		s += len;
		s += strspn(s, BLANKS);
	}
}

int launch_plan_command(struct launch_process *p, const struct launch_child *c)
{
	size_t most = p->m.type == LAUNCH_BINARY ? strlen(p->m.process_name) : 10 + 2 * (size_t)p->n_dags;
	struct words w = { .v = (char **)mem_calloc(most + 1, sizeof(char *)) };

	if (!w.v)
		return err_nomem();
	p->argv = w.v;
	if (p->m.type == LAUNCH_BINARY)
		put_command(&w, p);
	else
		put_components(&w, p, c);
	return w.r;
}
