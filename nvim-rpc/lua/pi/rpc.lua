-- Connections to pi-nvim. It calls one function here, on(), with batches of items. What
-- Neovim says goes out as notifications; nothing here waits for an answer.

local interrupt = require('pi.interrupt')
local M = {}

-- Raised when a method or an item of a batch changes its meaning; pi-nvim has the same.
M.protocol = 2

local LOG_LINES = 200

local connections = {} -- number -> connection
local last_number = 0

---@class pi.Connection
---@field number number
---@field channel number
---@field log string[] the last lines that pi-nvim printed
---@field handlers table event(event), error(text), host(request), ended(code)
---@field gone boolean|nil whether its process is over, which is some time after close()
---@field on_gone fun()|nil called then
local Connection = {}
Connection.__index = Connection

local function keep_stderr(connection, lines)
  local log = connection.log
  for _, line in ipairs(lines) do
    if line ~= '' then
      table.insert(log, line)
    end
  end
  while #log > LOG_LINES do
    table.remove(log, 1)
  end
end

local function program()
  local path, problem = require('pi.binary').find()
  return path or error(problem, 0)
end

-- While Neovim ends there may be no buffers any more to tell it in.
local function editor_ends()
  return vim.v.exiting ~= vim.NIL
end

local function on_exit(connection, code)
  if connections[connection.number] then
    connections[connection.number] = nil
    if not editor_ends() then
      connection.handlers.ended(code)
    end
  end
end

local function start_job(connection, cwd)
  return vim.fn.jobstart({ program() }, {
    rpc = true,
    cwd = cwd,
    on_stderr = function(_, lines)
      keep_stderr(connection, lines)
    end,
    on_exit = function(_, code)
      on_exit(connection, code)
      connection.gone = true
      if connection.on_gone and not editor_ends() then
        connection.on_gone()
      end
    end,
  })
end

--- Connects with a pi-nvim: a new one, or the one that listens at address. Errors have
--- words for the user.
---@param handlers table
---@param options { address: string|nil, cwd: string|nil }
---@return pi.Connection
function M.connect(handlers, options)
  last_number = last_number + 1
  local connection = setmetatable({
    number = last_number,
    handlers = handlers,
    log = {},
    waiting = {}, -- seq -> what is called with the answer
    requests = {}, -- id -> requests of the agent that are not answered
    seq = 0,
  }, Connection)
  if options.address then
    local ok, channel = pcall(vim.fn.sockconnect, 'pipe', options.address, { rpc = true })
    if not ok or channel == 0 then
      error('no pi-nvim listens at ' .. options.address, 0)
    end
    connection.channel = channel
  else
    connection.channel = start_job(connection, options.cwd)
    connection.is_job = true
  end
  if connection.channel <= 0 then
    error('pi-nvim did not start', 0)
  end
  connections[connection.number] = connection
  return connection
end

function Connection:alive()
  return connections[self.number] == self
end

--- Looks whether the other end of a socket is still there: Neovim does not tell.
function Connection:check()
  if self:alive() and not vim.api.nvim_get_chan_info(self.channel).id then
    on_exit(self, 1)
  end
end

--- Calls a method; its failure is told as an error of the session.
function Connection:notify(method, params)
  if not self:alive() then
    error('the agent is not running', 0)
  end
  local all = vim.tbl_extend('force', params or {}, { connection = self.number })
  if not pcall(vim.rpcnotify, self.channel, method, all) then
    on_exit(self, 1) -- a socket has no other way to tell
    error('the connection to pi-nvim is gone', 0)
  end
end

--- Calls a method, and then callback(err, result).
function Connection:call(method, params, callback)
  self.seq = self.seq + 1
  self.waiting[self.seq] = callback
  self:notify(method, vim.tbl_extend('force', params or {}, { seq = self.seq }))
end

--- Ends pi-nvim, and with it all that the agent started.
function Connection:close()
  if self:alive() then
    connections[self.number] = nil
    pcall(vim.fn[self.is_job and 'jobstop' or 'chanclose'], self.channel)
    self.handlers.ended(0)
  end
end

-- Serves a request of the agent with function(request, reply): it returns the answer, or
-- nothing and calls reply(answer) later. While text may not be changed it is served a
-- moment later. An answer: { status = 'ok' | 'not_open' | 'stale' | 'conflict' | …, … }.
local function serve(connection, request)
  local function reply(answer)
    if connection:alive() and connection.requests[request.id] then
      connection.requests[request.id] = nil
      answer.id = request.id
      connection:notify('answer_host', answer)
    end
  end
  local ok, answer = pcall(connection.handlers.host, request, reply)
  if not ok and tostring(answer):find('E565') then
    local again = interrupt.wrap(function()
      if connection.requests[request.id] then
        serve(connection, request)
      end
    end)
    vim.schedule(again)
  elseif not ok then
    reply({ status = 'io', message = 'Neovim failed: ' .. tostring(answer) })
  elseif answer then
    reply(answer)
  end
end

local items = {}

function items.event(connection, json)
  local plain = { object = true, array = true }
  connection.handlers.event(vim.json.decode(json, { luanil = plain }))
end

function items.host(connection, op, id, path, version, changes, tool, arguments)
  local request = {
    op = op,
    id = id,
    path = path,
    version = version,
    changes = changes,
    tool = tool,
    arguments = arguments,
  }
  connection.requests[id] = request
  serve(connection, request)
end

-- The agent no longer waits for an answer. What serves a request later sees `withdrawn`.
function items.withdraw(connection, id)
  local request = connection.requests[id]
  if request then
    connection.requests[id] = nil
    request.withdrawn = true
    if request.on_withdraw then
      request.on_withdraw()
    end
  end
end

function items.answer(connection, seq, err, result)
  local callback = connection.waiting[seq]
  connection.waiting[seq] = nil
  if callback then
    callback(err ~= '' and err or nil, result ~= vim.NIL and result or nil)
  end
end

function items.error(connection, text)
  connection.handlers.error(text)
end

-- A pi-nvim of the first protocol does not say which connection it is.
local function other_version(batch)
  local text = batch[1] and batch[1][2]
  for _, connection in pairs(connections) do
    connection.handlers.error(
      ('pi-nvim is of another version than the plugin (%s); run `%s`'):format(
        tostring(text),
        require('pi.binary').remedy()
      )
    )
    connection:close()
  end
end

local function take(connection, batch)
  for _, item in ipairs(batch) do
    local handler = items[item[1]]
    interrupt.set_aside()
    local ok, err = pcall(handler or error, connection, unpack(item, 2))
    if not ok then
      pcall(connection.handlers.error, tostring(err))
    end
  end
end

--- The one entry for pi-nvim. Its return says that the batch was taken.
M.on = interrupt.wrap(function(number, batch)
  if type(number) == 'table' then
    other_version(number)
    return 0
  end
  local connection = connections[number]
  if connection and not editor_ends() then
    require('pi.bus').batch(take, connection, batch)
  end
  return #batch
end)

--- Ends all connections.
function M.stop()
  for _, connection in ipairs(vim.tbl_values(connections)) do
    connection:close()
  end
end

return M
