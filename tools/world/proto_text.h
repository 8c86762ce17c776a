/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the syntax of a .proto file (protobuf.dev/reference/protobuf/proto3-spec and proto2-spec); does not resolve
 * names, as protoc does. Pure, any thread.
 */
#ifndef WORLD_PROTO_TEXT_H
#define WORLD_PROTO_TEXT_H

#include <stddef.h>

#define PROTO_WHY_MAX 160

/* 0; -EINVAL: ret_why has the line and what was expected there. text is NUL-terminated. */
int proto_text_check(const char *text, char ret_why[PROTO_WHY_MAX]) __attribute__((warn_unused_result));

#endif
