/* SPDX-License-Identifier: Apache-2.0 */
/* See merge.h. */
#include "merge.h"

#include "mem.h"

#include <errno.h>

enum head { HEAD_NONE, HEAD_MESSAGE, HEAD_END };

struct input {
	const struct merge_input_ops *ops;
	void *ctx;
	enum head head; /* NONE: must be read */
	struct log_message m;
};

struct merge {
	struct input inputs[MERGE_INPUTS_MAX];
	unsigned n;
};

static int reader_next(void *input, struct log_message *ret)
{
	return log_reader_next(input, ret);
}

static int reader_seek(void *input, int64_t log_time_ns)
{
	return log_reader_seek(input, log_time_ns);
}

static const char *reader_why(void *input)
{
	return log_reader_why(input);
}

const struct merge_input_ops merge_reader_ops = { .next = reader_next, .seek = reader_seek, .why = reader_why };

int merge_create(struct merge **ret)
{
	struct merge *m = MEM_NEW(struct merge);

	if (!m)
		return -ENOMEM;
	*ret = m;
	return 0;
}

void merge_destroy(struct merge *m)
{
	mem_free(m);
}

int merge_add(struct merge *m, const struct merge_input_ops *ops, void *input)
{
	if (m->n == MERGE_INPUTS_MAX)
		return -EMFILE;
	m->inputs[m->n++] = (struct input){ .ops = ops, .ctx = input };
	return 0;
}

/* Reads the next message of an input. 0, or the damage found. */
static int ask(struct input *in)
{
	int r = in->ops->next(in->ctx, &in->m);

	if (r < 0)
		return r;
	in->head = r ? HEAD_MESSAGE : HEAD_END;
	return 0;
}

int merge_next(struct merge *m, struct log_message *ret, unsigned *ret_input)
{
	struct input *first = NULL;

	for (unsigned i = 0; i < m->n; i++) {
		struct input *in = &m->inputs[i];
		int r = in->head == HEAD_NONE ? ask(in) : 0;

		if (r < 0) {
			*ret_input = i;
			return r;
		}
		if (in->head == HEAD_MESSAGE && (!first || in->m.log_time_ns < first->m.log_time_ns))
			first = in;
	}
	if (!first)
		return 0;
	first->head = HEAD_NONE;
	*ret = first->m;
	*ret_input = (unsigned)(first - m->inputs);
	return 1;
}

int merge_seek(struct merge *m, int64_t log_time_ns)
{
	int first = 0;

	for (unsigned i = 0; i < m->n; i++) {
		struct input *in = &m->inputs[i];
		int r = in->ops->seek(in->ctx, log_time_ns);

		in->head = r < 0 ? HEAD_END : HEAD_NONE;
		first = first < 0 ? first : r;
	}
	return first < 0 ? first : 0;
}

const char *merge_why(const struct merge *m, unsigned input)
{
	return m->inputs[input].ops->why(m->inputs[input].ctx);
}
