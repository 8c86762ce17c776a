/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign messages that come in: the first byte chooses mapping and format, the rest is the message. An accepted
 * message is a valid body of our type. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "tools/bridge/convert/map_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(64) uint8_t body[16384];
	unsigned n = 0;
	struct message_in to = { .buf = body, .room = sizeof(body) };

	int64_t sim_ns = 0;

	while (map_in_table[n].ros)
		n++;
	if (size < 1)
		return 0;
	if (map_in_clock(data[0] % 2 ? WIRE_ROS1 : WIRE_CDR, data + 1, size - 1, &sim_ns) == 0 && sim_ns < 0)
		abort();
	if (map_in_read(&map_in_table[data[0] / 2 % n], data[0] % 2 ? WIRE_ROS1 : WIRE_CDR, data + 1, size - 1, &to) ==
		    0 &&
	    sim_msg_check(sim_type_builtin(map_in_table[data[0] / 2 % n].sim), body, to.size) != 0)
		abort();
	return 0;
}
