-- Measures pi-nvim from a Neovim without a screen: how long an abort takes, and what the
-- agent does when there is nothing to do. Prints NAME VALUE lines into the file $REPORT.

local report, seen, pid = {}, {}, nil

require('pi').on('*', function(event)
  seen[event.type] = vim.loop.hrtime() / 1e6
end)

local function wait(type)
  if not vim.wait(10000, function()
    return seen[type]
  end, 1) then
    error('waited in vain for ' .. type)
  end
  return seen[type]
end

local function note(name, value)
  table.insert(report, ('%s %.2f'):format(name, value))
end

-- The recorded turns are: a command that dies of SIGTERM, one that does not, a text.
local function abort(name)
  seen = {}
  vim.cmd('Pi go on')
  wait('tool_execution_update')
  local began = vim.loop.hrtime() / 1e6
  vim.cmd('Pi abort')
  note(name, wait('agent_end') - began)
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read('*a')
  file:close()
  return text
end

-- How often its threads began or stopped to run.
local function switches()
  local sum = 0
  for _, path in ipairs(vim.fn.glob('/proc/' .. pid .. '/task/*/status', true, true)) do
    for n in read(path):gmatch('ctxt_switches:%s*(%d+)') do
      sum = sum + tonumber(n)
    end
  end
  return sum
end

local function idle()
  seen = {}
  vim.cmd('Pi say something')
  wait('agent_end')
  pid = vim.fn.jobpid(require('pi.session').current().connection.channel)
  vim.wait(1000)
  local before = switches()
  vim.wait(5000)
  note('wakeups', switches() - before)
  local memory = 0
  for kib in read('/proc/' .. pid .. '/smaps_rollup'):gmatch('Private_%a+:%s*(%d+)') do
    memory = memory + tonumber(kib)
  end
  note('private_kib', memory)
end

local ok, err = pcall(function()
  vim.g.pi = { bin = vim.env.PI_NVIM, model = vim.env.PI_BENCH_MODEL, permissions = 'yolo' }
  abort('abort_ms')
  abort('abort_stubborn_ms')
  idle()
end)
if not ok then
  table.insert(report, 'failed ' .. tostring(err))
end
vim.fn.writefile(report, vim.env.REPORT)
vim.cmd('qall!')
