#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool_fixture.h"
#include "tools.h"

#define SV(literal) sv_make(literal, sizeof(literal) - 1)

static bool read_file(struct tool_fixture *f, const char *args)
{
    return fixture_call(f, &tool_read, args);
}

static void expect_text(struct tool_fixture *f, const char *args, const char *text)
{
    if (!read_file(f, args)) {
        fail_msg("%s", buf_cstr(&f->text));
    }
    assert_string_equal(buf_cstr(&f->text), text);
}

static void expect_error(struct tool_fixture *f, const char *args, const char *part)
{
    assert_false(read_file(f, args));
    assert_contains(f, part);
}

// `lines` numbered lines, each `width` bytes without its LF.
static void put_lines(struct tool_fixture *f, const char *name, size_t lines, int width)
{
    struct buf text = {0};
    for (size_t i = 1; i <= lines; i++) {
        buf_addf(&text, "%-*zu\n", width, i);
    }
    fixture_put(f, name, buf_sv(&text));
    buf_finish(&text);
}

static void test_whole_file(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.txt", SV("one\r\ntwo"));
    expect_text(f, "{\"path\":\"a.txt\"}", "one\r\ntwo");
    assert_null(f->result.details);
    fixture_put(f, "b.txt", SV("one\n\n"));
    expect_text(f, "{\"path\":\"b.txt\"}", "one\n\n");
}

static void test_empty_file(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "e", SV(""));
    expect_text(f, "{\"path\":\"e\"}", "(empty file)");
    expect_error(f, "{\"path\":\"e\",\"offset\":2}", "e is empty");
}

static void test_interrupted_change(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.txt", SV("one\nha"));
    fixture_put(f, ".a.txt.pi-restore", SV("one\ntwo\n"));
    assert_true(read_file(f, "{\"path\":\"a.txt\"}"));
    assert_contains(f, "one\nha\n\n[An earlier change of this file was interrupted");
    assert_contains(f, "/.a.txt.pi-restore]");
}

