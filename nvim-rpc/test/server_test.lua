-- pi-nvim, spoken to byte by byte: what it answers and what it does not.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local suite = dofile(here .. '/suite.lua')
local tests, check, equal = suite.tests, suite.check, suite.equal

-- msgpackdump() gives lists of lines in which NUL is LF.
local function packed(...)
  local lines = vim.fn.msgpackdump({ ... })
  return (table.concat(lines, '\0'):gsub('[%z\n]', { ['\0'] = '\n', ['\n'] = '\0' }))
end

local function start(...)
  local server = { bytes = '' }
  local stdin, stdout = vim.loop.new_pipe(false), vim.loop.new_pipe(false)
  server.handle, server.pid = vim.loop.spawn(vim.env.PI_NVIM, {
    args = { ... },
    stdio = { stdin, stdout, 2 },
  }, function(code, signal)
    server.code, server.signal = code, signal
  end)
  stdout:read_start(function(_, data)
    server.bytes = server.bytes .. (data or '')
  end)
  server.stdin = stdin
  return server
end

-- All messages that came so far.
local function messages(server)
  if server.bytes == '' then
    return {}
  end
  local swapped = server.bytes:gsub('[%z\n]', { ['\0'] = '\n', ['\n'] = '\0' })
  return vim.fn.msgpackparse(vim.split(swapped, '\0', { plain = true }))
end

local function answer_to(server, id)
  for _, message in ipairs(messages(server)) do
    if message[1] == 1 and message[2] == id then
      return message
    end
  end
end

local function await_answer(server, id)
  suite.wait(function()
    return answer_to(server, id)
  end, 'the answer ' .. id)
  return answer_to(server, id)
end

local function finish(server)
  server.stdin:close()
  suite.wait(function()
    return server.code
  end, 'the end')
  equal({ server.code, server.signal }, { 0, 0 })
end

function tests.an_unknown_method_is_an_error()
  local server = start()
  server.stdin:write(packed({ 0, 7, 'nonsense', {} }))
  equal(await_answer(server, 7)[3], 'pi-nvim has no such method')
  finish(server)
end

function tests.answers_nobody_waits_for_are_dropped()
  local server = start()
  server.stdin:write(
    packed({ 1, 99, vim.NIL, 'x' }, { 1, -1, vim.NIL, 'x' }, { 1, 'x', vim.NIL, {} })
  )
  server.stdin:write(packed({ 0, 1, 'nonsense', {} }))
  await_answer(server, 1)
  finish(server)
end

-- The error of a notification goes as an item of a batch, after the mode was asked for.
function tests.a_notification_is_never_answered()
  local server = start()
  server.stdin:write(packed({ 2, 'nonsense', {} }, { 0, 1, 'prompt', { { text = 'x' } } }))
  await_answer(server, 1)
  suite.wait(function()
    return #messages(server) == 2
  end, 'two messages')
  for _, message in ipairs(messages(server)) do
    check(
      message[1] == 0 and message[3] == 'nvim_get_mode' or message[2] == 1,
      vim.inspect(message)
    )
  end
  finish(server)
end

function tests.one_batch_at_a_time()
  local server = start()
  for _ = 1, 50 do
    server.stdin:write(packed({ 2, 'nonsense', {} }))
  end
  suite.wait(function()
    return messages(server)[1]
  end, 'the question for the mode')
  local probe = messages(server)[1]
  equal({ probe[1], probe[3] }, { 0, 'nvim_get_mode' })
  server.stdin:write(packed({ 1, probe[2], vim.NIL, { mode = 'n', blocking = false } }))
  suite.wait(function()
    return messages(server)[2]
  end, 'the batch')
  local batch = messages(server)[2]
  equal({ batch[1], batch[3] }, { 0, 'nvim_exec_lua' })
  check(#batch[4][2][2] >= 1, vim.inspect(batch))
  -- It is not acknowledged, so nothing else comes.
  server.stdin:write(packed({ 2, 'nonsense', {} }, { 0, 5, 'nonsense', {} }))
  await_answer(server, 5)
  equal(#messages(server), 3)
  finish(server)
end

function tests.parameters_may_be_anything()
  local server = start()
  local odd = { vim.NIL, 7, 'x', { 7 }, { { 7 } }, { { text = { { {} } } } }, { 'x', 'y' } }
  for id, params in ipairs(odd) do
    server.stdin:write(packed({ 0, id, 'hello', params }))
    check(await_answer(server, id)[3] ~= vim.NIL, vim.inspect(params))
  end
  finish(server)
end

function tests.sigterm_ends_it_well()
  local server = start()
  server.stdin:write(packed({ 0, 1, 'nonsense', {} }))
  await_answer(server, 1)
  vim.loop.kill(server.pid, 'sigterm')
  suite.wait(function()
    return server.code
  end, 'the end')
  equal({ server.code, server.signal }, { 0, 0 })
end

function tests.a_socket_serves_an_editor_and_goes_away()
  local path = suite.dir .. '/socket'
  local server = start('--listen', path)
  suite.wait(function()
    return vim.loop.fs_stat(path)
  end, 'the socket')
  equal(vim.loop.fs_stat(path).mode % 512, 384) -- 0600
  local second = start('--listen', path)
  suite.wait(function()
    return second.code
  end, 'the second one')
  equal(second.code, 1)
  vim.g.pi = {
    address = path,
    model = 'replay:' .. suite.dir .. '/turns.json',
    agent_dir = suite.dir .. '/agent',
  }
  suite.write(
    suite.dir .. '/turns.json',
    vim.json.encode({ turns = { { blocks = { { text = 'Over a socket.' } } } } })
  )
  vim.cmd('Pi go')
  local session = require('pi.session').current()
  local buf = require('pi.render').buffer(session)
  suite.wait(function()
    return table
      .concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true))
      :find('Over a socket.', 1, true)
  end, 'the answer')
  check(not vim.loop.fs_stat(path), 'the socket is left behind')
  -- Its death is noticed, though Neovim says nothing of a socket.
  vim.loop.kill(server.pid, 'sigkill')
  require('pi.status').wake()
  suite.wait(function()
    return not session.connection
  end, 'the news')
end

suite.run()
