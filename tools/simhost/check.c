/* SPDX-License-Identifier: Apache-2.0 */
/* `simhost --check`, see check.h. Thread: main. */
#include "check.h"

#include "dag_check.h"
#include "err.h"
#include "launch_find.h"
#include "mem.h"
#include "printable.h"
#include "scheduler.h"
#include "scheduler_file.h"

#include <limits.h>
#include <string.h>

#define CELL_MAX 1024u
#define COLUMNS  5u
#define DUR_MS   1e6

static const char *const heads[COLUMNS] = { "component", "class", "library", "runs on", "configuration" };

struct row {
	char *cell[COLUMNS]; /* cell text; NULL after failed allocation, printed as empty */
};

/* ---- rows ---- */

static char *cell(const char *text)
{
	char fit[CELL_MAX];

	printable(fit, sizeof(fit), text, strlen(text));
	return mem_strdup(fit);
}

/* The component's inputs or timer as text: "/obstacles, /odometry by-time within 20 ms", "every 100 ms". */
static char *drive(const struct dag_component *c)
{
	static const char *const fusions[] = { "", " hold", " by-time" };
	char text[CELL_MAX] = "init alone";
	int len = 0;

	if (c->interval_dur_ns)
		snprintf(text, sizeof(text), "every %g ms", (double)c->interval_dur_ns / DUR_MS);
	for (unsigned i = 0; i < c->n_readers && len >= 0 && len < (int)sizeof(text); i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s", i ? ", " : "", c->reader[i].channel);
	if (c->n_readers > 1 && len < (int)sizeof(text))
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s", fusions[c->fusion]);
	if (c->tolerance_dur_ns && len < (int)sizeof(text))
		snprintf(text + len, sizeof(text) - (size_t)len, " within %g ms", (double)c->tolerance_dur_ns / DUR_MS);
	return cell(text);
}

static void fill(struct row *row, const struct dag *d, const struct dag_component *c)
{
	row->cell[0] = cell(c->name);
	row->cell[1] = cell(c->class_name);
	row->cell[2] = cell(d->modules[c->module].path);
	row->cell[3] = drive(c);
	row->cell[4] = cell(c->config_file ? c->config_file : c->config_line ? "in the file" : "");
}

static void print_rows(struct row *rows, unsigned n, FILE *out)
{
	int width[COLUMNS] = { 0 };

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < COLUMNS; k++) {
			int w = rows[i].cell[k] ? (int)strlen(rows[i].cell[k]) : 0;

			width[k] = w > width[k] ? w : width[k];
		}
	for (unsigned i = 0; i < n; i++) {
		int blanks = 0; /* blanks to print before the next cell that has text */

		for (unsigned k = 0; k < COLUMNS; k++) {
			const char *text = rows[i].cell[k] ? rows[i].cell[k] : "";

			if (*text)
				fprintf(out, "%*s%s", blanks, "", text);
			blanks = (*text ? 0 : blanks) + width[k] - (int)strlen(text) + 2;
			mem_free(rows[i].cell[k]);
		}
		fprintf(out, "\n");
	}
}

static void print_set(struct dag *const *dags, unsigned n, const struct dag_host *h, FILE *out)
{
	unsigned n_rows = 1;
	struct row *rows;

	for (unsigned i = 0; i < n; i++)
		n_rows += dags[i]->n_components;
	rows = mem_calloc(n_rows, sizeof(*rows));
	if (!rows)
		return;
	n_rows = 1;
	for (unsigned k = 0; k < COLUMNS; k++)
		rows[0].cell[k] = cell(heads[k]);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < dags[i]->n_components; k++)
			fill(&rows[n_rows++], dags[i], &dags[i]->components[k]);
	print_rows(rows, n_rows, out);
	mem_free(rows);
	fprintf(out, "mode %s", h->mode == SIM_RUN_SIMULATION ? "simulation" : "reality");
	if (h->rank_line)
		fprintf(out, ", rank %u", h->rank);
	fprintf(out, "%s\n", h->scheduler_line ? ", a scheduler of its own" : "");
}

/* ---- files ---- */

static void print_notes(const struct notes *n, FILE *err)
{
	char fit[CELL_MAX];

	for (unsigned i = 0; i < n->n; i++) {
		printable(fit, sizeof(fit), n->text[i], strlen(n->text[i]));
		fprintf(err, "note: %s\n", fit);
	}
	if (n->unseen)
		fprintf(err, "note: %u more\n", n->unseen);
}

static bool fail(FILE *err)
{
	fprintf(err, "error: %s\n", err_why());
	return false;
}

void check_scheduler_place(const struct dag *d, char *ret, size_t size)
{
	const char *file = d->host.scheduler_file;

	snprintf(ret, size, "%s:%u: scheduler%s%.200s", d->path, d->host.scheduler_line, file ? " " : "",
		 file ? file : "");
}

