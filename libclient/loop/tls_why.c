/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h: OpenSSL's errors as sentences for the operator of either side. */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "tls_private.h"

struct reason {
	long code;
	const char *text;
};

/* Our verdict on the peer's certificate: X509_V_ERR_ */
static const struct reason certificate[] = {
	{ X509_V_ERR_CERT_HAS_EXPIRED, "its certificate has expired; make a new one" },
	{ X509_V_ERR_CERT_NOT_YET_VALID, "its certificate is not valid yet; look at the clocks of both" },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, "its certificate is of an authority that is not in ca.pem" },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "its certificate is of an authority that is not in ca.pem" },
	{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, "its certificate is of an authority that is not in ca.pem" },
	{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "its certificate is of no authority: it has signed itself" },
	{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "its certificate is of an authority that is not in ca.pem" },
	{ X509_V_ERR_CERT_SIGNATURE_FAILURE, "its certificate is not signed by the authority of ca.pem" },
	{ X509_V_ERR_INVALID_PURPOSE,
	  "its certificate is for the other side: a client's is no server's, nor a server's a client's" },
};

/* The peer's verdict on ours, and failed negotiation: SSL_R_ */
static const struct reason protocol[] = {
	{ SSL_R_UNSUPPORTED_PROTOCOL, "protocol version: the other side has no TLS 1.3" },
	{ SSL_R_UNKNOWN_PROTOCOL, "protocol version: the other side has no TLS 1.3" },
	{ SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "protocol version: the other side has no TLS 1.3" },
	{ SSL_R_BAD_LEGACY_VERSION, "protocol version: the other side has no TLS 1.3" },
	{ SSL_R_WRONG_VERSION_NUMBER, "what came is no TLS" },
	{ SSL_R_HTTP_REQUEST, "what came is no TLS" },
	{ SSL_R_HTTPS_PROXY_REQUEST, "what came is no TLS" },
	{ SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "it has shown no certificate" },
	{ SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "the other side wants a certificate, and was shown none" },
	{ SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "the other side refuses this certificate: it has expired" },
	{ SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the other side refuses this certificate: its ca.pem has another authority" },
	{ SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the other side refuses this certificate" },
	{ SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "the other side refuses this certificate" },
	{ SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
	  "the other side refuses this certificate: it is not for this side" },
	{ SSL_R_TLSV1_ALERT_DECRYPT_ERROR, "the other side could not check a signature" },
	{ SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, "what came was changed on the way" },
	{ SSL_R_SSLV3_ALERT_BAD_RECORD_MAC, "what the other side got was changed on the way" },
};

#define FIND(table, code) find(table, sizeof(table) / sizeof(table[0]), code)

static const char *find(const struct reason *at, size_t n, long code)
{
	for (size_t i = 0; i < n; i++)
		if (at[i].code == code)
			return at[i].text;
	return NULL;
}

static void tell_certificate(struct tls *t, long code)
{
	const char *text = FIND(certificate, code);

	if (code == X509_V_ERR_HOSTNAME_MISMATCH || code == X509_V_ERR_IP_ADDRESS_MISMATCH)
		snprintf(t->why, sizeof(t->why), "host name: its certificate is not for %.180s", t->host);
	else if (text)
		snprintf(t->why, sizeof(t->why), "%s", text);
	else
		snprintf(t->why, sizeof(t->why), "its certificate: %s", X509_verify_cert_error_string(code));
}

void tls_tell_why(struct tls *t)
{
	unsigned long e = ERR_peek_error();
	long code = SSL_get_verify_result(t->ssl);
	const char *text = ERR_GET_LIB(e) == ERR_LIB_SSL ? FIND(protocol, ERR_GET_REASON(e)) : NULL;
	const char *theirs = ERR_reason_error_string(e);

	if (t->refused)
		snprintf(t->why, sizeof(t->why), "%s", t->refused);
	else if (ERR_GET_LIB(e) == ERR_LIB_SSL && ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED)
		tell_certificate(t, code);
	else if (text)
		snprintf(t->why, sizeof(t->why), "%s", text);
	else
		snprintf(t->why, sizeof(t->why), "what came is not as TLS 1.3 has it%s%s", theirs ? ": " : "",
			 theirs ? theirs : "");
	ERR_clear_error();
}
