/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any requests to the parameters of a node, one a line: 'g', 's' or 'l' (get, set, list), and the request as JSON. The
 * answer is a message, and fits; the value of a parameter keeps its type, its bounds, and valid UTF-8; a refusal has an
 * error text. Thread: one.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>
#include <sim/srv/GetParam.h>
#include <sim/srv/ListParams.h>
#include <sim/srv/SetParam.h>

#include "err.h"
#include "libclient/component/param.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- services without simd ---- */

struct sim_service {
	const struct sim_service_type *type;
	sim_service_fn fn;
	void *user;
};

static struct sim_service offers[3];
static unsigned n_offers;

int sim_service_offer(struct sim_client *c, const char *name, const struct sim_service_type *type,
		      const struct sim_service_options *o, sim_service_fn fn, void *user, struct sim_service **ret)
{
	(void)c;
	(void)name;
	(void)o;
	must(n_offers < 3);
	offers[n_offers] = (struct sim_service){ type, fn, user };
	*ret = &offers[n_offers++];
	return 0;
}

void sim_service_destroy(struct sim_service *sv)
{
	(void)sv;
}

/* ---- the node ---- */

static int changed(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)user;
	(void)name;
	if (v->as.s[0] != '!')
		return 0;
	memset(why, '?', why_size); /* without its end */
	return -EDOM;
}

static void declare(struct sim_params *p)
{
	struct sim_param_options bounds = { .size = sizeof(bounds),
					    .description = "0 to 10, \"\xc3\xa9\"",
					    .min = sim_param_int(0),
					    .max = sim_param_int(10) };
	struct sim_param_options real = { .size = sizeof(real),
					  .min = sim_param_double(-1),
					  .max = sim_param_double(1) };
	struct sim_param_options own = { .size = sizeof(own), .read_only = true };
	struct sim_param_options asks = { .size = sizeof(asks), .changed = changed };
	struct sim_param_value i = sim_param_int(5), d = sim_param_double(0.5), b = sim_param_bool(true),
			       s = sim_param_string("text");

	must(sim_params_declare(p, "i", &i, &bounds) == 0 && sim_params_declare(p, "d", &d, &real) == 0);
	must(sim_params_declare(p, "b", &b, &own) == 0 && sim_params_declare(p, "s", &s, &asks) == 0);
}

static void look_at(const struct sim_params *p)
{
	char text[SIM_PARAM_TEXT_MAX + 1];
	bool b = false;
	double d = NAN;
	int64_t i = -1;

	must(sim_params_get_int(p, "i", &i) == 0 && i >= 0 && i <= 10);
	must(sim_params_get_double(p, "d", &d) == 0 && d >= -1 && d <= 1);
	must(sim_params_get_bool(p, "b", &b) == 0 && b);
	must(sim_params_get_string(p, "s", text, sizeof(text)) == 0 && text[0] != '!');
}

/* ---- a request ---- */

static _Alignas(64) uint8_t body[SIM_SERVICE_BODY_MAX], response[SIM_SERVICE_BODY_MAX];

static void ask(struct sim_service *sv, const char *json, size_t len)
{
	struct sim_request req = { .body = body, .response = response, .response_capacity = sizeof(response) };
	char *text = NULL;
	size_t text_len;
	int r;

	if (sim_msg_from_json(sv->type->request, json, len, body, sizeof(body), &req.size) < 0)
		return;
	memset(response, 0, sizeof(response));
	r = sv->fn(sv->user, &req);
	if (r < 0)
		return;
	if (!req.response_size)
		req.response_size = sv->type->response->fixed_size;
	must(req.response_size <= sizeof(response));
	must(sim_msg_to_json_alloc(sv->type->response, response, req.response_size, NULL, &text, &text_len) == 0);
	must(text_len <= SIM_SERVICE_BODY_MAX);
	if (strcmp(sv->type->name, "sim/SetParam") == 0 && !((struct sim_SetParamResponse *)(void *)response)->success)
		must(err_why()[0]);
	free(text);
}

static const struct sim_service_type *type_of(uint8_t letter)
{
	return letter == 'g' ? &sim_GetParam_service : letter == 's' ? &sim_SetParam_service : &sim_ListParams_service;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_params *p;

	n_offers = 0;
	must(sim_params_create((struct sim_client *)(void *)body, "node", &p) == 0 && n_offers == 3);
	declare(p);
	while (size > 1) {
		const uint8_t *nl = memchr(data, '\n', size);
		size_t len = nl ? (size_t)(nl - data) : size;

		for (unsigned i = 0; i < 3 && len; i++)
			if (offers[i].type == type_of(data[0]))
				ask(&offers[i], (const char *)data + 1, len - 1);
		look_at(p);
		data += len + (nl != NULL);
		size -= len + (nl != NULL);
	}
	sim_params_destroy(p);
	return 0;
}
