/* SPDX-License-Identifier: Apache-2.0 */
/* Services of a .proto file. */
#include "proto_private.h"

#include <stdlib.h>

/* (TYPE) or (stream TYPE) */
static bool message_of_method(struct parser *p, struct part *o, unsigned number)
{
	char full[PROTO_NAME_MAX + 2];
	bool stream;

	proto_expect(p, "(");
	stream = proto_take(p, "stream");
	proto_expect_message(p, full);
	proto_expect(p, ")");
	proto_put_text(p, o, number, full);
	return stream;
}

/* NAME (TYPE) returns (TYPE) ; or { options } */
static void method(struct parser *p, struct part *to)
{
	struct proto_options given = { .n = 0 };
	struct part o = { NULL, 0, 0 };
	char name[256];
	bool in, out;

	proto_expect_name(p, name, sizeof(name));
	proto_put_text(p, &o, 1, name);
	in = message_of_method(p, &o, 2);
	proto_expect(p, "returns");
	out = message_of_method(p, &o, 3);
	if (proto_take(p, "{")) {
		while (!p->failed && !proto_is(p, "}"))
			if (!proto_take(p, ";")) {
				proto_expect(p, "option");
				proto_option_line(p, PROTO_OF_METHOD, &given);
			}
		proto_expect(p, "}");
		if (!given.n) /* empty, but present */
			proto_put_bytes(p, &o, 4, NULL, 0);
	} else {
		proto_expect(p, ";");
	}
	proto_put_options(p, &o, 4, &given);
	if (in)
		proto_put_number(p, &o, 5, 1);
	if (out)
		proto_put_number(p, &o, 6, 1);
	proto_put_bytes(p, to, 2, o.data, o.n);
	free(o.data);
}

void proto_service(struct parser *p, struct part *to)
{
	struct proto_options given = { .n = 0 };
	struct part parts[PARTS] = { { NULL, 0, 0 } };
	char name[256];

	proto_expect_name(p, name, sizeof(name));
	proto_put_text(p, &parts[1], 1, name);
	proto_expect(p, "{");
	while (!p->failed && !proto_is(p, "}")) {
		if (proto_take(p, "option")) {
			proto_option_line(p, PROTO_OF_SERVICE, &given);
		} else if (!proto_take(p, ";")) {
			proto_expect(p, "rpc");
			method(p, &parts[2]);
		}
	}
	proto_expect(p, "}");
	proto_put_options(p, &parts[3], 3, &given);
	proto_put_parts(p, to, 6, parts);
}
