/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several logs as one: the messages of all inputs in the order of their log time; of equal ones in the order of the inputs. An input is
 * a log_reader, or anything that gives messages as one does. Thread: one at a time.
 */
#ifndef MERGE_H
#define MERGE_H

#include "log.h"

#define MERGE_INPUTS_MAX 64

struct merge_input_ops {
	/* As log_reader_next(), log_reader_seek(), log_reader_why(). */
	int (*next)(void *input, struct log_message *ret);
	int (*seek)(void *input, int64_t log_time_ns);
	const char *(*why)(void *input);
};

extern const struct merge_input_ops merge_reader_ops; /* input: a struct log_reader */

struct merge;

int merge_create(struct merge **ret);
void merge_destroy(struct merge *m); /* its inputs stay; NULL is fine */
/* Both kept until merge_destroy(). -EMFILE above MERGE_INPUTS_MAX. */
int merge_add(struct merge *m, const struct merge_input_ops *ops, void *input);

/*
 * The next message of all: 1, *ret_input is the number of its input, m->data borrowed until the next call; 0 the end; negative: *ret_input is
 * damaged there, merge_why() says how, and the next call goes on behind it.
 */
int merge_next(struct merge *m, struct log_message *ret, unsigned *ret_input);
/* All inputs: next is the first message at or after that time. The first error, of an input that then gives none. */
int merge_seek(struct merge *m, int64_t log_time_ns);
const char *merge_why(const struct merge *m, unsigned input);

#endif
