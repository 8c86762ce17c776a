/* SPDX-License-Identifier: Apache-2.0 */
/* For --check: reads the options of what comes in as at the start, and discards the result. Thread: main. */
#include <errno.h>
#include <stdlib.h>

#include "topics.h"

struct checking {
	const struct topics *like;
	struct topics topics;
	struct topic_in in[TOPICS_IN_MAX];
};

static int resolve(void *arg, const char *name, char ret[TOPIC_NAME_MAX + 1], char *why, size_t why_size)
{
	const struct checking *k = arg;

	return k->like->resolve(k->like->arg, name, ret, why, why_size);
}

static int subscribe(void *arg, const char *topic, const struct topic_options *w, struct topic_in **ret, char *why,
		     size_t why_size)
{
	struct checking *k = arg;
	struct topic_in *in = &k->in[k->topics.n_in];
	int r = topic_in_open(&k->topics, topic, w, in, why, why_size);

	if (r < 0)
		topic_in_close(in);
	else
		*ret = in;
	return r;
}

int topics_check(const struct topics *like, bool call)
{
	struct checking *k = calloc(1, sizeof(*k));
	int r, e;

	if (!k)
		return -ENOMEM;
	k->like = like;
	k->topics = (struct topics){ .host = like->host,
				     .arg = k,
				     .known = like->known,
				     .key = like->key,
				     .keys = like->keys,
				     .format = like->format,
				     .named = like->named,
				     .late = like->late,
				     .apollo = like->apollo,
				     .jazzy = like->jazzy,
				     .resolve = like->resolve ? resolve : NULL,
				     .subscribe = subscribe };
	topics_init(&k->topics);
	r = topics_read_subscribe(&k->topics);
	e = call ? topics_read_call(&k->topics) : 0;
	for (unsigned i = 0; i < k->topics.n_in; i++)
		topic_in_close(&k->in[i]);
	topics_finish(&k->topics);
	free(k);
	return r < 0 ? r : e;
}
