/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See type_description.h. A peer's description is written as text, line by line: only words that are legal in a
 * definition are copied, and the reader of the text enforces all other limits.
 */
#include "type_description.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdr_reader.h"
#include "enc_wire.h"
#include "ros/ros_text.h"

#define TYPE_NAME_MAX 255u
#define FIELDS_MAX    4096u /* most fields of a type */

/* ---- the request ---- */

int type_description_ask(const char *type, const char *hash, const struct rpc_id *id, struct iov_buf *out)
{
	struct enc_wire w;

	wire_begin(&w, WIRE_CDR, out);
	if (id) {
		sim_enc_u64(&w.enc, "client_guid", id->client);
		sim_enc_i64(&w.enc, "sequence_number", id->sequence);
	}
	sim_enc_text(&w.enc, "type_name", type);
	sim_enc_text(&w.enc, "type_hash", hash);
	sim_enc_bool(&w.enc, "include_type_sources", true);
	return wire_finish(&w);
}

/* ---- words ---- */

struct text { /* a string in the message; no NUL at its end */
	const char *s;
	size_t len;
};

static struct text take_text(struct sim_dec *d, size_t max)
{
	struct text t;

	t.s = sim_dec_string(d, "text", max, &t.len);
	return t;
}

static bool is_word(const struct text *t, const char *more)
{
	for (size_t i = 0; i < t->len; i++) {
		char c = t->s[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		      (c && strchr(more, c))))
			return false;
	}
	return t->len > 0;
}

static bool is_same(const struct text *t, const char *s)
{
	return t->len == strlen(s) && memcmp(t->s, s, t->len) == 0;
}

/* Writes "pkg/Name" for "pkg/msg/Name". */
static void put_name(FILE *f, const struct text *t)
{
	const char *msg = memmem(t->s, t->len, "/msg/", 5);
	size_t n = msg ? (size_t)(msg - t->s) : t->len;

	fprintf(f, "%.*s", (int)n, t->s);
	if (msg)
		fprintf(f, "%.*s", (int)(t->len - n - 4), msg + 4);
}

/* ---- types and names ---- */

/* Words for the scalar type numbers of FieldType.msg; NULL: no such type. */
static const char *const words[] = {
	[2] = "int8",    [3] = "uint8",    [4] = "int16",    [5] = "uint16",   [6] = "int32", [7] = "uint32",
	[8] = "int64",   [9] = "uint64",   [10] = "float32", [11] = "float64", [15] = "bool", [16] = "byte",
	[17] = "string", [18] = "wstring", [21] = "string",  [22] = "wstring",
};
#define NESTED      1u
#define BOUNDED     21u /* bounded strings */
#define BOUNDED_W   22u
#define KINDS       48u /* ids per kind; the kinds after the first: arrays, bounded sequences, sequences */
#define OF_ARRAY    1u
#define OF_BOUNDED  2u
#define OF_SEQUENCE 3u

struct field_type {
	unsigned id;
	uint64_t capacity, string_capacity;
	struct text nested;
};

static bool put_type(FILE *f, const struct field_type *t)
{
	unsigned kind = t->id % KINDS, of = t->id / KINDS;
	const char *word = kind < sizeof(words) / sizeof(words[0]) ? words[kind] : NULL;

	if (kind == NESTED ? !is_word(&t->nested, "/") : !word)
		return false;
	if (kind == NESTED)
		put_name(f, &t->nested);
	else
		fputs(word, f);
	if (kind == BOUNDED || kind == BOUNDED_W)
		fprintf(f, "<=%llu", (unsigned long long)t->string_capacity);
	if (of == OF_ARRAY || of == OF_BOUNDED)
		fprintf(f, "[%s%llu]", of == OF_BOUNDED ? "<=" : "", (unsigned long long)t->capacity);
	else if (of == OF_SEQUENCE)
		fputs("[]", f);
	return of <= OF_SEQUENCE;
}

/* Writes the line for a field. false: .msg cannot express it. */
static bool put_field(FILE *f, struct sim_dec *d)
{
	struct text name = take_text(d, SIM_BODY_MAX);
	struct field_type t = { .id = sim_dec_u8(d, "type_id") };
	bool ok;

	t.capacity = sim_dec_u64(d, "capacity");
	t.string_capacity = sim_dec_u64(d, "string_capacity");
	t.nested = take_text(d, TYPE_NAME_MAX);
	(void)take_text(d, SIM_BODY_MAX); /* default value, which the hash does not cover */
	ok = !d->err && is_word(&name, "") && put_type(f, &t);
	fprintf(f, " %.*s\n", ok ? (int)name.len : 0, name.s);
	return ok;
}

