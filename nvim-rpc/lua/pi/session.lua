-- Conversations, one for each working directory, and the agents that hold them. Drawing is
-- not done here: see pi.render.

local bus = require('pi.bus')
local config = require('pi.config')
local M = {}

local GREETING_MS = 10000
local TRANSCRIPT_MESSAGES = 100 -- that are shown when a session is resumed

local sessions = {} -- cwd -> session
local by_buffer = setmetatable({}, { __mode = 'v' })

---@class pi.Session
---@field home string the directory that it is the session of
---@field cwd string where it works: the same, unless it was begun elsewhere
---@field id string|nil of the conversation, once the agent said it
---@field file string|nil where it is kept
---@field connection pi.Connection|nil
---@field ready boolean whether the agent takes calls
---@field running boolean between agent_start and agent_end
---@field more table|nil options of the next hello, see begin()
---@field leaving pi.Connection|nil to an agent that ends
---@field back string|nil the conversation before that which is being begun
---@field afterword table|nil a notice to show below the conversation that was shown again
---@field died boolean|nil whether the agent ended by itself; the next goes on
---@field chosen table options of hello that were chosen by command
---@field choosing boolean whether model and thinking of this conversation are such a choice
local Session = {}
Session.__index = Session

local function directory()
  return vim.fn.getcwd()
end

--- The session of a directory, or nil. Without one: that of the current buffer, when it
--- belongs to one, else that of the current directory.
---@param cwd string|nil
function M.current(cwd)
  return not cwd and by_buffer[vim.api.nvim_get_current_buf()] or sessions[cwd or directory()]
end

--- All sessions.
---@return pi.Session[]
function M.all()
  return vim.tbl_values(sessions)
end

-- Parts that listen to events. They need this module in their turn, so they are loaded later.
local parts = {
  'pi.questions',
  'pi.render',
  'pi.input',
  'pi.status',
  'pi.review',
  'pi.proposal',
  'pi.edits',
  'pi.follow',
  'pi.disk',
  'pi.tools',
}

local function load_parts()
  for _, name in ipairs(parts) do
    require(name)
  end
end

--- As current(), made when there is none. Nothing is started.
function M.ensure(cwd)
  local session = M.current(cwd)
  if not session then
    local home = cwd or directory()
    if home == '' then
      error('the current directory is gone; :cd goes to another', 0)
    end
    load_parts()
    session = setmetatable({ home = home, chosen = {} }, Session)
    session:reset()
    session:forget()
    sessions[session.home] = session
  end
  return session
end

--- Says that a buffer belongs to a session.
function M.own_buffer(buf, session)
  by_buffer[buf] = session
end

function Session:reset()
  self.connection = nil
  self.greeted, self.ready, self.running = false, false, false
  self.queue = {} -- calls that wait until the agent is ready
end

-- Another conversation begins.
function Session:forget()
  self.id, self.file, self.model, self.thinking = nil, nil, nil, nil
  self.cwd, self.choosing = self.home, false
  self.usage = { context = 0, cost = 0 } -- tokens of the last request; dollars of all
  self.changed = { added = 0, removed = 0 } -- lines, by tools
end

--- Tells of an event of this session.
function Session:emit(event)
  bus.emit(event, self)
  local notice = event.type == 'transcript' and self.afterword
  if notice then
    self.afterword = nil
    bus.emit(notice, self)
  end
end

local function hello_options(session, more)
  local options = { protocol = require('pi.rpc').protocol, cwd = session.home }
  for _, name in ipairs({
    'agent_dir',
    'session_dir',
    'model',
    'provider',
    'thinking',
    'tools',
    'system_prompt',
    'append_system_prompt',
    'no_context_files',
    'no_session',
    'permissions',
    'review',
    'restrict',
    'log',
  }) do
    options[name] = config.get(name)
  end
  if type(options.tools) == 'table' then
    options.tools = nil -- these are added later, by pi.tools
  end
  -- What was chosen by command holds for new conversations, too; an old one has its own.
  local resumed = more and (more.resume or more.continue)
  return vim.tbl_extend('force', options, resumed and {} or session.chosen, more or {})
end

