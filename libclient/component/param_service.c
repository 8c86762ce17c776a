/* SPDX-License-Identifier: Apache-2.0 */
/* The services by which other programs list, read and set the parameters of a node. Thread: "sim-service". */
#include "param.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sim/srv/GetParam.h>
#include <sim/srv/ListParams.h>
#include <sim/srv/SetParam.h>

#include "err.h"

/*
 * A list must fit as JSON, where a byte takes at most six. Even the longest parameter, of two strings and a
 * description, is shorter than that.
 */
#define LIST_JSON_MAX  (SIM_SERVICE_BODY_MAX - 1024)
#define ESCAPED        6
#define PARAM_JSON_MAX 600 /* without its texts */

static int put_value(struct sim_builder *b, struct sim_Param *to, const char *name, const struct sim_param_value *v)
{
	int r = sim_Param_name_set_in(b, to, name);

	to->type = v->type;
	switch (v->type) {
	case SIM_PARAM_BOOL:
		to->bool_value = v->as.b;
		break;
	case SIM_PARAM_INT:
		to->int_value = v->as.i;
		break;
	case SIM_PARAM_DOUBLE:
		to->double_value = v->as.d;
		break;
	case SIM_PARAM_STRING:
		return r < 0 ? r : sim_Param_string_value_set_in(b, to, v->as.s);
	default:
		break;
	}
	return r;
}

static double number(const struct sim_param_value *v)
{
	return v->type == SIM_PARAM_INT ? (double)v->as.i : v->type == SIM_PARAM_DOUBLE ? v->as.d : 0;
}

static int put_info(struct sim_builder *b, struct sim_ParamInfo *to, const struct param *q)
{
	int r = put_value(b, &to->param, q->name, &q->value);

	if (r == 0)
		r = put_value(b, &to->initial, "", &q->initial);
	if (r == 0)
		r = sim_ParamInfo_description_set_in(b, to, q->description);
	to->has_min = q->min.type != SIM_PARAM_NOT_SET;
	to->has_max = q->max.type != SIM_PARAM_NOT_SET;
	to->min = number(&q->min);
	to->max = number(&q->max);
	to->read_only = q->read_only;
	return r;
}

static size_t text_of(const struct sim_param_value *v)
{
	return v->type == SIM_PARAM_STRING ? strlen(v->as.s) : 0;
}

static size_t json_of(const struct param *q)
{
	return PARAM_JSON_MAX +
	       ESCAPED * (strlen(q->name) + strlen(q->description) + text_of(&q->value) + text_of(&q->initial));
}

/* How many parameters, from `first` on, fit into an answer. Under lock. */
static uint32_t fitting(const struct sim_params *p, uint32_t first)
{
	size_t sum = 0;
	uint32_t n = 0;

	while (first + n < p->n && (sum += json_of(p->param[first + n])) <= LIST_JSON_MAX)
		n++;
	return n;
}

static int put_list(struct sim_params *p, uint32_t first, struct sim_request *req)
{
	struct sim_ListParamsResponse *out;
	struct sim_ParamInfo *list;
	struct sim_builder b;
	uint32_t n = first < p->n ? fitting(p, first) : 0;
	int r = 0;

	out = sim_ListParamsResponse_init(req->response, req->response_capacity, &b);
	out->total = p->n;
	list = n ? sim_ListParamsResponse_params_alloc(&b, n) : NULL;
	if (n && !list)
		return -EMSGSIZE;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = put_info(&b, &list[i], p->param[first + i]);
	req->response_size = sim_builder_size(&b);
	return r;
}

static int on_list(void *user, struct sim_request *req)
{
	const struct sim_ListParamsRequest *q = sim_ListParamsRequest_from(req->body, req->size);
	struct sim_params *p = user;
	int r;

	if (!q)
		return -EBADMSG;
	pthread_mutex_lock(&p->lock);
	r = put_list(p, q->start, req);
	pthread_mutex_unlock(&p->lock);
	return r;
}

static int on_get(void *user, struct sim_request *req)
{
	const struct sim_GetParamRequest *q = sim_GetParamRequest_from(req->body, req->size);
	const char *name = q ? sim_GetParamRequest_name(q, req->size) : NULL;
	struct sim_GetParamResponse *out;
	struct sim_params *p = user;
	const struct param *found;
	struct sim_builder b;
	int r = 0;

	if (!name)
		return -EBADMSG;
	out = sim_GetParamResponse_init(req->response, req->response_capacity, &b);
	pthread_mutex_lock(&p->lock);
	found = param_find(p, name);
	if (found)
		r = put_value(&b, &out->param, found->name, &found->value);
	pthread_mutex_unlock(&p->lock);
	req->response_size = sim_builder_size(&b);
	return r;
}

static int take_value(const struct sim_SetParamRequest *q, size_t size, struct sim_param_value *ret)
{
	const struct sim_Param *from = &q->param;

	ret->type = from->type;
	switch (from->type) {
	case SIM_PARAM_BOOL:
		ret->as.b = from->bool_value != 0;
		return 0;
	case SIM_PARAM_INT:
		ret->as.i = from->int_value;
		return 0;
	case SIM_PARAM_DOUBLE:
		ret->as.d = from->double_value;
		return 0;
	case SIM_PARAM_STRING:
		ret->as.s = sim_Param_string_value_in(q, size, from);
		return ret->as.s ? 0 : -EBADMSG;
	default:
		ret->as.i = 0;
		return 0; /* refused with a reason, see check_value() */
	}
}

static int on_set(void *user, struct sim_request *req)
{
	const struct sim_SetParamRequest *q = sim_SetParamRequest_from(req->body, req->size);
	const char *name = q ? sim_Param_name_in(q, req->size, &q->param) : NULL;
	struct sim_SetParamResponse *out;
	struct sim_param_value v;
	struct sim_builder b;
	int r = name ? take_value(q, req->size, &v) : -EBADMSG;

	if (r < 0)
		return r;
	r = param_set(user, name, &v, true);
	out = sim_SetParamResponse_init(req->response, req->response_capacity, &b);
	out->success = r == 0;
	(void)sim_SetParamResponse_message_set(&b, r < 0 ? err_why() : "");
	req->response_size = sim_builder_size(&b);
	return 0;
}

static int offer(const struct sim_params *p, struct sim_client *c, const char *what,
		 const struct sim_service_type *type, sim_service_fn fn, struct sim_service **ret)
{
	char name[SIM_PARAM_NAME_MAX + 32];

	snprintf(name, sizeof(name), "%s/%s", p->node, what);
	return sim_service_offer(c, name, type, NULL, fn, (void *)(uintptr_t)p, ret);
}

int param_service_offer(struct sim_params *p, struct sim_client *c)
{
	int r = offer(p, c, "get_parameter", &sim_GetParam_service, on_get, &p->get);

	if (r == 0)
		r = offer(p, c, "set_parameter", &sim_SetParam_service, on_set, &p->set);
	return r == 0 ? offer(p, c, "list_parameters", &sim_ListParams_service, on_list, &p->list) : r;
}

void param_service_withdraw(struct sim_params *p)
{
	sim_service_destroy(p->get);
	sim_service_destroy(p->set);
	sim_service_destroy(p->list);
}
