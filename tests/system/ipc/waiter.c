/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An iceoryx application, without anything of simd: waits for channel "t" by a waitset until it has been woken for the message of the given
 * number, and exits with 0. Prints a line when it is ready.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iceoryx_binding_c/api.h"

static iox_sub_storage_t sub_storage;
static iox_ws_storage_t ws_storage;

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, got = 0, missed;
	iox_sub_options_t o;
	iox_notification_info_t info;
	const void *chunk;
	iox_sub_t sub;
	iox_ws_t ws;

	iox_set_loglevel(Iceoryx_LogLevel_Off);
	iox_runtime_init("waiter");
	ws = iox_ws_init(&ws_storage);
	iox_sub_options_init(&o);
	o.queueCapacity = 4;
	sub = iox_sub_init(&sub_storage, "sim", "t", "msg", &o);
	iox_ws_attach_subscriber_event(ws, sub, SubscriberEvent_DATA_RECEIVED, 1, NULL);
	puts("ready");
	fflush(stdout);
	while (got != wanted) {
		iox_ws_wait(ws, &info, 1, &missed);
		while (iox_sub_take_chunk(sub, &chunk) == ChunkReceiveResult_SUCCESS) {
			memcpy(&got, chunk, sizeof(got));
			iox_sub_release_chunk(sub, chunk);
		}
	}
	_Exit(0);
}