local function serve(session, request, reply)
  request.session = session
  if request.op == 'call_tool' then
    return require('pi.tools').serve(request, reply)
  elseif request.op == 'before_command' then
    return require('pi.save').before_command(request, reply)
  end
  local buffer = require('pi.buffer')
  return buffer.serve(request.op, request.path, request.version, request.changes, reply, request)
end

-- Why an agent ended, with the last that it printed.
local function last_words(connection, code)
  local words =
    { connection.is_job and ('pi-nvim ended with code %d'):format(code) or 'pi-nvim has gone' }
  return vim.list_extend(words, vim.list_slice(connection.log, math.max(#connection.log - 4, 1)))
end

-- Questions that waited for an agent in vain are given back.
local function give_back(session)
  for _, call in ipairs(session.queue) do
    if call[1] == 'prompt' then
      session:emit({ type = 'not_sent' })
      break
    end
  end
  session.queue = {}
end

local function ended(session, connection, code)
  if session.connection ~= connection then
    return
  end
  local was_ready = session.ready
  if code ~= 0 then
    give_back(session)
  end
  session:reset()
  session.log = connection.log
  if code ~= 0 then
    local words = last_words(connection, code)
    table.insert(words, ':Pi restart goes on with this session, :Pi log shows more')
    session:emit({ type = 'notice', level = 'error', message = table.concat(words, '\n') })
    session.died = was_ready
  end
  if was_ready then
    session:emit({ type = 'session_end', code = code })
  end
end

local function connect(session)
  local connection
  connection = require('pi.rpc').connect({
    event = function(event)
      session:emit(event)
    end,
    error = function(text)
      session:emit({ type = 'notice', level = 'error', message = text })
    end,
    host = function(request, reply)
      return serve(session, request, reply)
    end,
    ended = function(code)
      ended(session, connection, code)
    end,
  }, { address = config.get('address'), cwd = session.cwd })
  return connection
end

-- Tells when pi-nvim does not greet in time; what was asked waits on.
local function watch(session, connection)
  vim.defer_fn(function()
    if session.connection == connection and session.greeted then
      local text = 'pi-nvim does not answer; :Pi log shows what it said, :Pi restart tries again'
      session:emit({ type = 'notice', level = 'error', message = text })
    end
  end, GREETING_MS)
end

-- An agent that ends still holds the file of its conversation for a moment. What comes
-- meanwhile waits. Returns whether it does.
local function wait_for_leaving(session)
  local leaving = session.leaving
  if not leaving or leaving.gone then
    session.leaving = nil
    return false
  elseif not leaving.on_gone then
    leaving.on_gone = function()
      session.leaving = nil
      local ok, err = pcall(session.start, session)
      if not ok then
        require('pi.notify')(tostring(err), vim.log.levels.ERROR)
      end
    end
  end
  return true
end

-- The agent does not take the conversation: the one before goes on, where there is one.
function Session:lead_back(back, err)
  local notice = { type = 'notice', level = 'error', message = err }
  if back then
    self:begin({ resume = back })
    self.afterword = notice
  else
    self.afterword = nil
    self:emit(notice)
  end
end

--- Starts the agent unless it runs, as begin() said last.
function Session:start()
  if self.ready or self.greeted or wait_for_leaving(self) then
    return
  elseif self.died and self:kept() then
    self:restart()
    return
  end
  local more, back = self.more, self.back
  self.more, self.back = nil, nil
  config.tell_problems()
  self.connection = self.connection or connect(self)
  self.greeted = true
  local connection = self.connection
  watch(self, connection)
  connection:call('hello', hello_options(self, more), function(err, answer)
    self.greeted = false
    if err then
      give_back(self)
      connection:close()
      self:lead_back(back, err)
      return
    end
    self.ready, self.id, self.file = true, answer.session, answer.file ~= '' and answer.file or nil
    self.header = vim.json.decode(answer.header)
    self.cwd = self.header.cwd or self.cwd
    local resumed = more and (more.resume or more.continue) ~= nil
    self:emit({ type = 'session_start', resumed = resumed })
    if resumed then
      self:show_again()
    end
    local queue = self.queue
    self.queue = {}
    for _, call in ipairs(queue) do
      self:call(unpack(call, 1, 3))
    end
  end)
end

--- Calls callback(err, sessions) with the conversations of a directory that are on disk.
function M.list(cwd, callback)
  local connection, over
  local function done(err, json)
    if not over then
      over = true
      connection:close()
      callback(err, json and vim.json.decode(json))
    end
  end
  local function ended_early(code)
    done(table.concat(last_words(connection, code), '\n'))
  end
  connection = require('pi.rpc').connect({ ended = ended_early, error = done }, {})
  local params =
    { cwd = cwd, agent_dir = config.get('agent_dir'), session_dir = config.get('session_dir') }
  connection:call('sessions', params, done)
end

--- Calls a method of the agent, which is started when needed: callback(err, result). Without
--- a callback a failure becomes a notice.
function Session:call(method, params, callback)
  self:start()
  if not self.ready then
    table.insert(self.queue, { method, params, callback })
  elseif callback then
    self.connection:call(method, params, callback)
  else
    self.connection:notify(method, params)
  end
end

--- As call() without a callback, but an error when the agent does not run.
function Session:notify(method, params)
  if not self.connection then
    error('the agent is not running', 0)
  end
  self:call(method, params)
end

--- Uses another model, named as in the option.
function Session:set_model(name)
  self:call('set_model', { model = name })
  self.choosing = true
end

--- Sets how much the model thinks.
function Session:set_thinking(level)
  self:call('set_thinking', { level = level })
  self.choosing = true
end

--- Sends a text of the user: delivery 'prompt', 'steer' or 'follow_up'.
function Session:prompt(text, delivery)
  self:emit({ type = 'before_prompt' })
  local params = { text = text, delivery = delivery or 'follow_up' }
  local ok, err = pcall(self.call, self, 'prompt', params)
  if not ok then
    self:emit({ type = 'not_sent' })
    error(err, 0)
  end
end

--- As prompt(), with what the text mentions and what :Pi add gave.
function Session:ask(text, delivery)
  self:emit({ type = 'asked', text = text })
  require('pi.context').expand(text, self, function(expanded)
    self:prompt(expanded, delivery)
    self:emit({ type = 'context_changed' })
  end)
end

--- Asks for the messages of the conversation, to show them.
function Session:show_again()
  if self.ready then
    self.connection:call('list_messages', { max = TRANSCRIPT_MESSAGES }, function() end)
  end
end

--- Another conversation in the place of this one. more: options of hello; nothing for a
--- new one. When there is no such conversation, this one goes on.
function Session:begin(more)
  self:stop()
  self.died = nil
  self.back = more and self:kept() and self.file or nil
  self:forget()
  self:emit({ type = 'session_renew' })
  self.more, self.queue = more, {}
  self:start()
end

-- Whether the conversation can be resumed.
function Session:kept()
  return self.file ~= nil and vim.fn.filereadable(self.file) == 1
end

--- Starts the agent again, with the same conversation.
function Session:restart()
  self:begin(self:kept() and { resume = self.file } or nil)
end

--- Ends the agent and all that it started; the conversation is kept on disk.
function Session:stop()
  local connection = self.connection
  if connection then
    self.leaving = connection.is_job and connection or nil
    connection:close()
  end
end

bus.on('agent_start', function(_, session)
  session.running = true
end)

bus.on('model_changed', function(event, session)
  session.model, session.thinking = event.model, event.thinkingLevel
  if session.choosing then
    session.chosen.model = event.model.provider .. '/' .. event.model.id
    session.chosen.thinking = event.thinkingLevel
  end
end)

bus.on('thinking_level_changed', function(event, session)
  session.thinking = event.level
  if session.choosing then
    session.chosen.thinking = event.level
  end
end)

bus.on('message_end', function(event, session)
  local usage = event.message.usage
  if event.message.role == 'assistant' and usage and usage.totalTokens > 0 then
    session.usage.context = usage.totalTokens
    session.usage.cost = session.usage.cost + (usage.cost and usage.cost.total or 0)
  end
end)

bus.on('agent_end', function(_, session)
  session.running = false
end)

bus.on('session_end', function(_, session)
  session.running = false
end)

return M
