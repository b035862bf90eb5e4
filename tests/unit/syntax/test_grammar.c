#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "scratch.h"
#include "syntax/parse.h"
#include "syntax_fixture.h"
#include "sys/file.h"
#include "sys/path.h"

// A folder of grammars of one's own, and the log.
struct bed {
    char *dir;
    struct env environment;
    struct log *log;
    struct grammars *grammars;
};

static int setup(void **state)
{
    struct bed *b = calloc(1, sizeof *b);
    b->dir = scratch_make();
    assert_int_equal(chmod(b->dir, 0755), 0);
    assert_int_equal(env_copy(&b->environment, (const char *const[]){NULL}, NULL), PI_OK);
    assert_true(env_set(&b->environment, "HOME", b->dir));
    assert_true(env_set(&b->environment, "PI_GRAMMAR_PATH", b->dir));
    assert_int_equal(log_open(&b->log, scratch_path(b->dir, "log"), NULL), PI_OK);
    assert_int_equal(grammars_create(&b->grammars, &b->environment, b->log, NULL), PI_OK);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bed *b = *state;
    grammars_destroy(b->grammars);
    log_close(b->log);
    env_finish(&b->environment);
    scratch_remove(b->dir);
    free(b);
    return 0;
}

// Puts the grammar that was made wrongly into folder/name.
static void put(struct bed *b, const char *name, mode_t mode)
{
    size_t n;
    const char *from = getenv("PI_TEST_GRAMMAR");
    assert_non_null(from);
    char *slash = strrchr(from, '/');
    char *dir = strndup(from, (size_t)(slash - from));
    char *bytes = scratch_read(dir, slash + 1, &n);
    assert_non_null(bytes);
    scratch_write(b->dir, name, bytes, n);
    assert_int_equal(chmod(scratch_path(b->dir, name), mode), 0);
    free(bytes);
    free(dir);
}

static size_t logged(struct bed *b, const char *text)
{
    size_t n = 0;
    char *log = scratch_read(b->dir, "log", NULL);
    for (const char *at = log; (at = strstr(at, text)); at++) {
        n++;
    }
    free(log);
    return n;
}

static void test_missing(void **state)
{
    struct bed *b = *state;
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_null(grammars_get(b->grammars, NULL));
    assert_null(grammars_get(NULL, "c"));
    assert_int_equal(logged(b, "grammar"), 0);
}

static void test_wrong_version(void **state)
{
    struct bed *b = *state;
    put(b, "libtree-sitter-wrong.so", 0644);
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_int_equal(logged(b, "another version of tree-sitter"), 1);
}

static void test_no_such_symbol(void **state)
{
    struct bed *b = *state;
    put(b, "other.so", 0644);
    assert_null(grammars_get(b->grammars, "other"));
    assert_int_equal(logged(b, "does not hold this language"), 1);
}

static void test_no_library(void **state)
{
    struct bed *b = *state;
    scratch_text(b->dir, "libtree-sitter-wrong.so", "not ELF");
    assert_int_equal(chmod(scratch_path(b->dir, "libtree-sitter-wrong.so"), 0644), 0);
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_int_equal(logged(b, "cannot be loaded"), 1);
}

static void test_writable_file(void **state)
{
    struct bed *b = *state;
    put(b, "libtree-sitter-wrong.so", 0666);
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_int_equal(logged(b, "others may write to it"), 1);
    assert_int_equal(logged(b, "another version"), 0);
}

static void test_writable_folder(void **state)
{
    struct bed *b = *state;
    put(b, "libtree-sitter-wrong.so", 0644);
    assert_int_equal(chmod(b->dir, 0777), 0);
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_int_equal(logged(b, "others may write to its folder"), 1);
}

