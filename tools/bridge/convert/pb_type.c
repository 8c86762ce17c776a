/* SPDX-License-Identifier: Apache-2.0 */
/* See pb_type.h. */
#include "pb_type.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "apollo_in_private.h"
#include "base64.h"
#include "enc_pb.h"
#include "gen/arena.h"
#include "gen/plain_file.h"
#include "generic.h"
#include "number.h"
#include "own_type.h"
#include "pb_type_private.h"

#define WORD     "protobuf "   /* before the name, in the comment */
#define SET_MAX  (4u << 20)    /* maximum bytes of a definition in a type */
#define JSON_MAX (120u * 1024) /* maximum bytes of a type with its definition: simd's limit is 128 KiB */

struct pb_type {
	struct arena *arena;
	const struct sim_type *sim;
	const struct pb_message *table;
	const char *name, *loss;
	uint8_t *set;
	size_t set_size;
	uint32_t header; /* field number of its apollo.common.Header; 0: it has none */
};

/* ---- the definition ---- */

/*
 * Joins the needed files to a set; plain: without parts that are only for readers (comments and the like). NULL: no
 * memory.
 */
static uint8_t *join(const struct pb_making *m, bool plain, size_t *ret_size)
{
	size_t room = 1, n = 0;
	uint8_t *set;

	for (unsigned i = 0; i < m->files.n; i++)
		if (m->files.file[i].needed)
			room += PB_TAG_MAX + PB_VARINT_MAX + m->files.file[i].blob.len;
	set = arena_alloc(m->arena, room);
	for (unsigned i = 0; set && i < m->files.n; i++) {
		struct pb_text blob = m->files.file[i].blob;
		uint8_t *at = set + n;
		long size;

		if (!m->files.file[i].needed)
			continue;
		if (plain) {
			uint8_t *less = arena_alloc(m->arena, blob.len + 1);

			size = less ? plain_file(blob.at, blob.len, less) : 0;
			blob = size > 0 ? (struct pb_text){ less, (size_t)size } : blob;
		}
		at = pb_put_varint(pb_put_tag(at, 1, PB_LENGTH), blob.len);
		memcpy(at, blob.at, blob.len);
		n = (size_t)(at - set) + blob.len;
	}
	*ret_size = n;
	return set;
}

/*
 * The type's comment, which contains the definition: name, newline, its size, and its bytes compressed by zlib, in
 * base64. NULL: no memory.
 */
static const char *comment_of(struct arena *arena, const char *name, const uint8_t *set, size_t size)
{
	uLongf n = compressBound(size);
	uint8_t *small = arena_alloc(arena, n);
	size_t room = strlen(WORD) + strlen(name) + 24;
	char *text;
	int head;

	if (!small || compress2(small, &n, set, size, Z_BEST_COMPRESSION) != Z_OK)
		return NULL;
	text = arena_alloc(arena, room + base64_length(n) + 1);
	if (!text)
		return NULL;
	head = snprintf(text, room, WORD "%s\n%zu ", name, size);
	*base64_write(text + head, small, n) = '\0';
	return text;
}

/* Reads the definition back from what follows the newline. -EBADMSG: malformed. Free *ret with free(). */
static int definition_of(const char *at, uint8_t **ret, size_t *ret_size)
{
	uint8_t *small, *set;
	uint64_t size;
	uLongf out;
	ssize_t n;

	if (number_take_u64(&at, NUMBER_DEC, SET_MAX, &size) < 0 || *at++ != ' ')
		return -EBADMSG;
	small = malloc(strlen(at) + 1);
	set = malloc(size + 1);
	n = small && set ? base64_read(small, at, strlen(at)) : -ENOMEM;
	out = size;
	if (n >= 0 && (uncompress(set, &out, small, (uLong)n) != Z_OK || out != size))
		n = -EBADMSG;
	free(small);
	if (n < 0) {
		free(set);
		return (int)n;
	}
	*ret = set;
	*ret_size = size;
	return 0;
}

/* ---- the type ---- */

/* Stores the definition in the type: unchanged, else reduced, else not at all, if it is too long. */
static int give_definition(struct pb_making *m, struct pb_type *t)
{
	struct sim_type *root = &m->list[0]->type;
	const char *bare = root->comment;
	int r = -E2BIG;

	for (unsigned plain = 0; plain < 2 && r == -E2BIG; plain++) {
		t->set = join(m, plain, &t->set_size);
		root->comment =
			t->set && t->set_size <= SET_MAX ? comment_of(m->arena, t->name, t->set, t->set_size) : NULL;
		if (!t->set || (!root->comment && t->set_size <= SET_MAX))
			return pb_type_fail(m, -ENOMEM, "no memory");
		if (root->comment)
			r = own_type_counted(root, JSON_MAX, &t->sim);
	}
	if (r != -E2BIG)
		return r < 0 ? pb_type_fail(m, r == -ENOMEM ? r : -ENOTSUP, "%.200s is over a limit of types", t->name)
			     : 0;
	root->comment = bare;
	r = own_type_counted(root, JSON_MAX, &t->sim);
	if (r < 0)
		return pb_type_fail(m, r == -ENOMEM ? r : -ENOTSUP, "%.200s is over a limit of types", t->name);
	snprintf(m->loss + strlen(m->loss), sizeof(m->loss) - strlen(m->loss),
		 "%sits definition is too long to travel with it", *m->loss ? "; " : "");
	return 0;
}

