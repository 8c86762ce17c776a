/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz harness of the TraCI reader. The first byte picks what the rest is read as: 0 the answer to a
 * step, 1 a status and a subscription, 2 any commands, 3 the answer to a get. Built by libFuzzer as it
 * is; the unit test replays the corpus through it.
 */
#ifndef TEST_SOURCES_FUZZ_TRACI_H
#define TEST_SOURCES_FUZZ_TRACI_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
