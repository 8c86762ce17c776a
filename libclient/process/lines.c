/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a child, line by line; see lines.h. Thread: the owner's. */
#include "lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum log_level take_level(const char **text, size_t *len)
{
	static const enum log_level levels[] = { LOG_LEVEL_ERROR, LOG_LEVEL_ERROR, LOG_LEVEL_ERROR, LOG_LEVEL_ERROR,
						 LOG_LEVEL_WARN,  LOG_LEVEL_INFO,  LOG_LEVEL_INFO,  LOG_LEVEL_DEBUG };
	const char *t = *text;

	if (*len < 3 || t[0] != '<' || t[1] < '0' || t[1] > '7' || t[2] != '>')
		return LOG_LEVEL_INFO;
	*text += 3;
	*len -= 3;
	return levels[t[1] - '0'];
}

static void put(const char *text, size_t len, lines_fn fn, void *user)
{
	enum log_level level = take_level(&text, &len);

	if (len)
		fn(user, level, text, len);
}

static void put_all(struct lines *l, lines_fn fn, void *user)
{
	char *nl, *from = l->text;

	while ((nl = (char *)memchr(from, '\n', l->len - (size_t)(from - l->text)))) {
		put(from, (size_t)(nl - from), fn, user);
		from = nl + 1;
	}
	l->len -= (size_t)(from - l->text);
	memmove(l->text, from, l->len);
	if (l->len == sizeof(l->text))
		lines_end(l, fn, user);
}

void lines_end(struct lines *l, lines_fn fn, void *user)
{
	put(l->text, l->len, fn, user);
	l->len = 0;
}

bool lines_read(struct lines *l, int fd, unsigned reads, lines_fn fn, void *user)
{
	while (reads--) {
		ssize_t n = read(fd, l->text + l->len, sizeof(l->text) - l->len);

		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		l->len += (size_t)n;
		put_all(l, fn, user);
	}
	return true;
}
