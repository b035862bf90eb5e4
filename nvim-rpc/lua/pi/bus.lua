-- What happens, told to whoever wants to know. The events of the agent (doc/events.md) go
-- through here, and those of the plugin: session_start, session_end, session_renew (another
-- conversation begins), asked, before_prompt, not_sent, context_changed, question,
-- question_end, view_created. Users get the important ones as User autocommands.

local M = {}

local listeners = {} -- event type -> functions, in the order of their registration

--- Calls fn(event, session) for each event of that type; '*' stands for all.
---@param kind string
---@param fn fun(event: table, session: table)
---@return fun() off ends it
function M.on(kind, fn)
  local list = listeners[kind] or {}
  listeners[kind] = list
  table.insert(list, fn)
  return function()
    for i, other in ipairs(list) do
      if other == fn then
        table.remove(list, i)
        return
      end
    end
  end
end

--- Fires a User autocommand. Neovim 0.7 has no data for autocommands, so it is also kept
--- in require('pi').data.
---@param name string
---@param data table
function M.user(name, data)
  require('pi').data = data
  local options = { pattern = name, modeline = false, data = data }
  if vim.fn.has('nvim-0.8') == 0 then
    options.data = nil
  end
  local ok, err = pcall(vim.api.nvim_exec_autocmds, 'User', options)
  if not ok then
    require('pi.notify')(('an autocommand of %s failed: %s'):format(name, err), vim.log.levels.WARN)
  end
end

-- Event type -> the autocommand, and what it brings besides session and cwd.
local autocommands = {
  session_start = { 'PiSessionStart' },
  session_end = { 'PiSessionEnd', { 'code' } },
  agent_start = { 'PiAgentStart' },
  agent_end = { 'PiAgentEnd' },
  turn_start = { 'PiTurnStart' },
  turn_end = { 'PiTurnEnd' },
  tool_execution_start = { 'PiToolStart', { 'toolCallId', 'toolName', 'title' } },
  tool_execution_end = { 'PiToolEnd', { 'toolCallId', 'toolName', 'isError' } },
  question = { 'PiPermission', { 'id', 'number' } },
  model_changed = { 'PiModel', { 'model', 'thinkingLevel' } },
}

local function fire(event, session)
  local name, fields = unpack(autocommands[event.type] or {})
  local data = { session = session.id, cwd = session.cwd }
  if event.type == 'notice' and event.level == 'error' then
    name, data.message = 'PiError', event.message
  elseif event.type == 'message_end' and event.message.stopReason == 'error' then
    name, data.message = 'PiError', event.message.errorMessage
  end
  if not name then
    return
  end
  for _, field in ipairs(fields or {}) do
    data[field] = event[field]
  end
  M.user(name, data)
end

local function call(list, event, session)
  for _, fn in ipairs(vim.list_slice(list or {})) do
    local ok, err = pcall(fn, event, session)
    if not ok then
      require('pi.notify')(tostring(err), vim.log.levels.ERROR)
    end
  end
end

local depth = 0
local hooks = {}

--- Calls fn() whenever a batch of events is over.
function M.after(fn)
  table.insert(hooks, fn)
end

--- Runs fn; what it emits is one batch.
function M.batch(fn, ...)
  depth = depth + 1
  local ok, err = pcall(fn, ...)
  depth = depth - 1
  if depth == 0 then
    for _, hook in ipairs(hooks) do
      hook()
    end
  end
  if not ok then
    error(err, 0)
  end
end

local function emit(event, session)
  call(listeners[event.type], event, session)
  call(listeners['*'], event, session)
end

--- Tells of an event of a session.
---@param event table with a field `type`
---@param session table
function M.emit(event, session)
  M.batch(emit, event, session)
  fire(event, session)
end

return M
