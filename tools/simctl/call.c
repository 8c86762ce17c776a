/* SPDX-License-Identifier: Apache-2.0 */
/* Calling simd and printing what it says. Thread: main. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "simctl.h"

int ctl_fail(const char *what)
{
	const char *why = sim_why();

	fprintf(stderr, "simctl: %s%s%s\n", what ? what : "", what ? ": " : "", why);
	return 1;
}

json_t *ctl_call(struct ctl *c, const char *method, json_t *params)
{
	char *text = params ? json_dumps(params, JSON_COMPACT) : NULL, *reply = NULL;
	json_t *j = NULL;
	int r = sim_call(c->client, method, text ? text : "{}", &reply);

	free(text);
	if (r < 0) {
		ctl_fail(NULL);
		return NULL;
	}
	j = json_loads(reply, 0, NULL);
	if (!j)
		fprintf(stderr, "simctl: simd's answer to %s is not JSON\n", method);
	free(reply);
	return j;
}

void ctl_print_json(const struct ctl *c, const json_t *j)
{
	json_dumpf(j, stdout, JSON_REAL_PRECISION(12) | (c->a.pretty ? JSON_INDENT(2) : JSON_COMPACT));
	putchar('\n');
	fflush(stdout);
}

int ctl_put(const struct ctl *c, json_t *reply)
{
	if (!reply)
		return 1;
	ctl_print_json(c, reply);
	json_decref(reply);
	return 0;
}

bool ctl_pause(int64_t dur_ns)
{
	struct timespec t = { .tv_sec = dur_ns / 1000000000, .tv_nsec = dur_ns % 1000000000 };

	while (!simctl_stop && nanosleep(&t, &t) < 0 && errno == EINTR)
		continue;
	return !simctl_stop && !ferror(stdout); /* nobody reads it any more */
}

const char *json_text(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : "";
}

double json_num(const json_t *obj, const char *key)
{
	return json_number_value(json_object_get(obj, key));
}

int ctl_repeat(struct ctl *c, int (*once)(struct ctl *c))
{
	bool screen = c->a.watch && !c->a.json && isatty(STDOUT_FILENO);
	int r;

	do {
		if (screen) /* a line that is wider than the screen is cut, not wrapped */
			fputs("\033[?7l\033[H\033[2J", stdout);
		r = once(c);
		if (screen)
			fputs("\033[?7h", stdout);
		fflush(stdout);
	} while (!r && c->a.watch && ctl_pause(1000000000));
	return r;
}
