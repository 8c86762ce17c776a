/* SPDX-License-Identifier: Apache-2.0 */
/* See call_msg.h. */
#include "call_msg.h"

#include <errno.h>
#include <string.h>

static size_t body_at(uint32_t text_len)
{
	return (CALL_MSG_HEAD + text_len + 7) / 8 * 8;
}

size_t call_msg_write(const struct call_msg *m, uint8_t *ret)
{
	size_t at = body_at(m->text_len);

	if (m->text_len > CALL_MSG_TEXT_MAX || m->body_len > CALL_MSG_BODY_MAX)
		return 0;
	memset(ret, 0, at);
	memcpy(ret, &m->to, 8);
	memcpy(ret + 8, &m->number, 8);
	memcpy(ret + 16, &m->timeout_dur_ns, 8);
	memcpy(ret + 24, &m->result, 4);
	memcpy(ret + 28, &m->text_len, 4);
	memcpy(ret + 32, &m->body_len, 4);
	if (m->text_len)
		memcpy(ret + CALL_MSG_HEAD, m->text, m->text_len);
	if (m->body_len)
		memcpy(ret + at, m->body, m->body_len);
	return at + m->body_len;
}

int call_msg_read(const uint8_t *data, size_t size, struct call_msg *ret)
{
	struct call_msg m = { 0 };

	if (size < CALL_MSG_HEAD)
		return -EBADMSG;
	memcpy(&m.to, data, 8);
	memcpy(&m.number, data + 8, 8);
	memcpy(&m.timeout_dur_ns, data + 16, 8);
	memcpy(&m.result, data + 24, 4);
	memcpy(&m.text_len, data + 28, 4);
	memcpy(&m.body_len, data + 32, 4);
	if (!m.to || !m.number || m.timeout_dur_ns < 0 || m.result > 0 || m.result < -4095 ||
	    m.text_len > CALL_MSG_TEXT_MAX || m.body_len > CALL_MSG_BODY_MAX ||
	    body_at(m.text_len) + m.body_len != size)
		return -EBADMSG;
	m.text = (const char *)data + CALL_MSG_HEAD;
	m.body = data + body_at(m.text_len);
	*ret = m;
	return 0;
}
