/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics of channels in the files: their name, or Apollo's, which only one channel gets. Chosen at a channel's first
 * message, considering the channels known then, and kept for all files. The caller holds the recording's lock.
 */
#include "recording_private.h"

#include <stdio.h>
#include <string.h>

static const char *wanted(const struct recording_channel *c)
{
	return codec_out_channel(c->codec)->topic;
}

/* By another channel; several types of one channel share its name. */
static bool is_taken(const struct recording *s, const struct recording_channel *c, const char *topic)
{
	for (unsigned i = 0; i < s->n_channels; i++)
		if (strcmp(s->channels[i]->topic, topic) == 0 && strcmp(s->channels[i]->name, c->name) != 0)
			return true;
	return false;
}

/* By a channel without messages so far. */
static bool is_anothers(const struct recording *s, const struct recording_channel *c, const char *topic)
{
	for (unsigned i = 0; i < s->n_channels; i++) {
		const struct recording_channel *k = s->channels[i];

		if (!*k->topic && strcmp(wanted(k), topic) == 0 && codec_out_goes_before(k->name, c->name, topic))
			return true;
	}
	return false;
}

const char *recording_topic(struct recording *s, struct recording_channel *c)
{
	const char *topic = wanted(c);

	if (*c->topic)
		return c->topic;
	if (is_taken(s, c, topic) || is_anothers(s, c, topic))
		topic = c->name;
	if (!is_taken(s, c, topic)) {
		snprintf(c->topic, sizeof(c->topic), "%s", topic);
		return c->topic;
	}
	for (unsigned i = 2; !*c->topic || is_taken(s, c, c->topic); i++)
		snprintf(c->topic, sizeof(c->topic), "%s_%u", topic, i);
	recording_say(s, 1, "%s is called %s in the file: another channel already has its name", c->name, c->topic);
	return c->topic;
}
