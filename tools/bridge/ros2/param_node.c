/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of one node: answers ROS requests by asking the node's program (sim/ListParams, sim/SetParam), one request
 * at a time, and publishes /parameter_events. simd has no event for a changed parameter, so the program is asked for
 * its parameters every second while that topic has a reader, before each request, and after those that set.
 *
 * Thread: "ros2-params", one for each node, so that a program that hangs delays only its own requests; the host's
 * answers arrive on the host's thread. ros2_params::lock guards the request queue and struct question; it is a leaf.
 */
#include "params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <sim/srv/ListParams.h>

#include "cdr_reader.h"
#include "enc_wire.h"

#define LOOK_DUR_NS  INT64_C(1000000000)
#define BUSY_DUR_NS  INT64_C(5000000000) /* how long to retry while the program or the bridge has too many calls open */
#define PAUSE_DUR_NS INT64_C(10000000)
#define REQUEST_MAX  (512u * 1024)
#define RESPONSE_MAX (4u << 20)
#define SET_ROOM     8192u

/* ---- what is asked of the program ---- */

struct question {
	struct sim_bridge *bridge;
	/* the node that waits; NULL: it no longer waits, and on_answer() frees the question */
	struct ros2_param_node *node;
	bool done;
	int result;
	char why[PARAM_WHY_MAX];
	void *body; /* response body */
	size_t size;
};

static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct question *k = user;
	struct sim_bridge *b = k->bridge; /* outlives its questions: all are answered before it is disconnected */
	void *body = result == 0 ? malloc(size + 1) : NULL;
	bool waits;

	if (body)
		memcpy(body, response, size);
	pthread_mutex_lock(&b->params.lock);
	waits = k->node != NULL;
	if (waits) {
		k->result = result == 0 && !body ? -ENOMEM : result;
		snprintf(k->why, sizeof(k->why), "%s", why ? why : "");
		k->body = body;
		k->size = size;
		k->done = true;
		pthread_cond_signal(&k->node->changed);
	}
	pthread_mutex_unlock(&b->params.lock);
	if (waits)
		return;
	free(body);
	free(k);
}

/* false: the node is being removed, and on_answer() frees *k. */
static bool wait_for_answer(struct ros2_param_node *n, struct question *k)
{
	struct sim_bridge *b = n->bridge;
	bool done;

	pthread_mutex_lock(&b->params.lock);
	while (!k->done && !n->stop)
		pthread_cond_wait(&n->changed, &b->params.lock);
	done = k->done;
	if (!done)
		k->node = NULL;
	pthread_mutex_unlock(&b->params.lock);
	return done;
}

static int ask_once(struct ros2_param_node *n, const char *what, const struct sim_service_type *type,
		    const void *request, size_t size, void **ret, size_t *ret_size)
{
	struct sim_bridge *b = n->bridge;
	struct question *k = calloc(1, sizeof(*k));
	char service[sizeof(n->simd) + 32];
	int r;

	if (!k)
		return -ENOMEM;
	k->bridge = b;
	k->node = n;
	snprintf(service, sizeof(service), "%s/%s", n->simd, what);
	r = b->host->call(b->host->ctx, service, type, request, size, 0, on_answer, k);
	if (r < 0) {
		free(k);
		snprintf(n->why, sizeof(n->why), "%s", strerror(-r));
		return r;
	}
	if (!wait_for_answer(n, k)) {
		snprintf(n->why, sizeof(n->why), "the node has gone");
		return -ECANCELED;
	}
	r = k->result;
	memcpy(n->why, k->why, sizeof(n->why));
	*ret = k->body;
	*ret_size = k->size;
	free(k);
	return r;
}

static void timed_wait(struct ros2_param_node *n, int64_t due_mono_ns)
{
	struct timespec t = { .tv_sec = due_mono_ns / 1000000000, .tv_nsec = due_mono_ns % 1000000000 };

	pthread_cond_timedwait(&n->changed, &n->bridge->params.lock, &t);
}

/* false: the node's thread has to stop. */
static bool pause_for(struct ros2_param_node *n, int64_t dur_ns)
{
	int64_t due_mono_ns = mono_now_ns() + dur_ns;
	bool stop;

	pthread_mutex_lock(&n->bridge->params.lock);
	while (!n->stop && mono_now_ns() < due_mono_ns)
		timed_wait(n, due_mono_ns);
	stop = n->stop;
	pthread_mutex_unlock(&n->bridge->params.lock);
	return !stop;
}

