-- <C-c> of the user, who leaves Insert mode with it for instance, while the agent works.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal

-- Whether a <C-c> is pending; afterwards none is.
local function interrupted()
  local ok, err = pcall(vim.api.nvim_eval, '1')
  check(ok or tostring(err):find('interrupt'), err)
  return not ok
end

-- Lets each batch of the agent come behind a <C-c>. Returns what ends that.
local function type_before_each_batch()
  local rpc = require('pi.rpc')
  local on, kept = rpc.on, true
  rpc.on = function(...)
    vim.api.nvim_input('<C-c>')
    local count = on(...)
    kept = interrupted() and kept
    return count
  end
  return function()
    rpc.on = on
    return kept
  end
end

-- Nothing of the answer and of what its calls do is lost, and the <C-c> is not either.
function tests.nothing_is_lost()
  local lines = {}
  for i = 1, 200 do
    lines[i] = ('line %d of the answer'):format(i)
  end
  local path = vim.fn.getcwd() .. '/a.txt'
  suite.write(path, 'one\n')
  vim.cmd('edit ' .. path)
  local edit = { path = path, edits = { { oldText = 'one', newText = 'two' } } }
  agent.record(
    { { text = table.concat(lines, '\n') }, agent.call('edit', edit) },
    { { text = 'The end.' } }
  )
  local stop = type_before_each_batch()
  agent.ask('x')
  local kept = stop()
  agent.shows(table.concat(lines, '\n'))
  agent.shows('The end.')
  equal(vim.fn.getline(1), 'two')
  check(kept, 'a <C-c> was lost')
  equal(agent.told, {})
end

agent.run()
