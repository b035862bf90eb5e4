#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "sys/file.h"
#include "text/utf8.h"

struct fixture {
    char dir[64];
    struct output output;
    struct buf shown;
    int shows;
    struct buf text;
    struct json *details;
};

static void show(void *data, struct sv text)
{
    struct fixture *f = data;
    f->shows++;
    assert_true(utf8_valid(text));
    buf_addsv(&f->shown, text);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    snprintf(f->dir, sizeof f->dir, "/tmp/pi-test-output-XXXXXX");
    return mkdtemp(f->dir) && output_init(&f->output, f->dir, show, f, NULL) == PI_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    spill_remove(&f->output.spill);
    output_finish(&f->output);
    buf_finish(&f->shown);
    buf_finish(&f->text);
    json_destroy(f->details);
    int rc = rmdir(f->dir);
    free(f);
    return rc;
}

static void feed(struct fixture *f, const char *text)
{
    output_feed(&f->output, sv_of(text));
}

static const char *end(struct fixture *f)
{
    assert_int_equal(output_end(&f->output, false, &f->text, &f->details, NULL), PI_OK);
    assert_true(utf8_valid(buf_sv(&f->text)));
    return buf_cstr(&f->text);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        size_t n = strlen(text);
        fail_msg("no \"%s\" in ...%s", part, text + (n > 300 ? n - 300 : 0));
    }
}

static struct buf log_of(struct fixture *f)
{
    struct buf log = {0};
    assert_int_equal(file_load(&log, f->output.spill.path, 1 << 30, NULL), PI_OK);
    return log;
}

static void test_count_lf(void **state)
{
    (void)state;
    struct buf b = {0};
    size_t expected = 0;
    for (unsigned i = 0; i < 5000; i++) {
        char c = (char)(i * 7919 % 256);
        expected += c == '\n';
        buf_addc(&b, c);
        assert_int_equal(output_count_lf(buf_sv(&b)), expected);
    }
    assert_int_equal(output_count_lf(sv_of("\n\n\n\n\n\n\n\n\n")), 9);
    assert_int_equal(output_count_lf(sv_of("\x8a\x0b\x09\x0a\x8a\x8a\x0a\x0a\x0b")), 3);
    buf_finish(&b);
}

static void test_small_output_as_it_is(void **state)
{
    struct fixture *f = *state;
    feed(f, "one\r\ntwo \033[31mred\033[0m\n");
    assert_string_equal(end(f), "one\ntwo red\n");
    assert_null(f->details);
    assert_false(f->output.spill.created);
    assert_string_equal(buf_cstr(&f->shown), "one\ntwo red\n");
}

static void test_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(output_feed(&f->output, sv_make(NULL, 0)), -1);
    assert_string_equal(end(f), "");
    assert_int_equal(f->shows, 0);
}

static void test_exactly_the_limit(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2000; i++) {
        feed(f, "x\n");
    }
    end(f);
    assert_null(f->details);
    assert_int_equal(f->text.len, 4000);
    assert_false(f->output.spill.created);
}

