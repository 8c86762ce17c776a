/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML-RPC: written values are read again, those of other implementations are read, and malformed or too large ones are
 * refused with the reason.
 */
#include "support/test.h"

#include <errno.h>

#include "xmlrpc.h"

static char why[160];

static struct xmlrpc_doc *parsed(const char *text)
{
	struct xmlrpc_doc *d = NULL;

	if (xmlrpc_parse(text, strlen(text), &d, why, sizeof(why)) < 0)
		fail_msg("%s: %s", text, why);
	return d;
}

static void refused(const char *text, int r, const char *reason)
{
	struct xmlrpc_doc *d;

	assert_int_equal(xmlrpc_parse(text, strlen(text), &d, why, sizeof(why)), r);
	if (!strstr(why, reason))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, why, reason);
}

TEST(a_written_call_reads_back)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d;
	const struct xmlrpc_value *list;

	xmlrpc_call(&w, "publisherUpdate");
	xmlrpc_put_text(&w, "/master <&> \"x\" \x01 caf\xc3\xa9 \xff\r");
	xmlrpc_put_int(&w, -7);
	xmlrpc_put_bool(&w, true);
	xmlrpc_put_double(&w, 0.1);
	xmlrpc_array(&w);
	xmlrpc_array(&w);
	xmlrpc_put_text(&w, "TCPROS");
	xmlrpc_array_end(&w);
	xmlrpc_put_int(&w, INT64_C(5000000000));
	xmlrpc_array_end(&w);
	assert_int_equal(xmlrpc_end(&w), 0);
	d = parsed(w.text);
	assert_int_equal(d->kind, XMLRPC_CALL);
	assert_string_equal(d->method, "publisherUpdate");
	assert_int_equal(d->params->n, 5);
	assert_string_equal(xmlrpc_text(xmlrpc_at(d->params, 0)), "/master <&> \"x\" ? caf\xc3\xa9 ?\r");
	assert_int_equal(xmlrpc_int(xmlrpc_at(d->params, 1), 0), -7);
	assert_int_equal(xmlrpc_at(d->params, 2)->kind, XMLRPC_BOOL);
	assert_int_equal(xmlrpc_int(xmlrpc_at(d->params, 2), 0), 1);
	assert_true(xmlrpc_at(d->params, 3)->d == 0.1);
	assert_int_equal(xmlrpc_int(xmlrpc_at(d->params, 3), 9), 9); /* it is no integer */
	list = xmlrpc_at(d->params, 4);
	assert_int_equal(list->n, 2);
	assert_string_equal(xmlrpc_text(xmlrpc_at(xmlrpc_at(list, 0), 0)), "TCPROS");
	assert_true(xmlrpc_at(list, 1)->d == 5e9);
	assert_null(xmlrpc_at(list, 2));
	xmlrpc_free(d);
	xmlrpc_writer_finish(&w);
}

TEST(responses_of_other_implementations_are_read)
{
	/* as Python's and roscpp's write them: line breaks, a text without its element, both names of an integer */
	struct xmlrpc_doc *d =
		parsed("<?xml version='1.0'?>\n<methodResponse>\n<params>\n<param>\n<value><array><data>\n"
		       "<value><int>1</int></value>\n<value>current topics</value>\n<value><array><data>\n"
		       "</data></array></value>\n<value><boolean>0</boolean></value><value></value>"
		       "<value><struct><member><name>a</name><value><i4> 3 </i4></value></member>"
		       "<member><name>b</name><value><nil/></value></member></struct></value>"
		       "</data></array></value>\n</param>\n</params>\n</methodResponse>\n");
	const struct xmlrpc_value *v = xmlrpc_at(d->params, 0), *s;

	assert_int_equal(d->kind, XMLRPC_RESPONSE);
	assert_int_equal(v->n, 6);
	assert_int_equal(xmlrpc_int(xmlrpc_at(v, 0), 0), 1);
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 1)), "current topics");
	assert_int_equal(xmlrpc_at(v, 2)->n, 0);
	assert_int_equal(xmlrpc_at(v, 2)->kind, XMLRPC_ARRAY);
	assert_string_equal(xmlrpc_text(xmlrpc_at(v, 4)), "");
	s = xmlrpc_at(v, 5);
	assert_int_equal(s->kind, XMLRPC_STRUCT);
	assert_string_equal(s->first->name, "a");
	assert_int_equal(s->first->i, 3);
	assert_string_equal(s->first->next->name, "b");
	assert_int_equal(s->first->next->kind, XMLRPC_NIL);
	assert_null(xmlrpc_at(s, 0)); /* no array */
	xmlrpc_free(d);
}

