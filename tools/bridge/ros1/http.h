/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of HTTP/1.0 and 1.1 as XML-RPC needs: a request or a response with a Content-Length, found in what has been
 * received so far, and their heads written. Pure functions of their arguments: any thread.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "address.h"

#define HTTP_HEAD_MAX 8192u
#define HTTP_BODY_MAX (1u << 20)

struct http_message {
	bool post;        /* a request: POST */
	int status;       /* a response: 200 and so on; 0: a request */
	bool keep_alive;  /* the connection may be used again */
	const char *body; /* borrows from data */
	size_t body_len;
	size_t total; /* bytes of all of it: what follows is the next one */
};

enum http_kind { HTTP_REQUEST, HTTP_RESPONSE };

/*
 * 1: *ret is whole; 0: more must come. Errors, with a sentence in why: -EBADMSG it is no HTTP, -EMSGSIZE over a bound, -ENOTSUP a
 * form that we do not read (chunks, no length), -EPROTO it is a TCPROS header.
 */
int http_parse(const char *data, size_t len, enum http_kind kind, struct http_message *ret, char *why, size_t why_size);

/* Into out: the head before a body of that length. Returns its length, or -EMSGSIZE. */
int http_request_head(char *out, size_t size, const char *path, const char *host, size_t body_len);
int http_response_head(char *out, size_t size, int status, bool keep_alive, size_t body_len);

/* "http://host:port/path", with or without its path. [::1] is ::1. -EINVAL it is none; -ENAMETOOLONG. */
struct http_uri {
	struct address at;
	char path[256];
};
int http_uri_parse(const char *uri, struct http_uri *ret);

#endif