/* 0: *ret is the response; free() it. On failure n->why has the reason. */
static int ask(struct ros2_param_node *n, const char *what, const struct sim_service_type *type, const void *request,
	       size_t size, void **ret, size_t *ret_size)
{
	int64_t until_mono_ns = mono_now_ns() + BUSY_DUR_NS;
	int r;

	do {
		*ret = NULL;
		r = ask_once(n, what, type, request, size, ret, ret_size);
	} while (r == -EBUSY && mono_now_ns() < until_mono_ns && pause_for(n, PAUSE_DUR_NS));
	return r;
}

/* ---- what the node has ---- */

static int fetch_more(struct ros2_param_node *n, struct param_table *t)
{
	struct sim_ListParamsRequest q = { .start = t->n };
	size_t size = 0;
	void *body;
	int r = ask(n, "list_parameters", &sim_ListParams_service, &q, sizeof(q), &body, &size);

	if (r == 0)
		r = param_table_add(t, body, size);
	free(body);
	return r;
}

static int fetch(struct ros2_param_node *n, struct param_table **ret)
{
	struct param_table *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	do
		r = fetch_more(n, t);
	while (r > 0 && t->n < t->total && t->n < PARAM_TABLE_MAX);
	if (r < 0)
		param_table_free(t);
	else
		*ret = t;
	return r < 0 ? r : 0;
}

static void publish_event(struct ros2_param_node *n, const struct param_table *now)
{
	struct sim_bridge *b = n->bridge;
	struct enc_wire w;
	struct iov_buf o;
	dds_return_t r;

	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	param_write_event(b->host->now(b->host->ctx), n->full, n->table, now, &w.enc);
	r = wire_finish(&w) == 0 ? dds_write(b->params.events, &o) : DDS_RETCODE_OUT_OF_RESOURCES;
	if (r < 0)
		log_warn(b, "parameters of node %s: an event could not be written: %s", n->full, dds_strretcode(r));
	iov_buf_finish(&o);
}

static void log_failed(struct ros2_param_node *n, int r)
{
	uint64_t count = ++n->n_failed;

	if ((count & (count - 1)) == 0) /* the first, then ever more rarely */
		log_warn(n->bridge, "parameters of node %s: its program did not answer: %s (%llu so far)", n->full,
			 *n->why ? n->why : strerror(-r), (unsigned long long)count);
}

/* Fetches the node's parameters, and publishes an event with the changes since the last time. */
static int refresh(struct ros2_param_node *n)
{
	struct param_table *now;
	int r;

	if (!*n->simd)
		return 0;
	n->why[0] = '\0';
	r = fetch(n, &now);
	if (r == -ECANCELED || r == -EPIPE || r == -ENOENT || r == -ENOTCONN) /* the node was removed: not a failure */
		return r;
	if (r < 0) {
		log_failed(n, r);
		return r;
	}
	if (param_changed(n->table, now))
		publish_event(n, now);
	param_table_free(n->table);
	n->table = now;
	return 0;
}

static void look(struct ros2_param_node *n)
{
	dds_publication_matched_status_t matched = { .current_count = 0 };

	n->due_mono_ns = mono_now_ns() + LOOK_DUR_NS;
	if (!n->table ||
	    (dds_get_publication_matched_status(n->bridge->params.events, &matched) == 0 && matched.current_count))
		(void)refresh(n);
}

/* ---- setting ---- */

static void set_why(char why[PARAM_WHY_MAX], const char *text)
{
	snprintf(why, PARAM_WHY_MAX, "%s", *text ? text : "the node refuses it, and does not say why");
}

/*
 * 0: set if why is empty, else refused for that reason. Negative errno: the program did not answer; why has the reason.
 */
static int set(struct ros2_param_node *n, const void *request, size_t size, char why[PARAM_WHY_MAX])
{
	const struct sim_SetParamResponse *m;
	const char *message;
	size_t got = 0;
	void *body;
	int r = ask(n, "set_parameter", &sim_SetParam_service, request, size, &body, &got);

	if (r < 0) {
		set_why(why, *n->why ? n->why : strerror(-r));
		return r;
	}
	m = sim_SetParamResponse_from(body, got);
	message = m ? sim_SetParamResponse_message(m, got) : NULL;
	if (!m || !m->success)
		set_why(why, message ? message : "");
	free(body);
	return 0;
}

