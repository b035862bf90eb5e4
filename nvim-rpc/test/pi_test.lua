-- The Neovim front end, with recorded turns. Neovim ends with an error when a test fails.

local dir = vim.loop.fs_realpath(vim.env.TMPDIR)
local tests, events = {}, {}

local sessions = require('pi.session')

-- pi.render draws first.
require('pi.render')
require('pi.bus').on('*', function(event)
  table.insert(events, { at = vim.loop.hrtime() / 1e9, event = event })
end)

local function session()
  return sessions.ensure()
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
  return table.concat(
    vim.api.nvim_buf_get_lines(require('pi.render').buffer(session()), 0, -1, true),
    '\n'
  )
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
  local options =
    { bin = vim.env.PI_NVIM, model = 'replay:' .. path, bash_save = 'never', permissions = 'yolo' }
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
  record({ { text = 'I look.' }, call('read', { path = 'poem.txt' }) }, {
    call('edit', {
      path = 'poem.txt',
      edits = {
        { oldText = 'veilchen', newText = 'VEILCHEN – blau' },
        { oldText = 'und nelken', newText = 'NELKEN' },
      },
    }),
    call('bash', { command = 'echo first; sleep 0.6; echo second' }),
  }, { { text = 'Done.' } })
  vim.cmd('Pi change it')
  wait(function()
    return shown():find('\n│ first')
  end, 'the first line')
  local first = vim.loop.hrtime() / 1e9
  check(not shown():find('\n│ second'), 'the second line came too early')
  ended()
  local last = seen('tool_execution_end', 'bash')
  check(last - first > 0.4, 'the output came at the end')
  check(last - seen('tool_execution_update', 'bash') > 0.4, 'no time between')
  check(shown():find('\n│ second'), 'no second line')
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

-- How many processes sleep so long. Its command line is the one of sleep itself.
local function sleeping(mark)
  local count = 0
  for name in vim.gsplit(vim.fn.glob('/proc/[0-9]*/cmdline'), '\n') do
    local file = io.open(name, 'rb')
    local arguments = file and file:read('*a') or ''
    if file then
      file:close()
    end
    if arguments == 'sleep\0' .. mark .. '\0' then
      count = count + 1
    end
  end
  return count
end

local function gone(mark)
  check(
    vim.wait(5000, function()
      return sleeping(mark) == 0
    end, 20),
    'the command still runs'
  )
end

local marks = 0
local function new_mark()
  marks = marks + 1
  return ('600.%d%03d'):format(vim.fn.getpid(), marks)
end

local function start_sleeping()
  local mark = new_mark()
  record(
    { call('bash', { command = 'echo go; sleep ' .. mark .. '; true' }) },
    { { text = 'Done.' } }
  )
  vim.cmd('Pi sleep')
  wait(function()
    return shown():find('\n│ go')
  end, 'the command')
  wait(function()
    return sleeping(mark) == 1
  end, 'its process')
  return mark
end

-- The run and its command end; the conversation goes on.
function tests.abort()
  local mark = start_sleeping()
  local begin = vim.loop.hrtime()
  vim.cmd('Pi abort')
  ended()
  check(vim.loop.hrtime() - begin < 2.5e9, 'abort took long')
  gone(mark)
  check(shown():find('aborted'), shown())
  check(not session().running, 'still running')
  events = {}
  vim.cmd('Pi go on')
  ended()
  check(shown():find('Done.', 1, true), shown())
end

function tests.stop()
  local mark = start_sleeping()
  vim.cmd('Pi stop')
  gone(mark)
  check(not session().connection, 'still running')
end

-- Even when pi-nvim has no chance to clean up.
function tests.killed()
  local mark = start_sleeping()
  local pid = vim.fn.jobpid(session().connection.channel)
  vim.loop.kill(pid, 'sigkill')
  gone(mark)
  wait(function()
    return shown():find('pi-nvim ended with code 137', 1, true)
  end, 'the news')
end

-- Another Neovim with a command under way, driven over its own channel.
local function start_child(mark)
  record({ call('bash', { command = 'echo go; sleep ' .. mark .. '; true' }) })
  local editor = vim.env.PI_TEST_NVIM or vim.v.progpath
  local child = vim.fn.jobstart(
    { editor, '--embed', '--headless', '-u', 'NONE', '-i', 'NONE', '-n' },
    { rpc = true }
  )
  local plugin =
    vim.fn.fnamemodify(vim.api.nvim_get_runtime_file('plugin/pi.lua', false)[1], ':h:h')
  vim.rpcrequest(child, 'nvim_set_var', 'pi', vim.g.pi)
  vim.rpcrequest(
    child,
    'nvim_command',
    'set rtp^=' .. plugin .. ' | runtime plugin/pi.lua | cd ' .. dir
  )
  return child
end

function tests.exit()
  local mark = new_mark()
  local child = start_child(mark)
  vim.rpcnotify(child, 'nvim_command', 'Pi sleep')
  wait(function()
    return sleeping(mark) == 1
  end, 'the command')
  vim.rpcnotify(child, 'nvim_command', 'qall!')
  gone(mark)
end

