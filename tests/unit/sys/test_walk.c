#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "random.h"
#include "sys/path.h"
#include "sys/walk.h"

struct tree {
    char *dir;
    struct buf seen; // paths, each with LF; folders with a slash, links with "@"
    struct walk_report report;
    size_t stop_after; // entries; 0 = never
    size_t count;
};

static int setup(void **state)
{
    struct tree *t = calloc(1, sizeof *t);
    const char *tmp = getenv("TMPDIR");
    char name[512];
    snprintf(name, sizeof name, "%s/walk-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(name));
    assert_int_equal(path_real(&t->dir, name, NULL), PI_OK);
    *state = t;
    return 0;
}

static void sh(const struct tree *t, const char *commands)
{
    struct buf line = {0};
    buf_addf(&line, "cd '%s' && { %s; }", t->dir, commands);
    assert_int_equal(system(buf_cstr(&line)), 0);
    buf_finish(&line);
}

static int teardown(void **state)
{
    struct tree *t = *state;
    sh(t, "chmod -R u+rwX . && rm -rf \"$PWD\"");
    buf_finish(&t->seen);
    free(t->dir);
    free(t);
    return 0;
}

static bool note(void *data, const struct walk_entry *entry)
{
    struct tree *t = data;
    buf_adds(&t->seen, entry->path);
    buf_adds(&t->seen, entry->kind == WALK_FOLDER ? "/\n"
                       : entry->kind == WALK_LINK ? "@\n"
                                                  : "\n");
    return ++t->count != t->stop_after;
}

static bool note_file(void *data, const struct walk_entry *entry)
{
    struct tree *t = data;
    if (entry->kind == WALK_FILE) {
        buf_addf(&t->seen, "%s\n", entry->path);
    }
    return true;
}

static enum pi_status walk(struct tree *t, const char *below, bool ignored,
                           walk_visit visit)
{
    char *root = path_join(t->dir, below);
    char *home = path_join(t->dir, ".home");
    struct walk_options options = {
        .root = root, .ignored = ignored, .rules = {.home = home}};
    buf_clear(&t->seen);
    t->count = 0;
    enum pi_status st = walk_tree(&options, visit, t, &t->report, NULL);
    free(home);
    free(root);
    return st;
}

static void expect(struct tree *t, const char *below, const char *paths)
{
    assert_int_equal(walk(t, below, false, note), PI_OK);
    assert_string_equal(buf_cstr(&t->seen), paths);
}

static void test_order_and_kinds(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p b/c .git/x && touch b/c/z b/y a.txt b.txt .h .git/in && "
          "ln -s nowhere l && ln -s . loop && ln -s ../b b/up");
    expect(t, ".", ".h\na.txt\nb/\nb/c/\nb/c/z\nb/up@\nb/y\nb.txt\nl@\nloop@\n");
    t->stop_after = 3;
    expect(t, ".", ".h\na.txt\nb/\n");
}

static void test_rules_of_folders(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p s/d && touch keep.tmp drop.tmp s/only s/d/only s/x.tmp i && "
          "printf '*.tmp\\n!keep.tmp\\n' >.gitignore && echo /only >s/.gitignore && "
          "echo i >.ignore");
    expect(t, ".", ".gitignore\n.ignore\nkeep.tmp\ns/\ns/.gitignore\ns/d/\ns/d/only\n");
    assert_int_equal(t->report.ignored, 4);
    assert_int_equal(walk(t, ".", true, note), PI_OK);
    assert_non_null(strstr(buf_cstr(&t->seen), "drop.tmp"));
    assert_int_equal(t->report.ignored, 0);
}

// Rules from above hold when the walk begins further down, unless they exclude the folder
// itself.
static void test_rules_from_above(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p .git a/b out/in && touch a/b/x.o a/b/x.c out/in/y.o && "
          "printf '*.o\\nout/\\n' >.gitignore && echo x.c >a/b/.ignore");
    expect(t, "a/b", ".ignore\n");
    expect(t, "out/in", "y.o\n");
    expect(t, "out", "in/\nin/y.o\n");
}

static void test_other_sources(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p r/.git/info r/sub .home && touch r/sub/e r/sub/g r/sub/k && "
          "echo e >r/.git/info/exclude && echo g >.home/mine && "
          "printf '[user]\\n name = x\\n[core]\\n\\tExcludesFile = ~/mine\\n' "
          ">.home/.gitconfig");
    expect(t, "r", "sub/\nsub/k\n");
    expect(t, "r/sub", "k\n");
    sh(t, "rm .home/.gitconfig && mkdir -p .home/.config/git && "
          "echo k >.home/.config/git/ignore");
    expect(t, "r/sub", "g\n");
}

static void test_linked_working_tree(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p main/.git/info main/.git/worktrees/w w && "
          "echo no >main/.git/info/exclude && "
          "echo ../.. >main/.git/worktrees/w/commondir && "
          "echo \"gitdir: $PWD/main/.git/worktrees/w\" >w/.git && touch w/no w/yes");
    expect(t, "w", ".git\nyes\n");
}

static void test_inner_repository(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p .git in/.git && echo '*.o' >.gitignore && touch a.o in/b.o");
    expect(t, ".", ".gitignore\nin/\nin/b.o\n");
}

