/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the keys that a file may have: each value of a tree (tree.h) is checked and put where its row says. Strings are
 * borrowed from the tree.
 *
 *     static const struct key reader_keys[] = {
 *             { .name = "channel", .type = KEY_STRING, .off = offsetof(struct dag_reader, channel), .required = true },
 *             { .name = "mps", .note = "how often a channel is sent is up to its writer" },
 *             { 0 }
 *     };
 *
 * Thread:  the owner's.
 * Errors:  -EINVAL with "file:line: path.of.keys: ..." in err_why(), -ENOMEM.
 */
#ifndef SIMHOST_KEYS_H
#define SIMHOST_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree.h"

#define NOTES_MAX 256u /* further ones are counted */

/* Sentences on what was accepted, but not as its author may think; each with file:line. */
struct notes {
	char **text;
	unsigned n;      /* of text, at most NOTES_MAX */
	unsigned unseen; /* further ones */
};

int notes_add(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void notes_finish(struct notes *n);

struct reading {
	const struct tree *tree;
	struct notes *notes;
	bool foreign; /* unknown keys are noted, a key may stand for a list of it; else they are refused */
};

enum key_type {
	KEY_NOTE = 0, /* .note says what becomes of it: nothing */
	KEY_STRING,   /* const char *; not empty */
	KEY_UINT,     /* uint32_t, .min to .max; above: refused, or of a foreign file .max and a note */
	KEY_MS,       /* int64_t ns of a number of ms, more than 0, at most a day */
	KEY_CHOICE,   /* int: the index in .choices */
	KEY_JSON,     /* char *, returns, mem_free: the text of an object; of JSON only */
	KEY_CALL,     /* .read is called with it */
	KEY_EACH,     /* .read is called with each item of the list; foreign: with it, and it may occur several times */
};

typedef int (*key_fn)(struct reading *x, const struct tree_node *n, void *to);

struct key {
	const char *name; /* NULL ends the table */
	enum key_type type;
	bool required;
	size_t off;      /* in what keys_read() fills */
	size_t line_off; /* of an unsigned there, for its line; 0: nobody asks */
	uint32_t min, max;
	const char *const *choices; /* NULL ends */
	key_fn read;
	const char *note;
};

/* The members of n. A missing member is an error at n when it is required, and else left as it was. */
int keys_read(struct reading *x, const struct tree_node *n, const struct key *table, void *to);

/* KEY_EACH by hand: fn with each item of a list; of a foreign file with n itself, if it is none. */
int key_each(struct reading *x, const struct tree_node *n, key_fn fn, void *to);

/* "file:line: path: sentence" */
int key_note(struct reading *x, const struct tree_node *n, const char *sentence);

#endif
