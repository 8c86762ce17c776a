/* SPDX-License-Identifier: Apache-2.0 */
/* Creating and destroying a bridge, and the functions that its plug-in calls. Thread: main; host functions: any. */
#include "host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <sim/clock.h>

#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "number.h"
#include "task.h"
#include "timeutil.h"

LOG_TOPIC("bridge");

void host_wake(struct host *h)
{
	uint64_t one = 1;

	if (write(h->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: main is awake already */
}

/* ---- services ---- */

static void service_log(void *ctx, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void service_log(void *ctx, int level, const char *fmt, ...)
{
	static const enum log_level levels[] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
	struct host *h = ctx;
	char text[768];
	va_list ap;

	bool shown = level >= 0 && level <= 3 && log_on(&log_topic_here, levels[level]);

	if (level < 0 || level > 3 || (level > 1 && !shown))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (shown)
		log_write(levels[level], h->plugin->ops->name, "%s", text);
	if (level > 1)
		return;
	pthread_mutex_lock(&h->lanes_lock);
	if (level == 0)
		snprintf(h->complaint, sizeof(h->complaint), "%s", text);
	if (h->opening.on && pthread_equal(h->opening.thread, pthread_self()))
		snprintf(h->opening.why, sizeof(h->opening.why), "%s", text);
	pthread_mutex_unlock(&h->lanes_lock);
}

static const char *service_option(void *ctx, const char *name)
{
	struct host *h = ctx;
	const char *text;

	pthread_mutex_lock(&h->options_lock);
	text = plugin_option(h->plugin, h->options, name, h->option_texts);
	pthread_mutex_unlock(&h->options_lock);
	return text;
}

static void service_status(void *ctx, enum sim_bridge_status status, const char *detail)
{
	struct host *h = ctx;

	pthread_mutex_lock(&h->lanes_lock);
	atomic_store(&h->status, (int)status);
	snprintf(h->detail, sizeof(h->detail), "%s", detail ? detail : "");
	for (char *c = h->detail; (c = strchr(c, '\n'));) /* lines after the first are other clocks */
		*c = ' ';
	if (status == SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED)
		atomic_store(&h->connection.lost, true);
	pthread_mutex_unlock(&h->lanes_lock);
	log_info("%s%s%s", sim_bridge_status_name(status), detail && *detail ? ": " : "", detail ? detail : "");
	host_wake(h);
}

static void service_complete(void *ctx, struct sim_task *task, int result)
{
	struct host *h = ctx;
	int r = task_complete(task, result);

	if (r < 0)
		log_error("the plug-in answered a task twice; ignoring the second answer");
	else
		task_count(h, r, result);
}

static void service_in_order(void *ctx, struct sim_task *task)
{
	struct host *h = ctx;
	struct host_turn *t = task ? &task->lane->turn : NULL;

	if (t && t->task == task)
		order_wait(&h->order, t);
}

static int64_t service_now(void *ctx)
{
	struct host *h = ctx;

	return sim_now(h->client);
}

static int service_clock_at(void *ctx, int64_t mono_ns, struct sim_clock_sample *ret)
{
	struct host *h = ctx;

	return sim_clock_at(h->client, mono_ns, ret);
}

static const struct sim_converter *service_converter(void *ctx, const char *sim_type, const char *foreign, unsigned i)
{
	struct host *h = ctx;

	return converters_find(h->converters, sim_type, foreign, i);
}

static void service_other_clocks(void *ctx, const char *names)
{
	struct host *h = ctx;

	pthread_mutex_lock(&h->lanes_lock);
	snprintf(h->other_clocks, sizeof(h->other_clocks), "%s", names ? names : "");
	pthread_mutex_unlock(&h->lanes_lock);
	host_wake(h);
}

static uint64_t read_simd_id(const struct host *h)
{
	uint64_t id;

	return number_hash(json_string_value(json_object_get(h->config, "simd_id")), &id) ? id : 0;
}

static void fill_services(struct host *h)
{
	h->services = (struct sim_bridge_host){
		.abi = SIM_BRIDGE_ABI,
		.size = sizeof(h->services),
		.ctx = h,
		.log = service_log,
		.option = service_option,
		.status = service_status,
		.complete = service_complete,
		.now = service_now,
		.publish = host_inbound_publish,
		.offer = host_inbound_offer,
		.call = host_service_call,
		.converter = service_converter,
		.drive = host_time_driver_set,
		.simd_id = read_simd_id(h),
		.carries = host_topic_named,
		.other_clocks = service_other_clocks,
		.in_order = service_in_order,
		.serve = host_service_serve,
		.answer = host_service_answer,
		.remark = host_topic_remark,
		.offer_large = host_inbound_offer_large,
		.loan = host_inbound_loan,
		.publish_loan = host_inbound_publish_loan,
		.unloan = host_inbound_unloan,
		.offer_from = host_inbound_offer_from,
		.publish_from = host_inbound_publish_from,
		.withdraw = host_inbound_withdraw,
		.max_body = host_topic_max_body,
		.clock_at = service_clock_at,
		.brings = host_inbound_named,
		.bridge = json_string_value(json_object_get(h->config, "name")),
		.socket = json_string_value(json_object_get(h->config, "socket")),
	};
}

/* ---- create and destroy ---- */

/* Adds the last error that the plug-in logged: an errno alone does not show what to correct. */
static int create_failed(struct host *h, int r)
{
	pthread_mutex_lock(&h->lanes_lock);
	r = err_set(r, "the bridge plug-in \"%s\" could not be created: %s", h->plugin->ops->name,
		    *h->complaint ? h->complaint : err_text(r));
	pthread_mutex_unlock(&h->lanes_lock);
	return r;
}

static int load(struct host *h, const char *plugin_dir)
{
	const char *plugin = json_string_value(json_object_get(h->config, "plugin"));
	int r;

	if (!plugin)
		return err_set(-EPROTO, "simd listed no plug-in for this bridge");
	r = plugin_load(plugin_dir, plugin, &h->plugin);
	if (r < 0)
		return r;
	r = plugin_check_options(h->plugin, h->options, NULL, NULL);
	if (r < 0)
		return r;
	r = converters_load(plugin_dir, json_object_get(h->config, "converters"), &h->converters);
	if (r < 0)
		return r;
	r = h->plugin->ops->create(&h->services, &h->bridge);
	return r < 0 ? create_failed(h, r) : 0;
}

int host_create(struct sim_client *client, const char *plugin_dir, json_t *config, struct host **ret)
{
	struct host *h = MEM_NEW(struct host);
	int r;

	if (!h)
		return err_nomem();
	h->client = client;
	h->wake_fd = -1;
	h->inbound_limit = (struct log_limit)LOG_LIMIT(NS_PER_S, 1);
	h->time_driver.limit = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 10);
	list_init(&h->lanes);
	pthread_mutex_init(&h->options_lock, NULL);
	pthread_mutex_init(&h->topics_lock, NULL);
	pthread_mutex_init(&h->lanes_lock, NULL);
	pthread_mutex_init(&h->opening_lock, NULL);
	pthread_mutex_init(&h->inbound_lock, NULL);
	host_connection_init(h);
	order_init(&h->order);
	h->config = json_incref(config);
	h->options = json_object_get(config, "options");
	h->options = h->options ? json_incref(h->options) : json_object();
	h->option_texts = json_object();
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->wake_fd < 0) {
		r = err_sys(-errno, "eventfd");
		goto err;
	}
	fill_services(h);
	r = host_service_init(h);
	if (r == 0)
		r = load(h, plugin_dir);
	if (r < 0)
		goto err;
	*ret = h;
	return 0;
err:
	host_destroy(h);
	return r;
}

void host_destroy(struct host *h)
{
	if (!h)
		return;
	host_lanes_join(h);
	host_clock_stop(h); /* after the lanes: lane 0 starts the clock thread */
	host_service_stop(h);
	host_topics_close(h);
	if (h->bridge)
		h->plugin->ops->destroy(h->bridge);
	host_lanes_free(h);
	host_time_driver_finish(h);
	host_inbound_finish(h);
	host_connection_finish(h);
	order_finish(&h->order);
	host_service_finish(h);
	converters_unload(h->converters);
	plugin_unload(h->plugin);
	json_decref(h->options);
	json_decref(h->option_texts);
	json_decref(h->config);
	fd_close(h->wake_fd);
	pthread_mutex_destroy(&h->options_lock);
	pthread_mutex_destroy(&h->topics_lock);
	pthread_mutex_destroy(&h->lanes_lock);
	pthread_mutex_destroy(&h->inbound_lock);
	pthread_mutex_destroy(&h->opening_lock);
	mem_free(h);
}

void host_flush(struct host *h)
{
	int r = SIM_BRIDGE_HAS(h->plugin->ops, flush) ? h->plugin->ops->flush(h->bridge) : 0;

	if (r < 0)
		log_warn("flush: %s", err_text(r));
}

void host_flush_timed(struct host *h)
{
	pthread_mutex_lock(&h->order.flush_lock);
	if (!atomic_load(&h->order.stepping))
		host_flush(h);
	pthread_mutex_unlock(&h->order.flush_lock);
}

void host_report(struct host *h)
{
	char text[sizeof(h->detail) + sizeof(h->other_clocks)];

	pthread_mutex_lock(&h->lanes_lock);
	snprintf(text, sizeof(text), "%s%s%s", h->detail, *h->other_clocks ? "\n" : "", h->other_clocks);
	if (h->lane0)
		sim_lane_status(h->lane0, host_connection_status(h), atomic_load(&h->sent), atomic_load(&h->failed),
				atomic_load(&h->dropped), atomic_load(&h->bytes), text);
	pthread_mutex_unlock(&h->lanes_lock);
}
