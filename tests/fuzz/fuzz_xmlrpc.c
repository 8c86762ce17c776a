/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any XML-RPC from a peer: an accepted value keeps to its bounds, and when written again it reads as the same. Thread:
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/ros1/xmlrpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_values;

static void walk(struct xmlrpc_writer *w, const struct xmlrpc_value *v, unsigned depth)
{
	if (++n_values > XMLRPC_VALUES_MAX + 1 || depth > XMLRPC_DEPTH_MAX + 1)
		abort();
	switch (v->kind) {
	case XMLRPC_BOOL:
		xmlrpc_put_bool(w, v->i);
		break;
	case XMLRPC_INT:
		xmlrpc_put_int(w, v->i);
		break;
	case XMLRPC_DOUBLE:
		xmlrpc_put_double(w, v->d);
		break;
	case XMLRPC_ARRAY:
	case XMLRPC_STRUCT:
		xmlrpc_array(w);
		for (const struct xmlrpc_value *e = v->first; e; e = e->next)
			walk(w, e, depth + 1);
		xmlrpc_array_end(w);
		break;
	default:
		xmlrpc_put_text(w, v->text);
	}
	if (strlen(v->name) > XMLRPC_BYTES_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d, *again;
	char why[100];
	unsigned n;

	if (xmlrpc_parse((const char *)data, size, &d, why, sizeof(why)) < 0)
		return 0;
	n_values = n = 0;
	xmlrpc_call(&w, "m");
	for (const struct xmlrpc_value *v = d->params->first; v; v = v->next, n++)
		walk(&w, v, 1);
	if (n != d->params->n)
		abort();
	if (xmlrpc_end(&w) == 0 && w.len <= XMLRPC_BYTES_MAX) {
		if (xmlrpc_parse(w.text, w.len, &again, why, sizeof(why)) < 0 || again->params->n != n)
			abort();
		xmlrpc_free(again);
	}
	xmlrpc_writer_finish(&w);
	xmlrpc_free(d);
	return 0;
}
