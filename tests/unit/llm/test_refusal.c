#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/refusal.h"

static void redirects_name_their_target(void **state)
{
    (void)state;
    struct buf b = {0};
    refusal_tell_redirect(&b, "h", 307, "http://a:b@c/d?key=e");
    assert_string_equal(buf_cstr(&b), "h answered 307: moved to http://c/d; correct the "
                                      "base URL of this model");
    buf_clear(&b);
    refusal_tell_redirect(&b, "h", 307, NULL);
    assert_string_equal(
        buf_cstr(&b),
        "h answered 307: moved elsewhere; correct the base URL of this model");
    buf_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redirects_name_their_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
