/* SPDX-License-Identifier: Apache-2.0 */
/* See host.h. */
#include "host.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/msg/Clock.h>
#include <sim/msg/Image.h>

#include "tests/support/wait.h"
#include "support/message.h"

/* A benchmark is host too: no cmocka here. */
#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "host: %s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	struct host *h = ctx;
	va_list ap;
	size_t n;

	pthread_mutex_lock(&h->log_lock);
	n = strlen(h->log);
	va_start(ap, fmt);
	vsnprintf(h->log + n, sizeof(h->log) - n, fmt, ap);
	va_end(ap);
	if (level < 2)
		fprintf(stderr, "bridge: %s\n", h->log + n);
	if (strstr(h->log + n, "dropped") && write(h->dropped[1], "", 1) != 1)
		abort();
	pthread_cond_broadcast(&h->logged);
	pthread_mutex_unlock(&h->log_lock);
}

static void on_other_clocks(void *ctx, const char *names)
{
	struct host *h = ctx;

	pthread_mutex_lock(&h->log_lock);
	snprintf(h->clocks, sizeof(h->clocks), "%s", names);
	pthread_cond_broadcast(&h->logged);
	pthread_mutex_unlock(&h->log_lock);
}

void host_wait_log(struct host *h, const char *text)
{
	pthread_mutex_lock(&h->log_lock);
	while (!strstr(h->log, text))
		pthread_cond_wait(&h->logged, &h->log_lock);
	pthread_mutex_unlock(&h->log_lock);
}

void host_wait_clocks(struct host *h, const char *part)
{
	pthread_mutex_lock(&h->log_lock);
	while (*part ? !strstr(h->clocks, part) : *h->clocks)
		pthread_cond_wait(&h->logged, &h->log_lock);
	pthread_mutex_unlock(&h->log_lock);
}

static const char *on_option(void *ctx, const char *name)
{
	const struct host *h = ctx;

	for (const char *const *o = h->options; *o; o += 2)
		if (!strcmp(o[0], name))
			return o[1];
	for (const struct sim_bridge_option *o = h->ops->options; o->name; o++)
		if (!strcmp(o->name, name))
			return o->deflt;
	return NULL;
}

static void on_status(void *ctx, enum sim_bridge_status status, const char *detail)
{
	on_log(ctx, 3, "%s: %s", sim_bridge_status_name(status), detail);
}

static int64_t on_now(void *ctx)
{
	(void)ctx;
	return HOST_STAMP;
}

static int on_publish(void *ctx, const char *channel, const struct sim_type *type, const void *body, size_t size)
{
	const struct host *h = ctx;
	struct host_in in = { .size = size };

	snprintf(in.channel, sizeof(in.channel), "%s", channel);
	snprintf(in.type, sizeof(in.type), "%s", type->name);
	memcpy(in.body, body, size < HOST_IN ? size : HOST_IN);
	return write(h->came[1], &in, sizeof(in)) == sizeof(in) ? 0 : -EIO; /* less than PIPE_BUF: in one piece */
}

static int on_offer(void *ctx, const char *channel, const struct sim_type *type)
{
	struct host *h = ctx;

	pthread_mutex_lock(&h->log_lock);
	h->offered_type = type;
	MUST(h->n_offered < HOST_OFFERS);
	snprintf(h->offered[h->n_offered++], sizeof(h->offered[0]), "%s", channel);
	pthread_cond_broadcast(&h->logged);
	pthread_mutex_unlock(&h->log_lock);
	return 0;
}

static bool is_offered(const struct host *h, const char *channel)
{
	for (unsigned i = 0; i < h->n_offered; i++)
		if (strcmp(h->offered[i], channel) == 0)
			return true;
	return false;
}

void host_listen(struct host *h, struct sim_bridge *b, const char *channel)
{
	pthread_mutex_lock(&h->log_lock);
	while (!is_offered(h, channel))
		pthread_cond_wait(&h->logged, &h->log_lock);
	pthread_mutex_unlock(&h->log_lock);
	h->ops->listen(b, channel, 1);
}

