/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sim/srv/Trigger.h>

#include "check.h"
#include "crash.h"
#include "dag_check.h"
#include "err.h"
#include "load.h"
#include "log.h"
#include "mem.h"
#include "scheduler_file.h"
#include "status.h"
#include "timeutil.h"
#include "watch.h"

LOG_TOPIC("simhost");

struct reload {
	struct run *run;
	const char *name;
	struct sim_service *service; /* NULL: not offered */
};

struct run {
	struct dag **dags;
	unsigned n;
	struct sim_host *h;
	struct load *l;
	struct watch *w;
	struct reload *reload;    /* by index in load */
	char scheduler[PATH_MAX]; /* place where it is given; "": not given */
	char *scheduler_text;     /* text of --scheduler's file; NULL: not given */
};

/* ---- ending ---- */

static struct sim_host *_Atomic signalled; /* the host that a signal stops */

static void on_signal(int number)
{
	(void)number;
	sim_host_stop(signalled);
}

static void stop_on_signals(struct sim_host *h)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	signalled = h;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* ---- loading again ---- */

static int on_reload(void *user, struct sim_request *req)
{
	struct reload *l = user;
	struct sim_TriggerResponse *answer;
	struct sim_builder b;
	int r = load_again(l->run->l, l->name);

	if (r == 0)
		log_info("component %s was loaded again", l->name);
	else
		log_error("component %s was not loaded again: %s", l->name, err_why());
	answer = sim_TriggerResponse_init(req->response, req->response_capacity, &b);
	answer->success = r == 0;
	if (r < 0 && sim_builder_text(&b, &answer->message, err_why(), 0) < 0)
		return -ENOBUFS;
	req->response_size = sim_builder_size(&b);
	return 0;
}

static void offer_reload(void *user, unsigned index, const struct dag_component *d, struct sim_component *c)
{
	struct sim_service_options o = { .size = sizeof(o), .deadline_dur_ns = 60 * NS_PER_S };
	struct run *x = user;
	struct reload *l = &x->reload[index];
	char name[100];

	(void)c;
	*l = (struct reload){ .run = x, .name = d->name };
	snprintf(name, sizeof(name), "%s/reload", d->name);
	if (sim_service_offer(sim_host_client(x->h), name, &sim_Trigger_service, &o, on_reload, l, &l->service) < 0)
		log_warn("component %s cannot be loaded again while it runs: %s", d->name, sim_why());
}

/* ---- starting ---- */

static int read_dags(struct run *x, const struct run_options *o)
{
	int r = 0;

	x->dags = mem_calloc(o->n, sizeof(*x->dags));
	if (!x->dags)
		return err_nomem();
	for (; r == 0 && x->n < o->n; x->n += r == 0)
		r = dag_read(o->dags[x->n], &x->dags[x->n]);
	for (unsigned i = 0; i < x->n; i++)
		for (unsigned k = 0; k < x->dags[i]->notes.n; k++)
			log_info("%s", x->dags[i]->notes.text[k]);
	return r;
}

/* Checks here what this machine cannot provide, because the library's own message would lack file and line. */
static int check_schedulers(struct run *x)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < x->n; i++) {
		r = check_dag_scheduler(x->dags[i], NULL);
		if (x->dags[i]->host.scheduler && !*x->scheduler) /* several files can only give the same one */
			check_scheduler_place(x->dags[i], x->scheduler, sizeof(x->scheduler));
	}
	return r;
}

static int read_scheduler(struct run *x, const char *path)
{
	struct notes notes = { 0 };
	int r = scheduler_file_read(path, &notes, &x->scheduler_text);

	for (unsigned i = 0; i < notes.n; i++)
		log_info("%s", notes.text[i]);
	notes_finish(&notes);
	snprintf(x->scheduler, sizeof(x->scheduler), "%s", path);
	return r < 0 ? r : check_scheduler(x->scheduler_text, path, NULL);
}

static int make_host(struct run *x, const struct run_options *o)
{
	struct sim_host_options ho = { .size = sizeof(ho), .name = o->name, .socket = o->socket };
	struct dag_host said = { 0 };
	int r = dag_check_set(x->dags, x->n, &said);

	if (r == 0)
		r = o->scheduler ? read_scheduler(x, o->scheduler) : check_schedulers(x);
	if (r < 0)
		return r;
	ho.mode = (enum sim_run_mode)(o->mode < 0 ? said.mode : o->mode);
	ho.rank = o->rank < 0 ? said.rank : (uint32_t)o->rank;
	ho.scheduler = o->scheduler ? x->scheduler_text : said.scheduler;
	r = sim_host_create(&ho, &x->h);
	return r < 0 ? err_set(r, "%s", sim_why()) : 0;
}

/* Logs only cycles. A channel without a writer may get one soon; the watch reports it later. */
static void on_flow(void *user, bool error, const char *sentence)
{
	(void)user;
	if (error)
		log_error("%s", sentence);
}

static int start(struct run *x, const struct run_options *o)
{
	int r = read_dags(x, o);

	if (r == 0)
		r = make_host(x, o);
	if (r < 0)
		return r;
	stop_on_signals(x->h);
	r = load_create(x->h, &x->l);
	if (r == 0)
		r = watch_start(x->l, o->stuck_dur_ns, *x->scheduler ? x->scheduler : NULL, &x->w);
	if (r == 0)
		r = load_all(x->l, x->dags, x->n);
	if (r == 0)
		r = load_flow(x->l, on_flow, NULL);
	if (r < 0)
		return r;
	x->reload = mem_calloc(load_count(x->l) + 1, sizeof(*x->reload));
	if (!x->reload)
		return err_nomem();
	load_each(x->l, offer_reload, x);
	r = sim_host_start(x->h);
	if (r < 0)
		return err_set(r, "%s", sim_why());
	watch_look(x->w);
	return 0;
}

/* The watch stops last, so that it can still report a component that hangs in shutdown. */
static void finish(struct run *x)
{
	signalled = NULL;
	for (unsigned i = 0; x->reload && i < load_count(x->l); i++)
		sim_service_destroy(x->reload[i].service);
	load_none(x->l);
	watch_stop(x->w);
	load_destroy(x->l);
	if (x->h)
		sim_host_stop(x->h);
	sim_host_destroy(x->h);
	for (unsigned i = 0; x->dags && i < x->n; i++)
		dag_destroy(x->dags[i]);
	mem_free(x->reload);
	mem_free(x->scheduler_text);
	mem_free(x->dags);
	crash_end();
}

int run_dags(const struct run_options *o)
{
	struct run x = { 0 };
	int r;

	crash_begin(o->name);
	r = start(&x, o);
	if (r < 0) {
		log_error("%s", err_why());
		finish(&x);
		return status_of(r);
	}
	log_info("%u components run in %s", load_count(x.l),
		 sim_host_mode(x.h) == SIM_RUN_SIMULATION ? "simulation" : "reality");
	r = sim_host_run(x.h);
	if (r < 0)
		log_error("%s", sim_why());
	finish(&x);
	return r < 0 ? 1 : 0;
}