static int set_one(struct ros2_param_node *n, const struct param_wish *w, char why[PARAM_WHY_MAX])
{
	_Alignas(64) uint8_t request[SET_ROOM];
	size_t size;

	why[0] = '\0';
	if (param_refused(param_find(n->table, w->name.s, w->name.len), w, why))
		return 0;
	if (param_set_request(w, request, sizeof(request), &size) == 0)
		return set(n, request, size, why);
	set_why(why, "the string is too long");
	return 0;
}

/* Sets one after the other; each has its own result. If the program does not answer, the rest is not tried. */
static void set_each(struct ros2_param_node *n, const struct param_request *q, struct sim_enc *e)
{
	char why[PARAM_WHY_MAX] = "";
	int r = 0;

	sim_enc_list(e, "results", q->n);
	for (uint32_t i = 0; i < q->n; i++) {
		if (r == 0)
			r = set_one(n, &q->wishes[i], why);
		param_write_result(NULL, why, e);
	}
	sim_enc_list_end(e);
}

static void restore(struct ros2_param_node *n, const struct param_wish *w)
{
	_Alignas(64) uint8_t request[SET_ROOM];
	const struct param *p = param_find(n->table, w->name.s, w->name.len);
	char why[PARAM_WHY_MAX] = "";
	size_t size;

	if (param_restore_request(p, request, sizeof(request), &size) == 0)
		(void)set(n, request, size, why);
	if (*why)
		log_warn(n->bridge, "parameters of node %s: %s could not be set back: %s", n->full, p->name, why);
}

/* Whether one of the values is certain to be refused. */
static bool all_refused(struct ros2_param_node *n, const struct param_request *q, char why[PARAM_WHY_MAX])
{
	for (uint32_t i = 0; i < q->n; i++) {
		const struct param_wish *w = &q->wishes[i];
		const struct param *p = param_find(n->table, w->name.s, w->name.len);

		if (!p)
			set_why(why, "One or more parameters were not declared before setting");
		if (!p || param_refused(p, w, why))
			return true;
	}
	return false;
}

/* simd's nodes set one parameter at a time, so when one is refused, those set before are restored. */
static void set_all(struct ros2_param_node *n, const struct param_request *q, struct sim_enc *e)
{
	char why[PARAM_WHY_MAX] = "";

	if (!all_refused(n, q, why))
		for (uint32_t i = 0; i < q->n && !*why; i++) {
			(void)set_one(n, &q->wishes[i], why);
			for (uint32_t k = i; k > 0 && *why; k--)
				restore(n, &q->wishes[k - 1]);
		}
	param_write_result("result", why, e);
}

/* ---- requests ---- */

static int begin_reading(struct ros2_request *q, const void *bytes, size_t len, struct cdr_reader *d)
{
	cdr_reader_begin(d, WIRE_CDR, bytes, len);
	if (!q->of_fastrtps) {
		q->id.client = sim_dec_u64(&d->dec, "client_guid");
		q->id.sequence = sim_dec_i64(&d->dec, "sequence_number");
	}
	return d->dec.err;
}

int ros2_params_keep(struct ros2_request *q, const struct endpoint_sample *sample)
{
	struct cdr_reader d;
	int r = sample->len && sample->len <= REQUEST_MAX ? begin_reading(q, sample->bytes, sample->len, &d)
							  : -EMSGSIZE;

	if (r < 0)
		return r;
	q->request = malloc(sample->len);
	if (!q->request)
		return -ENOMEM;
	memcpy(q->request, sample->bytes, sample->len);
	q->request_size = sample->len;
	return 0;
}

static int read_request(struct ros2_request *q, struct param_request *ret)
{
	struct cdr_reader d;
	int r = begin_reading(q, q->request, q->request_size, &d);

	if (r == 0)
		r = param_read_request(q->service->param_call, &d.dec, ret);
	if (r < 0)
		return r;
	r = cdr_reader_end(&d);
	if (r < 0)
		param_request_finish(ret);
	return r;
}

static void begin_writing(struct ros2_request *q, struct enc_wire *w)
{
	wire_begin(w, WIRE_CDR, &q->out);
	if (q->of_fastrtps)
		return;
	sim_enc_u64(&w->enc, "client_guid", q->id.client);
	sim_enc_i64(&w->enc, "sequence_number", q->id.sequence);
}

