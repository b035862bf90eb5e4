-- The editor of the typist: letters go into an empty buffer while the agent runs commands
-- that print a lot, in a window below that follows. Without PI_BENCH_MODEL there is no agent.

local pipe, wanted = assert(io.open(vim.env.TYPIST, 'a')), tonumber(vim.env.TYPIST_KEYS)
local with_agent = vim.env.PI_BENCH_MODEL ~= nil
local report, calls = {}, {}
local typing_began
local longest_ms = 0 -- of a batch

local function say(format, ...)
  table.insert(report, 'say ' .. format:format(...) .. '\n')
end

-- Whether the window on the conversation shows its end.
local function follows()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(win)
    if vim.bo[buf].filetype == 'pi' then
      return vim.api.nvim_win_get_cursor(win)[1] == vim.api.nvim_buf_line_count(buf)
    end
  end
end

local function finish()
  if with_agent then
    say('follows %s', follows() and 'yes' or 'no')
    say('batch %.2f', longest_ms)
    for _, call in ipairs(calls) do
      say('call %.2f %s', call.ms, call.log)
    end
    vim.cmd('Pi abort')
  end
  pipe:write(table.concat(report))
  pipe:flush()
  vim.cmd('qall!')
end

local function be_ready()
  vim.cmd('startinsert')
  typing_began = vim.loop.hrtime()
  pipe:write('ready\n')
  pipe:flush()
end

vim.api.nvim_create_autocmd('TextChangedI', {
  callback = function()
    local count = vim.fn.strlen(vim.fn.getline(1))
    table.insert(report, ('handled %d %.6f\n'):format(count, vim.loop.hrtime() / 1e9))
    if count == wanted then
      vim.schedule(finish)
    end
  end,
})

-- The longest that pi kept Neovim from other work; not counted while others had the processor.
local function watch_batches()
  local rpc = require('pi.rpc')
  local take = rpc.on
  rpc.on = function(...)
    local began = os.clock()
    local taken = take(...)
    longest_ms = math.max(longest_ms, (os.clock() - began) * 1e3)
    return taken
  end
end

-- When a command began, and how it ended.
local function watch()
  watch_batches()
  local pi, began = require('pi'), nil
  pi.on('tool_execution_start', function()
    began = vim.loop.hrtime()
  end)
  pi.on('tool_execution_end', function(event)
    -- Those that began before anybody typed do not count.
    if typing_began and began > typing_began then
      local ms = (vim.loop.hrtime() - began) / 1e6
      table.insert(calls, { ms = ms, log = (event.result.details or {}).fullOutputPath or '-' })
    elseif not typing_began then
      vim.schedule(be_ready)
    end
  end)
end

if with_agent then
  watch()
  vim.g.pi = {
    bin = vim.env.PI_NVIM,
    model = vim.env.PI_BENCH_MODEL,
    permissions = 'yolo',
    position = 'bottom',
  }
  vim.cmd('Pi print')
else
  vim.schedule(be_ready)
end
