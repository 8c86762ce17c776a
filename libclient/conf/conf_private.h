/* SPDX-License-Identifier: Apache-2.0 */
/* What conf.c, conf_check.c and conf_read.c share. Thread: the owner's. */
#ifndef BASE_CONF_PRIVATE_H
#define BASE_CONF_PRIVATE_H

#include "conf.h"

struct conf {
	const struct conf_key *keys;
	json_t *tree;   /* values; after conf_finish() every key with a default has a value */
	json_t *origin; /* same shape as tree; the name of the source in place of each value */
	bool finished;
};

#define CONF_PATH_MAX 256

/* Key path of the current value, for messages; cut when longer. */
struct conf_path {
	char text[CONF_PATH_MAX];
	size_t len;
};

/* Appends ".name" or "[i]"; returns the old length, for conf_path_cut. */
size_t conf_path_push(struct conf_path *p, const char *name);
size_t conf_path_push_index(struct conf_path *p, size_t i);
void conf_path_cut(struct conf_path *p, size_t len);

const struct conf_key *conf_key_find(const struct conf_key *keys, const char *name, size_t len);
const struct conf_key *conf_key_id(const struct conf_key *keys); /* the key with .id; NULL: none */

/*
 * Checks type, range or choice of a value that is not an object with keys of its own. Message: "<origin>: <path>: ...".
 */
int conf_check_leaf(const struct conf_key *k, const json_t *v, const char *origin, const struct conf_path *path);
int conf_wrong_type(const char *want, const json_t *v, const char *origin, const struct conf_path *path);
int conf_unknown_key(const struct conf_key *keys, const char *name, const char *origin, const struct conf_path *path);

int conf_check_count(const struct conf_key *k, size_t n, const char *origin, const struct conf_path *path);

/* Returns the index in the key's .choices; -1: not one of them. */
int conf_word(const struct conf_key *k, const json_t *v);
/* Converts a CONF_SIZE value to bytes. */
int conf_size(const json_t *v, int64_t *ret);

#endif
