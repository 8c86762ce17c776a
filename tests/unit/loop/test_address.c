/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text: what each part becomes, which parts stay unchanged, what is refused. */
#include "address.h"
#include "support/test.h"

#include <errno.h>

static void expect(const char *text, const char *host, unsigned port)
{
	struct address a = { .host = "localhost", .port = 9090 };

	assert_int_equal(address_read(text, strlen(text), &a), 0);
	assert_string_equal(a.host, host);
	assert_int_equal(a.port, port);
}

static void refuse(const char *text)
{
	struct address a = { .host = "localhost", .port = 9090 };

	assert_int_equal(address_read(text, strlen(text), &a), -EINVAL);
	assert_string_equal(a.host, "localhost");
	assert_int_equal(a.port, 9090);
}

TEST(absent_parts_keep_their_value)
{
	expect("", "localhost", 9090);
	expect("a.example:1", "a.example", 1);
	expect("a.example", "a.example", 9090);
	expect(":0", "localhost", 0);
	expect("127.0.0.1:65535", "127.0.0.1", 65535);
	expect("[::1]", "::1", 9090);
	expect("[fe80::1%eth0]:080", "fe80::1%eth0", 80);
}

TEST(malformed_addresses_are_refused)
{
	static const char *const texts[] = { ":",       "a:",    "a:65536", "a:1x",  "a:-1",  "a: 1",      "a:123456",
					     "::1",     "a:1:2", "[::1",    "[]",    "[]:1",  "[::1]1",    "[::1]:",
					     "[[::1]]", "]",     "a b",     "a/b:1", "a\n:1", "\xc3\xa4:1" };
	char text[2 * ADDRESS_HOST_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuse(texts[i]);
	memset(text, 'a', sizeof(text));
	text[ADDRESS_HOST_MAX] = '\0';
	refuse(text);
	text[ADDRESS_HOST_MAX - 1] = '\0';
	expect(text, text, 9090);
}

TEST(only_the_given_bytes_are_read)
{
	struct address a = { .port = 0 };

	assert_int_equal(address_read("host:12/path:3", 7, &a), 0);
	assert_string_equal(a.host, "host");
	assert_int_equal(a.port, 12);
}
