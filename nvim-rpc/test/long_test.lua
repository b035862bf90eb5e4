-- Long answers, long conversations, and a program that does not start; each test is named
-- after its rule.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, equal, check = suite.tests, suite.equal, suite.check

-- 1 MB in 20,000 pieces arrives whole, in few batches.
function tests.a_long_answer_is_drawn_in_batches()
  local line = 'All work and no play makes a dull answer **long**.\n'
  local block = { repeatText = { s = line, n = math.floor(1024 * 1024 / #line) } }
  agent.record({ blocks = { block, { text = 'The end.' } }, chunk = 52 })
  local rpc = require('pi.rpc')
  local on, batches = rpc.on, 0
  rpc.on = function(...)
    batches = batches + 1
    return on(...)
  end
  agent.ask('x')
  rpc.on = on
  agent.shows('The end.')
  check(batches < 5000, ('%d batches'):format(batches))
end

-- The oldest lines go, and the calls and questions in them with them.
function tests.what_was_dropped_is_no_more()
  agent.record(
    { agent.call('bash', { command = 'seq 3' }) },
    { { repeatText = { s = 'line\n', n = 23000 } } }
  )
  agent.ask('x')
  local dropped = '· earlier lines were dropped here; the session has them all'
  agent.go_to(dropped)
  agent.shows_not('$ seq 3')
  local before = agent.shown()
  for row = 1, 3 do
    vim.api.nvim_win_set_cursor(0, { row, 0 })
    agent.press('<Tab>')
  end
  check(agent.shown() == before, 'a call that is gone changed the text')
  equal(require('pi.view').of(agent.session()):turn_from(5, -1), nil)
end

-- The file of a conversation with so many messages, made of a short one.
local function lengthen(path, count)
  local lines = vim.fn.readfile(path)
  local last, last_id = nil, nil
  for _, text in ipairs(lines) do
    local entry = vim.json.decode(text)
    if entry.type == 'message' and entry.message.role == 'user' then
      last = text
    end
    last_id = entry.id or last_id
  end
  for i = 1, count do
    local id = ('%08x'):format(0xabc00000 + i)
    local text = last:gsub('"id":"%x+"', ('"id":"%s"'):format(id), 1)
    text = text:gsub('"parentId":[^,]+', ('"parentId":"%s"'):format(last_id), 1)
    table.insert(lines, (text:gsub('first', 'message ' .. i)))
    last_id = id
  end
  vim.fn.writefile(lines, path)
end

-- Of a conversation that is taken up again the newest messages are shown; asking works.
function tests.a_long_conversation_is_taken_up_quickly()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local file = agent.session().file
  vim.cmd('Pi stop')
  lengthen(file, 400)
  agent.events = {}
  vim.cmd('Pi resume ' .. file)
  local event = agent.await('transcript')
  equal({ #event.messages, event.omitted }, { 100, 302 })
  agent.shows('❯ message 400')
  check(not agent.shown():find('message 200\n', 1, true), 'too much is shown')
  agent.ask('second')
  agent.shows('Two.')
end

-- A launcher without its interpreter: its words are shown, and it can be tried again.
function tests.a_launcher_that_fails_is_explained()
  agent.record({ { text = 'One.' } })
  suite.write('launcher', '#!/bin/sh\necho "no interpreter here" >&2\nexit 127\n')
  vim.loop.fs_chmod('launcher', 493)
  local bin = vim.g.pi.bin
  agent.options({ bin = vim.fn.getcwd() .. '/launcher' })
  vim.cmd('Pi go')
  agent.await_text('no interpreter here')
  agent.shows('127')
  equal({ agent.session().running, agent.session().connection }, { false })
  agent.options({ bin = bin })
  agent.ask('go')
  agent.shows('One.')
end

agent.run()