static void test_too_many_lines(void **state)
{
    struct fixture *f = *state;
    char line[32];
    struct buf all = {0};
    for (int i = 1; i <= 2500; i++) {
        snprintf(line, sizeof line, "line %d\n", i);
        buf_adds(&all, line);
        feed(f, line);
    }
    const char *text = end(f);
    char notice[256];
    snprintf(notice, sizeof notice,
             "line 2500\n\n[Showing lines 501-2500 of 2500. Full output: %s]",
             f->output.spill.path);
    assert_true(strncmp(text, "line 501\n", 9) == 0);
    has(text, notice);
    struct buf log = log_of(f);
    assert_true(sv_eq(buf_sv(&log), buf_sv(&all)));
    struct stat st;
    assert_int_equal(stat(f->output.spill.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_string_equal(json_get_str(f->details, "fullOutputPath"), f->output.spill.path);
    const struct json *t = json_get(f->details, "truncation");
    assert_int_equal((int)json_get_num(t, "totalLines", 0), 2500);
    assert_int_equal((int)json_get_num(t, "outputLines", 0), 2000);
    assert_int_equal((int)json_get_num(t, "totalBytes", 0), (int)all.len);
    buf_finish(&log);
    buf_finish(&all);
}

static void test_too_many_bytes(void **state)
{
    struct fixture *f = *state;
    char line[102];
    memset(line, 'y', 100);
    memcpy(line + 100, "\n", 2);
    for (int i = 0; i < 1000; i++) {
        feed(f, line);
    }
    has(end(f), "[Showing lines 495-1000 of 1000 (50.0KB limit). Full output: ");
}

static void test_end_of_a_long_last_line(void **state)
{
    struct fixture *f = *state;
    struct buf line = {0};
    for (int i = 0; i < 60000; i++) {
        buf_adds(&line, "\xf0\x9f\x98\x80");
    }
    feed(f, "first\n");
    output_feed(&f->output, buf_sv(&line));
    feed(f, "\n");
    const char *text = end(f);
    has(text, "[Showing last 50.0KB of line 2 (line is 234.4KB). Full output: ");
    assert_null(strstr(text, "\xef\xbf\xbd"));
    buf_finish(&line);
}

/** Feeds n numbered lines in chunks of this size and compares with what must come out. */
static void flood(struct fixture *f, int lines, const char *filler, size_t chunk)
{
    struct buf all = {0};
    for (int i = 1; i <= lines; i++) {
        buf_addf(&all, "%d %s\n", i, filler);
    }
    for (size_t at = 0; at < all.len; at += chunk) {
        size_t n = all.len - at < chunk ? all.len - at : chunk;
        output_feed(&f->output, sv_make(all.data + at, n));
    }
    const char *text = end(f);
    struct truncation t = truncate_tail(buf_sv(&all), 2000, 50 * 1024);
    assert_true(sv_starts(buf_sv(&f->text), t.kept));
    char notice[128];
    snprintf(notice, sizeof notice, "\n\n[Showing lines %zu-%d of %d",
             (size_t)lines - t.kept_lines + 1, lines, lines);
    has(text, notice);
    struct buf log = log_of(f);
    assert_true(sv_eq(buf_sv(&log), buf_sv(&all)));
    buf_finish(&log);
    buf_finish(&all);
    assert_true(f->shown.len < 2 * 1024 * 1024);
    assert_true(f->output.tail.cap + f->output.pending.cap + f->output.raw.cap <
                4 * 1024 * 1024);
}

static void test_flood_of_short_lines(void **state)
{
    flood(*state, 1000000, "", 256 * 1024);
}

static void test_flood_in_small_chunks(void **state)
{
    flood(*state, 100000, "some words that make the line longer", 4096);
}

static void test_flood_of_long_lines(void **state)
{
    char filler[3000];
    memset(filler, 'z', sizeof filler - 1);
    filler[sizeof filler - 1] = 0;
    flood(*state, 3000, filler, 100 * 1000);
}

static void test_flood_without_a_line(void **state)
{
    struct fixture *f = *state;
    static char chunk[200 * 1000];
    memset(chunk, 'x', sizeof chunk);
    for (int i = 0; i < 50; i++) {
        output_feed(&f->output, sv_make(chunk, sizeof chunk));
    }
    feed(f, "END\n");
    const char *text = end(f);
    has(text, "xEND\n\n[Showing last 50.0KB of line 1 (line is 9.5MB). Full output: ");
    assert_true(strlen(text) < 52 * 1024);
}

static void test_progress_bar_hides_nothing(void **state)
{
    struct fixture *f = *state;
    feed(f, "important\n");
    for (int i = 0; i < 200000; i++) {
        feed(f, "\r\033[K 50% of a large download");
    }
    feed(f, "\rdone\033[K\n");
    assert_string_equal(end(f), "important\ndone\n");
    assert_false(f->output.spill.created);
    assert_int_not_equal(access(f->output.spill.path, F_OK), 0);
}

static void test_flood_of_nul(void **state)
{
    struct fixture *f = *state;
    static const char zeros[100 * 1000];
    feed(f, "before\n");
    for (int i = 0; i < 20; i++) {
        output_feed(&f->output, sv_make(zeros, sizeof zeros));
    }
    feed(f, "\nafter\n");
    assert_string_equal(end(f), "before\n\nafter\n");
}

static void test_bytes_one_at_a_time(void **state)
{
    struct fixture *f = *state;
    const char *text = "caf\xc3\xa9\n\033]8;;http://x\033\\link\033]8;;\033\\ \xff\r\nx";
    for (const char *c = text; *c; c++) {
        output_feed(&f->output, sv_make(c, 1));
    }
    assert_string_equal(end(f), "caf\xc3\xa9\nlink \xef\xbf\xbd\nx");
    assert_string_equal(buf_cstr(&f->shown), buf_cstr(&f->text));
}

static void test_repaired_text_beyond_the_limit_is_spilled(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2000; i++) {
        feed(
            f,
            "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\n");
    }
    has(end(f), " of 2000 (50.0KB limit). Full output: ");
    struct buf log = log_of(f);
    assert_int_equal(log.len, 2000 * 19);
    buf_finish(&log);
}

static void test_updates_are_rare_and_complete(void **state)
{
    struct fixture *f = *state;
    feed(f, "a");
    assert_int_equal(f->shows, 1);
    assert_string_equal(buf_cstr(&f->shown), "a");
    int wait = output_feed(&f->output, sv_of("b"));
    assert_in_range(wait, 1, 100);
    assert_int_equal(f->shows, 1);
    usleep(110 * 1000);
    assert_int_equal(output_feed(&f->output, sv_make(NULL, 0)), -1);
    assert_string_equal(buf_cstr(&f->shown), "ab");
    feed(f, "\rXY\nnext");
    assert_string_equal(end(f), "XY\nnext");
    assert_string_equal(buf_cstr(&f->shown), "ab\nXY\nnext");
    assert_int_equal(f->shows, 3);
}

static void test_skipped_text_is_named(void **state)
{
    struct fixture *f = *state;
    struct buf all = {0};
    for (int i = 0; i < 40000; i++) {
        buf_addf(&all, "line %d\n", i);
    }
    feed(f, "x\n");
    output_feed(&f->output, buf_sv(&all));
    end(f);
    has(buf_cstr(&f->shown), " of output not shown here]\n");
    has(buf_cstr(&f->shown), "line 39999\n");
    assert_true(f->shown.len < 70 * 1024);
    buf_finish(&all);
}

static void touch(const struct fixture *f, const char *name, int days_old)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    time_t then = time(NULL) - (time_t)days_old * 24 * 3600 - 60;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool removed(const struct fixture *f, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    return unlink(path) != 0;
}

static void test_old_logs_are_removed(void **state)
{
    struct fixture *f = *state;
    touch(f, "pi-bash-0123456789abcdef.log", 7);
    touch(f, "pi-bash-0123456789abcde0.log", 6);
    touch(f, "pi-bash-0123456789abcdef.log.txt", 9);
    touch(f, "pi-bash-notes.log", 9);
    output_hand_over(&f->output);
    assert_true(removed(f, "pi-bash-0123456789abcdef.log"));
    assert_false(removed(f, "pi-bash-0123456789abcde0.log"));
    assert_false(removed(f, "pi-bash-0123456789abcdef.log.txt"));
    assert_false(removed(f, "pi-bash-notes.log"));
}

static void test_missing_folder_is_made(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(rmdir(f->dir), 0);
    output_hand_over(&f->output);
    assert_true(f->output.spill.created);
}

static void test_log_that_cannot_be_made(void **state)
{
    struct fixture *f = *state;
    output_finish(&f->output);
    assert_int_equal(output_init(&f->output, "/dev/null/dir", NULL, NULL, NULL), PI_OK);
    for (int i = 0; i < 3000; i++) {
        feed(f, "x\n");
    }
    const char *text = end(f);
    has(text, "[Showing lines 1001-3000 of 3000. The full output could not be saved: ");
    assert_null(json_get(f->details, "fullOutputPath"));
}

static void test_log_stops_at_the_file_limit(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();
    if (child == 0) {
        // Without care SIGXFSZ would end the process here.
        const struct rlimit limit = {.rlim_cur = 1000 * 1000, .rlim_max = 1000 * 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < 700000; i++) {
            feed(f, "xy\n");
        }
        const char *text = end(f);
        bool told = strstr(text, "[Showing lines 698001-700000 of 700000.") &&
                    strstr(text, "limit") && f->output.spill.size == 1000 * 1000;
        spill_remove(&f->output.spill);
        _exit(told ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_hand_over_writes_what_was_held_back(void **state)
{
    struct fixture *f = *state;
    feed(f, "small\n");
    output_hand_over(&f->output);
    struct buf log = log_of(f);
    assert_string_equal(buf_cstr(&log), "small\n");
    buf_finish(&log);
    assert_int_equal(output_end(&f->output, true, &f->text, &f->details, NULL), PI_OK);
    assert_int_equal(access(f->output.spill.path, F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_lf),
        TEST(test_small_output_as_it_is),
        TEST(test_nothing),
        TEST(test_exactly_the_limit),
        TEST(test_too_many_lines),
        TEST(test_too_many_bytes),
        TEST(test_end_of_a_long_last_line),
        TEST(test_flood_of_short_lines),
        TEST(test_flood_in_small_chunks),
        TEST(test_flood_of_long_lines),
        TEST(test_flood_without_a_line),
        TEST(test_progress_bar_hides_nothing),
        TEST(test_flood_of_nul),
        TEST(test_bytes_one_at_a_time),
        TEST(test_repaired_text_beyond_the_limit_is_spilled),
        TEST(test_updates_are_rare_and_complete),
        TEST(test_skipped_text_is_named),
        TEST(test_old_logs_are_removed),
        TEST(test_missing_folder_is_made),
        TEST(test_log_that_cannot_be_made),
        TEST(test_log_stops_at_the_file_limit),
        TEST(test_hand_over_writes_what_was_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
