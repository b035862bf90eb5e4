-- The connection to pi-nvim. It calls one function here, on(), with batches of items; what
-- Neovim says goes out as notifications. Only the start waits for an answer.

local M = {}

-- Raised when a method or an item of a batch changes its meaning; pi-nvim has the same.
M.protocol = 1

local channel
local stderr = {} -- the last lines that pi-nvim printed

local function program()
  local path, problem = require('pi.binary').find()
  return path or error(problem, 0)
end

local function on_stderr(_, lines)
  for _, line in ipairs(lines) do
    if line ~= '' then
      table.insert(stderr, line)
    end
  end
  while #stderr > 50 do
    table.remove(stderr, 1)
  end
end

local function on_exit(id, code)
  if id == channel then
    channel = nil
    require('pi.session').ended(code, stderr)
  end
end

function M.running()
  return channel ~= nil
end

-- The channel to pi-nvim, or nil.
function M.channel()
  return channel
end

-- Starts pi-nvim and an agent; returns what it answers. Errors have words for the user.
function M.start(options)
  stderr = {}
  channel = vim.fn.jobstart({ program() }, { rpc = true, on_stderr = on_stderr, on_exit = on_exit })
  if channel <= 0 then
    channel = nil
    error('pi-nvim did not start', 0)
  end
  local hello = vim.tbl_extend('force', options, { protocol = M.protocol })
  local ok, answer = pcall(vim.rpcrequest, channel, 'hello', hello)
  if not ok then
    M.stop()
    error(tostring(answer), 0)
  end
  return answer
end

function M.notify(method, params)
  if not channel then
    error('the agent is not running', 0)
  end
  vim.rpcnotify(channel, method, params or vim.empty_dict())
end

-- Ends pi-nvim, and with it all that the agent started.
function M.stop()
  if channel then
    local id = channel
    channel = nil
    pcall(vim.fn.jobstop, id)
    require('pi.session').ended(0, {})
  end
end

-- A request for a buffer. While text may not be changed it is served a moment later.
local function serve(op, id, path, version, changes)
  local ok, answer = pcall(require('pi.buffer').serve, op, path, version, changes)
  if not ok and tostring(answer):find('E565') then
    vim.schedule(function()
      serve(op, id, path, version, changes)
    end)
    return
  end
  if not ok then
    answer = { status = 'io', message = 'Neovim failed: ' .. tostring(answer) }
  end
  answer.id = id
  if channel then
    M.notify('answer_host', answer)
  end
end

local handlers = {
  event = function(json)
    local plain = { object = true, array = true }
    require('pi.session').event(vim.json.decode(json, { luanil = plain }))
  end,
  host = serve,
  -- What was asked for is served at once, so there is nothing to take back.
  withdraw = function() end,
  error = function(text)
    require('pi.session').event({ type = 'notice', level = 'error', message = text })
  end,
}

-- The one entry for pi-nvim. Its return says that the batch was taken.
function M.on(batch)
  for _, item in ipairs(batch) do
    local ok, err = pcall(handlers[item[1]], unpack(item, 2))
    if not ok then
      pcall(handlers.error, tostring(err))
    end
  end
  return #batch
end

return M
