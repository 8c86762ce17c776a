/* SPDX-License-Identifier: Apache-2.0 */
/* Services: lists, describes and calls them. Thread: main. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "simctl.h"

#define SLICE_MS 50 /* interval between checks for a signal */

/* clang-format off */
static const struct column columns[] = {
	{ "SERVICE", "name", .least = 20, .end = true },
	{ "TYPE", "type", .leave = 2, .least = 12, .end = true },
	{ "PROVIDER", "provider.client", .leave = 3, .least = 12 },
	{ "CALLS", "calls", NUM, .leave = 1 },
	{ "ANSWERED", "answered", NUM, .leave = 1 },
	{ "FAILED", "failed", NUM, .leave = 0 },
	{ "TIMED OUT", "timed_out", NUM, .leave = 4 },
	{ "REFUSED", "refused", NUM, .leave = 4 },
	{ "WAITING", "waiting", NUM, .leave = 5 },
	{ 0 },
};
/* clang-format on */

static int list_once(struct ctl *c)
{
	return ctl_list(c, ctl_call(c, "io.simd.Control.ListServices", NULL), "services", columns);
}

int cmd_service_list(struct ctl *c)
{
	return ctl_repeat(c, list_once);
}

static void print_info(const json_t *reply)
{
	json_t *s = json_object_get(reply, "service"), *p = json_object_get(s, "provider");

	printf("%s: %s\n", json_text(s, "name"), json_text(s, "type"));
	printf("provider: %s (pid %.0f, uid %.0f)%s\n", json_text(p, "client"), json_num(p, "pid"), json_num(p, "uid"),
	       json_yes(s, "running") ? ", at a request" : "");
	printf("deadline: %.3f s; %.0f of %.0f requests that may wait do\n", json_num(s, "deadline_ms") / 1e3,
	       json_num(s, "waiting"), json_num(s, "queue"));
	printf("calls: %.0f; %.0f answered, %.0f failed, %.0f timed out; %.0f refused; answers: %.0f late, %.0f ignored\n",
	       json_num(s, "calls"), json_num(s, "answered"), json_num(s, "failed"), json_num(s, "timed_out"),
	       json_num(s, "refused"), json_num(s, "late"), json_num(s, "ignored"));
	printf("request:\n");
	ctl_print_fields(json_object_get(reply, "request"));
	printf("response:\n");
	ctl_print_fields(json_object_get(reply, "response"));
}

int cmd_service_info(struct ctl *c)
{
	return ctl_show(c, ctl_call_named(c, "io.simd.Control.GetService", c->a.service), print_info);
}

/* ---- calling ---- */

struct pending {
	const struct ctl *c;
	const struct sim_service_type *type;
	bool done;
	int code;
};

static void on_answer(void *user, int r, const char *why, const void *response, size_t size)
{
	struct pending *p = user;
	struct sim_json_options o = { .exact = true, .pretty = p->c->a.pretty };
	char fit[1024];

	p->done = true;
	p->code = r < 0;
	if (r < 0 && simctl_stop) /* the disconnection is our own */
		return;
	if (r < 0) {
		printable(fit, sizeof(fit), why, strlen(why)); /* the provider's reason */
		fprintf(stderr, "simctl: %s\n", *fit ? fit : sim_strerror(r));
		return;
	}
	if (sim_msg_to_json(p->type->response, response, size, &o, json_to_file, stdout) < 0)
		p->code = ctl_fail(NULL);
	putchar('\n');
	fflush(stdout);
}

static int call(struct ctl *c, const struct sim_service_type *type, const void *body, size_t size)
{
	struct pending p = { .c = c, .type = type };

	if (sim_service_call_async(c->client, c->a.service, type, body, size, c->a.timeout_dur_ns, on_answer, &p) < 0)
		return ctl_fail(NULL);
	while (!p.done && !simctl_stop) {
		struct pollfd fd = { .fd = sim_client_fd(c->client), .events = POLLIN };

		(void)poll(&fd, 1, SLICE_MS);
		(void)sim_process(c->client);
	}
	if (!p.done) { /* interrupted: disconnecting completes the open call */
		sim_disconnect(c->client);
		c->client = NULL;
		p.code = 128 + simctl_stop;
	}
	return p.code;
}

int cmd_service_call(struct ctl *c)
{
	const char *text = c->a.request ? c->a.request : "{}";
	const struct sim_service_type *type;
	void *body = aligned_alloc(64, SIM_SERVICE_BODY_MAX);
	size_t size;
	int code;

	if (!body || sim_service_type_of(c->client, c->a.service, &type) < 0) {
		free(body);
		return ctl_fail(NULL);
	}
	if (sim_msg_from_json(type->request, text, strlen(text), body, SIM_SERVICE_BODY_MAX, &size) < 0)
		code = ctl_fail(type->request->name);
	else
		code = call(c, type, body, size);
	sim_service_type_unref(type);
	free(body);
	return code;
}
