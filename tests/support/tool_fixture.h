#pragma once

// A folder of its own and calls of one tool in it, without an agent. Include after
// cmocka.h.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"
#include "sys/path.h"
#include "tool/definition.h"
#include "tool/memory.h"

struct tool_fixture {
    char *dir; // real path; also cwd
    struct file_memory *memory;
    struct tool_context context;
    struct tool_call call;
    struct tool_result result;
    struct cancel *cancel; // of the next calls; NULL = none
    struct buf text;       // of the last result
};

static inline char *fixture_path(const struct tool_fixture *f, const char *name)
{
    char *path = path_join(f->dir, name);
    assert_non_null(path);
    return path;
}

static inline int fixture_setup(void **state)
{
    struct tool_fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");
    char name[512];
    snprintf(name, sizeof(name), "%s/tool-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(name));
    assert_int_equal(path_real(&f->dir, name, NULL), PI_OK);
    assert_int_equal(file_memory_create(&f->memory, NULL), PI_OK);
    f->context = (struct tool_context){
        .cwd = f->dir, .home = f->dir, .host = host_posix(), .memory = f->memory};
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct tool_fixture *f = *state;
    char command[600];
    snprintf(command, sizeof(command), "chmod -R u+rwX '%s' && rm -rf '%s'", f->dir,
             f->dir);
    int gone = system(command);
    tool_result_finish(&f->result);
    buf_finish(&f->text);
    file_memory_destroy(f->memory);
    free(f->dir);
    free(f);
    return gone;
}

static inline void fixture_put(const struct tool_fixture *f, const char *name,
                               struct sv bytes)
{
    char *path = fixture_path(f, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.p, 1, bytes.n, file), bytes.n);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static inline void fixture_expect(const struct tool_fixture *f, const char *name,
                                  struct sv bytes)
{
    char *path = fixture_path(f, name);
    struct buf found = {0};
    assert_int_equal(file_load(&found, path, 1 << 30, NULL), PI_OK);
    assert_int_equal(found.len, bytes.n);
    assert_memory_equal(buf_cstr(&found), bytes.p, bytes.n);
    buf_finish(&found);
    free(path);
}

// Runs a call as the runner does; true when the result is no error. f->text gets the text
// of the result or the error's message.
static inline bool fixture_call(struct tool_fixture *f,
                                const struct pi_tool_definition *tool, const char *args)
{
    struct pi_error err = {0};
    tool_result_finish(&f->result);
    buf_clear(&f->text);
    f->call = (struct tool_call){
        .id = "1", .name = tool->name, .cancel = f->cancel, .context = &f->context};
    assert_int_equal(json_parse(&f->call.args, sv_of(args), NULL, &err), PI_OK);
    enum pi_status st = tool->prepare ? tool->prepare(&f->call.args, &err) : PI_OK;
    if (st == PI_OK) {
        st = tool->plan(&f->call.plan, f->call.args, &f->context, &err);
    }
    if (st == PI_OK) {
        st = tool->execute(&f->result, &f->call, &err);
    }
    if (st != PI_OK) {
        tool_result_error(&f->result, err.message);
    }
    content_text(&f->result.content, &f->text);
    tool_plan_finish(&f->call.plan);
    json_destroy(f->call.args);
    f->call.args = NULL;
    return !f->result.is_error;
}

#define assert_contains(f, part)                                                         \
    do {                                                                                 \
        if (!strstr(buf_cstr(&(f)->text), (part))) {                                     \
            fail_msg("\"%s\" is not in \"%s\"", (part), buf_cstr(&(f)->text));           \
        }                                                                                \
    } while (0)
