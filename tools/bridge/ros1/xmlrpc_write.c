/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of xmlrpc.h. */
#include "xmlrpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_bytes(struct xmlrpc_writer *w, const char *s, size_t n)
{
	size_t cap = w->cap ? w->cap : 512;
	char *text;

	if (w->err)
		return;
	while (cap < w->len + n + 1)
		cap *= 2;
	text = cap == w->cap ? w->text : realloc(w->text, cap);
	if (!text) {
		w->err = -ENOMEM;
		return;
	}
	w->text = text;
	w->cap = cap;
	memcpy(w->text + w->len, s, n);
	w->len += n;
	w->text[w->len] = '\0';
}

static void add(struct xmlrpc_writer *w, const char *s)
{
	add_bytes(w, s, strlen(s));
}

/* Length of the UTF-8 character at s, if XML allows it; 0: not allowed. */
static size_t character(const unsigned char *s)
{
	uint32_t c = s[0], n = c < 0x80                ? 1
			       : c >= 0xc2 && c < 0xe0 ? 2
			       : c >= 0xe0 && c < 0xf0 ? 3
			       : c >= 0xf0 && c < 0xf5 ? 4
						       : 0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (n <= 1)
		return c >= 0x20 || c == '\t' || c == '\n' || c == '\r' ? n : 0;
	c &= 0x7fu >> n;
	for (uint32_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) && c != 0xfffe && c != 0xffff ? n : 0;
}

static void add_escaped(struct xmlrpc_writer *w, const char *s)
{
	while (*s) {
		size_t n = character((const unsigned char *)s);

		if (!n)
			add(w, "?");
		else if (*s == '&' || *s == '<' || *s == '>' || *s == '\r')
			add(w, *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : "&#13;");
		else
			add_bytes(w, s, n);
		s += n ? n : 1;
	}
}

static void value(struct xmlrpc_writer *w, const char *element, const char *text)
{
	char open[32], close[64];

	snprintf(open, sizeof(open), "%s<value><%s>", w->depth ? "" : "<param>", element);
	snprintf(close, sizeof(close), "</%s></value>%s", element, w->depth ? "" : "</param>");
	add(w, open);
	add_escaped(w, text);
	add(w, close);
}

void xmlrpc_call(struct xmlrpc_writer *w, const char *method)
{
	w->len = w->depth = 0;
	w->err = 0;
	w->call = true;
	add(w, "<?xml version=\"1.0\"?><methodCall><methodName>");
	add_escaped(w, method);
	add(w, "</methodName><params>");
}

void xmlrpc_response(struct xmlrpc_writer *w)
{
	w->len = w->depth = 0;
	w->err = 0;
	w->call = false;
	add(w, "<?xml version=\"1.0\"?><methodResponse><params>");
}

void xmlrpc_put_double(struct xmlrpc_writer *w, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", v);
	value(w, "double", text);
}

void xmlrpc_put_int(struct xmlrpc_writer *w, int64_t v)
{
	char text[24];

	if (v < INT32_MIN || v > INT32_MAX) {
		xmlrpc_put_double(w, (double)v);
		return;
	}
	snprintf(text, sizeof(text), "%d", (int)v);
	value(w, "i4", text);
}

void xmlrpc_put_bool(struct xmlrpc_writer *w, bool v)
{
	value(w, "boolean", v ? "1" : "0");
}

void xmlrpc_put_text(struct xmlrpc_writer *w, const char *s)
{
	value(w, "string", s);
}

void xmlrpc_array(struct xmlrpc_writer *w)
{
	add(w, w->depth ? "<value><array><data>" : "<param><value><array><data>");
	if (++w->depth > XMLRPC_DEPTH_MAX && !w->err)
		w->err = -EMSGSIZE;
}

void xmlrpc_array_end(struct xmlrpc_writer *w)
{
	w->depth--;
	add(w, w->depth ? "</data></array></value>" : "</data></array></value></param>");
}

int xmlrpc_end(struct xmlrpc_writer *w)
{
	add(w, w->call ? "</params></methodCall>" : "</params></methodResponse>");
	return w->err;
}

int xmlrpc_fault(struct xmlrpc_writer *w, int code, const char *why)
{
	char number[24];

	w->len = 0;
	w->err = 0;
	snprintf(number, sizeof(number), "%d", code);
	add(w,
	    "<?xml version=\"1.0\"?><methodResponse><fault><value><struct><member><name>faultCode</name><value><int>");
	add(w, number);
	add(w, "</int></value></member><member><name>faultString</name><value><string>");
	add_escaped(w, why);
	add(w, "</string></value></member></struct></value></fault></methodResponse>");
	return w->err;
}

void xmlrpc_writer_finish(struct xmlrpc_writer *w)
{
	free(w->text);
	*w = (struct xmlrpc_writer){ .text = NULL };
}
