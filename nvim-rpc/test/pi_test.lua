-- The Neovim front end, with recorded turns. Neovim ends with an error when a test fails.

local dir = vim.loop.fs_realpath(vim.env.TMPDIR)
local tests, events = {}, {}

local session = require('pi.session')
local draw = session.event
session.event = function(event)
  table.insert(events, { at = vim.loop.hrtime() / 1e9, event = event })
  draw(event)
end

local function check(condition, what)
  if not condition then
    error(what, 2)
  end
end

local function equal(got, wanted)
  if not vim.deep_equal(got, wanted) then
    error(('got %s, wanted %s'):format(vim.inspect(got), vim.inspect(wanted)), 2)
  end
end

local function wait(condition, what)
  if not vim.wait(20000, condition, 10) then
    error('waited in vain for ' .. what .. '; events: ' .. vim.inspect(events), 2)
  end
end

local function seen(type, tool)
  for _, entry in ipairs(events) do
    if entry.event.type == type and (not tool or entry.event.toolName == tool) then
      return entry.at
    end
  end
end

local function shown()
  return table.concat(vim.api.nvim_buf_get_lines(session.buffer(), 0, -1, true), '\n')
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, true)
end

local function write(name, text)
  local path = dir .. '/' .. name
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
  return path
end

local function disk(name)
  local file = assert(io.open(dir .. '/' .. name, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

local function call(name, arguments)
  return { call = { name = name, arguments = arguments } }
end

-- The model will answer with these turns, lists of blocks.
local function record(...)
  local turns = {}
  for _, blocks in ipairs({ ... }) do
    table.insert(turns, { blocks = blocks })
  end
  local path = write('turns.json', vim.json.encode({ turns = turns }))
  local options = { bin = vim.env.PI_NVIM, model = 'replay:' .. path, yolo = true }
  vim.g.pi = options
  events = {}
end

local function ended()
  wait(function()
    return seen('agent_end')
  end, 'the end of the run')
end

function tests.one_prompt()
  write('poem.txt', 'rösen\nveilchen\ntulpen\n')
  vim.cmd('edit poem.txt')
  vim.api.nvim_buf_set_lines(0, -1, -1, true, { 'und nelken €' })
  record(
    { { text = 'I look.' }, call('read', { path = 'poem.txt' }) },
    {
      call('edit', {
        path = 'poem.txt',
        edits = {
          { oldText = 'veilchen', newText = 'VEILCHEN – blau' },
          { oldText = 'und nelken', newText = 'NELKEN' },
        },
      }),
      call('bash', { command = 'echo first; sleep 0.6; echo second' }),
    },
    { { text = 'Done.' } }
  )
  vim.cmd('Pi change it')
  wait(function()
    return shown():find('\nfirst')
  end, 'the first line')
  local first = vim.loop.hrtime() / 1e9
  check(not shown():find('\nsecond'), 'the second line came too early')
  ended()
  local last = seen('tool_execution_end', 'bash')
  check(last - first > 0.4, 'the output came at the end')
  check(last - seen('tool_execution_update', 'bash') > 0.4, 'no time between')
  check(shown():find('\nsecond'), 'no second line')
  check(shown():find('Done.', 1, true), 'no answer')
  check(not shown():find('failed', 1, true), shown())
  equal(lines(), { 'rösen', 'VEILCHEN – blau', 'tulpen', 'NELKEN €' })
  check(vim.bo.modified, 'the buffer was saved')
  equal(disk('poem.txt'), 'rösen\nveilchen\ntulpen\n')
  vim.cmd('silent undo')
  equal(lines(), { 'rösen', 'veilchen', 'tulpen', 'und nelken €' })
  vim.cmd('silent undo')
  equal(lines(), { 'rösen', 'veilchen', 'tulpen' })
end

local failed = 0
vim.cmd('cd ' .. dir)
for name, test in pairs(tests) do
  local ok, err = xpcall(test, debug.traceback)
  require('pi.rpc').stop()
  vim.cmd('silent! %bwipeout!')
  io.write(ok and 'passed ' or 'FAILED ', name, ok and '' or '\n' .. tostring(err), '\n')
  failed = failed + (ok and 0 or 1)
end
vim.cmd(failed > 0 and 'cquit' or 'qall!')