static void test_link_into_writable_folder(void **state)
{
    struct bed *b = *state;
    assert_int_equal(mkdir(scratch_path(b->dir, "open"), 0755), 0);
    put(b, "open/wrong.so", 0644);
    assert_int_equal(chmod(scratch_path(b->dir, "open"), 0777), 0);
    assert_int_equal(symlink("open/wrong.so", scratch_path(b->dir, "wrong.so")), 0);
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_int_equal(logged(b, "others may write to its folder"), 1);
}

static void test_editors(void **state)
{
    struct bed *b = *state;
    static const char *const folders[] = {
        ".emacs.d/tree-sitter/libtree-sitter-wrong.so",
        ".config/emacs/tree-sitter/libtree-sitter-wrong.so",
        ".local/share/nvim/site/parser/wrong.so",
        ".local/share/nvim/site/pack/a/start/b/parser/wrong.so",
        ".local/share/nvim/lazy/nvim-treesitter/parser/wrong.so",
    };
    env_unset(&b->environment, "PI_GRAMMAR_PATH");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *folder = path_dir(scratch_path(b->dir, folders[i]));
        assert_int_equal(file_make_dirs(folder, 0755, NULL), PI_OK);
        free(folder);
        put(b, folders[i], 0644);
    }
    assert_null(grammars_get(b->grammars, "wrong"));
    assert_int_equal(logged(b, "another version"), sizeof folders / sizeof *folders);
}

// ---- with the grammars that were built

static void test_all_load(void **state)
{
    struct syntax_fixture *f = *state;
    static const char *const all[] = {
        "bash",       "c",    "cpp", "css",        "go",   "html",   "java",
        "javascript", "json", "lua", "markdown",   "php",  "python", "ruby",
        "rust",       "toml", "tsx", "typescript", "yaml",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!grammars_get(f->grammars, all[i])) {
            fail_msg("%s is missing", all[i]);
        }
    }
}

static void *parse_much(void *data)
{
    struct syntax_fixture *f = data;
    static const char *const languages[] = {"c", "bash", "python", "go"};
    for (int i = 0; i < 40; i++) {
        const TSLanguage *l = grammars_get(f->grammars, languages[i % 4]);
        TSTree *tree = NULL;
        struct sv text = sv_of("if x:\n  f(\"a\" + b)\nfunc g() { return 1 }\n");
        if (!l || parse_text(&tree, l, text, NULL, NULL) != PI_OK) {
            return f;
        }
        ts_tree_delete(tree);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, parse_much, *state), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

static void test_limits(void **state)
{
    struct syntax_fixture *f = *state;
    const TSLanguage *c = grammars_get(f->grammars, "c");
    TSTree *tree = NULL;
    struct cancel *cancel = NULL;
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    assert_int_equal(parse_text(&tree, c, sv_of("int a;"), cancel, NULL), PI_ABORTED);
    cancel_unref(cancel);

    struct buf text = {0};
    while (text.len <= PARSE_MAX_BYTES) {
        buf_adds(&text, "int x[] = {1, 2, 3, (((4))), f(a, b, c)};\n");
    }
    assert_int_equal(parse_text(&tree, c, buf_sv(&text), NULL, NULL), PI_LIMIT);
    assert_int_equal(parse_text(&tree, c, sv_make(NULL, 0), NULL, NULL), PI_OK);
    ts_tree_delete(tree);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_version, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_such_symbol, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_library, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writable_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writable_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_link_into_writable_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_editors, setup, teardown),
    };
    const struct CMUnitTest built[] = {
        cmocka_unit_test_setup_teardown(test_all_load, syntax_setup, syntax_teardown),
        cmocka_unit_test_setup_teardown(test_threads, syntax_setup, syntax_teardown),
        cmocka_unit_test_setup_teardown(test_limits, syntax_setup, syntax_teardown),
    };
    int failed = cmocka_run_group_tests_name("syntax/grammar", tests, NULL, NULL);
    if (failed) {
        return failed;
    }
    syntax_need_grammars();
    return cmocka_run_group_tests_name("syntax/grammar, built", built, NULL, NULL);
}