TEST(a_fault_is_recognised)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d;

	assert_int_equal(xmlrpc_fault(&w, 4, "no <such> method"), 0);
	d = parsed(w.text);
	assert_int_equal(d->kind, XMLRPC_FAULT);
	assert_string_equal(xmlrpc_at(d->params, 0)->first->next->text, "no <such> method");
	xmlrpc_free(d);
	xmlrpc_writer_finish(&w);
}

TEST(malformed_documents_are_refused)
{
	refused("", -EBADMSG, "no element");
	refused("<methodCall><params></params></methodCall>", -EBADMSG, "without a method");
	refused("<methodResponse><params></params></methodResponse>", -EBADMSG, "without exactly one value");
	refused("<methodCall><methodName>a</methodName><methodName>b</methodName></methodCall>", -EBADMSG, "second");
	refused("<html></html>", -EBADMSG, "does not have there");
	refused("<methodCall><value></value></methodCall>", -EBADMSG, "does not have there");
	refused("<methodResponse><params><param><value><i4>1</i4><i4>2</i4></value></param></params></methodResponse>",
		-EBADMSG, "two types");
	refused("<methodResponse><params><param><value><i4>x</i4></value></param></params></methodResponse>", -EBADMSG,
		"not a number");
	refused("<methodResponse><params><param><value><i8>99999999999999999999</i8></value></param></params></methodResponse>",
		-EBADMSG, "not a number");
	refused("<methodResponse><params><param><value><boolean>2</boolean></value></param></params></methodResponse>",
		-EBADMSG, "not a number");
	refused("<methodResponse><params>", -EBADMSG, "line 1");
	refused("<!DOCTYPE a [<!ENTITY b \"cccc\">]><methodResponse>&b;</methodResponse>", -EBADMSG, "document type");
}

TEST(bounds_are_enforced)
{
	struct xmlrpc_writer w = { .text = NULL };
	struct xmlrpc_doc *d;
	char *big = calloc(1, XMLRPC_BYTES_MAX + 2);

	xmlrpc_call(&w, "deep");
	for (unsigned i = 0; i < XMLRPC_DEPTH_MAX; i++)
		xmlrpc_array(&w);
	for (unsigned i = 0; i < XMLRPC_DEPTH_MAX; i++)
		xmlrpc_array_end(&w);
	assert_int_equal(xmlrpc_end(&w), 0);
	xmlrpc_free(parsed(w.text));

	xmlrpc_call(&w, "deeper");
	for (unsigned i = 0; i <= XMLRPC_DEPTH_MAX; i++)
		xmlrpc_array(&w);
	assert_int_equal(xmlrpc_end(&w), -EMSGSIZE);

	big[0] = '\0';
	strcpy(big, "<methodResponse><params><param>");
	for (unsigned i = 0; i <= XMLRPC_DEPTH_MAX; i++)
		strcat(big, "<value><array><data>");
	refused(big, -EMSGSIZE, "too deep");

	xmlrpc_call(&w, "many");
	for (unsigned i = 0; i < XMLRPC_VALUES_MAX + 1; i++)
		xmlrpc_put_int(&w, 0);
	assert_int_equal(xmlrpc_end(&w), 0);
	assert_int_equal(xmlrpc_parse(w.text, w.len, &d, why, sizeof(why)), -EMSGSIZE);
	memset(big, ' ', XMLRPC_BYTES_MAX + 1);
	refused(big, -EMSGSIZE, "more than");
	xmlrpc_writer_finish(&w);
	free(big);
}
