/* SPDX-License-Identifier: Apache-2.0 */
/* See guard.h. */
#include "guard.h"

#include "number.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/crypto.h>

#define TOKEN_BYTES 16u
#define TOKEN_MIN   16u

/* ---- listening address ---- */

static bool is_loopback(const char *address)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, address, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_address(const char *text)
{
	struct in6_addr any;

	return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

static bool take_port(const char *text, unsigned *ret)
{
	uint64_t n;

	if (number_u64(text, NUMBER_DEC, UINT16_MAX, &n) < 0)
		return false;
	*ret = (unsigned)n;
	return true;
}

/* Removes a port from the end of host. False: the port is invalid. */
static bool split_port(char *host, unsigned *ret_port)
{
	char *close = *host == '[' ? strchr(host, ']') : NULL, *colon = strrchr(host, ':');

	if (close) {
		if (close[1] && (close[1] != ':' || !take_port(close + 2, ret_port)))
			return false;
		*close = '\0';
		memmove(host, host + 1, strlen(host));
		return true;
	}
	if (!colon)
		return !*host || !isdigit((unsigned char)*host) || strchr(host, '.') ||
		       (take_port(host, ret_port) && (*host = '\0', true));
	if (!take_port(colon + 1, ret_port))
		return false;
	*colon = '\0';
	return true;
}

/* Removes the end of a port range. False: it is invalid. */
static bool split_last_port(char *host, unsigned *ret_last)
{
	char *dash = strrchr(host, '-');

	if (!dash)
		return true;
	*dash = '\0';
	return take_port(dash + 1, ret_last) && *ret_last > 0;
}

int guard_address_read(const char *text, struct guard_address *ret, char *why, size_t why_size)
{
	*ret = (struct guard_address){ .port = GUARD_PORT };
	if (strlen(text) < sizeof(ret->host)) {
		strcpy(ret->host, text);
		if (split_last_port(ret->host, &ret->last_port) && split_port(ret->host, &ret->port) &&
		    (!ret->last_port || (ret->port && ret->port <= ret->last_port))) {
			if (!ret->last_port)
				ret->last_port = ret->port;
			if (!*ret->host || strcmp(ret->host, "localhost") == 0)
				strcpy(ret->host, "127.0.0.1");
			ret->loopback = is_loopback(ret->host);
			if (is_address(ret->host))
				return 0;
		}
	}
	snprintf(why, why_size,
		 "\"%.60s\" is not an address to listen at, such as \"127.0.0.1:8765\" (which is meant by \"\"), \"[::1]:8765\", "
		 "\"0.0.0.0:8765\" or, for the first port that is free, \"127.0.0.1:8765-8799\"",
		 text);
	return -EINVAL;
}

/* ---- lists ---- */

static json_t *read_list(const char *option, const char *text, char *why, size_t why_size)
{
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *one;
	bool ok = json_is_array(j) && json_array_size(j) <= 64;
	size_t i;

	json_array_foreach(j, i, one)
		ok = ok && json_is_string(one) && json_string_length(one) > 0;
	if (ok)
		return j;
	json_decref(j);
	snprintf(why, why_size, "options.%s: not a list of at most 64 texts", option);
	return NULL;
}

int guard_init(struct guard *g, const char *origins, const char *hosts, char *why, size_t why_size)
{
	g->origins = read_list("origins", origins, why, why_size);
	g->hosts = g->origins ? read_list("hosts", hosts, why, why_size) : NULL;
	return g->hosts ? 0 : -EINVAL;
}

void guard_finish(struct guard *g)
{
	json_decref(g->origins);
	json_decref(g->hosts);
	g->origins = g->hosts = NULL;
}

static bool listed(const json_t *list, const char *text, size_t len)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (json_string_length(one) == len && strncasecmp(json_string_value(one), text, len) == 0)
			return true;
	return false;
}

/* ---- the token ---- */

static int make_token(char *ret)
{
	uint8_t random[TOKEN_BYTES];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	for (unsigned i = 0; i < TOKEN_BYTES; i++)
		sprintf(ret + 2 * i, "%02x", random[i]);
	return 0;
}

static int read_token(int fd, char *ret)
{
	ssize_t n = read(fd, ret, GUARD_TOKEN_MAX);
	size_t len = 0;

	if (n < 0)
		return -errno;
	while (len < (size_t)n && (isalnum((unsigned char)ret[len]) || strchr("-_.~", ret[len])))
		len++;
	if (len < TOKEN_MIN || (len < (size_t)n && ret[len] != '\n'))
		return -EBADMSG;
	ret[len] = '\0';
	return 0;
}

static int write_token(const char *path, char *ret)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
	    r = fd < 0 ? -errno : make_token(ret);
	size_t len = r == 0 ? strlen(ret) : 0;

	if (r == 0 && (write(fd, ret, len) != (ssize_t)len || write(fd, "\n", 1) != 1))
		r = -EIO;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && r < 0)
		unlink(path);
	return r;
}

int guard_token(struct guard *g, const char *path, char *why, size_t why_size)
{
	int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1, r;

	if (!*path)
		r = make_token(g->token);
	else if (fd >= 0)
		r = read_token(fd, g->token);
	else
		r = errno == ENOENT ? write_token(path, g->token) : -errno;
	if (fd >= 0)
		close(fd);
	if (r < 0)
		snprintf(why, why_size, "options.token_file: %.120s: %s", path,
			 r == -EBADMSG ? "it must hold 16 to 128 letters, digits, '-', '_', '.' or '~'" : strerror(-r));
	return r;
}

bool guard_token_ok(const struct guard *g, const char *token)
{
	size_t len = strlen(g->token);

	return len && strlen(token) == len && CRYPTO_memcmp(g->token, token, len) == 0;
}

/* ---- names ---- */

/* The host of "host:port" or "[::1]:port", without brackets. */
static bool host_of(const char *text, char *ret, size_t size)
{
	unsigned port;

	if (strlen(text) >= size)
		return false;
	strcpy(ret, text);
	return split_port(ret, &port) && *ret;
}

static bool is_here(const char *host)
{
	return strcasecmp(host, "localhost") == 0 || is_loopback(host);
}

bool guard_host_ok(const struct guard *g, const char *host)
{
	char name[256];

	if (!host || !host_of(host, name, sizeof(name)))
		return false;
	return is_here(name) || is_address(name) || listed(g->hosts, name, strlen(name));
}

bool guard_origin_ok(const struct guard *g, const char *origin, const char *host)
{
	const char *rest;
	char name[256];

	if (!origin || strcmp(origin, "file://") == 0) /* not a browser; a desktop program's own page */
		return true;
	if (listed(g->origins, origin, strlen(origin)) || listed(g->origins, "*", 1))
		return true;
	rest = strstr(origin, "://");
	if (!rest || !host_of(rest + 3, name, sizeof(name)))
		return false;
	return strcasecmp(rest + 3, host) == 0 || is_here(name);
}
