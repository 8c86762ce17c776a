/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a text is a .proto: its syntax (protobuf.dev/reference/protobuf/proto3-spec and proto2-spec), and nothing of what its names mean, for which
 * there is protoc. Pure, any thread.
 */
#ifndef WORLD_PROTO_TEXT_H
#define WORLD_PROTO_TEXT_H

#include <stddef.h>

#define PROTO_WHY_MAX 160

/* 0; -EINVAL: ret_why says in which line, and what was expected there. text ends with NUL. */
int proto_text_check(const char *text, char ret_why[PROTO_WHY_MAX]) __attribute__((warn_unused_result));

#endif