static void test_pages(void **state)
{
    struct tool_fixture *f = *state;
    put_lines(f, "ten", 10, 1);
    expect_text(f, "{\"path\":\"ten\",\"limit\":5}",
                "1\n2\n3\n4\n5\n\n[5 more lines in file. Use offset=6 to continue.]");
    assert_null(f->result.details);
    expect_text(f, "{\"path\":\"ten\",\"offset\":6}", "6\n7\n8\n9\n10\n");
    expect_text(f, "{\"path\":\"ten\",\"offset\":9,\"limit\":1}",
                "9\n\n[1 more line in file. Use offset=10 to continue.]");
    expect_text(f, "{\"path\":\"ten\",\"offset\":9,\"limit\":2}", "9\n10\n");
    expect_text(f, "{\"path\":\"ten\",\"limit\":10}", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
}

static void test_odd_numbers(void **state)
{
    struct tool_fixture *f = *state;
    put_lines(f, "three", 3, 1);
    expect_text(f, "{\"path\":\"three\",\"offset\":0}", "1\n2\n3\n");
    expect_text(f, "{\"path\":\"three\",\"offset\":-7}", "1\n2\n3\n");
    expect_text(f, "{\"path\":\"three\",\"offset\":2.9}", "2\n3\n");
    expect_text(f, "{\"path\":\"three\",\"limit\":1e300}", "1\n2\n3\n");
    expect_text(f, "{\"path\":\"three\",\"offset\":3,\"limit\":1.9}", "3\n");
    expect_error(f, "{\"path\":\"three\",\"limit\":0}", "at least 1");
    expect_error(f, "{\"path\":\"three\",\"limit\":-1}", "at least 1");
    expect_error(f, "{\"path\":\"three\",\"limit\":0.5}", "at least 1");
    expect_error(f, "{\"path\":\"three\",\"offset\":4}",
                 "offset 4 is past the end: three has 3 lines");
    expect_error(f, "{\"path\":\"three\",\"offset\":1e300}", "three has 3 lines");
}

static void test_line_cap(void **state)
{
    struct tool_fixture *f = *state;
    put_lines(f, "exact", 2000, 4);
    assert_true(read_file(f, "{\"path\":\"exact\"}"));
    assert_null(strstr(buf_cstr(&f->text), "["));
    put_lines(f, "long", 2001, 4);
    assert_true(read_file(f, "{\"path\":\"long\"}"));
    assert_contains(
        f, "\n2000\n\n[Showing lines 1-2000 of 2001. Use offset=2001 to continue.]");
    struct json *cut = json_get(f->result.details, "truncation");
    assert_string_equal(json_get_str(cut, "truncatedBy"), "lines");
    assert_int_equal(json_get_num(cut, "totalLines", 0), 2001);
    assert_int_equal(json_get_num(cut, "outputLines", 0), 2000);
    // A limit beyond the cap is the cap.
    assert_true(read_file(f, "{\"path\":\"long\",\"limit\":5000}"));
    assert_contains(f, "[Showing lines 1-2000 of 2001.");
    assert_true(read_file(f, "{\"path\":\"long\",\"offset\":2,\"limit\":2000}"));
    assert_null(strstr(buf_cstr(&f->text), "["));
}

static void test_byte_cap(void **state)
{
    struct tool_fixture *f = *state;
    put_lines(f, "exact", 512, 99);
    assert_true(read_file(f, "{\"path\":\"exact\"}"));
    assert_int_equal(f->text.len, 51200);
    put_lines(f, "wide", 600, 99);
    assert_true(read_file(f, "{\"path\":\"wide\"}"));
    assert_contains(f, "[Showing lines 1-512 of 600 (50.0KB limit). Use offset=513 to "
                       "continue.]");
    struct json *cut = json_get(f->result.details, "truncation");
    assert_string_equal(json_get_str(cut, "truncatedBy"), "bytes");
    assert_int_equal(json_get_num(cut, "totalBytes", 0), 60000);
    // A limit that was not reached because of the bytes is no reason to say less.
    assert_true(read_file(f, "{\"path\":\"wide\",\"limit\":550}"));
    assert_contains(f, "[Showing lines 1-512 of 600 (50.0KB limit).");
    assert_non_null(f->result.details);
}

static void put_mixed(struct tool_fixture *f, const char *name, const char *start,
                      const char *end)
{
    struct buf text = {0};
    buf_adds(&text, start);
    for (int i = 0; i < 300000; i++) {
        buf_addc(&text, 'b');
    }
    buf_adds(&text, end);
    fixture_put(f, name, buf_sv(&text));
    buf_finish(&text);
}

static void test_huge_line(void **state)
{
    struct tool_fixture *f = *state;
    put_mixed(f, "mix", "first\n", "\nlast\n");
    assert_true(read_file(f, "{\"path\":\"mix\"}"));
    assert_contains(f,
                    "first\n\n[Showing lines 1-1 of 3. Line 2 is 293.0KB, over the limit "
                    "of 50.0KB for one read");
    assert_contains(f, "sed -n '2p' '");
    assert_contains(f, "/mix' | head -c 51200. Use offset=3 to continue.]");
    expect_text(f, "{\"path\":\"mix\",\"offset\":3}", "last\n");
    assert_true(read_file(f, "{\"path\":\"mix\",\"offset\":2}"));
    assert_int_equal(buf_cstr(&f->text)[0], '[');
    assert_contains(f, "[Line 2 is 293.0KB");
    assert_contains(f, "Use offset=3 to continue.]");
    struct json *cut = json_get(f->result.details, "truncation");
    assert_true(json_get_bool(cut, "firstLineExceedsLimit", false));
    put_mixed(f, "tail", "first\n", "");
    assert_true(read_file(f, "{\"path\":\"tail\"}"));
    assert_contains(f, "It is the last line.]");
}

static void test_quoted_command(void **state)
{
    struct tool_fixture *f = *state;
    put_mixed(f, "it's", "", "\n");
    assert_true(read_file(f, "{\"path\":\"it's\"}"));
    assert_contains(f, "/it'\\''s'");
}

static void test_large_file(void **state)
{
    struct tool_fixture *f = *state;
    put_lines(f, "big", 60000, 99);
    assert_true(read_file(f, "{\"path\":\"big\",\"limit\":2}"));
    assert_contains(f, "[More lines in file. Use offset=3 to continue.]");
    assert_true(read_file(f, "{\"path\":\"big\"}"));
    assert_contains(f, "[Showing lines 1-512 of a file of 5.7MB (50.0KB limit). Use "
                       "offset=513 to continue.]");
    assert_true(read_file(f, "{\"path\":\"big\",\"offset\":59999,\"limit\":1}"));
    assert_contains(f, "\n\n[1 more line in file. Use offset=60000 to continue.]");
    expect_error(f, "{\"path\":\"big\",\"offset\":60001}", "has 60000 lines");
}

static void test_encodings(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "bom", SV("\xEF\xBB\xBFone\n"));
    expect_text(f, "{\"path\":\"bom\"}", "one\n");
    fixture_put(f, "latin1",
                SV("caf\xE9 fran\xE7"
                   "ais\n"));
    expect_text(f, "{\"path\":\"latin1\"}",
                "caf\uFFFD fran\uFFFDais\n\n[Bytes that are not UTF-8 are shown as "
                "U+FFFD (2 times); "
                "the file may be in an 8-bit encoding such as Latin-1.]");
    fixture_put(f, "own", SV("really \uFFFD\n"));
    expect_text(f, "{\"path\":\"own\"}", "really \uFFFD\n");
    fixture_put(f, "utf16",
                SV("\xff\xfe"
                   "a\0l\0\r\0\n\0b\0"));
    expect_text(f, "{\"path\":\"utf16\"}",
                "al\r\nb\n\n[The file is UTF-16; shown as UTF-8.]");
}