int check_scheduler(const char *scheduler, const char *place, struct notes *notes)
{
	struct sched_conf *conf;
	const char *at;
	int r;

	if (!scheduler)
		return 0;
	r = sched_conf_read(scheduler, &conf);
	if (r < 0)
		return err_prefix(r, "%s", place);
	r = sched_conf_fit(conf);
	if (r < 0)
		r = err_prefix(r, "%s", place);
	for (at = sched_conf_notes(conf); notes && *at && r == 0; at += strcspn(at, "\n"), at += *at == '\n')
		r = notes_add(notes, "%s: %.*s", place, (int)strcspn(at, "\n"), at);
	sched_conf_destroy(conf);
	return r;
}

bool check_scheduler_file(const char *path, FILE *err)
{
	struct notes notes = { 0 };
	char *text = NULL;
	int r = scheduler_file_read(path, &notes, &text);

	if (r == 0)
		r = check_scheduler(text, path, &notes);
	print_notes(&notes, err);
	notes_finish(&notes);
	mem_free(text);
	return r == 0 || fail(err);
}

int check_dag_scheduler(const struct dag *d, struct notes *notes)
{
	char place[PATH_MAX];

	check_scheduler_place(d, place, sizeof(place));
	return check_scheduler(d->host.scheduler, place, notes);
}

static bool scheduler_fits(const struct dag *d, FILE *err)
{
	struct notes notes = { 0 };
	bool ok = check_dag_scheduler(d, &notes) == 0;

	if (ok)
		print_notes(&notes, err);
	notes_finish(&notes);
	return ok || fail(err);
}

/* named: the launch file that lists the paths, in `lines`; NULL: the paths are from the command line. */
static bool check_set(const char *const *paths, unsigned n, const struct launch *named, const unsigned *lines,
		      FILE *out, FILE *err)
{
	struct dag **dags = mem_calloc(n + 1, sizeof(*dags));
	struct dag_host host;
	unsigned n_read = 0;
	bool ok = true;

	if (!dags) {
		(void)err_nomem();
		return fail(err);
	}
	for (unsigned i = 0; i < n; i++) {
		int r = dag_read(paths[i], &dags[n_read]);

		if (r < 0 && named)
			(void)err_prefix(r, "%s:%u", named->path, lines[i]);
		if (r < 0)
			ok = fail(err);
		else
			print_notes(&dags[n_read++]->notes, err);
	}
	for (unsigned i = 0; i < n_read; i++)
		ok &= scheduler_fits(dags[i], err);
	if (dag_check_set(dags, n_read, &host) < 0)
		ok = fail(err);
	if (ok)
		print_set(dags, n_read, &host, out);
	while (n_read)
		dag_destroy(dags[--n_read]);
	mem_free(dags);
	return ok;
}

bool check_dags(const char *const *paths, unsigned n, FILE *out, FILE *err)
{
	return check_set(paths, n, NULL, NULL, out, err);
}

static void print_process(const struct launch_process *p, FILE *out)
{
	static const char *const ends[] = { "is started again", "ends all others", "is not started again" };
	const struct launch_module *m = &p->m;
	char fit[CELL_MAX];

	printable(fit, sizeof(fit), m->process_name, strlen(m->process_name));
	fprintf(out, "process %s: %s, when it ends it %s", fit, m->type == LAUNCH_BINARY ? "a program" : "components",
		ends[m->exception_handler]);
	if (m->exception_handler == LAUNCH_RESPAWN)
		fprintf(out, " up to %u times", m->respawn_limit);
	if (m->nice)
		fprintf(out, ", nice %d", m->nice);
	if (p->scheduler) {
		printable(fit, sizeof(fit), p->scheduler, strlen(p->scheduler));
		fprintf(out, ", scheduler %s", fit);
	}
	fprintf(out, "\n");
}

static bool check_process(const struct launch *l, struct launch_process *p, FILE *out, FILE *err)
{
	struct notes notes = { 0 };
	bool ok = launch_find(l, p, &notes) == 0 || fail(err);

	print_notes(&notes, err);
	notes_finish(&notes);
	print_process(p, out);
	return (p->m.type == LAUNCH_BINARY || check_set(p->dag, p->n_dags, l, p->dag_line, out, err)) && ok;
}

bool check_launch(const char *path, FILE *out, FILE *err)
{
	struct launch_plan *plan = NULL;
	struct launch *l = NULL;
	int r = launch_read(path, &l);
	bool ok;

	if (r == 0) {
		print_notes(&l->notes, err);
		r = launch_environment(l);
	}
	if (r == 0)
		r = launch_plan_make(l, &plan);
	ok = r == 0 || fail(err);
	for (unsigned i = 0; plan && i < plan->n; i++)
		ok &= check_process(l, &plan->processes[i], out, err);
	launch_plan_destroy(plan);
	launch_destroy(l);
	return ok;
}