static const char *loss_of(struct pb_making *m)
{
	if (!*m->loss)
		return NULL;
	return m->unnamed ? arena_printf(m->arena, "%s; and %u more", m->loss, m->unnamed)
			  : arena_text(m->arena, m->loss, strlen(m->loss));
}

static uint32_t header_of(const struct pb_making *m)
{
	const struct pb_made *d = m->list[0];

	for (uint32_t i = 0; i < d->n; i++)
		if (d->given[i].label != PB_L_REPEATED && pb_text_is(d->given[i].name, "header") &&
		    pb_text_is(d->given[i].type_name, ".apollo.common.Header"))
			return d->given[i].number;
	return 0;
}

static int create(struct pb_type *t, struct pb_making *m, const void *set, size_t size, const char *name)
{
	const struct pb_symbol *root;
	int r = pb_files_read(&m->files, t->arena, set, size);

	if (r < 0)
		return pb_type_fail(m, r == -E2BIG ? -ENOTSUP : r, "%s",
				    r == -ENOMEM  ? "no memory"
				    : r == -E2BIG ? "its definition is too large"
						  : "its definition is damaged");
	root = pb_files_find(&m->files, name, strlen(name));
	if (!root || root->is_enum)
		return pb_type_fail(m, -ENOENT, "its definition does not have %.200s", name);
	pb_files_need(&m->files, root);
	t->name = root->name;
	r = pb_type_make(m, root);
	if (r == 0)
		r = give_definition(m, t);
	if (r < 0)
		return r;
	t->table = &m->list[0]->table;
	t->loss = loss_of(m);
	t->header = header_of(m);
	return 0;
}

int pb_type_create(const void *set, size_t size, const char *name, struct pb_type **ret, char *why, size_t why_size)
{
	struct pb_type *t = calloc(1, sizeof(*t));
	struct pb_making *m = calloc(1, sizeof(*m));
	int r = -ENOMEM;

	snprintf(why, why_size, "no memory");
	if (t && m)
		t->arena = arena_create();
	if (t && t->arena) {
		m->arena = t->arena;
		m->why = why;
		m->why_size = why_size;
		r = create(t, m, set, size, name);
	}
	free(m);
	if (r < 0)
		pb_type_destroy(t);
	else
		*ret = t;
	return r;
}

int pb_type_of_sim(const struct sim_type *type, struct pb_type **ret, char *why, size_t why_size)
{
	const char *comment = type->comment ? type->comment : "", *line = strchr(comment, '\n');
	struct pb_type *t = NULL;
	char name[600];
	uint8_t *set = NULL;
	size_t n = 0;
	int r;

	if (!line || strncmp(comment, WORD, strlen(WORD)) != 0 || (size_t)(line - comment) >= sizeof(name))
		return -ENOENT;
	snprintf(name, sizeof(name), "%.*s", (int)(line - comment - (ptrdiff_t)strlen(WORD)), comment + strlen(WORD));
	r = definition_of(line + 1, &set, &n);
	if (r < 0) {
		snprintf(why, why_size, "%s%s",
			 r == -ENOMEM ? "no memory" : "the definition is damaged in the comment of ",
			 r == -ENOMEM ? "" : type->name);
		return r == -ENOMEM ? r : -ENOTSUP;
	}
	r = pb_type_create(set, n, name, &t, why, why_size);
	free(set);
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	if (!sim_type_equal(t->sim, type)) {
		snprintf(why, why_size, "%s is not what the definition in its comment says", type->name);
		pb_type_destroy(t);
		return -ENOTSUP;
	}
	*ret = t;
	return 0;
}

void pb_type_destroy(struct pb_type *t)
{
	if (!t)
		return;
	sim_type_unref(t->sim);
	arena_destroy(t->arena);
	free(t);
}

const struct sim_type *pb_type_sim(const struct pb_type *t)
{
	return t->sim;
}

const char *pb_type_name(const struct pb_type *t)
{
	return t->name;
}

const void *pb_type_set(const struct pb_type *t, size_t *ret_size)
{
	*ret_size = t->set_size;
	return t->set;
}

const char *pb_type_loss(const struct pb_type *t)
{
	return t->loss;
}

/* ---- messages ---- */

static void take_header(const struct pb_type *t, const void *data, size_t len, struct message_in *to)
{
	struct apollo_in d = { .stamp_ns = MESSAGE_IN_NO_STAMP };
	int error = 0;
	struct pb_reader r = pb_text_reader((struct pb_text){ data, len }, &error);

	while (t->header && pb_next(&r))
		if (r.field == t->header)
			apollo_header_here(&d, &r);
	to->stamp_sim_ns = d.stamp_ns;
	message_in_set_frame(to, d.frame, d.frame_len);
}

int pb_type_decode(const struct pb_type *t, struct dec_pb *d, const void *data, size_t len, struct message_in *to)
{
	int r;

	take_header(t, data, len, to);
	dec_pb_begin_table(d, data, len, t->table);
	r = generic_read(t->sim, &d->dec, to->buf, to->room, &to->size);
	to->unknown = d->unknown;
	return d->dec.err ? d->dec.err : r;
}

int pb_type_encode(const struct pb_type *t, const void *body, size_t size, struct iov_buf *out)
{
	struct enc_pb e;
	int r, end;

	enc_pb_begin_table(&e, out, t->table);
	r = generic_emit(t->sim, body, size, &e.enc);
	end = enc_pb_finish(&e);
	return r < 0 ? r : end;
}