static void test_late_nul(void **state)
{
    struct tool_fixture *f = *state;
    struct buf text = {0};
    for (int i = 0; i < 1000; i++) {
        buf_adds(&text, "0123456789\n");
    }
    buf_add(&text, "a\0b\n", 4);
    fixture_put(f, "late", buf_sv(&text));
    buf_finish(&text);
    assert_true(read_file(f, "{\"path\":\"late\",\"offset\":1001}"));
    assert_contains(
        f, "a\uFFFDb\n\n[Bytes that are not UTF-8 are shown as U+FFFD (1 times)");
}

static void test_binary(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "p.pdf", SV("%PDF-1.4\n1 0 obj\n"));
    assert_true(read_file(f, "{\"path\":\"p.pdf\"}"));
    assert_contains(f, "binary file: PDF document, 17B.");
    assert_contains(f, "pdftotext '");
    fixture_put(f, "x.txt", SV("a\0b"));
    assert_true(read_file(f, "{\"path\":\"x.txt\",\"offset\":9}"));
    assert_contains(f, "binary file: data, 3B.");
    assert_int_equal(strlen(buf_cstr(&f->text)), f->text.len);
}

static void put_image(struct tool_fixture *f, const char *name)
{
    char path[1024];
    struct buf bytes = {0};
    snprintf(path, sizeof path, "%s/images/%s", getenv("PI_TEST_DATA"), name);
    assert_int_equal(file_load(&bytes, path, 1 << 20, NULL), PI_OK);
    fixture_put(f, "x.txt", buf_sv(&bytes)); // names say nothing
    buf_finish(&bytes);
}

static void test_images(void **state)
{
    struct tool_fixture *f = *state;
    put_image(f, "one.png");
    expect_text(f, "{\"path\":\"x.txt\",\"offset\":9}",
                "[x.txt: image/png, 1x1 pixels, 69B]");
    assert_int_equal(f->result.content.len, 2);
    assert_int_equal(f->result.content.blocks[1].type, BLOCK_IMAGE);
    assert_string_equal(f->result.content.blocks[1].mime_type, "image/png");
    assert_int_equal(f->result.content.blocks[1].text.len, 92);

    put_image(f, "wide-bits.png");
    expect_text(f, "{\"path\":\"x.txt\"}",
                "[x.txt: image/png, 2400x48 pixels, 2.1KB]\n"
                "[The image is 2400x48 pixels and is shown at 2000x40: multiply "
                "coordinates by 1.20 to find them in the file.]");
    assert_int_equal(f->result.content.len, 2);
    f->context.keep_images = true;
    expect_text(f, "{\"path\":\"x.txt\"}", "[x.txt: image/png, 2400x48 pixels, 2.1KB]");
    assert_int_equal(f->result.content.len, 2);
    f->context.keep_images = false;

    put_image(f, "bomb-header.png");
    expect_text(f, "{\"path\":\"x.txt\"}",
                "[x.txt: image/png, 60000x60000 pixels, 69B]\n"
                "[The image is left out: it has more than 50 million pixels.]");
    assert_int_equal(f->result.content.len, 1);

    fixture_put(f, "x.txt", SV("GIF89a is a format\n"));
    expect_text(f, "{\"path\":\"x.txt\"}", "GIF89a is a format\n");
}

