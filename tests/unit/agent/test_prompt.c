#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "sys/file.h"
#include "sys/path.h"
#include "tool/definition.h"

static const char *const read_rules[] = {"Prefer  read\nover cat.", "Same rule.", NULL};
static const char *const edit_rules[] = {"Same rule.", "rule", " ", NULL};

#define DEFINE(called, line, rules)                                                      \
    {                                                                                    \
        .name = called, .label = called, .description = called,                          \
        .parameters = "{\"type\":\"object\"}", .snippet = line, .guidelines = rules      \
    }

static const struct pi_tool_definition defs[] = {
    DEFINE("read", "show\na file", read_rules),
    DEFINE("bash", "run a command", NULL),
    DEFINE("edit", "change a file", edit_rules),
    DEFINE("grep", "search", NULL),
    DEFINE("silent", NULL, NULL),
};

struct place {
    char *dir, *cwd, *agent_dir;
    struct registry registry;
    struct prompt_options options;
    struct buf out, problems;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    char name[512];
    snprintf(name, sizeof(name), "%s/prompt-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(name));
    p->dir = strdup(name);
    p->cwd = path_join(name, "top/project");
    p->agent_dir = path_join(name, "home/.pi/agent");
    assert_int_equal(file_make_dirs(p->cwd, 0777, NULL), PI_OK);
    const struct pi_tool_definition *list[] = {&defs[0], &defs[1], &defs[2], &defs[3],
                                               &defs[4]};
    assert_int_equal(registry_init(&p->registry, list, 5, NULL), PI_OK);
    assert_int_equal(registry_set_active(&p->registry, "read,bash,edit,silent", NULL),
                     PI_OK);
    p->options = (struct prompt_options){
        .cwd = p->cwd,
        .agent_dir = p->agent_dir,
        .home = p->dir,
        .date = "2026-01-31",
        .registry = &p->registry,
    };
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    char command[600];
    snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
    int gone = system(command);
    registry_finish(&p->registry);
    buf_finish(&p->out);
    buf_finish(&p->problems);
    free(p->dir);
    free(p->cwd);
    free(p->agent_dir);
    free(p);
    return gone;
}

static void put(const struct place *p, const char *name, struct sv text)
{
    char *path = path_join(p->dir, name);
    char *dir = path_dir(path);
    assert_int_equal(file_make_dirs(dir, 0777, NULL), PI_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    fclose(file);
    free(dir);
    free(path);
}

static const char *build(struct place *p)
{
    buf_clear(&p->out);
    buf_clear(&p->problems);
    assert_int_equal(prompt_build(&p->out, &p->problems, &p->options, NULL), PI_OK);
    return buf_cstr(&p->out);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part)) != NULL) {
        n++;
        text += strlen(part);
    }
    return n;
}

// Where part stands; it must be there once.
static const char *place_of(const char *text, const char *part)
{
    if (count(text, part) != 1) {
        fail_msg("\"%s\" is %zu times in \"%s\"", part, count(text, part), text);
    }
    return strstr(text, part);
}

static void test_default(void **state)
{
    struct place *p = *state;
    const char *text = build(p);
    const char *const order[] = {
        "You are pi",
        "Available tools:\n- read: show a file\n- bash: run a command\n",
        "\n\nGuidelines:\n- ",
        "with bash",
        "\n- Prefer read over cat.\n",
        "\n- Same rule.\n",
        "\n- rule\n",
        "\n\nCurrent date: 2026-01-31\nCurrent working directory: ",
    };
    const char *last = text;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const char *at = place_of(text, order[i]);
        assert_true(at >= last);
        last = at;
    }
    assert_string_equal(strstr(text, "directory: ") + strlen("directory: "), p->cwd);
    assert_null(strstr(text, "silent"));
    assert_null(strstr(text, "\n- \n"));
    assert_null(strstr(text, "\n\n\n"));
    assert_null(strstr(text, "Project context"));
    assert_int_equal(p->problems.len, 0);
    // The same again, for the provider's cache.
    char *first = strdup(text);
    assert_string_equal(build(p), first);
    free(first);
}

static void test_search_tools(void **state)
{
    struct place *p = *state;
    assert_int_equal(registry_set_active(&p->registry, "bash,grep", NULL), PI_OK);
    const char *text = build(p);
    place_of(text, "with grep, find and ls");
    assert_null(strstr(text, "with bash ("));
    assert_int_equal(registry_set_active(&p->registry, "silent", NULL), PI_OK);
    text = build(p);
    place_of(text, "Available tools:\n(none)\n");
    assert_null(strstr(text, "bash"));
}

