#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "text/diff.h"

/* Hunks */

static struct sv lines_of(struct sv text, size_t first, size_t len)
{
    struct sv line;
    const char *start = text.p;
    for (size_t i = 1; i < first + len; i++) {
        if (i == first) {
            start = text.p;
        }
        assert_true(sv_next_line(&text, &line));
    }
    return len ? sv_make(start, (size_t)(text.p - start)) : sv_make("", 0);
}

// Builds `after` from `before` and the hunks.
static void rebuild(struct buf *out, const struct diff *d, struct sv before,
                    struct sv after)
{
    size_t next = 1, line_new = 1;
    for (size_t i = 0; i < d->len; i++) {
        const struct diff_hunk *h = &d->hunks[i];
        assert_true(h->old_len || h->new_len);
        assert_true(i == 0 ? h->old_start >= 1 : h->old_start > next);
        buf_addsv(out, lines_of(before, next, h->old_start - next));
        line_new += h->old_start - next;
        assert_int_equal(h->new_start, line_new);
        buf_addsv(out, lines_of(after, h->new_start, h->new_len));
        line_new += h->new_len;
        next = h->old_start + h->old_len;
    }
    struct sv rest = before;
    struct sv line;
    for (size_t i = 1; i < next; i++) {
        assert_true(sv_next_line(&rest, &line));
    }
    buf_addsv(out, rest);
}

// Returns the number of changed lines.
static size_t check_diff(struct sv before, struct sv after)
{
    struct diff d = {0};
    struct buf b = {0};
    size_t changed = 0;
    assert_int_equal(diff_lines(&d, before, after, NULL), PI_OK);
    rebuild(&b, &d, before, after);
    assert_true(sv_eq(buf_sv(&b), after));
    for (size_t i = 0; i < d.len; i++) {
        changed += d.hunks[i].old_len + d.hunks[i].new_len;
    }
    diff_finish(&d);
    buf_finish(&b);
    return changed;
}

static void check_changed(const char *before, const char *after, size_t changed)
{
    assert_int_equal(check_diff(sv_of(before), sv_of(after)), changed);
    assert_int_equal(check_diff(sv_of(after), sv_of(before)), changed);
}

static void test_small(void **state)
{
    (void)state;
    check_changed("", "", 0);
    check_changed("a\n", "a\n", 0);
    check_changed("", "a\nb\n", 2);
    check_changed("a\n", "a", 2);
    check_changed("a\nb\nc\n", "a\nx\nc\n", 2);
    check_changed("a\nb\nc\n", "a\nc\n", 1);
    check_changed("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 5); // the classic one
    check_changed("a\nb", "a\nb\n", 2);
    check_changed("x\ny", "x\nyz", 2);
    check_changed("ab\ncd\n", "b\ncd\n", 2);
    check_changed("\n\n\n", "\n\n", 1);
    check_changed("a\r\nb\r\n", "a\nb\r\n", 2);
}

static void test_where_hunks_stand(void **state)
{
    (void)state;
    struct diff d = {0};
    assert_int_equal(
        diff_lines(&d, sv_of("a\nb\nc\nd\n"), sv_of("a\nB\nc\nd\ne\n"), NULL), PI_OK);
    assert_int_equal(d.len, 2);
    assert_int_equal(d.hunks[0].old_start, 2);
    assert_int_equal(d.hunks[0].old_len, 1);
    assert_int_equal(d.hunks[0].new_start, 2);
    assert_int_equal(d.hunks[0].new_len, 1);
    assert_int_equal(d.hunks[1].old_start, 5);
    assert_int_equal(d.hunks[1].old_len, 0);
    assert_int_equal(d.hunks[1].new_start, 5);
    assert_int_equal(d.hunks[1].new_len, 1);
    diff_finish(&d);
    diff_finish(NULL);
}

// The length of the longest common subsequence, the plain way.
static size_t least_changes(const char *a, size_t n, const char *b, size_t m)
{
    static size_t best[64][64];
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                best[i][j] = 0;
            } else if (a[i - 1] == b[j - 1]) {
                best[i][j] = best[i - 1][j - 1] + 1;
            } else {
                size_t x = best[i - 1][j], y = best[i][j - 1];
                best[i][j] = x > y ? x : y;
            }
        }
    }
    return n + m - 2 * best[n][m];
}

static void random_lines(struct random *r, char *letters, size_t n, struct buf *text,
                         uint32_t alphabet)
{
    for (size_t i = 0; i < n; i++) {
        letters[i] = (char)('a' + random_below(r, alphabet));
        buf_addf(text, "%c\n", letters[i]);
    }
}

