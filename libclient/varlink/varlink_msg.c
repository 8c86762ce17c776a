/* SPDX-License-Identifier: Apache-2.0 */
/* Varlink messages: builds and reads them; standard errors; org.varlink.service. Thread: the owner's. */
#include "err.h"
#include "varlink.h"

#include <errno.h>
#include <string.h>

#define SERVICE "org.varlink.service"

void varlink_msg_finish(struct varlink_msg *m)
{
	for (unsigned i = 0; i < m->n_fds; i++)
		fd_close(m->fds[i]);
	json_decref(m->json);
	m->json = NULL;
	m->n_fds = 0;
}

int varlink_msg_take_fd(struct varlink_msg *m, unsigned i)
{
	if (i >= m->n_fds || m->fds[i] < 0)
		return err_set(-ENODATA, "the peer's message lacks descriptor %u", i);
	return fd_steal(&m->fds[i]);
}

static int get_bool(const json_t *obj, const char *key, bool *ret)
{
	const json_t *j = json_object_get(obj, key);

	if (j && !json_is_boolean(j) && !json_is_null(j))
		return err_set(-EBADMSG, "the peer's message: \"%s\" is not a boolean", key);
	*ret = json_is_true(j);
	return 0;
}

static int get_params(const json_t *obj, json_t **ret)
{
	json_t *j = json_object_get(obj, "parameters");

	if (j && !json_is_object(j) && !json_is_null(j))
		return err_set(-EBADMSG, "the peer's message: \"parameters\" is not an object");
	*ret = json_is_object(j) ? j : NULL;
	return 0;
}

int varlink_msg_request(const struct varlink_msg *m, struct varlink_request *ret)
{
	struct varlink_request q = { .method = json_string_value(json_object_get(m->json, "method")) };
	int r;

	if (!q.method)
		return err_set(-EBADMSG, "the peer's message is not a call: \"method\" is missing");
	if ((r = get_params(m->json, &q.params)) < 0 || (r = get_bool(m->json, "more", &q.more)) < 0 ||
	    (r = get_bool(m->json, "oneway", &q.oneway)) < 0)
		return r;
	*ret = q;
	return 0;
}

int varlink_msg_answer(const struct varlink_msg *m, struct varlink_answer *ret)
{
	const json_t *error = json_object_get(m->json, "error");
	struct varlink_answer a = { .error = json_string_value(error) };
	int r;

	if (error && !json_is_null(error) && !a.error)
		return err_set(-EBADMSG, "the peer's message: \"error\" is not a string");
	if ((r = get_params(m->json, &a.params)) < 0 || (r = get_bool(m->json, "continues", &a.continues)) < 0)
		return r;
	*ret = a;
	return 0;
}

int varlink_answer_errno(const struct varlink_answer *a)
{
	const char *why = json_string_value(json_object_get(a->params, "why"));
	const char *what = json_string_value(json_object_get(a->params, "parameter"));
	json_int_t r = json_integer_value(json_object_get(a->params, "errno"));

	if (!a->error)
		return 0;
	if (r < 0 && r > -4096)
		return err_set((int)r, "%s", why ? why : a->error);
	if (!strcmp(a->error, SERVICE ".InvalidParameter"))
		return err_set(-EINVAL, "the peer refuses parameter \"%s\"", what ? what : "?");
	if (!strncmp(a->error, SERVICE ".", strlen(SERVICE ".")))
		return err_set(-EOPNOTSUPP, "the peer does not know this call (%s); is it of another version?",
			       a->error);
	return err_set(-EREMOTEIO, "%s", why ? why : a->error);
}

/* ---- building ---- */

int varlink_queue_call(struct varlink *v, const char *method, json_t *params, unsigned flags,
		       const struct varlink_text *text)
{
	const char *flag = flags & VARLINK_MORE ? "more" : "oneway";
	json_t *m = flags ? json_pack("{ss sb so*}", "method", method, flag, 1, "parameters", params)
			  : json_pack("{ss so*}", "method", method, "parameters", params);

	return varlink_queue(v, m, text, NULL, 0);
}

