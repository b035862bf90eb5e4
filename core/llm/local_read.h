#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "base/sv.h"

/**
 * What servers on this machine (Ollama, llama.cpp, LM Studio, vLLM) say of their models.
 * A list is an array of objects as in "models" of models.json. Pure; whatever a server
 * sends, nothing worse happens than that a model is not in the list. False only without
 * memory.
 */

/** GET /v1/models of any server: fills an empty list. */
bool local_read_models(struct json *list, struct sv body) NODISCARD;

/** GET /props of llama.cpp: the window that it serves. */
bool local_read_props(struct json *list, struct sv body) NODISCARD;

/** GET /api/ps of Ollama: the windows of the models that are loaded. *ollama: it is one.
 */
bool local_read_ps(struct json *list, struct sv body, bool *ollama) NODISCARD;

/** GET /api/v1/models, and the older /api/v0/models, of LM Studio. */
bool local_read_studio(struct json *list, struct sv body) NODISCARD;

/** POST /api/show of Ollama, for one model of the list. */
bool local_read_show(struct json *model, struct sv body) NODISCARD;

/** Takes out what does not chat and puts what is loaded first. */
bool local_finish(struct json **list) NODISCARD;
