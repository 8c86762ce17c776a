/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of channels, bridges and dispatch as the control interface shows them. Thread: simd-main. */
#ifndef REGISTRY_REPORT_H
#define REGISTRY_REPORT_H

#include <jansson.h>
#include <stdint.h>

struct simd;
struct totals;
struct channel;

/* reply: owned; NULL: no memory. begin_mono_ns: when its construction began, which takes long for many channels. */
typedef void (*report_fn)(void *arg, json_t *reply, int64_t begin_mono_ns);

/* Answers of ListBridges and GetDispatch: fn runs once, later. */
int report_bridges(struct simd *s, report_fn fn, void *arg);
int report_dispatch(struct simd *s, report_fn fn, void *arg);

/* Answers of ListChannels, and of GetChannel for a channel with a type (by its full name). */
int report_channels(struct simd *s, report_fn fn, void *arg);
int report_channel(struct simd *s, const char *name, report_fn fn, void *arg);
/* As report_channel(), with the stages, which are counted from the first such call on. ch: borrowed. */
int report_stages(struct simd *s, const struct channel *ch, report_fn fn, void *arg);

#endif