static int on_drive(void *ctx, int64_t sim_ns)
{
	const struct host *h = ctx;

	return write(h->driven[1], &sim_ns, sizeof(sim_ns)) == sizeof(sim_ns) ? 0 : -EIO;
}

static int on_call(void *ctx, const char *service, const struct sim_service_type *type, const void *request,
		   size_t size, int64_t timeout_dur_ns, sim_answer_fn fn, void *user)
{
	const struct host *h = ctx;
	struct host_call call = { .type = type, .size = size, .fn = fn, .user = user };

	(void)timeout_dur_ns;
	snprintf(call.service, sizeof(call.service), "%s", service);
	memcpy(call.request, request, size < HOST_IN ? size : HOST_IN);
	return write(h->called[1], &call, sizeof(call)) == sizeof(call) ? 0 : -EIO;
}

static int on_serve(void *ctx, const char *service, const struct sim_service_type *type, sim_bridge_serve_fn fn,
		    void *user)
{
	struct host *h = ctx;

	snprintf(h->served.name, sizeof(h->served.name), "%s", fn ? service : "");
	h->served.type = type;
	h->served.fn = fn;
	h->served.user = user;
	return 0;
}

static int on_service_answer(void *ctx, struct sim_pending *p, int result, const char *why, const void *response,
			     size_t size)
{
	const struct host *h = ctx;
	struct host_answer a = { .p = p, .result = result, .size = result < 0 ? 0 : size };

	snprintf(a.why, sizeof(a.why), "%s", why ? why : "");
	memcpy(a.response, response ? response : "", a.size < HOST_IN ? a.size : HOST_IN);
	return write(h->answered[1], &a, sizeof(a)) == sizeof(a) ? 0 : -EIO;
}

static void on_in_order(void *ctx, struct sim_task *task)
{
	const struct host *h = ctx;

	if (h->in_order && task)
		h->in_order(task);
}

static void on_complete(void *ctx, struct sim_task *task, int result)
{
	const struct host *h = ctx;
	struct host_done d = { task, result };

	MUST(write(h->done[1], &d, sizeof(d)) == sizeof(d));
}

void host_init(struct host *h, const char *plugin, const char *const *options)
{
	void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL), *sym = handle ? dlsym(handle, SIM_BRIDGE_SYMBOL) : NULL;
	sim_bridge_plugin_fn entry;

	if (!sym)
		fprintf(stderr, "host: %s\n", dlerror());
	MUST(sym);
	memcpy(&entry, &sym, sizeof(entry));
	*h = (struct host){ .ops = entry(), .options = options, .connection = "" };
	h->host = (struct sim_bridge_host){ .abi = SIM_BRIDGE_ABI,
					    .size = sizeof(h->host),
					    .ctx = h,
					    .log = on_log,
					    .option = on_option,
					    .status = on_status,
					    .complete = on_complete,
					    .now = on_now,
					    .publish = on_publish,
					    .offer = on_offer,
					    .call = on_call,
					    .in_order = on_in_order,
					    .serve = on_serve,
					    .answer = on_service_answer,
					    .drive = on_drive,
					    .other_clocks = on_other_clocks,
					    .simd_id = HOST_SIMD_ID };
	pthread_mutex_init(&h->log_lock, NULL);
	pthread_cond_init(&h->logged, NULL);
	MUST(pipe(h->driven) == 0);
	MUST(pipe(h->dropped) == 0);
	MUST(pipe(h->came) == 0);
	MUST(pipe(h->done) == 0);
	MUST(pipe(h->called) == 0);
	MUST(pipe(h->answered) == 0);
}

struct sim_bridge *host_create(struct host *h)
{
	struct sim_bridge *b = NULL;
	unsigned n;

