/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML-RPC, as the master and the nodes of ROS 1 speak it: calls and responses as trees of values, and a writer. Everything a
 * peer can make large has a bound; a document type declaration is refused. Pure functions of their arguments: any thread.
 */
#ifndef XMLRPC_H
#define XMLRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XMLRPC_BYTES_MAX  (1u << 20) /* of a document */
#define XMLRPC_VALUES_MAX 16384u
#define XMLRPC_DEPTH_MAX  32u /* values in one another */
#define XMLRPC_NAME_MAX   255u

/* STRING: also dates and what is in base64, which we do not read */
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
	const struct xmlrpc_value *params; /* an array: of a call; of one value where it is a response or a fault */
};

/* returns it: xmlrpc_free(). -EBADMSG with a sentence in why, -EMSGSIZE over a bound, -ENOMEM. */
int xmlrpc_parse(const char *text, size_t len, struct xmlrpc_doc **ret, char *why, size_t why_size);
void xmlrpc_free(struct xmlrpc_doc *d);

/* The i-th element of an array; NULL: there is none, or v is NULL or no array. */
const struct xmlrpc_value *xmlrpc_at(const struct xmlrpc_value *v, unsigned i);
/* Its text, "" where it is no string; its number, `deflt` where it is no integer. v may be NULL. */
const char *xmlrpc_text(const struct xmlrpc_value *v);
int64_t xmlrpc_int(const struct xmlrpc_value *v, int64_t deflt);

/* ---- writing ---- */

/*
 * A document that is being written: begin, values, end. Each value at the top is a parameter; arrays nest. All zero to begin with;
 * xmlrpc_writer_finish() frees it. After an error, no memory or too deep, nothing is added, and xmlrpc_end() says so.
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
		    int64_t v); /* of 32 bits; others as a double, as ROS' own does not go beyond */
void xmlrpc_put_bool(struct xmlrpc_writer *w, bool v);
void xmlrpc_put_double(struct xmlrpc_writer *w, double v);
void xmlrpc_put_text(struct xmlrpc_writer *w, const char *s); /* what XML cannot hold becomes '?' */
void xmlrpc_array(struct xmlrpc_writer *w);
void xmlrpc_array_end(struct xmlrpc_writer *w);
int xmlrpc_end(struct xmlrpc_writer *w); /* 0, or what went wrong */
/* A whole response that says a fault. */
int xmlrpc_fault(struct xmlrpc_writer *w, int code, const char *why);
void xmlrpc_writer_finish(struct xmlrpc_writer *w);

#endif