/* A reply always has parameters; so a peer can tell it from a call. */
static json_t *reply(json_t *params, bool continues)
{
	params = params ? params : json_object();
	return continues ? json_pack("{sb so}", "continues", 1, "parameters", params)
			 : json_pack("{so}", "parameters", params);
}

int varlink_queue_reply(struct varlink *v, json_t *params, bool continues, const int *fds, unsigned n_fds)
{
	return varlink_queue(v, reply(params, continues), NULL, fds, n_fds);
}

int varlink_queue_event(struct varlink *v, json_t *params, const struct varlink_text *text)
{
	return varlink_queue(v, reply(params, true), text, NULL, 0);
}

static int queue_error(struct varlink *v, const char *error, json_t *params)
{
	return varlink_queue(v, json_pack("{ss so}", "error", error, "parameters", params), NULL, NULL, 0);
}

int varlink_queue_failure(struct varlink *v, const char *error, int r, const char *why)
{
	json_t *text = json_string(why);

	/* why may quote a peer's bytes: if it is not UTF-8, it is left out and only the number is sent */
	return queue_error(v, error, json_pack("{si so*}", "errno", r, "why", text));
}

int varlink_queue_method_not_found(struct varlink *v, const char *method)
{
	return queue_error(v, SERVICE ".MethodNotFound", json_pack("{ss}", "method", method));
}

/* ---- org.varlink.service ---- */

static const char service_description[] =
	"# The Varlink Service Interface is provided by every varlink service.\n"
	"interface " SERVICE "\n\n"
	"method GetInfo() -> (vendor: string, product: string, version: string, url: string, interfaces: []string)\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n\n"
	"error InterfaceNotFound (interface: string)\n"
	"error MethodNotFound (method: string)\n"
	"error MethodNotImplemented (method: string)\n"
	"error InvalidParameter (parameter: string)\n";

static int get_info(const struct varlink_service *s, struct varlink *v)
{
	json_t *list = json_pack("[s]", SERVICE);

	for (const struct varlink_interface *i = s->interfaces; i && i->name; i++)
		json_array_append_new(list, json_string(i->name));
	return varlink_queue_reply(v,
				   json_pack("{ss ss ss ss so}", "vendor", s->vendor, "product", s->product, "version",
					     s->version, "url", s->url, "interfaces", list),
				   false, NULL, 0);
}

static int get_description(const struct varlink_service *s, struct varlink *v, const char *name)
{
	const char *text = strcmp(name, SERVICE) ? NULL : service_description;

	for (const struct varlink_interface *i = s->interfaces; i && i->name && !text; i++)
		if (!strcmp(i->name, name))
			text = i->description;
	if (!text)
		return queue_error(v, SERVICE ".InterfaceNotFound", json_pack("{ss}", "interface", name));
	return varlink_queue_reply(v, json_pack("{ss}", "description", text), false, NULL, 0);
}

int varlink_service_handle(const struct varlink_service *s, struct varlink *v, const struct varlink_request *req)
{
	const char *name = req->method + strlen(SERVICE ".");
	const char *interface;
	int r;

	if (strncmp(req->method, SERVICE ".", strlen(SERVICE ".")) != 0)
		return 0;
	if (!strcmp(name, "GetInfo")) {
		r = get_info(s, v);
	} else if (!strcmp(name, "GetInterfaceDescription")) {
		interface = json_string_value(json_object_get(req->params, "interface"));
		r = interface ? get_description(s, v, interface)
			      : queue_error(v, SERVICE ".InvalidParameter",
					    json_pack("{ss}", "parameter", "interface"));
	} else {
		r = varlink_queue_method_not_found(v, req->method);
	}
	return r < 0 ? r : 1;
}