-- While Neovim waits for a key, nothing is sent to it; afterwards all arrives.
function tests.blocked()
  local child = start_child('0.1')
  local function lines_of_child()
    return vim.rpcrequest(
      child,
      'nvim_exec_lua',
      [[
        local buf = require('pi.render').buffer(require('pi.session').ensure())
        return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
      ]],
      {}
    )
  end
  vim.rpcrequest(child, 'nvim_command', 'Pi sleep')
  vim.rpcrequest(child, 'nvim_input', 'r')
  wait(function()
    return vim.rpcrequest(child, 'nvim_get_mode').blocking
  end, 'a blocked Neovim')
  vim.wait(500)
  vim.rpcrequest(child, 'nvim_input', 'x')
  wait(function()
    return vim.tbl_contains(lines_of_child(), '│ go')
  end, 'the output')
  vim.fn.jobstop(child)
end

-- A change while the user types is an undo block of its own.
function tests.typing()
  write('a.txt', 'one\ntwo\n')
  local child = start_child('0')
  record(
    { call('edit', { path = 'a.txt', edits = { { oldText = 'two', newText = '2' } } }) },
    { { text = 'Done.' } }
  )
  vim.rpcrequest(child, 'nvim_set_var', 'pi', vim.g.pi)
  local function lines_of_child()
    return vim.rpcrequest(child, 'nvim_buf_get_lines', 1, 0, -1, true)
  end
  vim.rpcrequest(child, 'nvim_command', 'edit a.txt')
  vim.rpcrequest(child, 'nvim_input', 'Atyped')
  vim.rpcrequest(child, 'nvim_command', 'Pi x')
  wait(function()
    return lines_of_child()[2] == '2'
  end, 'the edit')
  vim.rpcrequest(child, 'nvim_input', '<Esc>')
  equal(lines_of_child(), { 'onetyped', '2' })
  vim.rpcrequest(child, 'nvim_command', 'undo')
  equal(lines_of_child(), { 'onetyped', 'two' })
  vim.rpcrequest(child, 'nvim_command', 'undo')
  equal(lines_of_child(), { 'one', 'two' })
  vim.fn.jobstop(child)
end

function tests.questions()
  record(
    { call('bash', { command = 'touch allowed' }) },
    { call('bash', { command = 'touch denied' }) },
    { { text = 'Done.' } }
  )
  vim.g.pi = vim.tbl_extend('force', vim.g.pi, { permissions = 'ask' })
  vim.cmd('Pi x')
  for _, answer in ipairs({ 'allow', 'deny' }) do
    wait(function()
      return seen('permission_request')
    end, 'a question')
    check(shown():find('bash wants to run: touch', 1, true), shown())
    events = {}
    vim.cmd('Pi ' .. answer)
    wait(function()
      return seen('permission_end')
    end, 'the end of the question')
  end
  ended()
  check(vim.fn.filereadable('allowed') == 1, 'the command did not run')
  check(vim.fn.filereadable('denied') == 0, 'the command did run')
end

function tests.flood()
  record({
    call(
      'bash',
      { command = "yes | head -c 30M; head -c 99999 /dev/zero | tr '\\0' x; echo; seq 99" }
    ),
  }, { { text = 'Done.' } })
  vim.cmd('Pi x')
  ended()
  check(shown():find('\n│ 98\n│ 99\n'), shown())
  check(not shown():find('\n│ 88\n'), shown())
  check(#shown() < 8000, 'too much is shown')
end

-- What Neovim says wrong is told; a notification is never answered.
function tests.wrong_messages()
  record({ { text = 'Hello.' } })
  local told = {}
  local connection = require('pi.rpc').connect({
    event = function(event)
      table.insert(events, { at = 0, event = event })
    end,
    error = function(text)
      table.insert(told, text)
    end,
    ended = function() end,
  }, {})
  local function fails(words, method, params)
    local err
    connection:call(method, params, function(e)
      err = e or 'it did not fail'
    end)
    wait(function()
      return err
    end, 'the answer of ' .. method)
    check(err:find(words, 1, true), err)
  end
  local hello = { protocol = require('pi.rpc').protocol, cwd = dir, model = vim.g.pi.model }
  local function hello_with(more)
    return vim.tbl_extend('force', hello, more)
  end
  fails('absolute path', 'hello', hello_with({ cwd = 'relative' }))
  fails('no parameter "nonsense"', 'hello', hello_with({ nonsense = 1 }))
  fails('cwd has the wrong type', 'hello', hello_with({ cwd = 7 }))
  fails('environment must be a list of texts', 'hello', hello_with({ environment = { 7 } }))
  fails('ask or yolo', 'hello', hello_with({ permissions = 'x' }))
  fails('protocol 2 and the plugin 99', 'hello', hello_with({ protocol = 99 }))
  fails('prompt comes after hello', 'prompt', { text = 'x' })
  connection:notify('hello', hello)
  for i, method in ipairs({ 'nonsense', 'prompt', 'answer_permission' }) do
    connection:notify(method)
    wait(function()
      return #told == i
    end, 'an error')
  end
  fails('hello was said already', 'hello', hello)
  fails('no such method', 'nonsense')
  equal(vim.rpcrequest(connection.channel, 'prompt', { text = 'x' }), vim.NIL)
  ended()
  connection:close()
end

local failed = 0
vim.cmd('cd ' .. dir)
local names = vim.tbl_keys(tests)
table.sort(names)
for _, name in ipairs(names) do
  local ok, err = xpcall(tests[name], debug.traceback)
  require('pi.rpc').stop()
  session():forget() -- or the next test would go on with a conversation that crashed
  vim.cmd('silent! %bwipeout!')
  io.write(ok and 'passed ' or 'FAILED ', name, ok and '' or '\n' .. tostring(err), '\n')
  failed = failed + (ok and 0 or 1)
end
vim.cmd(failed > 0 and 'cquit' or 'qall!')
