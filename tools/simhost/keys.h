/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the keys that a file may have: keys_read() checks each value of a tree (tree.h) and stores it
 * where the key's row of the table says. Strings are borrowed from the tree.
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

#define NOTES_MAX 256u /* further notes are only counted */

/*
 * Notes about input that was accepted but does not have the effect its author may expect; each begins with file:line.
 */
struct notes {
	char **text;
	unsigned n;      /* entries of text, at most NOTES_MAX */
	unsigned unseen; /* notes that were dropped */
};

int notes_add(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void notes_finish(struct notes *n);

struct reading {
	const struct tree *tree;
	struct notes *notes;
	/* Apollo's file: unknown keys become notes, and a single value may stand for a list; else both are errors */
	bool foreign;
};

enum key_type {
	KEY_NOTE = 0, /* the key is accepted and ignored; .note is the sentence */
	KEY_STRING,   /* const char *; must not be empty */
	KEY_UINT,     /* uint32_t, .min to .max; above .max: an error; in a foreign file .max is used, with a note */
	KEY_MS,       /* int64_t ns, given as a number of ms; more than 0, at most a day */
	KEY_CHOICE,   /* int: the index in .choices */
	KEY_JSON,     /* char *, returns, mem_free: the text of an object; JSON files only */
	KEY_CALL,     /* calls .read with the value */
	/* calls .read with each item of the list; foreign: also with a single value, and the key may be repeated */
	KEY_EACH,
};

typedef int (*key_fn)(struct reading *x, const struct tree_node *n, void *to);

struct key {
	const char *name; /* NULL ends the table */
	enum key_type type;
	bool required;
	size_t off;      /* offset in the struct that keys_read() fills */
	size_t line_off; /* offset of an unsigned that gets the line; 0: none */
	uint32_t min, max;
	const char *const *choices; /* NULL ends the array */
	key_fn read;
	const char *note;
};

/* Reads the members of n into *to. A missing member is an error if it is required; else its field keeps its value. */
int keys_read(struct reading *x, const struct tree_node *n, const struct key *table, void *to);

/* KEY_EACH as a function: calls fn with each item of a list; in a foreign file, if n is not a list, with n itself. */
int key_each(struct reading *x, const struct tree_node *n, key_fn fn, void *to);

/* Adds the note "file:line: path: sentence". */
int key_note(struct reading *x, const struct tree_node *n, const char *sentence);

#endif