static void test_unreadable(void **state)
{
    struct tree *t = *state;
    if (geteuid() == 0) {
        skip();
    }
    sh(t, "mkdir shut open && touch shut/x open/y && chmod 0 shut");
    expect(t, ".", "open/\nopen/y\nshut/\n");
    assert_int_equal(t->report.unreadable, 1);
    assert_int_equal(walk(t, "shut", false, note), PI_DENIED);
    assert_int_equal(walk(t, "missing", false, note), PI_NOT_FOUND);
}

static void test_deep(void **state)
{
    struct tree *t = *state;
    int fd = open(t->dir, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 600; i++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
        assert_true(fd >= 0);
    }
    close(fd);
    assert_int_equal(walk(t, ".", false, note), PI_OK);
    assert_true(t->count > 200);
    assert_int_equal(t->report.unreadable, 1);
}

static bool remove_all(void *data, const struct walk_entry *entry)
{
    struct tree *t = data;
    sh(t, "rm -rf b c");
    return note(data, entry);
}

static void test_vanishing(void **state)
{
    struct tree *t = *state;
    sh(t, "mkdir -p a b c && touch b/x c/y");
    assert_int_equal(walk(t, ".", false, remove_all), PI_OK);
    assert_string_equal(buf_cstr(&t->seen), "a/\nb/\nc/\n");
    assert_int_equal(t->report.unreadable, 0);
}

static void test_cancel(void **state)
{
    struct tree *t = *state;
    struct cancel *cancel;
    sh(t, "touch x");
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    struct walk_options options = {.root = t->dir, .cancel = cancel};
    assert_int_equal(walk_tree(&options, note, t, &t->report, NULL), PI_ABORTED);
    cancel_unref(cancel);
}

/* -------------------------------------------------------------------- git as oracle --
 */

static const char *const names[] = {"a", "b", "ab", "a b", "c.o", "c.h", "out", "[x]"};
static const char *const rules[] = {
    "a",      "*.o",    "/a",      "a/",      "b/*",   "!b/a",     "**/ab", "ab/**",
    "a/**/b", "!*.h",   "out/",    "!out/",   "/*",    "!/b",      "[ab]",  "[!a]*",
    "c.?",    "\\[x]",  "a\\ b",   "a b  ",   "#a",    "\\!a",     "**",    "!a",
    "/b/a",   "a*b",    "/**/c.o", "!c.o",    "*/c.h", "**/out/*", "b/",    "!**/",
    "[[x]]",  "*[a-b]", "[",       "/out/b/", "x\\",   "!",        "/",     "a/b",
};

static void put_rules(struct random *r, FILE *file)
{
    size_t n = random_below(r, 5);
    for (size_t i = 0; i < n; i++) {
        fprintf(file, "%s\n", rules[random_below(r, sizeof rules / sizeof *rules)]);
    }
}

static void put_folder(struct random *r, const char *dir, int depth)
{
    struct buf path = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        buf_clear(&path);
        buf_addf(&path, "%s/%s", dir, names[i]);
        if (depth > 0 && random_below(r, 3) == 0) {
            assert_int_equal(mkdir(buf_cstr(&path), 0700), 0);
            put_folder(r, buf_cstr(&path), depth - 1);
        } else if (random_below(r, 2) == 0) {
            int fd = open(buf_cstr(&path), O_CREAT | O_WRONLY, 0600);
            assert_true(fd >= 0);
            close(fd);
        }
    }
    if (random_below(r, 3) == 0 || depth == 3) {
        buf_clear(&path);
        buf_addf(&path, "%s/.gitignore", dir);
        FILE *file = fopen(buf_cstr(&path), "w");
        assert_non_null(file);
        put_rules(r, file);
        fclose(file);
    }
    buf_finish(&path);
}

// What git would add, sorted as the walk sorts.
static void ask_git(const struct tree *t, struct buf *out)
{
    struct buf command = {0};
    buf_addf(&command,
             "cd '%s/r' && git -c core.quotePath=false ls-files -z -o "
             "--exclude-standard | tr '\\n/\\0' '?\\001\\n' | LC_ALL=C sort | "
             "tr '\\001' /",
             t->dir);
    FILE *pipe = popen(buf_cstr(&command), "r");
    assert_non_null(pipe);
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, pipe)) > 0) {
        buf_add(out, piece, n);
    }
    assert_int_equal(pclose(pipe), 0);
    buf_finish(&command);
}

static void test_as_git(void **state)
{
    struct tree *t = *state;
    if (system("git --version >/dev/null 2>&1") != 0) {
        skip();
    }
    struct random r = {.state = 4711};
    for (int round = 0; round < 8; round++) {
        sh(t, "rm -rf r && mkdir r && git init -q r");
        char *root = path_join(t->dir, "r");
        put_folder(&r, root, 3);
        struct buf expected = {0};
        ask_git(t, &expected);
        assert_int_equal(walk(t, "r", false, note_file), PI_OK);
        if (strcmp(buf_cstr(&t->seen), buf_cstr(&expected)) != 0) {
            print_error("round %d of %s\n", round, root);
        }
        assert_string_equal(buf_cstr(&t->seen), buf_cstr(&expected));
        buf_finish(&expected);
        free(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_and_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rules_of_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rules_from_above, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_sources, setup, teardown),
        cmocka_unit_test_setup_teardown(test_linked_working_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inner_repository, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vanishing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_git, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
