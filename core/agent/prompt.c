#include "agent/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "agent/context_files.h"
#include "sys/path.h"
#include "text/utf8.h"

static const char role[] =
    "You are pi, a coding agent. You work in the user's project: you read files, run "
    "commands, and change code, until the task is done and checked.";

static const char other_tools[] =
    "There may be more tools than these; each call's schema says how to use it.";

// Line breaks inside would end the list item.
static void add_one_line(struct buf *out, struct sv text)
{
    text = context_text_trim(text);
    while (text.n > 0) {
        size_t n = 0;
        while (n < text.n && !strchr(" \t\r\n", text.p[n])) {
            n++;
        }
        buf_add(out, text.p, n);
        text = context_text_trim(sv_from(text, n));
        buf_adds(out, text.n > 0 ? " " : "");
    }
}

static const struct pi_tool_definition *active(const struct registry *r, size_t i)
{
    return r->tools[r->active[i]].definition;
}

static void add_tools(struct buf *out, const struct registry *r)
{
    bool any = false;
    buf_adds(out, "Available tools:\n");
    for (size_t i = 0; i < r->active_len; i++) {
        const struct pi_tool_definition *d = active(r, i);
        if (d->snippet && *d->snippet) {
            buf_addf(out, "- %s: ", d->name);
            add_one_line(out, sv_of(d->snippet));
            buf_addc(out, '\n');
            any = true;
        }
    }
    if (!any) {
        buf_adds(out, "(none)\n");
    }
    buf_addf(out, "\n%s\n", other_tools);
}

// Adds a bullet unless the list, which starts at byte `start` of out, has it already.
static void add_guideline(struct buf *out, size_t start, const char *text)
{
    struct buf line = {0};
    buf_adds(&line, "\n- ");
    add_one_line(&line, sv_of(text));
    buf_addc(&line, '\n');
    bool empty = line.len == strlen("\n- \n");
    struct sv list = sv_from(buf_sv(out), start);
    if (!empty && buf_ok(out) && !memmem(list.p, list.n, line.data, line.len)) {
        buf_addsv(out, sv_from(buf_sv(&line), 1));
    }
    out->failed = out->failed || !buf_ok(&line);
    buf_finish(&line);
}

static void add_guidelines(struct buf *out, const struct registry *r)
{
    // The list begins with the LF of its heading, so that every bullet has one before it.
    buf_adds(out, "\nGuidelines:");
    size_t start = out->len;
    buf_addc(out, '\n');
    bool search =
        registry_find(r, "grep") || registry_find(r, "find") || registry_find(r, "ls");
    if (registry_find(r, "bash")) {
        add_guideline(out, start,
                      search ? "List and search files with grep, find and ls where they "
                               "are available: they are faster than bash and leave "
                               "ignored files out."
                             : "List and search files with bash (ls, find, grep, rg).");
    }
    for (size_t i = 0; i < r->active_len; i++) {
        const char *const *g = active(r, i)->guidelines;
        for (; g && *g; g++) {
            add_guideline(out, start, *g);
        }
    }
    add_guideline(out, start, "Keep answers short.");
    add_guideline(out, start, "Name the files that you talk about by their paths.");
}

static void add_section(struct buf *out, struct sv text)
{
    text = context_text_trim(text);
    if (text.n == 0) {
        return;
    }
    if (out->len > 0) {
        buf_adds(out, out->data[out->len - 1] == '\n' ? "\n" : "\n\n");
    }
    buf_addsv(out, text);
    buf_addc(out, '\n');
}

// An option is the path of a file that exists, else it is the text itself.
static enum pi_status file_or_text(struct buf *out, struct buf *problems,
                                   const struct prompt_options *options,
                                   const char *option, struct pi_error *err)
{
    struct path_request request = {
        .argument = option, .cwd = options->cwd, .home = options->home};
    char *path = NULL;
    if (!*option) {
        return PI_OK; // as a path it would mean the working directory
    }
    enum pi_status st = path_resolve(&path, NULL, &request, NULL);
    if (st == PI_OK) {
        st = context_file_load(out, problems, path, err);
        free(path);
    }
    if (st == PI_NOMEM) {
        return error_nomem(err);
    }
    if (st == PI_INVALID || st == PI_NOT_FOUND) {
        context_text_clean(out, sv_of(option));
    }
    return PI_OK;
}

