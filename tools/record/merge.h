/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges several logs: returns the messages of all inputs in the order of their log time, equal ones in the order of
 * the inputs. An input is a log_reader, or anything with the same calls. Thread: one at a time.
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

extern const struct merge_input_ops merge_reader_ops; /* input is a struct log_reader */

struct merge;

int merge_create(struct merge **ret);
void merge_destroy(struct merge *m); /* does not close its inputs; NULL-safe */
/* Borrows both until merge_destroy(). -EMFILE: more than MERGE_INPUTS_MAX. */
int merge_add(struct merge *m, const struct merge_input_ops *ops, void *input);

/*
 * The next message. 1: *ret_input is the index of its input, and m->data is borrowed until the next call; 0: the end;
 * negative: *ret_input is damaged, merge_why() describes it, and the next call continues after the damage.
 */
int merge_next(struct merge *m, struct log_message *ret, unsigned *ret_input);
/*
 * Moves all inputs to their first message at or after that time. Returns the first error; an input that fails gives no
 * more messages.
 */
int merge_seek(struct merge *m, int64_t log_time_ns);
const char *merge_why(const struct merge *m, unsigned input);

#endif
