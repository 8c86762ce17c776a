/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of HTTP/1.0 and 1.1 that XML-RPC needs: parsing a request or response with a Content-Length from the data
 * received so far, and writing heads. Pure functions of their arguments: any thread.
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
	bool keep_alive;  /* the connection may be reused */
	const char *body; /* borrowed from data */
	size_t body_len;
	size_t total; /* bytes of the message, after which the next one begins */
};

enum http_kind { HTTP_REQUEST, HTTP_RESPONSE };

/*
 * Returns 1: *ret is complete; 0: more data is needed. Errors, with the reason in why: -EBADMSG not HTTP, -EMSGSIZE
 * over a limit, -ENOTSUP an unsupported form (chunks, no length), -EPROTO a TCPROS header.
 */
int http_parse(const char *data, size_t len, enum http_kind kind, struct http_message *ret, char *why, size_t why_size);

/* Write into out the head for a body of that length. Return the head's length, or -EMSGSIZE. */
int http_request_head(char *out, size_t size, const char *path, const char *host, size_t body_len);
int http_response_head(char *out, size_t size, int status, bool keep_alive, size_t body_len);

/* Parses "http://host:port/path"; the path is optional. [::1] becomes ::1. -EINVAL not of this form; -ENAMETOOLONG. */
struct http_uri {
	struct address at;
	char path[256];
};
int http_uri_parse(const char *uri, struct http_uri *ret);

#endif
