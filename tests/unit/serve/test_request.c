// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_request.c: claims about what an HTTP request may have: the page and ranges with the token,
 * for this host's own names, from no other site's page; and nothing where a byte is not as it must
 * be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "user/serve/request.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST "Host: 127.0.0.1:8000\r\n"

static const struct request_rules on_port = {.token = TOKEN, .port = 8000};
static const struct request_rules at_socket = {.token = TOKEN};

static int ask(const struct request_rules *rules, const char *text, struct request *out)
{
	return request_read(text, strlen(text), rules, out);
}

static const struct {
	int status;
	const char *text;
} cases[] = {
	{200, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
	{200, "HEAD /" TOKEN "/ HTTP/1.0\r\nhOsT:localhost:8000 \r\n\r\n"},
	{200, "GET /" TOKEN "/ HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n"},
	{200, "GET /" TOKEN "/range?from=0&to=9&width=1 HTTP/1.1\r\n" HOST
	      "Origin: http://127.0.0.1:8000\r\nSec-Fetch-Site: same-origin\r\n\r\n"},
	{200,
	 "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Sec-Fetch-Site: none\r\nContent-Length: 0\r\n\r\n"},
	/* without the token */
	{403, "GET / HTTP/1.1\r\n" HOST "\r\n"},
	{403, "GET /0123456789abcdef0123456789abcdee/ HTTP/1.1\r\n" HOST "\r\n"},
	{403, "GET /0123456789abcdef HTTP/1.1\r\n" HOST "\r\n"},
	{403, "GET x" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
	/* another host, or another site's page */
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: evil.example:8000\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1.evil.example:8000\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1:8001\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1:8000x\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1:000000000000000008000\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\nHost: \r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:8001\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: https://127.0.0.1:8000\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n"},
	{403, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-site\r\n\r\n"},
	/* no such thing */
	{404, "GET /" TOKEN " HTTP/1.1\r\n" HOST "\r\n"},
	{404, "GET /" TOKEN "/../etc/passwd HTTP/1.1\r\n" HOST "\r\n"},
	{404, "GET /" TOKEN "/?x HTTP/1.1\r\n" HOST "\r\n"},
	{405, "POST /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
	{405, "get /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
	/* ranges */
	{400, "GET /" TOKEN "/range?from=9&to=9&width=1 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/range?from=-1&to=9&width=1 HTTP/1.1\r\n" HOST "\r\n"},
	{400,
	 "GET /" TOKEN "/range?from=0&to=9999999999999999999&width=1 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/range?from=0&to=9&width=0 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/range?from=0&to=9&width=8193 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/range?from=0&to=9&width=4294967297 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/range?from=0&to=9&width=1&x HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/range?from=0&to=9 HTTP/1.1\r\n" HOST "\r\n"},
	/* not HTTP, or of the kind by which two readers see two requests */
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST HOST "\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:8000\r\n"
	      "Origin: http://evil.example\r\n\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\nHost : 127.0.0.1:8000\r\n\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\nX: y\r\n " HOST "\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "\n\n"},
	{400, "GET /" TOKEN "/ HTTP/2\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/\r\n" HOST "\r\n"},
	{400, "GET  /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
	{400, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST},
	{400, "\r\n\r\n"},
	{400, ""},
};

static void only_what_is_asked_for_rightly_is_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct request request;
		int status = ask(&on_port, cases[i].text, &request);
		if (status != cases[i].status)
			fail_msg("%d, not %d:\n%s", status, cases[i].status, cases[i].text);
	}
}

static void a_range_is_as_it_was_asked_for(void **state)
{
	struct request r;
	(void)state;
	assert_int_equal(ask(&on_port,
			     "GET /" TOKEN "/range?from=12&to=999999999999999999&width=8192 "
			     "HTTP/1.1\r\n" HOST "\r\n",
			     &r),
			 200);
	assert_int_equal(r.what, REQUEST_RANGE);
	assert_int_equal(r.from_ns, 12);
	assert_int_equal(r.to_ns, 999999999999999999);
	assert_int_equal(r.width, 8192);
	assert_false(r.head_only);
}

static void a_forwarded_socket_has_any_port_but_no_other_name(void **state)
{
	struct request r;
	(void)state;
	assert_int_equal(ask(&at_socket, "GET /" TOKEN "/ HTTP/1.1\r\nHost: localhost\r\n\r\n", &r),
			 200);
	assert_int_equal(
		ask(&at_socket, "GET /" TOKEN "/ HTTP/1.1\r\nHost: localhost:9\r\n\r\n", &r), 200);
	assert_int_equal(
		ask(&at_socket, "GET /" TOKEN "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", &r), 403);
}

/* Whatever byte is another one, what stays is the page or nothing; without the token never the
 * page. */
static void a_changed_byte_gives_nothing_more(void **state)
{
	static const char whole[] = "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n";
	(void)state;
	for (size_t i = 0; i < sizeof(whole) - 1; i++)
		for (unsigned c = 0; c < 256; c++) {
			char text[sizeof(whole)];
			struct request r = {0};
			memcpy(text, whole, sizeof(whole));
			text[i] = (char)c;
			int status = request_read(text, sizeof(whole) - 1, &on_port, &r);
			bool in_token = i >= 5 && i < 5 + TOKEN_BYTES;
			assert_true(status == 200 || (status >= 400 && status <= 405));
			if (in_token && text[i] != whole[i])
				assert_int_equal(status == 200, 0);
		}
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		struct request r;
		assert_int_equal(request_read(whole, n, &on_port, &r), 400);
		assert_int_equal(request_head_length(whole, n), 0);
	}
	assert_int_equal(request_head_length(whole, sizeof(whole) - 1), sizeof(whole) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_asked_for_rightly_is_given),
		cmocka_unit_test(a_range_is_as_it_was_asked_for),
		cmocka_unit_test(a_forwarded_socket_has_any_port_but_no_other_name),
		cmocka_unit_test(a_changed_byte_gives_nothing_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
