/* SPDX-License-Identifier: Apache-2.0 */
/* See http.h. */
#include "http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int fail(int err, const char *what, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s", what);
	return err;
}

/* ---- the head ---- */

struct head {
	const char *p, *end;
	bool has_length, chunked, close, keep;
	size_t length;
	int minor; /* minor version of HTTP/1.x */
};

static bool next_line(struct head *h, const char **ret, size_t *ret_len)
{
	const char *nl = memchr(h->p, '\n', (size_t)(h->end - h->p));

	if (!nl)
		return false;
	*ret = h->p;
	*ret_len = (size_t)(nl - h->p);
	if (*ret_len && (*ret)[*ret_len - 1] == '\r')
		--*ret_len;
	h->p = nl + 1;
	return true;
}

/* Whether the value, a list, contains the word, ignoring case. */
static bool has_word(const char *s, size_t n, const char *word)
{
	size_t w = strlen(word);

	for (size_t i = 0; i + w <= n; i++)
		if (strncasecmp(s + i, word, w) == 0)
			return true;
	return false;
}

static int read_length(struct head *h, const char *v, size_t n)
{
	size_t length = 0;

	if (!n || n > 10 || h->has_length)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (v[i] < '0' || v[i] > '9')
			return -EBADMSG;
		length = length * 10 + (size_t)(v[i] - '0');
	}
	h->has_length = true;
	h->length = length;
	return 0;
}

static int read_field(struct head *h, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n), *v;
	size_t name, len;

	if (!colon)
		return -EBADMSG;
	name = (size_t)(colon - line);
	v = colon + 1;
	len = n - name - 1;
	while (len && (*v == ' ' || *v == '\t')) {
		v++;
		len--;
	}
	while (len && (v[len - 1] == ' ' || v[len - 1] == '\t'))
		len--;
	if (name == 14 && strncasecmp(line, "Content-Length", 14) == 0)
		return read_length(h, v, len);
	if (name == 17 && strncasecmp(line, "Transfer-Encoding", 17) == 0)
		h->chunked = !has_word(v, len, "identity");
	if (name == 10 && strncasecmp(line, "Connection", 10) == 0) {
		h->close = has_word(v, len, "close");
		h->keep = has_word(v, len, "keep-alive");
	}
	return 0;
}

/* "POST /RPC2 HTTP/1.1" or "HTTP/1.1 200 OK" */
static int read_first(struct head *h, const char *line, size_t n, enum http_kind kind, struct http_message *m)
{
	const char *version;

	if (kind == HTTP_RESPONSE) {
		if (n < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
			return -EBADMSG;
		h->minor = line[7] - '0';
		for (int i = 9; i < 12; i++) {
			if (line[i] < '0' || line[i] > '9')
				return -EBADMSG;
			m->status = m->status * 10 + line[i] - '0';
		}
		return m->status >= 100 ? 0 : -EBADMSG;
	}
	if (n < 12)
		return -EBADMSG;
	version = line + n - 8;
	if (memcmp(version, "HTTP/1.", 7) != 0 || version[-1] != ' ')
		return -EBADMSG;
	h->minor = version[7] - '0';
	m->post = memcmp(line, "POST ", 5) == 0;
	return 0;
}

static int read_head(struct head *h, enum http_kind kind, struct http_message *m)
{
	const char *line;
	size_t n;
	int r = next_line(h, &line, &n) ? read_first(h, line, n, kind, m) : -EBADMSG;

	while (r == 0 && next_line(h, &line, &n) && n)
		r = read_field(h, line, n);
	return r;
}

/* ---- a message ---- */

/* End of the head, after its empty line; NULL: not received yet. */
static const char *head_end(const char *data, size_t len)
{
	for (const char *p = data; (p = memchr(p, '\n', len - (size_t)(p - data))); p++) {
		size_t left = len - (size_t)(p - data);

		if (left > 1 && p[1] == '\n')
			return p + 2;
		if (left > 2 && p[1] == '\r' && p[2] == '\n')
			return p + 3;
	}
	return NULL;
}

/* Detects early that data cannot be the start of a request or response: a peer of another protocol may send no more. */
static int look_at_start(const char *data, size_t len, enum http_kind kind, char *why, size_t why_size)
{
	const unsigned char *d = (const unsigned char *)data;

	if (len >= 4 && d[3] == 0)
		return fail(-EPROTO,
			    "not HTTP, perhaps TCPROS: the port of the node's URI is another than that of TCPROS", why,
			    why_size);
	for (size_t i = 0; i < len && i < 4; i++)
		if (kind == HTTP_RESPONSE ? data[i] != "HTTP"[i] : data[i] < 'A' || data[i] > 'Z')
			return i == 3 && kind == HTTP_REQUEST && data[3] == ' '
				       ? 0
				       : fail(-EBADMSG, "not HTTP", why, why_size);
	return 0;
}

int http_parse(const char *data, size_t len, enum http_kind kind, struct http_message *ret, char *why, size_t why_size)
{
	struct http_message m = { .post = false };
	const char *end = head_end(data, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX);
	struct head h = { .p = data, .end = end };
	int r = look_at_start(data, len, kind, why, why_size);

	if (r < 0)
		return r;
	if (!end)
		return len < HTTP_HEAD_MAX ? 0 : fail(-EMSGSIZE, "a head of HTTP that is too long", why, why_size);
	r = read_head(&h, kind, &m);
	if (r < 0)
		return fail(r, "a head of HTTP that is malformed", why, why_size);
	if (h.chunked || (!h.has_length && (kind == HTTP_RESPONSE || m.post)))
		return fail(-ENOTSUP, "HTTP without a Content-Length", why, why_size);
	if (h.length > HTTP_BODY_MAX)
		return fail(-EMSGSIZE, "a body of HTTP that is too long", why, why_size);
	m.body = end;
	m.body_len = h.length;
	m.total = (size_t)(end - data) + h.length;
	m.keep_alive = h.minor >= 1 ? !h.close : h.keep;
	if (m.total > len)
		return 0;
	*ret = m;
	return 1;
}

/* ---- heads ---- */

static int fits(int n, size_t size)
{
	return n > 0 && (size_t)n < size ? n : -EMSGSIZE;
}

int http_request_head(char *out, size_t size, const char *path, const char *host, size_t body_len)
{
	return fits(snprintf(out, size,
			     "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: simd\r\nContent-Type: text/xml\r\n"
			     "Content-Length: %zu\r\nConnection: close\r\n\r\n",
			     path, host, body_len),
		    size);
}

int http_response_head(char *out, size_t size, int status, bool keep_alive, size_t body_len)
{
	return fits(snprintf(out, size,
			     "HTTP/1.1 %d %s\r\nServer: simd\r\nContent-Type: text/xml\r\nContent-Length: %zu\r\n"
			     "Connection: %s\r\n\r\n",
			     status, status == 200 ? "OK" : "Error", body_len, keep_alive ? "keep-alive" : "close"),
		    size);
}

/* ---- URIs ---- */

int http_uri_parse(const char *uri, struct http_uri *ret)
{
	struct http_uri u = { .path = "/" };
	const char *host = uri + 7, *path;

	if (strncmp(uri, "http://", 7) != 0)
		return -EINVAL;
	path = host + strcspn(host, "/");
	if (address_read(host, (size_t)(path - host), &u.at) < 0 || !*u.at.host || !u.at.port)
		return -EINVAL;
	if (strlen(path) >= sizeof(u.path))
		return -ENAMETOOLONG;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return -EINVAL;
	if (*path)
		memcpy(u.path, path, strlen(path) + 1);
	*ret = u;
	return 0;
}
