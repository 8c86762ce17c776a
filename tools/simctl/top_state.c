/* SPDX-License-Identifier: Apache-2.0 */
/* See top_state.h. */
#include "top_state.h"

#include <string.h>

#include "simctl.h"

#define LATE_PERIODS   3
#define LATE_S         1
#define SILENT_PERIODS 10
#define SILENT_S       5

const char *top_channel_state(const json_t *channel, double period_s, const json_t *clock)
{
	double age_s = json_num(channel, "age_ms") / 1e3;

	if (!json_is_number(json_object_get(channel, "age_ms")))
		return json_array_size(json_object_get(channel, "publishers")) ? "never" : "unused";
	if (age_s <= LATE_PERIODS * period_s + LATE_S)
		return "flows";
	if (json_yes(clock, "paused") || json_yes(clock, "driver_stopped"))
		return "paused";
	return age_s <= SILENT_PERIODS * period_s + SILENT_S ? "late" : "silent";
}

const char *top_process_state(char letter)
{
	switch (letter) {
	case 'R':
		return "runs";
	case 'S':
	case 'I':
		return "sleeps";
	case 'D':
		return "waits";
	case 'T':
	case 't':
		return "stopped";
	case 'Z':
	case 'X':
		return "ended";
	default:
		return "?";
	}
}

const char *top_pool_state(double percent)
{
	return percent >= 95 ? "full" : percent >= 75 ? "tight" : "fine";
}

enum top_tone top_tone_of(const char *state)
{
	static const struct {
		const char *state;
		enum top_tone tone;
	} tones[] = {
		{ "flows", TOP_GOOD },        { "late", TOP_WARN },
		{ "silent", TOP_BAD },        { "paused", TOP_WARN },
		{ "never", TOP_DIM },         { "unused", TOP_DIM },
		{ "runs", TOP_GOOD },         { "sleeps", TOP_GOOD },
		{ "waits", TOP_WARN },        { "stopped", TOP_BAD },
		{ "ended", TOP_BAD },         { "given up", TOP_BAD },
		{ "fine", TOP_GOOD },         { "tight", TOP_WARN },
		{ "full", TOP_BAD },          { "connected", TOP_GOOD },
		{ "connecting", TOP_WARN },   { "disconnecting", TOP_WARN },
		{ "disconnected", TOP_WARN }, { "unexpectedly-disconnected", TOP_BAD },
		{ "permanent", TOP_BAD },     { "stalled", TOP_BAD },
	};

	for (unsigned i = 0; i < sizeof(tones) / sizeof(*tones); i++)
		if (!strcmp(tones[i].state, state))
			return tones[i].tone;
	return TOP_PLAIN;
}