// The project's file, else the user's; PI_NOT_FOUND when there is none.
static enum pi_status load_either(struct buf *out, struct buf *problems,
                                  const struct prompt_options *options, const char *name,
                                  struct pi_error *err)
{
    const char *const dirs[] = {options->cwd, options->agent_dir};
    const char *const inside[] = {".pi", "."};
    enum pi_status st = PI_NOT_FOUND;
    for (size_t i = 0; st == PI_NOT_FOUND && i < 2; i++) {
        char *dir = path_join(dirs[i], inside[i]);
        char *path = dir ? path_join(dir, name) : NULL;
        st = path ? context_file_load(out, problems, path, err) : error_nomem(err);
        free(path);
        free(dir);
    }
    return st;
}

static enum pi_status add_base(struct buf *out, struct buf *problems,
                               const struct prompt_options *options, struct pi_error *err)
{
    struct buf custom = {0};
    enum pi_status st =
        options->system_prompt
            ? file_or_text(&custom, problems, options, options->system_prompt, err)
            : load_either(&custom, problems, options, "SYSTEM.md", err);
    if (context_text_trim(buf_sv(&custom)).n > 0) {
        add_section(out, buf_sv(&custom));
    } else if (st != PI_NOMEM) {
        add_section(out, sv_of(role));
        buf_addc(out, '\n');
        add_tools(out, options->registry);
        add_guidelines(out, options->registry);
    }
    buf_finish(&custom);
    return st == PI_NOMEM ? st : PI_OK;
}

static enum pi_status add_appended(struct buf *out, struct buf *problems,
                                   const struct prompt_options *options,
                                   struct pi_error *err)
{
    struct buf text = {0};
    enum pi_status st = PI_OK;
    const char *const *option = options->append_system_prompt;
    if (!option) {
        st = load_either(&text, problems, options, "APPEND_SYSTEM.md", err);
        add_section(out, buf_sv(&text));
    }
    for (; option && *option && st == PI_OK; option++) {
        buf_clear(&text);
        st = file_or_text(&text, problems, options, *option, err);
        add_section(out, buf_sv(&text));
    }
    buf_finish(&text);
    return st == PI_NOMEM ? st : PI_OK;
}

static enum pi_status add_context(struct buf *out, struct buf *problems,
                                  const struct prompt_options *options,
                                  struct pi_error *err)
{
    struct context_files files = {0};
    if (options->no_context_files) {
        return PI_OK;
    }
    enum pi_status st =
        context_files_load(&files, problems, options->agent_dir, options->cwd, err);
    if (st == PI_OK && files.len > 0) {
        add_section(out, sv_of("# Project context"));
        add_section(out, sv_of("Notes and rules of the user for this project. Later ones "
                               "are closer to the working directory."));
    }
    for (size_t i = 0; st == PI_OK && i < files.len; i++) {
        struct buf heading = {0};
        buf_adds(&heading, "## ");
        utf8_repair(&heading, sv_of(files.items[i].path));
        add_section(out, buf_sv(&heading));
        add_section(out, buf_sv(&files.items[i].text));
        out->failed = out->failed || !buf_ok(&heading);
        buf_finish(&heading);
    }
    context_files_finish(&files);
    return st;
}

enum pi_status prompt_build(struct buf *out, struct buf *problems,
                            const struct prompt_options *options, struct pi_error *err)
{
    struct buf prompt = {0};
    enum pi_status st = add_base(&prompt, problems, options, err);
    if (st == PI_OK) {
        st = add_appended(&prompt, problems, options, err);
    }
    if (st == PI_OK) {
        st = add_context(&prompt, problems, options, err);
    }
    if (st == PI_OK) {
        buf_addf(&prompt,
                 "\nCurrent date: %s\nCurrent working directory: ", options->date);
        utf8_repair(&prompt, sv_of(options->cwd));
        buf_addsv(out, buf_sv(&prompt));
        bool ok = buf_ok(&prompt) && buf_ok(out) && buf_ok(problems);
        st = ok ? PI_OK : error_nomem(err);
    }
    buf_finish(&prompt);
    return st;
}
