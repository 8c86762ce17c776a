/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML-RPC as used by the master and the nodes of ROS 1: calls and responses as trees of values, and a writer. All sizes
 * that a peer controls are limited; a document type declaration is refused. Pure functions of their arguments: any
 * thread.
 */
#ifndef XMLRPC_H
#define XMLRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XMLRPC_BYTES_MAX  (1u << 20) /* of a document */
#define XMLRPC_VALUES_MAX 16384u
#define XMLRPC_DEPTH_MAX  32u /* nesting depth of values */
#define XMLRPC_NAME_MAX   255u

/* STRING: also for dates and base64, which are not decoded */
enum xmlrpc_kind { XMLRPC_NIL, XMLRPC_BOOL, XMLRPC_INT, XMLRPC_DOUBLE, XMLRPC_STRING, XMLRPC_ARRAY, XMLRPC_STRUCT };

struct xmlrpc_value {
	enum xmlrpc_kind kind;
	int64_t i;        /* of BOOL and INT */
	double d;         /* of DOUBLE */
	const char *text; /* of STRING; else "" */
	const char *name; /* as a member of a struct; else "" */
	unsigned n;       /* of ARRAY and STRUCT */
	struct xmlrpc_value *first, *next;
};

enum xmlrpc_doc_kind { XMLRPC_CALL, XMLRPC_RESPONSE, XMLRPC_FAULT };

struct xmlrpc_doc {
	enum xmlrpc_doc_kind kind;
	char method[XMLRPC_NAME_MAX + 1];  /* of a call */
	const struct xmlrpc_value *params; /* an array: the parameters of a call; one value for a response or a fault */
};

/* Parses a document; free with xmlrpc_free(). -EBADMSG, with the reason in why, -EMSGSIZE over a limit, -ENOMEM. */
int xmlrpc_parse(const char *text, size_t len, struct xmlrpc_doc **ret, char *why, size_t why_size);
void xmlrpc_free(struct xmlrpc_doc *d);

/* The i-th element of an array; NULL: it does not exist, or v is NULL or not an array. */
const struct xmlrpc_value *xmlrpc_at(const struct xmlrpc_value *v, unsigned i);
/* Its text, "" if it is not a string; its number, `deflt` if it is not an integer. v may be NULL. */
const char *xmlrpc_text(const struct xmlrpc_value *v);
int64_t xmlrpc_int(const struct xmlrpc_value *v, int64_t deflt);

/* ---- writing ---- */

/*
 * A document being written: begin, values, end. Each top-level value is a parameter; arrays may be nested. Start with
 * zeros; free with xmlrpc_writer_finish(). After an error (no memory, too deep) nothing is added; xmlrpc_end() returns
 * it.
 */
struct xmlrpc_writer {
	char *text;
	size_t len, cap;
	int err;
	unsigned depth;
	bool call;
};

void xmlrpc_call(struct xmlrpc_writer *w, const char *method);
void xmlrpc_response(struct xmlrpc_writer *w);
void xmlrpc_put_int(struct xmlrpc_writer *w,
		    /* as i4 if it fits 32 bits, else as a double, because ROS's own parser does not support more */
		    int64_t v);
void xmlrpc_put_bool(struct xmlrpc_writer *w, bool v);
void xmlrpc_put_double(struct xmlrpc_writer *w, double v);
void xmlrpc_put_text(struct xmlrpc_writer *w, const char *s); /* characters that XML cannot contain become '?' */
void xmlrpc_array(struct xmlrpc_writer *w);
void xmlrpc_array_end(struct xmlrpc_writer *w);
int xmlrpc_end(struct xmlrpc_writer *w); /* 0, or the first error */
/* Writes a complete fault response. */
int xmlrpc_fault(struct xmlrpc_writer *w, int code, const char *why);
void xmlrpc_writer_finish(struct xmlrpc_writer *w);

#endif
