-- A day of work in an editor with a screen, driven like by a user: it is never kept waiting
-- for a key, and a change or a question is not in the way of what the user types.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal

local child

local function request(...)
  return vim.rpcrequest(child, ...)
end

local function lua(code, ...)
  return request('nvim_exec_lua', code, { ... })
end

-- An editor of 80x24 with the options of record().
local function start()
  local nvim = vim.env.PI_TEST_NVIM or vim.v.progpath
  child = vim.fn.jobstart({ nvim, '--embed', '-u', 'NONE', '-i', 'NONE', '-n' }, { rpc = true })
  request('nvim_ui_attach', 80, 24, { rgb = true })
  request('nvim_set_var', 'pi', vim.g.pi)
  local begin = 'set rtp^=%s | filetype plugin on | syntax on | runtime plugin/pi.lua | cd %s'
  request('nvim_command', begin:format(suite.plugin, vim.fn.getcwd()))
end

local function stop()
  vim.fn.jobstop(child)
end

local function never_blocks()
  local mode = request('nvim_get_mode')
  equal({ mode.blocking, mode.mode:find('^r') }, { false })
end

local function shown()
  return lua([[
    local session = require('pi.session').ensure()
    local buf = require('pi.render').buffer(session)
    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
  ]])
end

local function await(text)
  suite.wait(function()
    never_blocks()
    return shown():find(text, 1, true)
  end, text)
end

local function await_true(code, what)
  suite.wait(function()
    never_blocks()
    return lua('return ' .. code)
  end, what)
end

function tests.typing_goes_on_while_the_agent_works()
  suite.write('a.txt', 'one\ntwo\n')
  suite.write('b.txt', 'one\n')
  agent.record(
    { { text = ('word '):rep(200) }, agent.call('bash', { command = 'seq 20000; echo end' }) },
    { agent.call('edit', { path = 'a.txt', edits = { { oldText = 'two', newText = '2' } } }) },
    { agent.call('bash', { command = 'seq 5; exit 1' }), { text = 'All done.' } }
  )
  start()
  request('nvim_command', 'edit b.txt')
  request('nvim_input', ':Pi do it<CR>')
  request('nvim_input', 'ityped ')
  for i = 1, 40 do
    request('nvim_input', tostring(i % 10))
    vim.wait(5)
    never_blocks()
  end
  await('exit 1')
  request('nvim_input', '<Esc>')
  equal(
    request('nvim_buf_get_lines', 0, 0, -1, true),
    { 'typed 1234567890123456789012345678901234567890one' }
  )
  stop()
end

function tests.questions_and_errors_leave_the_keys_to_the_user()
  agent.record(
    { agent.call('bash', { command = ('echo a long command; '):rep(20) }) },
    { agent.call('bash', { command = 'touch denied' }) },
    { blocks = {}, error = ('the model is not well; '):rep(20) }
  )
  agent.options({ permissions = 'ask' })
  start()
  request('nvim_input', ':Pi do it<CR>')
  await('?1 bash')
  await_true(
    "require('pi').statusline():find('?1', 1, true) ~= nil",
    'the question in the status line'
  )
  request('nvim_input', ':Pi allow<CR>')
  await('touch denied')
  request('nvim_input', ':Pi deny no<CR>')
  await('! the model is not well')
  request('nvim_input', ':Pi nothing-of-this-kind<CR>:Pi allow 7<CR>:Pi open north<CR>')
  request('nvim_input', 'iI type<Esc>')
  await_true("vim.api.nvim_get_current_line() == 'I type'", 'the text')
  stop()
end

function tests.a_prompt_may_be_sent_in_any_mode()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } }, { { text = 'Three.' } })
  suite.write('a.txt', 'one\ntwo\nthree\n')
  start()
  request('nvim_command', 'edit a.txt')
  request('nvim_input', 'Vj:Pi what is this<CR>')
  await('One.')
  check(shown():find('❯ what is this @a.txt:1-2', 1, true), shown())
  request('nvim_input', 'i<Cmd>Pi and now<CR>')
  await('Two.')
  equal(request('nvim_get_mode').mode, 'i')
  request('nvim_input', '<Esc>v<Cmd>Pi and here<CR>')
  await('Three.')
  equal(request('nvim_get_mode').mode, 'v')
  stop()
end

function tests.without_a_command_line_nothing_blocks_either()
  agent.record(
    { agent.call('bash', { command = ('echo a long one; '):rep(20) }) },
    { { text = 'One.' } }
  )
  agent.options({ permissions = 'ask', open_on_ask = false })
  start()
  if not pcall(request, 'nvim_set_option', 'cmdheight', 0) then
    stop()
    return -- an older Neovim
  end
  request('nvim_input', ':Pi do it<CR>')
  await('?1 bash')
  for _, keys in ipairs({ 'iI type<Esc>', ':Pi allow<CR>' }) do
    request('nvim_input', keys)
  end
  await('One.')
  request('nvim_input', 'AI type<Esc>')
  await_true("vim.api.nvim_get_current_line() == 'I typeI type'", 'the text')
  stop()
end

-- The last line of the screen.
local function bottom()
  return lua([[
    local cells = {}
    for column = 1, vim.o.columns do
      cells[column] = vim.fn.screenstring(vim.o.lines, column)
    end
    return table.concat(cells)
  ]])
end

function tests.a_question_does_not_write_over_a_command_that_is_typed()
  agent.record(
    { agent.call('bash', { command = 'sleep 0.2; touch never' }) },
    { { text = 'One.' } }
  )
  agent.options({ permissions = 'ask' })
  start()
  request('nvim_input', ':Pi do it<CR>')
  request('nvim_input', ':echo 123')
  await('?1 bash')
  await_true("require('pi').statusline():find('?1', 1, true) ~= nil", 'the question in the status')
  await_true("vim.fn.getcmdline() == 'echo 123'", 'the command')
  check(bottom():find('^:echo 123 '), bottom())
  request('nvim_input', '<C-u><BS>')
  suite.wait(function()
    return bottom():find('?1 (:Pi allow', 1, true)
  end, 'the message')
  stop()
end

function tests.the_command_line_window_is_left_alone()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  start()
  request('nvim_input', ':Pi first<CR>')
  await('One.')
  request('nvim_input', 'q:')
  await_true("vim.fn.getcmdwintype() == ':'", 'the window')
  lua([[require('pi.session').ensure():prompt('second')]])
  await('Two.')
  equal(lua('return vim.fn.getcmdwintype()'), ':')
  stop()
end

agent.run()
