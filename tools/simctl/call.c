/* SPDX-License-Identifier: Apache-2.0 */
/* Calls simd and prints its replies. Thread: main. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "printable.h"
#include "simctl.h"
#include "timeutil.h"

#define SLICE_DUR_NS (50 * NS_PER_MS) /* interval after which a signal that came just before a wait is noticed */

int ctl_fail(const char *what)
{
	const char *why = sim_why();

	fprintf(stderr, "simctl: %s%s%s\n", what ? what : "", what ? ": " : "", why);
	return 1;
}

void ctl_begin_wait(const struct ctl *c)
{
	if (c->unfinished)
		return;
	fflush(stdout);
	simctl_waits = 1;
	if (simctl_stop) /* the signal came before simctl_waits was set */
		_exit(128 + simctl_stop);
}

void ctl_end_wait(void)
{
	simctl_waits = 0;
}

bool ctl_stopped(void *unused)
{
	(void)unused;
	return simctl_stop;
}

/* With --json, strings are printed unchanged, with JSON's escapes. */
void ctl_make_fit(json_t *j)
{
	const char *key, *s = json_string_value(j);
	size_t i, len = json_string_length(j);
	json_t *item;
	char *fit;

	json_object_foreach(j, key, item)
		ctl_make_fit(item);
	json_array_foreach(j, i, item)
		ctl_make_fit(item);
	if (!s || printable_is(s, len))
		return;
	fit = malloc(len * PRINTABLE_ESCAPE_MAX + 1);
	if (fit)
		json_string_setn(j, fit, printable(fit, len * PRINTABLE_ESCAPE_MAX + 1, s, len));
	else
		json_string_set(j, "?");
	free(fit);
}

json_t *ctl_call_within(struct ctl *c, const char *method, json_t *params, int64_t wall_timeout_dur_ns)
{
	char *text = params ? json_dumps(params, JSON_COMPACT) : NULL, *reply = NULL;
	json_t *j = NULL;
	int r;

	ctl_begin_wait(c);
	r = sim_call_within(c->client, method, text ? text : "{}", wall_timeout_dur_ns, &reply);
	ctl_end_wait();
	free(text);
	if (r < 0) {
		ctl_fail(NULL);
		return NULL;
	}
	j = json_loads(reply, 0, NULL);
	if (!c->a.json)
		ctl_make_fit(j);
	if (!j)
		fprintf(stderr, "simctl: simd's answer to %s is not JSON\n", method);
	free(reply);
	return j;
}

json_t *ctl_call(struct ctl *c, const char *method, json_t *params)
{
	return ctl_call_within(c, method, params, 5 * NS_PER_S);
}

json_t *ctl_call_named(struct ctl *c, const char *method, const char *name)
{
	json_t *params = json_pack("{s:s}", "name", name);
	json_t *reply = ctl_call(c, method, params);

	json_decref(params);
	return reply;
}

int ctl_connect_as(struct ctl *c, const struct sim_client_options *o)
{
	int r = 0;

	ctl_begin_wait(c);
	if (!c->client)
		r = sim_connect(o, &c->client);
	ctl_end_wait();
	return r;
}

int ctl_connect(struct ctl *c)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "simctl",
					.socket = c->a.socket,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD };

	return ctl_connect_as(c, &o);
}

/*
 * Writes JSON text, which comes in pieces that end between characters, and escapes what is not printable: it can only
 * be inside strings.
 */
static int put_fit(const char *s, size_t len, void *arg)
{
	char text[PRINTABLE_ESCAPE_MAX];
	int32_t code;

	(void)arg;
	for (size_t i = 0, n; i < len; i += n) {
		n = printable_next(s + i, len - i, &code);
		if (printable_code(code) || code == '\n')
			fwrite(s + i, 1, n, stdout);
		else
			fwrite(text, 1, printable_json_code(text, code), stdout);
	}
	return 0;
}

void ctl_print_json(const struct ctl *c, const json_t *j)
{
	json_dump_callback(j, put_fit, NULL, JSON_REAL_PRECISION(12) | (c->a.pretty ? JSON_INDENT(2) : JSON_COMPACT));
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

int ctl_show(const struct ctl *c, json_t *reply, void (*print)(const json_t *reply))
{
	if (!reply || c->a.json)
		return ctl_put(c, reply);
	print(reply);
	json_decref(reply);
	return 0;
}

int ctl_list(const struct ctl *c, json_t *reply, const char *list, const struct column *columns)
{
	const json_t *items = json_object_get(reply, list), *item;
	size_t i;

	if (!reply || c->a.json)
		return ctl_put(c, reply);
	if (c->a.names)
		json_array_foreach(items, i, item)
			puts(json_text(item, "name"));
	else
		table_of(columns, items);
	json_decref(reply);
	return 0;
}

bool ctl_unread(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return ferror(stdout) || (poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLNVAL)));
}

bool ctl_pause(int64_t dur_ns)
{
	int64_t end = mono_now_ns() + dur_ns, left;

	while (!simctl_stop && !ctl_unread() && (left = end - mono_now_ns()) > 0) {
		struct pollfd p = { .fd = STDOUT_FILENO };
		struct timespec t = timespec_from_ns(left < SLICE_DUR_NS ? left : SLICE_DUR_NS);

		(void)ppoll(&p, 1, &t, NULL); /* returns early when the reader of stdout goes away */
	}
	return !simctl_stop && !ctl_unread();
}

/* Length of the line truncated to the screen's width, without splitting a UTF-8 character. */
static int line_cut(const char *line, int len, int columns)
{
	if (!columns || len <= columns)
		return len;
	for (len = columns; len > 0 && ((unsigned char)line[len] & 0xc0) == 0x80; len--)
		continue;
	return len;
}

/* Overwrites the old text without clearing it first, to avoid flicker; lines beyond the screen are left out. */
static void redraw(const char *text)
{
	struct screen s = ctl_screen();

	fputs("\033[H", stdout);
	for (int row = 1; *text && (!s.rows || row < s.rows); row++) {
		int len = (int)strcspn(text, "\n");

		printf("\033[2K%.*s\n", line_cut(text, len, s.columns), text);
		text += len + (text[len] == '\n');
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

int ctl_onto_screen(int (*once)(void *arg), void *arg)
{
	FILE *terminal = stdout, *memory;
	char *text = NULL;
	size_t len = 0;
	int r;

	memory = open_memstream(&text, &len);
	if (!memory)
		return once(arg);
	stdout = memory;
	r = once(arg);
	stdout = terminal;
	if (fclose(memory) == 0)
		redraw(text);
	free(text);
	return r;
}

bool ctl_begin_screen(const struct ctl *c)
{
	const bool screen = c->a.watch && !c->a.json && isatty(STDOUT_FILENO);

	if (screen)
		fputs("\033[2J", stdout);
	return screen;
}

struct repeated {
	struct ctl *c;
	int (*once)(struct ctl *c);
};

static int run_once(void *arg)
{
	const struct repeated *p = arg;

	return p->once(p->c);
}

int ctl_repeat(struct ctl *c, int (*once)(struct ctl *c))
{
	struct repeated p = { c, once };
	const bool screen = ctl_begin_screen(c);
	int r;

	do {
		r = screen ? ctl_onto_screen(run_once, &p) : once(c);
		fflush(stdout);
	} while (!r && c->a.watch && ctl_pause(1000000000));
	return r;
}
