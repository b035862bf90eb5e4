#include "args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum option_value {
    OPTION_MODE = 256,
    OPTION_MODEL,
    OPTION_PROVIDER,
    OPTION_API_KEY,
    OPTION_THINKING,
    OPTION_LIST_MODELS,
    OPTION_TOOLS,
    OPTION_SYSTEM_PROMPT,
    OPTION_APPEND_SYSTEM_PROMPT,
    OPTION_NO_CONTEXT_FILES,
    OPTION_PERMISSIONS,
    OPTION_SHOW_PROMPT,
    OPTION_JSONL,
    OPTION_JSON,
    OPTION_RESTRICT,
    OPTION_SESSION,
    OPTION_SESSION_DIR,
    OPTION_NO_SESSION,
    OPTION_NAME,
};

static const struct option prompt_options[] = {
    {"print", no_argument, NULL, 'p'},
    {"mode", required_argument, NULL, OPTION_MODE},
    {"model", required_argument, NULL, OPTION_MODEL},
    {"provider", required_argument, NULL, OPTION_PROVIDER},
    {"api-key", required_argument, NULL, OPTION_API_KEY},
    {"thinking", required_argument, NULL, OPTION_THINKING},
    {"list-models", no_argument, NULL, OPTION_LIST_MODELS},
    {"tools", required_argument, NULL, OPTION_TOOLS},
    {"system-prompt", required_argument, NULL, OPTION_SYSTEM_PROMPT},
    {"append-system-prompt", required_argument, NULL, OPTION_APPEND_SYSTEM_PROMPT},
    {"no-context-files", no_argument, NULL, OPTION_NO_CONTEXT_FILES},
    {"permissions", required_argument, NULL, OPTION_PERMISSIONS},
    {"continue", no_argument, NULL, 'c'},
    {"resume", no_argument, NULL, 'r'},
    {"session", required_argument, NULL, OPTION_SESSION},
    {"session-dir", required_argument, NULL, OPTION_SESSION_DIR},
    {"no-session", no_argument, NULL, OPTION_NO_SESSION},
    {"name", required_argument, NULL, OPTION_NAME},
    {"show-prompt", no_argument, NULL, OPTION_SHOW_PROMPT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {NULL, 0, NULL, 0},
};

static const struct option tool_options[] = {
    {"jsonl", no_argument, NULL, OPTION_JSONL},
    {"json", no_argument, NULL, OPTION_JSON},
    {"restrict", required_argument, NULL, OPTION_RESTRICT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool complain(const char *what, const char *word)
{
    if (word) {
        fprintf(stderr, "pi: %s '%s'\nTry 'pi --help'.\n", what, word);
    } else {
        fprintf(stderr, "pi: %s\nTry 'pi --help'.\n", what);
    }
    return false;
}

static bool set_mode(struct args *a, const char *value)
{
    a->json = strcmp(value, "json") == 0;
    return a->json || strcmp(value, "text") == 0 ||
           complain("--mode is text or json, not", value);
}

static bool set_permissions(struct args *a, const char *value)
{
    a->permissions_given = true;
    bool yolo = strcmp(value, "yolo") == 0;
    a->permissions = yolo ? PI_PERMISSIONS_YOLO : PI_PERMISSIONS_ASK;
    return yolo || strcmp(value, "ask") == 0 ||
           complain("--permissions is ask or yolo, not", value);
}

static bool append_prompt(struct args *a, const char *value)
{
    size_t need = a->append_len + 2;
    void *grown = vec_grow(a->append_system_prompt, &a->append_cap, need, sizeof value);
    if (!grown) {
        return complain("out of memory", NULL);
    }
    a->append_system_prompt = grown;
    a->append_system_prompt[a->append_len++] = value;
    a->append_system_prompt[a->append_len] = NULL;
    return true;
}

static bool set_text(const char **place, const char *value, const char *option)
{
    *place = value;
    return *value || complain("an empty value was given to", option);
}

// A list of processes shows the arguments to everybody.
static bool set_key(struct args *a, char *value)
{
    free(a->api_key);
    a->api_key = strdup(value);
    bool empty = !*value;
    memset(value, 'x', strlen(value));
    if (!a->api_key) {
        return complain("out of memory", NULL);
    }
    return !empty || complain("an empty value was given to", "--api-key");
}

static bool set_command(struct args *a, enum args_command command)
{
    a->command = command;
    return true;
}

static bool set_flag(bool *place)
{
    *place = true;
    return true;
}

// Options without a value.
static bool set_switch(struct args *a, int option)
{
    switch (option) {
    case 'p':
        return set_flag(&a->print);
    case 'h':
        return set_command(a, ARGS_HELP);
    case 'v':
        return set_command(a, ARGS_VERSION);
    case OPTION_SHOW_PROMPT:
        return set_command(a, ARGS_SHOW_PROMPT);
    case OPTION_LIST_MODELS:
        return set_command(a, ARGS_LIST_MODELS);
    case OPTION_JSONL:
        return set_command(a, ARGS_TOOL_LINES);
    case OPTION_JSON:
        return set_flag(&a->json);
    case 'c':
        return set_flag(&a->go_on);
    case 'r':
        return set_flag(&a->resume);
    case OPTION_NO_SESSION:
        return set_flag(&a->no_session);
    case OPTION_NO_CONTEXT_FILES:
        return set_flag(&a->no_context_files);
    default:
        return false;
    }
}

static bool set_option(struct args *a, int option)
{
    switch (option) {
    case OPTION_MODE:
        return set_mode(a, optarg);
    case OPTION_PERMISSIONS:
        return set_permissions(a, optarg);
    case OPTION_APPEND_SYSTEM_PROMPT:
        return append_prompt(a, optarg);
    case OPTION_MODEL:
        return set_text(&a->model, optarg, "--model");
    case OPTION_PROVIDER:
        return set_text(&a->provider, optarg, "--provider");
    case OPTION_THINKING:
        return set_text(&a->thinking, optarg, "--thinking");
    case OPTION_API_KEY:
        return set_key(a, optarg);
    case OPTION_TOOLS:
        return set_text(&a->tools, optarg, "--tools");
    case OPTION_SYSTEM_PROMPT:
        a->system_prompt = optarg;
        return true;
    case OPTION_SESSION:
        return set_text(&a->session, optarg, "--session");
    case OPTION_SESSION_DIR:
        return set_text(&a->session_dir, optarg, "--session-dir");
    case OPTION_NAME:
        a->name = optarg;
        return true;
    case OPTION_RESTRICT:
        return set_text(&a->restrict_dir, optarg, "--restrict");
    default:
        return set_switch(a, option);
    }
}

static bool bad_option(int result, char **argv)
{
    const char *word = argv[optind - 1];
    if (result == ':') {
        return complain("a value is missing after", word);
    }
    if (optopt && strncmp(word, "--", 2) == 0) {
        return complain("this option takes no value", word);
    }
    complain("unknown option", word);
    fputs("A prompt that begins with '-' goes after '--'.\n", stderr);
    return false;
}

static bool parse_options(struct args *a, int argc, char **argv,
                          const struct option *options)
{
    opterr = 0;
    for (;;) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread exists yet
        int result = getopt_long(argc, argv, ":phvcr", options, NULL);
        if (result == -1) {
            return true;
        }
        if (result == '?' || result == ':') {
            return bad_option(result, argv);
        }
        if (!set_option(a, result)) {
            return false;
        }
        if (a->command == ARGS_HELP || a->command == ARGS_VERSION) {
            return true;
        }
    }
}

static bool parse_tool(struct args *a, int argc, char **argv)
{
    a->command = ARGS_TOOL;
    if (!parse_options(a, argc, argv, tool_options)) {
        return false;
    }
    if (a->command == ARGS_HELP) {
        return true;
    }
    int words = argc - optind;
    if (a->command == ARGS_TOOL_LINES) {
        return words == 0 || complain("--jsonl takes its calls from stdin, not from here",
                                      argv[optind]);
    }
    if (words < 1 || words > 2) {
        return complain("usage: pi tool NAME [JSON|-], or pi tool --jsonl", NULL);
    }
    a->tool_name = argv[optind];
    a->tool_arguments = argv[optind + 1];
    return true;
}

static bool check_session(const struct args *a)
{
    int ways = a->go_on + a->resume + (a->session != NULL) + a->no_session;
    return ways < 2 ||
           complain("--continue, --resume, --session and --no-session exclude "
                    "each other",
                    NULL);
}

bool args_parse(struct args *out, int argc, char **argv)
{
    *out = (struct args){0};
    if (argc > 1 && strcmp(argv[1], "tool") == 0) {
        return parse_tool(out, argc - 1, argv + 1);
    }
    if (!parse_options(out, argc, argv, prompt_options)) {
        return false;
    }
    if (!check_session(out)) {
        return false;
    }
    out->words = argv + optind;
    out->words_len = (size_t)(argc - optind);
    return true;
}

void args_finish(struct args *a)
{
    if (a->api_key) {
        explicit_bzero(a->api_key, strlen(a->api_key));
    }
    free(a->api_key);
    a->api_key = NULL;
    free(a->append_system_prompt);
    a->append_system_prompt = NULL;
}
