/* SPDX-License-Identifier: Apache-2.0 */
/* See watcher.h. */
#include "support/test.h"

#include "watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MODULES "build/npm"
#define TEXT    (4u << 20)

bool watcher_possible(void)
{
	if (access(MODULES "/node_modules/@foxglove/ws-protocol", F_OK) == 0)
		return true;
	print_message("not tried, without @foxglove/ws-protocol: run tools/dev/deps.sh full\n");
	assert_false(test_full());
	return false;
}

struct watcher *watcher_start(const char *url, const char *protocol)
{
	struct watcher *p = calloc(1, sizeof(*p));
	int in[2], out[2];

	assert_non_null(p);
	p->text = malloc(TEXT);
	assert_non_null(p->text);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execlp("node", "node", "tests/system/foxglove/client.mjs", MODULES, url, protocol, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
	return p;
}

void watcher_end(struct watcher *p)
{
	close(p->in);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->out);
	free(p->text);
	free(p);
}

void watcher_say(struct watcher *p, const char *fmt, ...)
{
	char line[8192];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	assert_in_range(n, 1, sizeof(line) - 2);
	line[n] = '\n';
	assert_int_equal(write(p->in, line, (size_t)n + 1), n + 1);
}

/* False: there is no more. */
static bool next_line(struct watcher *p)
{
	char *nl;

	while (!(nl = memchr(p->text, '\n', p->len))) {
		ssize_t n;

		assert_true(p->len < TEXT);
		n = read(p->out, p->text + p->len, TEXT - p->len);
		if (n <= 0)
			return false;
		p->len += (size_t)n;
	}
	*nl = '\0';
	snprintf(p->line, sizeof(p->line), "%s", p->text);
	p->len -= (size_t)(nl + 1 - p->text);
	memmove(p->text, nl + 1, p->len);
	return true;
}

const char *watcher_hears_of(struct watcher *p, const char *begin, const char *part)
{
	char last[400] = "";

	while (next_line(p)) {
		if (strncmp(p->line, begin, strlen(begin)) == 0 && strstr(p->line, part))
			return p->line;
		snprintf(last, sizeof(last), "%.399s", p->line);
	}
	fail_msg("the client has heard no line \"%s...%s\"; the last one was: %s", begin, part, last);
	return "";
}

const char *watcher_hears(struct watcher *p, const char *begin)
{
	return watcher_hears_of(p, begin, "");
}

void watcher_sync(struct watcher *p)
{
	static unsigned n;
	char text[64];

	watcher_say(p, "raw {\"op\":\"sync-%u\"}", ++n);
	snprintf(text, sizeof(text), "\"sync-%u\"", n);
	watcher_hears_of(p, "status 2 there is no operation ", text);
}
