-- Tools that run in Neovim. The agent hears of them when its session starts; a call comes as
-- a request and is answered once: with a result, an error, or that it took too long.

local bus = require('pi.bus')
local config = require('pi.config')
local M = {}

local RESULT_BYTES = 50 * 1024
local TIMEOUT_MS = 30000

local tools = {} -- name -> definition

-- The tools that come with the plugin, off unless vim.g.pi.tools names them.
M.shipped = {
  diagnostics = 'pi.tools.diagnostics',
  lsp_definition = 'pi.tools.lsp',
  lsp_references = 'pi.tools.lsp',
  lsp_rename_preview = 'pi.tools.lsp',
}

---@class pi.Tool
---@field name string
---@field description string for the model
---@field parameters table|nil a JSON schema; {} where an object is meant becomes one
---@field snippet string|nil one line for the system prompt
---@field title string|nil a call in one line, with {argument} places
---@field label string|nil for people
---@field reads boolean|nil changes nothing: runs without asking, beside others
---@field timeout_ms number|nil
---@field run fun(args: table, ctx: table, done: fun(result: any, err: string|nil)): any
---  returns the result, or nothing and calls done() later

local objects = { 'properties', 'patternProperties', 'definitions', '$defs' }

-- An empty Lua table does not say whether it is a list.
local function with_objects(schema)
  if type(schema) ~= 'table' then
    return schema
  end
  local copy = {}
  for key, value in pairs(schema) do
    copy[key] = with_objects(value)
  end
  for _, key in ipairs(objects) do
    if type(copy[key]) == 'table' and next(copy[key]) == nil then
      copy[key] = vim.empty_dict()
    end
  end
  if copy.type == 'object' and copy.properties == nil then
    copy.properties = vim.empty_dict()
  end
  return copy
end

local function schema_json(parameters)
  local schema = with_objects(parameters or {})
  schema.type = schema.type or 'object'
  schema.properties = schema.properties or vim.empty_dict()
  return vim.json.encode(schema)
end

local function send(session, tool)
  session:call('add_tool', {
    name = tool.name,
    label = tool.label,
    description = tool.description,
    parameters = schema_json(tool.parameters),
    snippet = tool.snippet,
    title = tool.title,
    reads = tool.reads == true,
  })
end

local function running_sessions()
  return vim.tbl_filter(function(session)
    return session.ready
  end, require('pi.session').all())
end

--- Adds a tool, or replaces the one of its name.
---@param tool pi.Tool
function M.add(tool)
  for field, kind in pairs({ name = 'string', description = 'string', run = 'function' }) do
    if type(tool[field]) ~= kind then
      error(('a tool needs a field %s (a %s)'):format(field, kind), 2)
    end
  end
  tools[tool.name] = tool
  for _, session in ipairs(running_sessions()) do
    send(session, tool)
  end
end

--- Takes a tool away.
---@param name string
function M.remove(name)
  if tools[name] then
    tools[name] = nil
    for _, session in ipairs(running_sessions()) do
      session:call('remove_tool', { name = name })
    end
  end
end

-- Adds the shipped tools that the user wants, and only these.
local function add_wanted()
  local wanted = config.get('tools')
  wanted = type(wanted) == 'table' and wanted or {}
  for name, module in pairs(M.shipped) do
    if vim.tbl_contains(wanted, name) then
      tools[name] = tools[name] or require(module)[name]
    elseif package.loaded[module] and tools[name] == require(module)[name] then
      tools[name] = nil
    end
  end
  for _, name in ipairs(wanted) do
    if not tools[name] then
      require('pi.notify')(('there is no tool "%s"'):format(name), vim.log.levels.WARN)
    end
  end
end

bus.on('session_start', function(_, session)
  add_wanted()
  for _, tool in pairs(tools) do
    send(session, tool)
  end
end)

-- Cuts a text between two lines, or two characters.
local function cap(text)
  if #text <= RESULT_BYTES then
    return text
  end
  local cut = text:sub(1, RESULT_BYTES)
  cut = cut:match('^(.*)\n') or cut:gsub('[\192-\255][\128-\191]*$', '')
  return ('%s\n[Cut: %d of %d bytes are shown.]'):format(cut, #cut, #text)
end

local function text_of(result)
  if type(result) == 'table' then
    return vim.json.encode(result)
  end
  return result == nil and '' or tostring(result)
end

local function answer_of(result, err)
  if err ~= nil then
    return { status = 'io', message = cap(tostring(err)) }
  end
  local ok, text = pcall(text_of, result)
  if not ok then
    return { status = 'io', message = 'the result is no JSON: ' .. text }
  end
  return { status = 'ok', text = cap(text) }
end

-- A function that gives the first answer, from wherever it is called.
local function once(request, tool, reply)
  local over = false
  local function done(result, err)
    if over or request.withdrawn then
      return
    end
    over = true
    local function give()
      reply(answer_of(result, err))
    end
    if vim.in_fast_event() then
      vim.schedule(give)
    else
      give()
    end
  end
  local limit = tool.timeout_ms or TIMEOUT_MS
  vim.defer_fn(function()
    done(nil, ('%s did not answer within %g s'):format(tool.name, limit / 1000))
  end, limit)
  return done
end

--- Serves a call of the agent.
---@param request table path (the directory), tool, arguments (JSON)
---@param reply fun(answer: table)
function M.serve(request, reply)
  local tool = tools[request.tool]
  if not tool then
    return { status = 'io', message = ('Neovim has no tool %s'):format(request.tool) }
  end
  local luanil = { luanil = { object = true, array = true } }
  local ok, args = pcall(vim.json.decode, request.arguments, luanil)
  if not ok or type(args) ~= 'table' then
    args = {}
  end
  local context = { cwd = request.path, session = request.session, cancelled = false }
  request.on_withdraw = function()
    context.cancelled = true
  end
  local done = once(request, tool, reply)
  local ran, result = pcall(tool.run, args, context, done)
  if not ran then
    done(nil, result)
  elseif result ~= nil then
    done(result)
  end
end

return M
