/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive tokens; contract in token.h. Thread: simd-main. */
#include "token.h"

#include "client.h"
#include "err.h"
#include "mem.h"
#include "names.h"
#include "simd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct token {
	struct list link; /* simd::tokens */
	uint32_t cell, refs;
	char name[64];
};

static struct token *find(struct simd *s, const char *name)
{
	struct token *t;

	list_for_each(t, &s->tokens, link) {
		if (strcmp(t->name, name) == 0)
			return t;
	}
	return NULL;
}

static int make(struct simd *s, const char *name, struct token **ret)
{
	uint32_t cell = bitmap_first_clear(s->token_used, WIRE_TOKENS_MAX);
	struct token *t;

	if (s->n_tokens >= s->limits.tokens)
		return err_set(-EMFILE, "%u exclusive tokens exist, limits.tokens allows no more", s->n_tokens);
	if (cell == WIRE_TOKENS_MAX)
		return err_set(-EMFILE, "all %d exclusive tokens are in use", WIRE_TOKENS_MAX);
	t = MEM_NEW(struct token);
	if (!t)
		return err_nomem();
	t->cell = cell;
	snprintf(t->name, sizeof(t->name), "%s", name);
	bitmap_set(s->token_used, cell);
	s->n_tokens++;
	list_append(&s->tokens, &t->link);
	*ret = t;
	return 0;
}

static void unref(struct simd *s, struct token *t)
{
	if (--t->refs)
		return;
	bitmap_clear(s->token_used, t->cell);
	s->n_tokens--;
	list_remove(&t->link);
	mem_free(t);
}

/* A token that several users hold counts for each of them. */
static int tokens_ok(const struct client *cl)
{
	const struct client *other;
	uint32_t of_user = 0;

	list_for_each(other, &cl->s->clients, link)
		of_user += other->uid == cl->uid ? other->n_tokens : 0;
	return client_part_ok(cl, "tokens", of_user, cl->s->limits.tokens);
}

int token_open(struct client *cl, const char *name, uint32_t *ret_cell)
{
	struct simd *s = cl->s;
	struct token *t;
	uint32_t *cells;
	int r;

	if (!names_token_ok(name))
		return err_set(-EINVAL, "token \"%.80s\": use 1 to 63 printable characters", name);
	r = tokens_ok(cl);
	if (r < 0)
		return r;
	if (cl->n_tokens >= s->limits.per_client)
		return err_set(-EMFILE, "client %s has %u tokens, limits.per_client allows no more", cl->name,
			       cl->n_tokens);
	cells = (uint32_t *)mem_realloc(cl->tokens, (cl->n_tokens + 1) * sizeof(*cells));
	if (!cells)
		return err_nomem();
	cl->tokens = cells;
	t = find(s, name);
	if (!t) {
		r = make(s, name, &t);
		if (r < 0)
			return r;
	}
	t->refs++;
	cl->tokens[cl->n_tokens++] = t->cell;
	*ret_cell = t->cell;
	return 0;
}

static struct token *by_cell(struct simd *s, uint32_t cell)
{
	struct token *t;

	list_for_each(t, &s->tokens, link) {
		if (t->cell == cell)
			return t;
	}
	return NULL;
}

int token_close(struct client *cl, uint32_t cell)
{
	for (uint32_t i = 0; i < cl->n_tokens; i++) {
		struct token *t;

		if (cl->tokens[i] != cell)
			continue;
		cl->tokens[i] = cl->tokens[--cl->n_tokens];
		t = by_cell(cl->s, cell);
		if (t)
			unref(cl->s, t);
		return 0;
	}
	return err_set(-ENOENT, "client %s has not opened the token of cell %u", cl->name, cell);
}

void token_close_all(struct client *cl)
{
	while (cl->n_tokens)
		(void)token_close(cl, cl->tokens[cl->n_tokens - 1]);
}