/* Writes one description. name: the name that it must have; NULL: any, written as a line before it. */
static bool put_description(FILE *f, struct sim_dec *d, const char *name)
{
	struct text is = take_text(d, TYPE_NAME_MAX);
	bool ok = name ? is_same(&is, name) : is_word(&is, "/");
	uint32_t n;

	if (ok && !name) {
		fputs("====\nMSG: ", f);
		put_name(f, &is);
		fputs("\n", f);
	}
	n = sim_dec_list(d, "fields", 16);
	ok &= n <= FIELDS_MAX;
	for (uint32_t i = 0; i < n && !d->err; i++)
		ok &= put_field(f, d);
	sim_dec_list_end(d);
	return ok;
}

/* *ret_text: from malloc(); NULL if .msg cannot express the type. */
static int read_fields(const char *type, struct sim_dec *d, char **ret_text)
{
	size_t len;
	FILE *f = open_memstream(ret_text, &len);
	uint32_t n;
	bool ok;

	if (!f)
		return -ENOMEM;
	ok = put_description(f, d, type);
	n = sim_dec_list(d, "referenced_type_descriptions", 8);
	ok &= n <= ROS_TEXT_TYPES;
	for (uint32_t i = 0; i < n && !d->err; i++)
		ok &= put_description(f, d, NULL);
	sim_dec_list_end(d);
	if (fclose(f) != 0)
		return -ENOMEM;
	if (!ok || d->err) {
		free(*ret_text);
		*ret_text = NULL;
	}
	return 0;
}

/* ---- the files ---- */

struct source {
	struct text type, contents;
};

/* Joins the files, that of the type itself first. NULL: that one is missing, or no memory. */
static char *join(const char *type, struct source *list, uint32_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f;

	for (uint32_t i = 1; i < n; i++)
		if (is_same(&list[i].type, type)) {
			struct source first = list[i];

			list[i] = list[0];
			list[0] = first;
		}
	if (!n || !is_same(&list[0].type, type) || !(f = open_memstream(&text, &len)))
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (i) {
			fputs("\n====\nMSG: ", f);
			put_name(f, &list[i].type);
			fputs("\n", f);
		}
		fwrite(list[i].contents.s, 1, list[i].contents.len, f);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void read_sources(const char *type, struct sim_dec *d, char **ret_text)
{
	struct source list[ROS_TEXT_TYPES + 1];
	uint32_t n = sim_dec_list(d, "type_sources", 12), all = 0;
	bool ok = n <= ROS_TEXT_TYPES;

	for (uint32_t i = 0; i < n && !d->err; i++) {
		struct source s = { .type = take_text(d, SIM_BODY_MAX) };
		struct text encoding = take_text(d, SIM_BODY_MAX);

		s.contents = take_text(d, SIM_BODY_MAX);
		ok &= is_same(&encoding, "msg") && is_word(&s.type, "/");
		if (ok && !d->err)
			list[all++] = s;
	}
	sim_dec_list_end(d);
	*ret_text = ok && !d->err ? join(type, list, all) : NULL;
}

/* ---- the reply ---- */

static bool is_ours(struct sim_dec *d, const struct rpc_id *id)
{
	uint64_t client = sim_dec_u64(d, "client_guid");
	int64_t sequence = sim_dec_i64(d, "sequence_number");

	return client == id->client && sequence == id->sequence;
}

static void skip_pairs(struct sim_dec *d)
{
	uint32_t n = sim_dec_list(d, "extra_information", 8);

	for (uint32_t i = 0; i < n && !d->err; i++) {
		(void)take_text(d, SIM_BODY_MAX);
		(void)take_text(d, SIM_BODY_MAX);
	}
	sim_dec_list_end(d);
}

static int end(struct cdr_reader *d, int r, bool successful, struct type_description *ret)
{
	int e = cdr_reader_end(d);

	if (r == 0 && e < 0)
		r = -EBADMSG;
	if (r == 0 && successful && !ret->sources && !ret->fields)
		snprintf(ret->why, sizeof(ret->why), "its description of the type is none of a message of ROS");
	return r;
}

int type_description_read(const char *type, const struct rpc_id *id, const void *cdr, size_t len,
			  struct type_description *ret)
{
	struct cdr_reader d;
	struct text reason;
	bool successful;
	int r;

	*ret = (struct type_description){ .sources = NULL };
	cdr_reader_begin(&d, WIRE_CDR, cdr, len);
	if (id && !is_ours(&d.dec, id))
		return -ENOENT;
	successful = sim_dec_u8(&d.dec, "successful") != 0;
	reason = take_text(&d.dec, SIM_BODY_MAX);
	if (!successful && !d.dec.err)
		snprintf(ret->why, sizeof(ret->why), "it refuses: %.*s", (int)(reason.len < 150 ? reason.len : 150),
			 reason.s);
	r = read_fields(type, &d.dec, &ret->fields);
	if (r == 0)
		read_sources(type, &d.dec, &ret->sources);
	skip_pairs(&d.dec);
	r = end(&d, r, successful, ret);
	if (r < 0 || !successful)
		type_description_finish(ret);
	return r;
}

void type_description_finish(struct type_description *d)
{
	free(d->sources);
	free(d->fields);
	d->sources = d->fields = NULL;
}