static void test_context_files(void **state)
{
    struct place *p = *state;
    put(p, "home/.pi/agent/AGENTS.md", sv_of("\nGLOBAL\n\n"));
    put(p, "top/CLAUDE.md", sv_of("\xEF\xBB\xBFTOP caf\xE9\r\nline\r\n"));
    put(p, "top/project/AGENTS.md", sv_of("INNER"));
    put(p, "top/project/CLAUDE.md", sv_of("HIDDEN"));
    const char *text = build(p);
    const char *global = place_of(text, "home/.pi/agent/AGENTS.md\n\nGLOBAL\n\n## ");
    const char *top = place_of(text, "top/CLAUDE.md\n\nTOP caf\uFFFD\nline\n\n## ");
    const char *inner = place_of(text, "top/project/AGENTS.md\n\nINNER\n\nCurrent date");
    assert_true(global < top && top < inner);
    assert_null(strstr(text, "HIDDEN"));
    p->options.no_context_files = true;
    assert_null(strstr(build(p), "INNER"));
}

static void test_one_file_once(void **state)
{
    struct place *p = *state;
    put(p, "top/AGENTS.md", sv_of("ONCE"));
    char *link = path_join(p->cwd, "AGENTS.md");
    assert_int_equal(symlink("../AGENTS.md", link), 0);
    free(link);
    put(p, "home/.pi/agent/AGENTS.md", sv_of(" \n"));
    const char *text = build(p);
    place_of(text, "ONCE");
    assert_null(strstr(text, "home/.pi"));
}

static void test_unusable_context_file(void **state)
{
    struct place *p = *state;
    struct buf large = {0};
    put(p, "top/AGENTS.md/x", sv_of(""));
    put(p, "top/CLAUDE.md", sv_of("SECOND NAME"));
    assert_true(buf_reserve(&large, 300 * 1024));
    memset(large.data, 'x', 300 * 1024);
    put(p, "top/project/AGENTS.md", sv_make(large.data, 300 * 1024));
    buf_finish(&large);
    const char *text = build(p);
    place_of(text, "SECOND NAME");
    assert_null(strstr(text, "xxxx"));
    place_of(buf_cstr(&p->problems), "top/AGENTS.md");
    place_of(buf_cstr(&p->problems), "top/project/AGENTS.md");
    assert_int_equal(count(buf_cstr(&p->problems), "\n"), 2);
}

static void test_custom_text(void **state)
{
    struct place *p = *state;
    const char *const more[] = {"more", "top/extra.md", NULL};
    put(p, "top/project/top/extra.md", sv_of("from a file\n"));
    p->options.system_prompt = "Be\nsomebody else.";
    p->options.append_system_prompt = more;
    const char *text = build(p);
    place_of(text, "Be\nsomebody else.\n\nmore\n\nfrom a file\n\nCurrent date");
    assert_null(strstr(text, "Available tools"));
}

static void test_custom_files(void **state)
{
    struct place *p = *state;
    put(p, "home/.pi/agent/SYSTEM.md", sv_of("USER"));
    put(p, "home/.pi/agent/APPEND_SYSTEM.md", sv_of("USER APPENDS"));
    place_of(build(p), "USER\n\nUSER APPENDS\n\nCurrent");
    put(p, "top/project/.pi/SYSTEM.md", sv_of("PROJECT"));
    place_of(build(p), "PROJECT\n\nUSER APPENDS\n\nCurrent");
    p->options.system_prompt = "~/home/.pi/agent/SYSTEM.md";
    place_of(build(p), "USER\n\nUSER APPENDS\n\nCurrent");
}

static void test_custom_folder(void **state)
{
    struct place *p = *state;
    p->options.system_prompt = "";
    place_of(build(p), "You are pi");
    assert_int_equal(p->problems.len, 0);
    p->options.system_prompt = p->cwd;
    place_of(build(p), "You are pi");
    place_of(buf_cstr(&p->problems), "directory");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_default),
        TEST(test_search_tools),
        TEST(test_context_files),
        TEST(test_one_file_once),
        TEST(test_unusable_context_file),
        TEST(test_custom_text),
        TEST(test_custom_files),
        TEST(test_custom_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