int ros2_params_refuse(struct ros2_request *q, const char *why)
{
	struct param_request p = { .n = 0 };
	struct enc_wire w;

	(void)read_request(q, &p);
	begin_writing(q, &w);
	param_write_refusal(q->service->param_call, why, p.n, &w.enc);
	param_request_finish(&p);
	return wire_finish(&w);
}

static int write_response(struct ros2_param_node *n, struct ros2_request *q, const struct param_request *p)
{
	enum param_call call = q->service->param_call;
	struct enc_wire w;
	int r;

	begin_writing(q, &w);
	if (call == PARAM_SET)
		set_each(n, p, &w.enc);
	else if (call == PARAM_SET_ATOMICALLY)
		set_all(n, p, &w.enc);
	else
		param_write_response(call, p, n->table, &w.enc);
	r = wire_finish(&w);
	if (r == 0 && q->out.total > RESPONSE_MAX)
		r = -EMSGSIZE;
	if (call == PARAM_SET || call == PARAM_SET_ATOMICALLY)
		(void)refresh(n);
	return r;
}

static void work(struct ros2_param_node *n, struct ros2_request *q)
{
	struct param_request p;
	const char *why = "";
	int r = read_request(q, &p);

	if (r < 0) {
		service_answered(q, -EBADMSG, r == -E2BIG ? "it has more than 4096 names or values" : topics_reason(r));
		return;
	}
	r = refresh(n);
	if (r < 0)
		why = *n->why ? n->why : strerror(-r);
	else
		r = write_response(n, q, &p);
	param_request_finish(&p);
	service_answered(q, r < 0 ? -EIO : 0, *why || r == 0 ? why : topics_reason(r));
}

/* ---- the thread ---- */

void ros2_params_take(struct ros2_request *q)
{
	struct ros2_param_node *n = q->service->params;

	q->next = NULL;
	pthread_mutex_lock(&n->bridge->params.lock);
	*(n->first ? &n->last->next : &n->first) = q;
	n->last = q;
	pthread_cond_signal(&n->changed);
	pthread_mutex_unlock(&n->bridge->params.lock);
}

/* The caller holds the lock. */
static struct ros2_request *pop(struct ros2_param_node *n)
{
	struct ros2_request *q = n->first;

	if (q)
		n->first = q->next;
	return q;
}

/* The caller holds the lock. Waits for a request, the stop flag, or the next time to fetch. */
static void wait_for_work(struct ros2_param_node *n)
{
	if (*n->simd)
		timed_wait(n, n->due_mono_ns);
	else
		pthread_cond_wait(&n->changed, &n->bridge->params.lock);
}

/* Handles one request, fetches, or waits. Called and returns with the lock held. */
static void serve(struct ros2_param_node *n)
{
	struct ros2_request *q = pop(n);
	bool due = *n->simd && mono_now_ns() >= n->due_mono_ns;

	if (!q && !due) {
		wait_for_work(n);
		return;
	}
	pthread_mutex_unlock(&n->bridge->params.lock);
	if (q)
		work(n, q);
	else
		look(n);
	pthread_mutex_lock(&n->bridge->params.lock);
}

static void *node_main(void *arg)
{
	struct ros2_param_node *n = arg;
	struct ros2_request *q;

	prctl(PR_SET_NAME, "ros2-params");
	pthread_mutex_lock(&n->bridge->params.lock);
	while (!n->stop)
		serve(n);
	while ((q = pop(n))) {
		pthread_mutex_unlock(&n->bridge->params.lock);
		service_answered(q, -EPIPE, "the node has gone");
		pthread_mutex_lock(&n->bridge->params.lock);
	}
	pthread_mutex_unlock(&n->bridge->params.lock);
	return NULL;
}

int param_node_start(struct ros2_param_node *n)
{
	pthread_condattr_t attr;
	int r;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->changed, &attr);
	pthread_condattr_destroy(&attr);
	r = -pthread_create(&n->thread, NULL, node_main, n);
	n->running = r == 0;
	if (r < 0)
		pthread_cond_destroy(&n->changed);
	return r;
}

void param_node_stop(struct ros2_param_node *n)
{
	if (!n->running)
		return;
	pthread_mutex_lock(&n->bridge->params.lock);
	n->stop = true;
	pthread_cond_signal(&n->changed);
	pthread_mutex_unlock(&n->bridge->params.lock);
	pthread_join(n->thread, NULL);
	pthread_cond_destroy(&n->changed);
}