	MUST(h->ops->create(&h->host, &b) == 0);
	MUST(h->ops->connect(b, h->connection) == 0);
	pthread_mutex_lock(&h->log_lock);
	n = h->n_offered;
	pthread_mutex_unlock(&h->log_lock);
	for (unsigned i = 0; i < n; i++)
		if (h->ops->listen)
			h->ops->listen(b, h->offered[i], 1);
	return b;
}

struct sim_bridge_topic *host_open(struct host *h, struct sim_bridge *b, const char *name, const struct sim_type *type,
				   const char *options)
{
	struct sim_bridge_channel ch = { .id = 1, .name = name, .type = type, .options = options };
	struct sim_bridge_topic *t = NULL;

	MUST(h->ops->open(b, &ch, &t) == 0);
	return t;
}

static void *clock_main(void *arg)
{
	struct host *h = arg;
	struct sim_slot *s = host_slot(sizeof(struct sim_Clock), "");

	((struct sim_Clock *)sim_slot_body_mut(s))->clock = HOST_STAMP;
	while (!atomic_load(&h->clock_stop)) {
		MUST(h->ops->publish(h->b, h->clock_topic, MESSAGE_OF(s), NULL) == 0);
		pace_us(5000);
	}
	free(s);
	return NULL;
}

void host_clock_start(struct host *h, struct sim_bridge *b)
{
	h->b = b;
	h->clock_topic = host_open(h, b, "/clock", &sim_Clock_type, "{}");
	MUST(pthread_create(&h->clock, NULL, clock_main, h) == 0);
}

void host_clock_stop(struct host *h)
{
	atomic_store(&h->clock_stop, true);
	MUST(pthread_join(h->clock, NULL) == 0);
	h->ops->close(h->b, h->clock_topic);
}

struct host_in host_next(struct host *h)
{
	struct host_in in;

	MUST(read(h->came[0], &in, sizeof(in)) == sizeof(in));
	return in;
}

void host_next_drop(struct host *h)
{
	char c;

	MUST(read(h->dropped[0], &c, 1) == 1);
}

int64_t host_next_drive(struct host *h)
{
	int64_t sim_ns;

	MUST(read(h->driven[0], &sim_ns, sizeof(sim_ns)) == sizeof(sim_ns));
	return sim_ns;
}

struct host_done host_next_done(struct host *h)
{
	struct host_done d;

	MUST(read(h->done[0], &d, sizeof(d)) == sizeof(d));
	return d;
}

struct host_call host_next_call(struct host *h)
{
	struct host_call call;

	MUST(read(h->called[0], &call, sizeof(call)) == sizeof(call));
	return call;
}

struct host_answer host_next_answer(struct host *h)
{
	struct host_answer a;

	MUST(read(h->answered[0], &a, sizeof(a)) == sizeof(a));
	return a;
}

int host_publish(struct host *h, struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_slot *s)
{
	char task; /* all that is asked of it is its address */
	int r = h->ops->publish(b, t, MESSAGE_OF(s), (struct sim_task *)(void *)&task);

	h->n_later += r == 1;
	return r == 1 ? host_next_done(h).result : r;
}

struct sim_slot *host_slot(size_t body, const char *frame)
{
	struct sim_slot *s = aligned_alloc(128, (sizeof(*s) + body + 127) / 128 * 128);

	MUST(s);
	memset(s, 0, sizeof(*s));
	s->body_size = (uint32_t)body;
	s->stamp_sim_ns = HOST_STAMP;
	snprintf(s->frame_id, sizeof(s->frame_id), "%s", frame);
	return s;
}

struct sim_slot *host_image(uint32_t width, uint32_t height)
{
	uint32_t size = width * height * 3;
	struct sim_slot *s = host_slot(sim_Image_size(8, size), "camera");
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &b);

	MUST(m);
	m->width = width;
	m->height = height;
	m->step = width * 3;
	MUST(sim_Image_encoding_set(&b, "rgb8") == 0);
	memset(sim_Image_data_alloc(&b, size), 7, size);
	s->body_size = sim_builder_size(&b);
	return s;
}
