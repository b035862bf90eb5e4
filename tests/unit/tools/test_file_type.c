#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "file_type.h"

#define SV(literal) sv_make(literal, sizeof(literal) - 1)

static void test_text(void **state)
{
    (void)state;
    const struct sv texts[] = {
        SV(""),
        SV("a\n"),
        SV("\xEF\xBB\xBFwith a mark\r\n"),
        SV("caf\xE9 in Latin-1\n"),
        SV("\x1b[31mred\x1b[0m\tand\fform feed\b\n"),
        SV("GIF89a is a format"),
        SV("RIFF....WEBPVP8 is another"),
        SV("GIF is how a text may start"),
        SV("BM MZ ID3 are words"),
        SV("BZh is no proof"),
        SV("PK"),
        SV("<svg width='1'/>\n"),
        SV("日本語\n"),
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct file_type type = file_type_of(texts[i]);
        assert_false(type.binary);
        assert_int_equal(type.encoding, TEXT_UTF8);
    }
}

static void expect_binary(struct sv start, const char *name)
{
    struct file_type type = file_type_of(start);
    assert_true(type.binary);
    if (!strstr(type.name, name)) {
        fail_msg("%s is not in %s", name, type.name);
    }
}

static void test_magic(void **state)
{
    (void)state;
    expect_binary(SV("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "PNG");
    expect_binary(SV("\xff\xd8\xff\xe0"), "JPEG");
    expect_binary(SV("GIF89a\x01\0"), "GIF");
    expect_binary(SV("RIFF\x24\0\0\0WEBPVP8 "), "WebP");
    expect_binary(SV("%PDF-1.4\n1 0 obj\n"), "PDF");
    expect_binary(SV("PK\x03\x04\x14\0"), "ZIP");
    expect_binary(SV("\x7f"
                     "ELF\x02\x01\x01\0"),
                  "ELF");
    expect_binary(SV("\x1f\x8b\x08\0"), "gzip");
    expect_binary(SV("MZ\x90\0\x03"), "Windows");
    expect_binary(SV("BM\x36\0\0\0"), "BMP");
    expect_binary(SV("SQLite format 3\0"), "SQLite");
    expect_binary(SV("\xff\xfe\0\0a\0\0\0"), "UTF-32");
}

static void test_looks_binary(void **state)
{
    (void)state;
    expect_binary(SV("text and\0then"), "data");
    expect_binary(SV("\x01\x02\x03\x04 abc"), "data");
    // A few odd bytes in a long line are a log, not a program.
    assert_false(file_type_of(SV("a long line with one \x01 in it")).binary);
}

static void test_notebook(void **state)
{
    (void)state;
    struct file_type type =
        file_type_of(SV("{\n \"cells\": [\n  {\n   \"cell_type\": \"code\","));
    assert_false(type.binary);
    assert_string_equal(type.name, "Jupyter notebook");
    assert_null(file_type_of(SV("{\"cells\": 3}")).name);
    assert_null(file_type_of(SV("\"cells\" \"cell_type\"")).name);
    assert_null(file_type_of(SV("{")).name);
}

static void test_utf16(void **state)
{
    (void)state;
    assert_int_equal(file_type_of(SV("\xff\xfe"
                                     "a\0b\0"))
                         .encoding,
                     TEXT_UTF16_LE);
    assert_int_equal(file_type_of(SV("\xfe\xff\0a\0b")).encoding, TEXT_UTF16_BE);
    assert_false(file_type_of(SV("\xff\xfe"
                                 "a\0b\0"))
                     .binary);
    assert_int_equal(file_type_of(SV("\xff\xfe")).encoding, TEXT_UTF16_LE);
    // Without a mark it is data: a guess would be wrong too often.
    expect_binary(SV("a\0b\0c\0"), "data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_magic),
        cmocka_unit_test(test_looks_binary), cmocka_unit_test(test_notebook),
        cmocka_unit_test(test_utf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