static void test_random_is_minimal(void **state)
{
    (void)state;
    struct random r = {7};
    for (int round = 0; round < 5000; round++) {
        char a[60], b[60];
        size_t n = random_below(&r, 60), m = random_below(&r, 60);
        uint32_t alphabet = 1 + random_below(&r, 8);
        struct buf before = {0}, after = {0};
        random_lines(&r, a, n, &before, alphabet);
        random_lines(&r, b, m, &after, alphabet);
        assert_int_equal(check_diff(buf_sv(&before), buf_sv(&after)),
                         least_changes(a, n, b, m));
        buf_finish(&before);
        buf_finish(&after);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// The hunks are checked by rebuilding, but without the slow helpers above.
static void check_large(const struct buf *before, const struct buf *after)
{
    struct diff d = {0};
    double start = seconds();
    assert_int_equal(diff_lines(&d, buf_sv(before), buf_sv(after), NULL), PI_OK);
    double took = seconds() - start;
    if (took > 4.0) { // generous: sanitizers
        fail_msg("the comparison took %.1f s", took);
    }
    size_t old_lines = 0, new_lines = 0;
    struct sv a = buf_sv(before), b = buf_sv(after), x, y;
    for (size_t i = 0; i <= d.len; i++) {
        size_t stop = i < d.len ? d.hunks[i].old_start - 1 : SIZE_MAX;
        while (old_lines < stop && sv_next_line(&a, &x)) {
            assert_true(sv_next_line(&b, &y));
            assert_true(sv_eq(x, y));
            old_lines++;
            new_lines++;
        }
        for (size_t k = 0; i < d.len && k < d.hunks[i].old_len; k++, old_lines++) {
            assert_true(sv_next_line(&a, &x));
        }
        for (size_t k = 0; i < d.len && k < d.hunks[i].new_len; k++, new_lines++) {
            assert_true(sv_next_line(&b, &y));
        }
    }
    assert_int_equal(a.n, 0);
    assert_int_equal(b.n, 0);
    diff_finish(&d);
}

static void test_large_inputs_stay_quick(void **state)
{
    (void)state;
    enum { DISJOINT, SHUFFLED, REVERSED, FEW_WORDS, KINDS };
    struct random r = {3};
    for (int kind = 0; kind < KINDS; kind++) {
        struct buf a = {0}, b = {0};
        for (int i = 0; i < 20000; i++) {
            buf_addf(&a, "line %d\n", kind == FEW_WORDS ? (int)random_below(&r, 50) : i);
            buf_addf(&b, "%s %d\n", kind == DISJOINT ? "other" : "line",
                     kind == SHUFFLED    ? (int)random_below(&r, 20000)
                     : kind == REVERSED  ? 20000 - i
                     : kind == FEW_WORDS ? (int)random_below(&r, 50)
                                         : i);
        }
        check_large(&a, &b);
        buf_finish(&a);
        buf_finish(&b);
    }
}

// Common starts and ends are skipped in large steps; the change may be anywhere in a
// step.
static void test_change_in_a_large_text(void **state)
{
    (void)state;
    for (size_t at = 4080; at < 4110; at++) {
        struct buf a = {0}, b = {0};
        for (size_t i = 0; i < 10000; i++) {
            buf_addc(&a, i % 9 == 8 ? '\n' : (char)('a' + i % 7));
        }
        buf_addsv(&b, buf_sv(&a));
        b.data[at] = '!';
        b.data[10000 - at] = '?';
        size_t lf = (at % 9 == 8) + ((10000 - at) % 9 == 8);
        assert_int_equal(check_diff(buf_sv(&a), buf_sv(&b)), 4 + lf);
        buf_finish(&a);
        buf_finish(&b);
    }
}

// An insertion between equal neighbours ends a block instead of starting in one.
static void test_insertions_slide_down(void **state)
{
    (void)state;
    struct diff d = {0};
    assert_int_equal(diff_lines(&d, sv_of("f\n{\n}\n\ng\n{\n}\n"),
                                sv_of("f\n{\n}\n\nn\n{\n}\n\ng\n{\n}\n"), NULL),
                     PI_OK);
    assert_int_equal(d.len, 1);
    assert_int_equal(d.hunks[0].new_start, 5);
    assert_int_equal(d.hunks[0].new_len, 4);
    diff_finish(&d);
    check_changed("a\nb\na\nx\n", "a\nb\na\nb\na\ny\n", 4);
}

/* Patches */

static void write_file(const char *path, struct sv text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p ? text.p : "", 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

static void read_file(const char *path, struct buf *out)
{
    char piece[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) {
        buf_add(out, piece, n);
    }
    fclose(f);
}

static bool have_patch(void)
{
    return system("patch --version >patch-version.txt 2>&1") == 0;
}

// Runs in a directory of its own.
static int enter_directory(void **state)
{
    char name[] = "/tmp/pi-test-diff-XXXXXX";
    char *dir = mkdtemp(name);
    if (!dir || chdir(dir) != 0) {
        return -1;
    }
    *state = strdup(dir);
    return 0;
}

static int leave_directory(void **state)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    free(*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void apply_and_compare(const char *path, const struct buf *patch, struct sv before,
                              struct sv after)
{
    struct buf got = {0};
    mkdir("d", 0700);
    write_file(path, before);
    write_file("p.diff", buf_sv(patch));
    int status =
        system("patch -p1 --binary --no-backup-if-mismatch -s -f -F0 <p.diff >log 2>&1");
    if (status != 0) {
        struct buf log = {0};
        read_file("log", &log);
        print_error("%s%s", buf_cstr(patch), buf_cstr(&log));
        buf_finish(&log);
    }
    assert_int_equal(status, 0);
    if (after.n || access(path, F_OK) == 0) {
        read_file(path, &got);
    }
    assert_true(sv_eq(buf_sv(&got), after));
    buf_finish(&got);
    remove(path);
}

static void check_patch(const char *path, struct sv before, struct sv after,
                        size_t context)
{
    struct diff_window w = {
        .before = before, .after = after, .old_first_line = 1, .new_first_line = 1};
    struct buf patch = {0};
    assert_int_equal(diff_write_patch(&patch, path, &w, 1, context, NULL), PI_OK);
    apply_and_compare(path, &patch, before, after);
    buf_finish(&patch);
}

static void test_patch_is_applied(void **state)
{
    (void)state;
    if (!have_patch()) {
        skip();
    }
    static const char *const texts[] = {
        "",
        "a",
        "a\n",
        "a\nb",
        "a\r\nb\r\n",
        "a\nb\r\nc",
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n",
        "zero\none\ntwo\nthree\nfour\nfive\nSIX\nseven\neight\nnine\nten\neleven",
        "one\nthree\nfour\nfive\nsix\nseven\neight\nnine\nTEN\neleven\ntwelve\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n",
    };
    enum { N = sizeof texts / sizeof texts[0] };
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < N; k++) {
            if (i != k) {
                check_patch("f.txt", sv_of(texts[i]), sv_of(texts[k]), (i + k) % 4);
            }
        }
    }
}

static void test_patch_with_odd_paths(void **state)
{
    (void)state;
    if (!have_patch()) {
        skip();
    }
    static const char *const paths[] = {
        "d/f",
        "a b.txt",
        "d/two  blanks",
        "tab\there",
        "new\nline",
        "quo\"te",
        "back\\s",
        "gr\xc3\xbc\xc3\x9f",
        "not-utf8-\xff\xc3",
        " lead and trail ",
        "date\t2020-01-01",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        check_patch(paths[i], sv_of("a\nb\nc\n"), sv_of("a\nB\nc\n"), 3);
        check_patch(paths[i], sv_of(""), sv_of("new\n"), 3);
    }
}

static void check_text(const struct diff_window *w, size_t len, const char *path,
                       const char *want)
{
    struct buf out = {0};
    assert_int_equal(diff_write_patch(&out, path, w, len, 1, NULL), PI_OK);
    assert_string_equal(buf_cstr(&out), want);
    buf_finish(&out);
}

static void test_patch_text(void **state)
{
    (void)state;
    struct diff_window w[2] = {{sv_of("a\nb\nc\n"), sv_of("a\nB\nc\n"), 1, 1}};
    check_text(w, 1, "x", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    check_text(w, 1, "/abs", "--- a/abs\n+++ b/abs\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    w[0] = (struct diff_window){sv_of(""), sv_of("n\n"), 1, 1};
    check_text(w, 1, "a b", "--- a/a b\t\n+++ b/a b\t\n@@ -0,0 +1,1 @@\n+n\n");
    w[0] = (struct diff_window){sv_of("x\n"), sv_of("x\n"), 1, 1};
    check_text(w, 1, "x", "");
    // Two windows of one file, the second without a final LF.
    w[0] = (struct diff_window){sv_of("p\nq\nr\n"), sv_of("p\nr\n"), 10, 10};
    w[1] = (struct diff_window){sv_of("y\nz"), sv_of("y\nZ"), 100, 99};
    check_text(w, 2, "x",
               "--- a/x\n+++ b/x\n@@ -10,3 +10,2 @@\n p\n-q\n r\n"
               "@@ -100,2 +99,2 @@\n y\n-z\n\\ No newline at end of file\n"
               "+Z\n\\ No newline at end of file\n");
}

/* Rows */

static void check_rows(const struct diff_window *w, size_t len, size_t last,
                       const char *want)
{
    struct buf out = {0};
    assert_int_equal(diff_write_rows(&out, w, len, 4, last, NULL), PI_OK);
    assert_string_equal(buf_cstr(&out), want);
    buf_finish(&out);
}

static void number_lines(struct buf *b, int count, int changed_1, int changed_2)
{
    for (int i = 1; i <= count; i++) {
        bool changed = i == changed_1 || i == changed_2;
        buf_addf(b, "%s%d\n", changed ? "new " : "l", i);
    }
}

static void test_rows(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    number_lines(&a, 20, 0, 0);
    number_lines(&b, 20, 10, 0);
    struct diff_window w = {buf_sv(&a), buf_sv(&b), 1, 1};
    check_rows(&w, 1, 20,
               "    ...\n  6 l6\n  7 l7\n  8 l8\n  9 l9\n-10 l10\n+10 new 10\n"
               " 11 l11\n 12 l12\n 13 l13\n 14 l14\n    ...");
    buf_finish(&a);
    buf_finish(&b);
}

static void test_rows_between_changes(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0}, c = {0};
    number_lines(&a, 13, 0, 0);
    number_lines(&b, 13, 2, 11); // 8 lines between: shown whole
    struct diff_window w = {buf_sv(&a), buf_sv(&b), 1, 1};
    check_rows(
        &w, 1, 13,
        "  1 l1\n- 2 l2\n+ 2 new 2\n  3 l3\n  4 l4\n  5 l5\n  6 l6\n  7 l7\n  8 l8\n"
        "  9 l9\n 10 l10\n-11 l11\n+11 new 11\n 12 l12\n 13 l13");
    number_lines(&c, 13, 2, 12); // 9: cut
    w.after = buf_sv(&c);
    check_rows(&w, 1, 13,
               "  1 l1\n- 2 l2\n+ 2 new 2\n  3 l3\n  4 l4\n  5 l5\n  6 l6\n    ...\n"
               "  8 l8\n  9 l9\n 10 l10\n 11 l11\n-12 l12\n+12 new 12\n 13 l13");
    buf_finish(&a);
    buf_finish(&b);
    buf_finish(&c);
}

static void test_rows_of_small_texts(void **state)
{
    (void)state;
    struct diff_window w = {sv_of("a\r\nb"), sv_of("a\r\nc\r\nd"), 1, 1};
    check_rows(&w, 1, 2, " 1 a\n-2 b\n+2 c\n+3 d");
    w = (struct diff_window){sv_of(""), sv_of("x\n\n"), 1, 1};
    check_rows(&w, 1, 0, "+1 x\n+2 ");
    w = (struct diff_window){sv_of("x\n"), sv_of(""), 1, 1};
    check_rows(&w, 1, 1, "-1 x");
    check_rows(&w, 0, 1, "");
    w = (struct diff_window){sv_of("x\n"), sv_of("x\n"), 5, 5};
    check_rows(&w, 1, 9, "");
}

// The number gets as wide as the larger side; old numbers stand on context rows.
static void test_rows_of_windows(void **state)
{
    (void)state;
    struct diff_window w[2] = {
        {sv_of("a\nb\n"), sv_of("a\nx\ny\nb\n"), 3, 3},
        {sv_of("m\nn\n"), sv_of("m\nN\n"), 8, 10},
    };
    check_rows(w, 2, 9,
               "    ...\n  3 a\n+ 4 x\n+ 5 y\n  4 b\n    ...\n  8 m\n- 9 n\n+11 N");
    check_rows(
        w, 2, 30,
        "    ...\n  3 a\n+ 4 x\n+ 5 y\n  4 b\n    ...\n  8 m\n- 9 n\n+11 N\n    ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_where_hunks_stand),
        cmocka_unit_test(test_random_is_minimal),
        cmocka_unit_test(test_large_inputs_stay_quick),
        cmocka_unit_test(test_change_in_a_large_text),
        cmocka_unit_test(test_insertions_slide_down),
        cmocka_unit_test_setup_teardown(test_patch_is_applied, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(test_patch_with_odd_paths, enter_directory,
                                        leave_directory),
        cmocka_unit_test(test_patch_text),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_between_changes),
        cmocka_unit_test(test_rows_of_small_texts),
        cmocka_unit_test(test_rows_of_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