static void test_hints(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "it's", SV("%PDF-1.4 "));
    assert_true(read_file(f, "{\"path\":\"it's\"}"));
    assert_contains(f, "To look inside, use bash: pdftotext '/");
    assert_contains(f, "/it'\\''s' -]");
    fixture_put(f, "n", SV("{\"cells\": [{\"cell_type\": 1}]}"));
    assert_true(read_file(f, "{\"path\":\"n\"}"));
    assert_contains(f,
                    "1}]}\n\n[The file is a Jupyter notebook; to see what is in it, use "
                    "bash: jupyter nbconvert --to markdown --stdout '/");
}

static void test_not_files(void **state)
{
    struct tool_fixture *f = *state;
    char *fifo = fixture_path(f, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    free(fifo);
    expect_error(f, "{\"path\":\"fifo\"}", "FIFO");
    expect_error(f, "{\"path\":\"/dev/zero\"}", "device");
    expect_error(f, "{\"path\":\".\"}", "is a directory");
    expect_error(f, "{\"path\":\"\"}", "path: empty; give the path of the file");
    fixture_put(f, "file", SV("text"));
    expect_error(f, "{\"path\":\"file/x\"}",
                 "a part of the path is a file, not a folder");
    expect_error(f, "{\"path\":\"none.txt\"}", "none.txt: no such file (looked for /");
}

static void test_names(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a\u00A0b.txt", SV("nbsp\n"));
    expect_text(f, "{\"path\":\"a\u00A0b.txt\"}", "nbsp\n");
    fixture_put(f, "it\u2019s.txt", SV("curly\n"));
    assert_true(read_file(f, "{\"path\":\"it's.txt\"}"));
    assert_contains(f, "curly\n\n[No file has exactly this name; this is /");
    fixture_put(f, "home.txt", SV("home\n"));
    expect_text(f, "{\"path\":\"~/home.txt\"}", "home\n");
}

static void test_restricted(void **state)
{
    struct tool_fixture *f = *state;
    char *work = fixture_path(f, "work"), *evil = fixture_path(f, "work-evil");
    char *link = fixture_path(f, "work/out");
    assert_int_equal(mkdir(work, 0700), 0);
    assert_int_equal(mkdir(evil, 0700), 0);
    assert_int_equal(symlink(evil, link), 0);
    fixture_put(f, "work/a", SV("a\n"));
    fixture_put(f, "work-evil/b", SV("b\n"));
    f->context.restrict_dir = work;
    expect_text(f, "{\"path\":\"work/a\"}", "a\n");
    expect_error(f, "{\"path\":\"work-evil/b\"}", "outside");
    expect_error(f, "{\"path\":\"work/../work-evil/b\"}", "outside");
    expect_error(f, "{\"path\":\"work/out/b\"}", "outside");
    free(work);
    free(evil);
    free(link);
}

// A host with one open buffer, which arrives in pieces.
static struct sv buffer_text;

static enum pi_status buffer_read(struct host *h, const struct host_target *target,
                                  uint64_t offset, host_sink sink, void *data,
                                  struct host_origin *origin, struct file_stamp *stamp,
                                  struct cancel *cancel, struct pi_error *err)
{
    (void)h, (void)target, (void)offset, (void)stamp, (void)cancel, (void)err;
    *origin = (struct host_origin){.buffer = true, .unsaved = true};
    for (struct sv rest = buffer_text; rest.n > 0; rest = sv_from(rest, 1)) {
        if (!sink(data, sv_make(rest.p, 1))) {
            break;
        }
    }
    return PI_OK;
}

static void test_buffer(void **state)
{
    struct tool_fixture *f = *state;
    static const struct host_ops ops = {.read = buffer_read};
    struct host host = {.ops = &ops};
    f->context.host = &host;
    buffer_text = SV("one\ntwo\n");
    expect_text(f, "{\"path\":\"new.txt\"}",
                "one\ntwo\n\n[unsaved changes in the editor]");
    expect_text(f, "{\"path\":\"new.txt\",\"limit\":1}",
                "one\n\n[1 more line in file. Use offset=2 to continue.]\n"
                "[unsaved changes in the editor]");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_whole_file), TEST(test_empty_file),  TEST(test_interrupted_change),
        TEST(test_pages),      TEST(test_odd_numbers), TEST(test_line_cap),
        TEST(test_byte_cap),   TEST(test_huge_line),   TEST(test_quoted_command),
        TEST(test_large_file), TEST(test_encodings),   TEST(test_late_nul),
        TEST(test_images),     TEST(test_hints),       TEST(test_binary),
        TEST(test_not_files),  TEST(test_names),       TEST(test_restricted),
        TEST(test_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
